"""The moons with positions and labels drawn at random, so that rows are independent draws."""

from __future__ import annotations

import numpy as np

from experiments.datasets.base import Rows
from experiments.datasets.moons import CENTRE, Moons
from experiments.seeds import derive_seed


class MoonsRandom(Moons):
    """Inter-twinning moons whose rows are independent draws from one distribution.

    Each row is drawn by itself: its label by a fair coin, its angle on the half-circle uniformly
    on [0, pi], and Gaussian noise. Parameters and tasks are those of
    :class:`~experiments.datasets.moons.Moons`; no random number is shared with it, nor between
    source, target and test.
    """

    # No parameter of Moons, because a record of moons depends on all settings of that class.
    name = "moons_random"

    def _draw(self, part: str, n: int) -> Rows:
        rng = np.random.default_rng(derive_seed(self.name, part, self.draw))
        y = rng.integers(0, 2, size=n)
        angle = rng.uniform(0, np.pi, size=n)
        upper = np.column_stack([np.cos(angle), np.sin(angle)]) - CENTRE
        # Half a turn about the centre takes the upper moon to the lower.
        rows = np.where(y[:, np.newaxis] == 0, upper, -upper)
        return rows + rng.normal(scale=self.noise, size=rows.shape), y
