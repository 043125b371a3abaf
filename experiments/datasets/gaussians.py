"""Two-dimensional mixtures of Gaussians, m components to n (paper, section 6.2 and figure 1)."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.datasets.base import LockedLabels, Task
from experiments.seeds import derive_seed

FloatArray = NDArray[np.float64]

_NAME = re.compile(r"([1-9][0-9]?)-([1-9][0-9]?)", re.ASCII)


@dataclass(frozen=True)
class Mixture:
    """A mixture of Gaussians whose components have the same weight.

    Attributes
    ----------
    means : ndarray of shape (k, 2)
    factors : ndarray of shape (k, 2, 2)
        Square roots of the covariances: component j is ``means[j] + factors[j] z``, z standard
        normal.
    """

    means: FloatArray
    factors: FloatArray

    def draw(self, n: int, seed: int) -> tuple[FloatArray, NDArray[np.int64]]:
        """Draw rows and the numbers of the components that they come from.

        Parameters
        ----------
        n : int
        seed : int

        Returns
        -------
        X : ndarray of shape (n, 2)
        component : ndarray of shape (n,)
        """
        rng = np.random.default_rng(seed)
        component = rng.integers(len(self.means), size=n)
        noise = rng.standard_normal((n, 2))
        X = self.means[component] + np.einsum("nij,nj->ni", self.factors[component], noise)
        return X, component


class Gaussians:
    """Mixtures of m Gaussians as the source, of n others as the target.

    The paper shows the transport of 2 to 3, 3 to 2 and 4 to 8 components and states the number of
    rows, but neither means nor covariances. Here the means stand evenly on a circle, the target's
    circle beside the source's; the axes of each component are drawn at random.

    The labels are the numbers of the components. Those of the source have no counterpart in the
    target, so an accuracy on these tasks says nothing; they are here to be looked at.

    Parameters
    ----------
    tasks : sequence of str, default=("2-3", "3-2", "4-8")
        Numbers of components of source and target, 1 to 99; others are drawn on request. A source
        of one component has one label, which no classifier can be trained on.
    n_source, n_target, n_test : int, default=1000
        Rows (paper: 1000 for source and target).
    radius : float, default=3.5
        Of the circles of means.
    distance : float, default=11
        Of the circles' centres, along the first axis.
    sd : sequence of two float, default=(0.25, 0.6)
        Range of the standard deviations along a component's axes.
    draw : int, default=0
        Number of the data draw; another number gives other mixtures and other rows.
    """

    name = "gaussians"

    def __init__(
        self,
        tasks: tuple[str, ...] = ("2-3", "3-2", "4-8"),
        n_source: int = 1000,
        n_target: int = 1000,
        n_test: int = 1000,
        radius: float = 3.5,
        distance: float = 11.0,
        sd: tuple[float, float] = (0.25, 0.6),
        draw: int = 0,
    ) -> None:
        self.tasks = tasks
        self.n_source = n_source
        self.n_target = n_target
        self.n_test = n_test
        self.radius = radius
        self.distance = distance
        self.sd = sd
        self.draw = draw

    @property
    def task_names(self) -> tuple[str, ...]:
        """Numbers of components, source and target: "2-3", "3-2", "4-8"."""
        return tuple(self.tasks)

    def mixtures(self, name: str) -> tuple[Mixture, Mixture]:
        """The two distributions of a task.

        Parameters
        ----------
        name : str
            Such as "2-3".

        Returns
        -------
        source, target : Mixture

        Raises
        ------
        ValueError
            A name that is not two numbers from 1 to 99 with a hyphen between them.
        """
        match = _NAME.fullmatch(name)
        if match is None:
            raise ValueError(
                "A task of Gaussians is named by its components in source and target, such as "
                f"'2-3', each 1 to 99; got {name!r}."
            )
        m, n = (int(number) for number in match.groups())
        return self._mixture(name, "source", m, 0.0), self._mixture(name, "target", n,
                                                                    self.distance)  # fmt: skip

    def task(self, name: str) -> Task:
        """Draw the task of one pair of mixtures.

        Parameters
        ----------
        name : str
            Such as "2-3".

        Returns
        -------
        task : Task
            Labels are the components' numbers, from 0.

        Raises
        ------
        ValueError
            As :meth:`mixtures`.
        """
        source, target = self.mixtures(name)
        Xs, ys = source.draw(self.n_source, self._seed(name, "source rows"))
        Xt, yt = target.draw(self.n_target, self._seed(name, "target rows"))
        X_test, y_test = target.draw(self.n_test, self._seed(name, "test rows"))
        return Task(
            dataset=self.name,
            name=name,
            Xs=Xs,
            ys=ys,
            Xt=Xt,
            yt=LockedLabels(yt),
            X_test=X_test,
            y_test=LockedLabels(y_test),
        )

    def _seed(self, name: str, part: str) -> int:
        return derive_seed("gaussians", name, part, self.draw)

    def _mixture(self, name: str, part: str, k: int, shift: float) -> Mixture:
        rng = np.random.default_rng(self._seed(name, f"{part} mixture"))
        angles = rng.uniform(0, 2 * np.pi) + 2 * np.pi * np.arange(k) / k
        means = self.radius * np.column_stack([np.cos(angles), np.sin(angles)])
        turns = rng.uniform(0, np.pi, size=k)
        cos, sin = np.cos(turns), np.sin(turns)
        axes = np.stack([np.stack([cos, -sin], -1), np.stack([sin, cos], -1)], -2)
        sd = rng.uniform(*self.sd, size=(k, 1, 2))
        return Mixture(means + np.array([shift, 0.0]), axes * sd)
