"""The classifiers that can be named: each gives probabilities and takes weights."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from krda.validation import FloatArray

#: Numbers of rows on which a fit is timed, to tell how long one of all rows takes.
TIMED_ROWS = 1000, 3000

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


def seconds_of_fit(classifier: Any, X: FloatArray, y: NDArray[Any]) -> float:
    """Tell about how long a fit to all rows takes, from fits to :data:`TIMED_ROWS` of them."""
    order = np.random.default_rng(0).permutation(len(y))
    few = [order[y[order] == label][:8] for label in np.unique(y)]  # enough for all folds
    seconds = []
    for n in TIMED_ROWS:
        rows = np.unique(np.concatenate([order[:n], *few]))
        start = time.perf_counter()
        with warnings.catch_warnings(action="ignore"):
            clone(classifier).fit(X[rows], y[rows])
        seconds.append(time.perf_counter() - start)
    return extrapolated(seconds, len(y))


def extrapolated(seconds: list[float], n: int) -> float:
    """Seconds for n rows: those of :data:`TIMED_ROWS` grow by a power of n between 1 and 3."""
    (first, last), power = TIMED_ROWS, np.log(seconds[1] / seconds[0])
    return float(seconds[1] * (n / last) ** np.clip(power / np.log(last / first), 1, 3))
