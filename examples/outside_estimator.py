"""A method from another library under the benchmark's protocol: CORAL from skada on moons.

    python examples/outside_estimator.py

A method is anything with ``fit(Xs, ys, Xt)`` and ``predict(X)``; target labels never reach it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from skada import CORAL
from sklearn.svm import SVC

from experiments.cells.protocol import Protocol, draw_repetition, measure
from experiments.datasets.moons import Moons


class Outside:
    """A pipeline of skada as a method of the benchmark."""

    def __init__(self, pipeline: Any) -> None:
        self.pipeline = pipeline

    def fit(self, Xs: Any, ys: Any, Xt: Any) -> Outside:
        """Join both domains to the one table that skada wants, target labels masked by -1."""
        y = np.concatenate([ys, np.full(len(Xt), -1)])
        domain = np.concatenate([np.ones(len(Xs)), np.full(len(Xt), -1)])
        self.pipeline.fit(np.vstack([Xs, Xt]), y, sample_domain=domain)
        return self

    def predict(self, X: Any) -> Any:
        """Predict labels of target rows."""
        return self.pipeline.predict(X)


if __name__ == "__main__":
    task, protocol = Moons().task("40"), Protocol()
    for repetition in range(protocol.n_repetitions):
        data = draw_repetition(task, repetition, protocol)
        found = measure(lambda seed: Outside(CORAL(SVC())), data, seed=0)
        print(f"repetition {repetition}: {100 * found.accuracy:.1f} %")
