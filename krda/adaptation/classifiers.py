"""The classifiers that can be named: each gives probabilities and takes weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from krda.validation import FloatArray

CLASSIFIERS = ("svm", "logistic", "forest", "boosting")


class ValidCategories(TransformerMixin, BaseEstimator):
    """Make columns of zeros and ones that an alignment has moved zeros and ones again.

    Each of the ``groups`` has the numbers of the columns that are one category. The largest becomes
    one, the others zero; a column alone becomes what it is nearer to. Zeros alone, a level that is
    unknown, stay.
    """

    def __init__(self, groups: Any = ()) -> None:
        self.groups = groups

    def fit(self, X: Any, y: Any = None) -> ValidCategories:
        """Do nothing: nothing has to be learnt."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def transform(self, X: Any) -> FloatArray:
        """Give rows with valid categories."""
        valid = np.array(X, dtype=np.float64)
        for group in self.groups:
            columns = valid[:, group]
            one = columns >= 0.5 if len(group) == 1 else _first_largest(columns)
            valid[:, group] = one & columns.any(axis=1, keepdims=True)
        return valid


def _first_largest(columns: FloatArray) -> NDArray[np.bool_]:
    return np.arange(columns.shape[1]) == columns.argmax(axis=1)[:, np.newaxis]


def make_classifier(name: str, groups: Any, labels: NDArray[Any], seed: int) -> Any:
    """Make one of the named classifiers; each gives probabilities and takes weights.

    It can be fitted to two thirds of the rows with these labels.
    """
    fewest = int(np.unique(labels, return_counts=True)[1].min())
    n_folds = max(2, min(5, 2 * fewest // 3))
    before = ValidCategories(groups), StandardScaler()
    if name == "svm":
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        calibrated = CalibratedClassifierCV(SVC(random_state=seed), cv=folds, ensemble=False)
        return make_pipeline(*before, calibrated)
    if name == "logistic":
        return make_pipeline(*before, LogisticRegression(max_iter=1000))
    if name == "forest":
        return make_pipeline(before[0], RandomForestClassifier(random_state=seed))
    return make_pipeline(before[0], HistGradientBoostingClassifier(random_state=seed))
