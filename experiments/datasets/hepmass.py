"""HEPMASS, the real data: twenty tasks between five masses (paper, section 6, "Hepmass").

Data set 347 of the UCI Machine Learning Repository (Baldi et al. 2016, arXiv:1601.07913). Of its
six files two are used, which hold all five masses. Comma-separated: a header line
``# label,f0,...,f26,mass``; the label is 1 for the resonance and 0 for background; 27 features,
already normalised; the mass in GeV, with rounding errors (499.999969 for 500).

They become a folder in the project's cache with one file for each part and mass,
``training_500.npy``: float32 of shape (n, 28), label first, rows in the order of the raw file. A
task that draws a few thousand rows from the memory-mapped file reads a few thousand rows.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from experiments.datasets import raw
from experiments.datasets.base import Rows
from experiments.datasets.collisions import FEATURES, MASSES, CollisionTasks

#: Raw file of each part.
FILES = {"training": "all_train.csv.gz", "test": "all_test.csv.gz"}

_HEADER = ["# label", *(f"f{i}" for i in range(len(FEATURES))), "mass"]
_CHUNK_ROWS = 100_000


class Hepmass(CollisionTasks):
    """The HEPMASS collisions, as they are in the files: already normalised.

    A domain is the rows with its mass: the resonance of that mass, and the background rows that the
    files give the same mass label at random. The first task prepares the raw files, which takes
    minutes; later ones load what was prepared. Nothing is ever downloaded here.
    """

    name = "hepmass"

    def rows(self, mass: int, part: str) -> Rows:
        """Rows and labels of a mass, mapped into memory; part is "training" or "test"."""
        path = ensure_prepared() / f"{part}_{mass}.npy"
        try:
            rows = np.load(path, mmap_mode="r", allow_pickle=False)
            return rows[:, 1:], rows[:, 0]
        except (OSError, ValueError, EOFError, IndexError) as error:
            raise raw.RawDataError(
                f"{path} is damaged: {error}. Delete the folder {path.parent} and prepare the data "
                "again with: python scripts/fetch_data.py hepmass"
            ) from error


def prepared_folder() -> Path:
    """Return the folder of prepared data, which need not exist; it is named by the raw files."""
    names = "-".join(file.sha256[:8] for file in raw.raw_files("hepmass"))
    return raw.cache_directory() / "hepmass" / f"prepared-{names}"


def available() -> bool:
    """Whether tasks can be drawn without a download; reads and verifies nothing."""
    return prepared_folder().is_dir() or all(map(raw.is_there, raw.raw_files("hepmass")))


def ensure_prepared() -> Path:
    """Return the folder of prepared data; make it from raw files on this computer if need be.

    The folder gets its name when it is whole. Another process waits for the one that prepares; if
    that dies, the lock dies with it, and what it left is removed.
    """
    folder = prepared_folder()
    if not folder.is_dir():
        paths = {file.name: raw.find(file, download=False) for file in raw.raw_files("hepmass")}
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder}.lock"):
            if not folder.is_dir():
                _prepare(paths, folder)
    return folder


def _prepare(paths: dict[str, Path], folder: Path) -> None:
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        for part, name in FILES.items():
            print(f"Preparing {paths[name]}, which takes minutes", file=sys.stderr, flush=True)
            for mass, rows in _read_rows(paths[name]).items():
                np.save(partial / f"{part}_{mass}.npy", rows)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _read_rows(path: Path) -> dict[int, NDArray[np.float32]]:
    """Read a raw file: for each mass its rows, the label and the 27 features."""
    import pandas as pd  # to ask whether the files are there must be quick

    parts: dict[int, list[NDArray[np.float32]]] = {mass: [] for mass in MASSES}
    for chunk in pd.read_csv(path, chunksize=_CHUNK_ROWS, dtype=np.float64):
        rows = chunk.iloc[:, :-1].to_numpy().astype(np.float32)
        masses = np.rint(chunk.iloc[:, -1].to_numpy())
        if list(chunk.columns) != _HEADER or not np.isin(masses, MASSES).all():
            raise raw.RawDataError(
                f"{path} has the right checksum, but not the expected content: the columns "
                f"{_HEADER} and masses {MASSES}. Please report it."
            )
        for mass in MASSES:
            parts[mass].append(rows[masses == mass])
    return {mass: np.concatenate(parts.pop(mass)) for mass in MASSES}
