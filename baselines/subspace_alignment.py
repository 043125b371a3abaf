"""Subspace Alignment (Fernando, Habrard, Sebban and Tuytelaars, ICCV 2013)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from krda.alignment.mapping import SourceMapping
from krda.base import AlignedSource
from krda.validation import FloatArray, require_integer


class SubspaceAlignment(SourceMapping):
    r"""Turn the source's principal axes into the target's, keep the leading ones only.

    With :math:`P_s, P_t` the :math:`d \times k` bases of the leading principal axes of each domain
    and :math:`m_s, m_t` the domains' means, a source row :math:`x` becomes

    .. math:: (x - m_s)^\top P_s \, (P_s^\top P_t),

    where :math:`M = P_s^\top P_t` minimises :math:`\lVert P_s M - P_t \rVert_F` (eq. 3 of the
    paper), and a target row becomes :math:`(x - m_t)^\top P_t`. Each domain is centred by its own
    mean, both in the publication and in common implementations. The publication also gives every
    column unit variance in each domain beforehand (z-scores); ``scale=True`` does that. Common
    implementations leave it out, and so does the default here, since it is an adaptation of its
    own (:class:`krda.Standardize`).

    With all components kept (``n_components`` = d), :math:`P_s P_s^\top = I`: source and target
    rows are only centred and then both turned by :math:`P_t`. A classifier that does not see
    rotations, such as an SVM with an RBF or linear kernel, then predicts what it would predict on
    the centred domains, and on domains that are centred already the method does **nothing**. On
    two-dimensional moons with k = 2 its accuracy is that of 'Source only'. (The column published
    for it on moons, 85.3 at 10 degrees down to 38.2 at 90, turns out to be that of a *linear* SVM
    trained on the source.)

    ``n_components`` is the number k of principal axes; None keeps n_features, or with fewer rows
    than that in a domain as many as both domains vary in.

    References
    ----------
    B. Fernando, A. Habrard, M. Sebban, T. Tuytelaars. Unsupervised visual domain adaptation using
    subspace alignment. ICCV 2013, section 3.
    """

    source_pca_: PCA
    target_pca_: PCA
    alignment_: FloatArray  # M
    source_scaler_: StandardScaler  # of the deviations alone; as the columns are, unless ``scale``
    target_scaler_: StandardScaler
    n_components_: int

    def __init__(
        self, n_components: int | None = None, classifier: Any = None, *, scale: bool = False
    ) -> None:
        self.n_components = n_components
        self.classifier = classifier
        self.scale = scale

    def _align(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> AlignedSource:
        self.source_scaler_ = StandardScaler(with_mean=False, with_std=self.scale).fit(Xs)
        self.target_scaler_ = StandardScaler(with_mean=False, with_std=self.scale).fit(Xt)
        source, target = self.source_scaler_.transform(Xs), self.target_scaler_.transform(Xt)
        self.n_components_ = self._number_of_axes(source, target)
        # The exact solver: the 'auto' one may take a randomised path on large tables.
        self.source_pca_ = PCA(self.n_components_, svd_solver="full").fit(source)
        self.target_pca_ = PCA(self.n_components_, svd_solver="full").fit(target)
        self.alignment_ = self.source_pca_.components_ @ self.target_pca_.components_.T
        return AlignedSource(self._map_source(Xs))

    def _number_of_axes(self, source: FloatArray, target: FloatArray) -> int:
        d, k = source.shape[1], self.n_components
        directions = min(_directions(source), _directions(target))
        # All d axes span the whole space, however the rows vary. Fewer axes must each have spread
        # in both domains: another axis is an arbitrary direction, along which new rows may vary.
        spans = min(len(source), len(target)) >= d
        if k is None:
            return d if spans else directions
        require_integer("n_components", k, 1)
        if k > directions and not (spans and k == d):
            raise ValueError(
                f"n_components must be None or at most {directions}, the directions in which both "
                f"domains vary (source rows {len(source)}, target rows {len(target)}, features "
                f"{d}), got {k!r}."
            )
        return k

    def _map_source(self, Xs: FloatArray) -> FloatArray:
        return self.source_pca_.transform(self.source_scaler_.transform(Xs)) @ self.alignment_

    def _map_target(self, X: FloatArray) -> FloatArray:
        return self.target_pca_.transform(self.target_scaler_.transform(X))


def _directions(X: FloatArray) -> int:
    """Count the directions in which rows differ."""
    differences = X - X[0]  # a constant column becomes zero, not a rounding error
    return int(np.linalg.matrix_rank(differences - differences.mean(axis=0)))
