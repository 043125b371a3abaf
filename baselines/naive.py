"""Two adaptations that look at one column at a time; neither is in the paper's tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from baselines.mapping import SourceMapping
from krda.base import AlignedSource
from krda.validation import FloatArray


class DomainStandardization(SourceMapping):
    """Standardise each domain by its own means and standard deviations.

    A source row becomes (x - source mean) / source deviation, a target row (x - target mean) /
    target deviation, column by column. A column that is constant in a domain becomes zero there.
    """

    source_scaler_: StandardScaler
    target_scaler_: StandardScaler

    def __init__(self, classifier: Any = None) -> None:
        self.classifier = classifier

    def _align(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> AlignedSource:
        self.source_scaler_ = StandardScaler().fit(Xs)
        self.target_scaler_ = StandardScaler().fit(Xt)
        return AlignedSource(self._map_source(Xs))

    def _map_source(self, Xs: FloatArray) -> FloatArray:
        return self.source_scaler_.transform(Xs)

    def _map_target(self, X: FloatArray) -> FloatArray:
        return self.target_scaler_.transform(X)


class QuantileMapping(SourceMapping):
    """Give each source column the target's distribution: one-dimensional optimal transport.

    A source value goes to its rank u in its source column and on to the target column's quantile
    at u. The i-th smallest of n values is at u = (i - 1/2) / n in both domains, with straight
    lines in between, so that samples of one size are mapped value to value in order. Equal values
    share the mean of their ranks and stay equal. Beyond the outermost ranks the map is constant:
    nothing leaves the target's range. How columns depend on each other is not adapted.
    """

    values_: list[FloatArray]  # for each column, the different source values, rising
    images_: list[FloatArray]  # where they go in the target

    def __init__(self, classifier: Any = None) -> None:
        self.classifier = classifier

    def _align(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> AlignedSource:
        self.values_, self.images_ = [], []
        target_ranks = (np.arange(len(Xt)) + 0.5) / len(Xt)
        for source, target in zip(Xs.T, Xt.T, strict=True):
            values, counts = np.unique(source, return_counts=True)
            ranks = (np.cumsum(counts) - counts / 2) / len(source)
            self.values_.append(values)
            self.images_.append(np.interp(ranks, target_ranks, np.sort(target)))
        return AlignedSource(self._map_source(Xs))

    def _map_source(self, Xs: FloatArray) -> FloatArray:
        columns = zip(Xs.T, self.values_, self.images_, strict=True)
        return np.column_stack([np.interp(x, values, images) for x, values, images in columns])
