"""Simulated HEPMASS: the tasks of the paper's section 6 on rows of a built-in Monte Carlo.

The real files are 8 GB and cannot be shipped. This simulator replaces them: the same final
state, features and masses, another sample of another (simpler) simulation. docs/hepmass_sim.md
compares it with what is published of the real data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from experiments.datasets.base import Rows
from experiments.datasets.collider.generator import Kind
from experiments.datasets.collider.normalisation import normalise
from experiments.datasets.collider.simulation import simulate
from experiments.datasets.collisions import CollisionTasks
from experiments.seeds import derive_seed

_KINDS: tuple[Kind, ...] = ("background", "signal")

# Rows of a mass: this many times what a task of the paper's size draws.
_POOL_FACTOR = 4
_PAPER_ROWS = {"training": 1000, "test": 2000}


@dataclass
class HepmassSim(CollisionTasks):
    """Tasks between resonance masses, on simulated collisions.

    A mass has a pool of training rows and another of test rows, half signal and half background
    each, four times what a task draws. Pools depend on ``simulation``, mass and part alone, and
    grow with sizes above the paper's; they are simulated when first needed and kept for the life of
    the process. Another ``draw`` gives other rows of the same pools.
    """

    name = "hepmass_sim"

    simulation: int = 0

    def rows(self, mass: int, part: str) -> Rows:
        """The pool of a mass, read-only; part is "training" or "test"."""
        drawn = max(self.n_source, self.n_target) if part == "training" else self.n_test
        n = _POOL_FACTOR * max(_PAPER_ROWS[part], drawn)
        return _pool(self.simulation, mass, part, n // 2)


@lru_cache(maxsize=64)
def _pool(simulation: int, mass: int, part: str, n_each: int) -> Rows:
    """Simulate background and signal, ``n_each`` rows of both, each by a seed of its own."""
    parts = []
    for kind in _KINDS:
        seed = derive_seed("hepmass_sim", "simulation", simulation, mass, kind, part)
        parts.append(normalise(simulate(kind, mass, n_each, np.random.default_rng(seed))))
    X, y = np.concatenate(parts), np.repeat(np.arange(len(_KINDS)), n_each)
    X.setflags(write=False)
    y.setflags(write=False)
    return X, y
