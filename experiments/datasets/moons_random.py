"""The moons with positions and labels drawn at random, so that rows are independent draws."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from experiments.datasets.moons import Moons
from experiments.seeds import derive_seed

# Of the two half-circles, which the target is rotated about.
_CENTRE = np.array([0.5, 0.25])


class MoonsRandom(Moons):
    """Inter-twinning moons whose rows are independent draws from one distribution.

    Each row is drawn by itself: its label by a fair coin, its angle on the half-circle uniformly
    on [0, pi], and the same Gaussian noise as in :class:`~experiments.datasets.moons.Moons`, which
    tells what the usual moons do instead. Parameters and tasks are those of that class. No random
    number is shared with it, nor between source, target and test.
    """

    # A class and a config of its own and no parameter of the other's: that one's code and config
    # are part of the identity of every committed record of moons.
    name = "moons_random"

    def _draw(self, part: str, n: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        rng = np.random.default_rng(derive_seed(self.name, part, self.draw))
        y = rng.integers(0, 2, size=n)
        angle = rng.uniform(0, np.pi, size=n)
        upper = np.column_stack([np.cos(angle), np.sin(angle)]) - _CENTRE
        # Half a turn about the centre takes the upper moon to the lower.
        rows = np.where(y[:, np.newaxis] == 0, upper, -upper)
        return rows + rng.normal(scale=self.noise, size=rows.shape), y
