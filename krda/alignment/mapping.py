"""Methods that map source rows by a rule that holds for new rows, too."""

from __future__ import annotations

from abc import abstractmethod

from numpy.typing import ArrayLike

from krda.base import AlignedClassifier
from krda.validation import FloatArray


class SourceMapping(AlignedClassifier):
    """Align the source by a map of its rows, then train a classifier on the mapped rows.

    Target rows are classified as they are. Subclasses implement :meth:`_align` and
    :meth:`_map_source`, which holds for rows that were not in the fit, too.
    """

    @abstractmethod
    def _map_source(self, Xs: FloatArray) -> FloatArray:
        """Map checked source rows to where the classifier is trained."""

    def transform(self, Xs: ArrayLike) -> FloatArray:
        """Map source rows, those of the training or others, to the target.

        Parameters
        ----------
        Xs : array-like of shape (n, d)

        Returns
        -------
        mapped : ndarray of shape (n, d)
        """
        return self._map_source(self._validate_source(Xs))
