"""What the real and the simulated HEPMASS share: features, masses, and how tasks are drawn.

HEPMASS (Baldi et al. 2016, arXiv:1601.07913) separates the decay of a heavy resonance into a pair
of top quarks from the Standard Model's own pairs. The resonance has one of five masses, each of
which is a domain (paper, section 6, "Hepmass"); a task goes from one mass to another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from experiments.datasets.base import Rows, Task, require_task
from experiments.seeds import derive_seed

#: Masses of the resonance in GeV, one domain each.
MASSES = (500, 750, 1000, 1250, 1500)

#: The 27 features in the order of the files.
FEATURES = (
    "lepton_pt", "lepton_eta", "lepton_phi", "missing_energy_magnitude", "missing_energy_phi",
    "n_jets",
    "jet_1_pt", "jet_1_eta", "jet_1_phi", "jet_1_b_tag",
    "jet_2_pt", "jet_2_eta", "jet_2_phi", "jet_2_b_tag",
    "jet_3_pt", "jet_3_eta", "jet_3_phi", "jet_3_b_tag",
    "jet_4_pt", "jet_4_eta", "jet_4_phi", "jet_4_b_tag",
    "m_jj", "m_jjj", "m_lv", "m_jlv", "m_wwbb",
)  # fmt: skip


@dataclass
class CollisionTasks(ABC):
    """Tasks between the masses: ``500-750`` is from 500 to 750 GeV.

    Source and target rows are drawn from the masses' training rows, test rows from the target's
    test rows, without replacement: no test row can be a training row. Another ``draw`` gives other
    rows. Labels are 1 for the resonance, 0 for background. The sizes are the paper's.
    """

    name = "collisions"
    task_names = tuple(f"{source}-{target}" for source, target in permutations(MASSES, 2))

    n_source: int = 1000
    n_target: int = 500
    n_test: int = 2000
    draw: int = 0

    @abstractmethod
    def rows(self, mass: int, part: str) -> Rows:
        """All "training" or "test" rows of a mass, of shape (n, 27), and their labels."""

    def task(self, name: str) -> Task:
        """Draw the rows of one task."""
        require_task(self, name)
        source, target = map(int, name.split("-"))
        return Task.lock(
            self.name,
            name,
            source=self._pick(name, "source", self.rows(source, "training"), self.n_source),
            target=self._pick(name, "target", self.rows(target, "training"), self.n_target),
            test=self._pick(name, "test", self.rows(target, "test"), self.n_test),
        )

    def _pick(self, name: str, part: str, rows: Rows, n: int) -> Rows:
        X, y = rows
        if len(X) < n:
            raise ValueError(f"{self.name}/{name}: expected {n} {part} rows or more, got {len(X)}.")
        rng = np.random.default_rng(derive_seed(self.name, name, part, self.draw))
        chosen = np.sort(rng.choice(len(X), size=n, replace=False))
        return X[chosen].astype(np.float64), y[chosen].astype(np.int64)
