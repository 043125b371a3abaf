"""Train a classifier on weighted rows, whatever classifier it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from krda.scikit import warn_of_offsets
from krda.validation import FloatArray, require_finite


def fit_weighted(
    classifier: Any, X: FloatArray, y: NDArray[Any], weights: FloatArray | None, what: str
) -> Any:
    """Check aligned rows, which errors call ``what``, and fit a classifier to them.

    Without weights all rows count alike.

    Weights go to the classifier's own ``sample_weight``, or to that of a pipeline's last step.
    Other classifiers get fewer rows instead: see :func:`thinning`.
    """
    require_finite(X, what)
    warn_of_offsets(X, classifier)
    if weights is None:
        return classifier.fit(X, y)
    if has_fit_parameter(classifier, "sample_weight"):
        return classifier.fit(X, y, sample_weight=weights)
    if isinstance(classifier, Pipeline) and not get_config()["enable_metadata_routing"]:
        name, last = classifier.steps[-1]
        if has_fit_parameter(last, "sample_weight"):
            return classifier.fit(X, y, **{f"{name}__sample_weight": weights})
    rows = thinning(weights)
    return classifier.fit(X[rows], y[rows])


def thinning(weights: FloatArray) -> NDArray[np.intp]:
    """Choose rows evenly, so that they stand for the weighted sample without weights.

    Of rows of equal weight, the share is kept that the weight is of the largest; two at least.
    """
    kept = []
    for weight in np.unique(weights):
        same = np.flatnonzero(weights == weight)
        n = max(min(2, len(same)), round(len(same) * weight / weights.max()))
        kept.append(same[np.linspace(0, len(same) - 1, n).astype(np.intp)])
    return np.sort(np.concatenate(kept))
