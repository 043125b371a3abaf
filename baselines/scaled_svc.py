"""The common classifier behind a scaler, for tables whose columns have units of their own."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC


class ScaledSVC(ClassifierMixin, BaseEstimator):
    """``make_pipeline(StandardScaler(), SVC())`` whose ``fit`` takes the weights of rows.

    A pipeline of scikit-learn's does not, and kernel mean matching needs them. They weigh the
    machine's errors; the scaler counts all rows alike.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    pipeline_ : Pipeline
        The fitted scaler and machine.
    """

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the scaler and the machine to rows, their labels and, if given, their weights."""
        pipeline = make_pipeline(StandardScaler(), SVC())
        self.pipeline_ = pipeline.fit(X, y, svc__sample_weight=sample_weight)
        self.classes_: NDArray[Any] = self.pipeline_.classes_
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict labels."""
        labels: NDArray[Any] = self.pipeline_.predict(X)
        return labels
