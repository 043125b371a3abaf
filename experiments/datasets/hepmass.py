"""HEPMASS, the real data: twenty tasks between five masses (paper, section 6, "Hepmass")."""

from __future__ import annotations

import numpy as np

from experiments.datasets import hepmass_prepare
from experiments.datasets.base import Rows
from experiments.datasets.collisions import CollisionTasks
from experiments.datasets.raw import RawDataError


class Hepmass(CollisionTasks):
    """The HEPMASS collisions, as they are in the files: already normalised.

    A domain is the rows with its mass: the resonance of that mass, and the background rows that the
    files give the same mass label at random. The first task prepares the raw files, which takes
    minutes; later ones load what was prepared. Nothing is ever downloaded here.
    """

    name = "hepmass"

    @staticmethod
    def available() -> bool:
        """Whether tasks can be drawn without a download; reads no data."""
        return hepmass_prepare.available()

    def rows(self, mass: int, part: str) -> Rows:
        """Rows and labels of a mass, mapped into memory; part is "training" or "test"."""
        path = hepmass_prepare.ensure_prepared() / f"{part}_{mass}.npy"
        try:
            rows = np.load(path, mmap_mode="r", allow_pickle=False)
            return rows[:, 1:], rows[:, 0]
        except (OSError, ValueError, EOFError, IndexError) as error:
            raise RawDataError(
                f"{path} is damaged: {error}. Delete the folder {path.parent} and prepare the data "
                "again with: python scripts/fetch_data.py hepmass"
            ) from error
