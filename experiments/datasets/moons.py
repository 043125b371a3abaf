"""Two interleaving half-circles; the target is rotated (paper, section 6.2).

The rows are *not* independent draws from a distribution. ``sklearn.datasets.make_moons`` puts n / 2
points on each half-circle at ``np.linspace(0, pi, n // 2)`` and draws nothing but their noise and
their order: without noise, source and target hold the very same positions, and the classes are
equally frequent in every draw. Draws therefore differ by less than draws of independent rows would;
:mod:`experiments.datasets.moons_random` has those.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_moons

from experiments.datasets.base import Rows, Task
from experiments.seeds import derive_seed
from experiments.settings import canonical

#: Centre of the two half-circles without noise: the point they are rotated about.
CENTRE = np.array([0.5, 0.25])


def rotate(X: NDArray[np.float64], degrees: float) -> NDArray[np.float64]:
    """Rotate rows anticlockwise about the origin."""
    angle = np.deg2rad(degrees)
    return X @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


@dataclass
class Moons:
    """Inter-twinning moons: source as drawn, target rotated; task ``40`` is 40 degrees.

    Any other angle is drawn on request. The seeds do not depend on the angle: two tasks differ by
    the rotation alone. ``noise`` is a standard deviation, which the paper does not state. Another
    ``draw`` gives other noise and another order of the rows. Labels: 0 upper, 1 lower moon.
    """

    name = "moons"

    task_names = tuple(str(angle) for angle in range(10, 100, 10))

    n_source: int = 300
    n_target: int = 300
    n_test: int = 1000
    noise: float = 0.05
    draw: int = 0

    def task(self, name: str) -> Task:
        """Draw the task of one angle, which is its name."""
        try:
            angle = float(name)
        except ValueError:
            angle = np.nan
        if not np.isfinite(angle):
            raise ValueError(f"A moons task is named by its angle in degrees, got {name!r}.")
        Xt, yt = self._draw("target", self.n_target)
        X_test, y_test = self._draw("test", self.n_test)
        return Task.lock(
            self.name,
            str(canonical(angle)),
            source=self._draw("source", self.n_source),
            target=(rotate(Xt, angle), yt),
            test=(rotate(X_test, angle), y_test),
        )

    def _draw(self, part: str, n: int) -> Rows:
        seed = derive_seed("moons", part, self.draw)
        X, y = make_moons(n, noise=self.noise, random_state=seed)
        return X - CENTRE, y
