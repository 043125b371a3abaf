"""Two-dimensional mixtures of Gaussians, m components to n (paper, section 6.2 and figure 1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.datasets.base import Rows, Task
from experiments.seeds import derive_seed

_NAME = re.compile(r"([1-9][0-9]?)-([1-9][0-9]?)", re.ASCII)


class Mixture(NamedTuple):
    """A mixture of k Gaussians of equal weight: row = means[j] + factors[j] z, z standard normal.

    ``means`` has shape (k, 2); ``factors``, square roots of the covariances, (k, 2, 2).
    """

    means: NDArray[np.float64]
    factors: NDArray[np.float64]

    def draw(self, n: int, seed: int) -> Rows:
        """Draw rows and the numbers of the components that they come from."""
        rng = np.random.default_rng(seed)
        component = rng.integers(len(self.means), size=n)
        noise = rng.standard_normal((n, 2))
        X = self.means[component] + np.einsum("nij,nj->ni", self.factors[component], noise)
        return X, component


@dataclass
class Gaussians:
    """Mixtures of m Gaussians as the source, of n others as the target: task ``2-3``.

    The paper shows 2 to 3, 3 to 2 and 4 to 8 components (others, up to 99, are drawn on request)
    and states the number of rows, but neither means nor covariances. Here the means are evenly
    spaced on a circle of ``radius``, the target's circle at ``distance`` along the first axis; the
    axes of each component are random, with standard deviations in the range ``sd``.

    Labels are the numbers of the components. Those of the source have no counterpart in the
    target, so an accuracy on these tasks says nothing; they are here to be looked at.
    """

    name = "gaussians"

    task_names = ("2-3", "3-2", "4-8")

    n_source: int = 1000
    n_target: int = 1000
    n_test: int = 1000
    radius: float = 3.5
    distance: float = 11.0
    sd: tuple[float, float] = (0.25, 0.6)
    draw: int = 0

    def task(self, name: str) -> Task:
        """Draw the task of one pair of mixtures."""
        match = _NAME.fullmatch(name)
        if match is None:
            raise ValueError(
                "A task of Gaussians is named by its components in source and target, such as "
                f"'2-3', each 1 to 99; got {name!r}."
            )
        source = self.mixture(name, "source", int(match[1]), 0.0)
        target = self.mixture(name, "target", int(match[2]), self.distance)
        return Task.lock(
            self.name,
            name,
            source=source.draw(self.n_source, self._seed(name, "source rows")),
            target=target.draw(self.n_target, self._seed(name, "target rows")),
            test=target.draw(self.n_test, self._seed(name, "test rows")),
        )

    def _seed(self, name: str, part: str) -> int:
        return derive_seed("gaussians", name, part, self.draw)

    def mixture(self, name: str, part: str, k: int, shift: float) -> Mixture:
        """The distribution of a domain: k components around ``shift`` on the first axis."""
        rng = np.random.default_rng(self._seed(name, f"{part} mixture"))
        angles = rng.uniform(0, 2 * np.pi) + 2 * np.pi * np.arange(k) / k
        means = self.radius * np.column_stack([np.cos(angles), np.sin(angles)])
        turns = rng.uniform(0, np.pi, size=k)
        cos, sin = np.cos(turns), np.sin(turns)
        axes = np.stack([np.stack([cos, -sin], -1), np.stack([sin, cos], -1)], -2)
        sd = rng.uniform(*self.sd, size=(k, 1, 2))
        return Mixture(means + np.array([shift, 0.0]), axes * sd)
