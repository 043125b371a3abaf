"""Methods that map source rows by a rule that holds for new rows too."""

from __future__ import annotations

from abc import abstractmethod

from numpy.typing import ArrayLike

from krda.base import AlignedClassifier
from krda.validation import FloatArray


class SourceMapping(AlignedClassifier):
    """Align the source by a map of its rows, then train a classifier on the mapped rows."""

    @abstractmethod
    def _map_source(self, Xs: FloatArray) -> FloatArray:
        """Map checked source rows to where the classifier is trained."""

    def transform(self, Xs: ArrayLike) -> FloatArray:
        """Map source rows, those of the training or others, to where the classifier was trained."""
        return self._map_source(self._validate_source(Xs))
