"""The two reference rows of every table: 'Source only' and 'Target only'.

:class:`TargetOnly`, the upper reference, is the one method that gets target labels. It is therefore
no :class:`~krda.base.DomainAdaptationClassifier` but a type of its own with another signature,
``fit(Xt, yt)``: code that runs adaptation methods cannot pass it target labels by mistake.
:mod:`experiments.cells.protocol` describes the label firewall.
"""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from krda.base import AlignedClassifier, AlignedSource
from krda.scikit import fresh_fit, new_classifier
from krda.validation import (
    FloatArray,
    check_labels,
    check_rows,
    check_same_columns,
    remember_columns,
)


class SourceOnly(AlignedClassifier):
    """Train on the source as it is: no adaptation.

    The target rows given to ``fit`` are checked as everywhere, then ignored.
    """

    def __init__(self, classifier: Any = None) -> None:
        self.classifier = classifier

    def _align(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> AlignedSource:
        return AlignedSource(Xs)


class TargetOnly(ClassifierMixin, BaseEstimator):
    """Train on target rows *with their labels*: what adaptation aims at, not adaptation."""

    classes_: NDArray[Any]
    classifier_: Any
    n_features_in_: int

    def __init__(self, classifier: Any = None) -> None:
        self.classifier = classifier

    def fit(self, Xt: ArrayLike, yt: ArrayLike) -> Self:
        """Fit the classifier to labelled target rows."""
        with fresh_fit(self):
            rows = check_rows(Xt, "Xt", 2)
            remember_columns(self, Xt)
            labels, classes = check_labels(yt, rows, "yt")
            self.classes_ = classes
            classifier = new_classifier(self.classifier)
            self.classifier_ = classifier.fit(rows, labels)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the labels of target rows."""
        check_is_fitted(self)
        return self.classifier_.predict(
            check_same_columns(self, X, name="X", fitted="Xt", min_rows=1)
        )
