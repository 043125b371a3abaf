"""A method from another library under the benchmark's protocol: CORAL from skada on moons.

    pip install skada
    PYTHONPATH=. python examples/outside_estimator.py

A method is anything with ``fit(Xs, ys, Xt)`` and ``predict(X)``; target labels never reach it.
"""

from __future__ import annotations

from skada import CORAL
from sklearn.svm import SVC

from experiments.cells.outside import Outside
from experiments.cells.protocol import Protocol, draw_repetition, measure
from experiments.datasets.moons import Moons

if __name__ == "__main__":
    task, protocol = Moons().task("40"), Protocol()
    for repetition in range(protocol.n_repetitions):
        data = draw_repetition(task, repetition, protocol)
        found = measure(lambda seed: Outside(CORAL(SVC())), data, seed=0)
        print(f"repetition {repetition}: {100 * found.accuracy:.1f} %")
