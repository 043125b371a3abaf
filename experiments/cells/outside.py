"""Estimators from elsewhere as methods of the benchmark, by their dotted name in a config.

::

    name: coral
    label: CORAL (skada)
    family: alignment
    _target_: experiments.cells.outside.Outside
    estimator:
      _target_: skada.CORAL
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn

from krda.base import DomainAdaptationClassifier


class Outside(DomainAdaptationClassifier):
    """Any estimator with skada's ``fit(X, y, sample_domain=...)``: 1 is the source, -2 the target.

    Target rows come with the label -1, skada's mark for an unknown one.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def _fit(self, Xs: Any, ys: Any, Xt: Any) -> None:
        self.classes_, codes = np.unique(ys, return_inverse=True)
        y = np.concatenate([codes, np.full(len(Xt), -1)])
        domains = np.repeat([1, -2], [len(Xs), len(Xt)])
        with sklearn.config_context(enable_metadata_routing=True):
            self.estimator.fit(np.concatenate([Xs, Xt]), y, sample_domain=domains)

    def predict(self, X: Any) -> Any:
        """Predict labels of target rows."""
        X = self._validate_target(X)
        with sklearn.config_context(enable_metadata_routing=True):
            codes = self.estimator.predict(X, sample_domain=np.full(len(X), -2))
        return self.classes_[codes.astype(int)]
