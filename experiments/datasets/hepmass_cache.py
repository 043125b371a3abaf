"""The prepared HEPMASS data: what the raw files become, and how a task loads it.

The folder ``hepmass/prepared`` in the project's cache holds for each split and mass two NumPy
files, ``train_500_X.npy`` (float32, n x 27) and ``train_500_y.npy`` (int8, n), and a manifest. Rows
keep the order of the raw files. They are memory-mapped: a task that draws a few thousand rows reads
a few thousand rows. Loading compares sizes and shapes with the manifest; it reads no raw file and
computes no checksum.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from experiments.datasets import raw
from experiments.datasets.collisions import FEATURES, MASSES
from experiments.datasets.hepmass_raw import FOLDER, NAMES

#: Number of the layout; a folder of another layout is prepared again.
SCHEMA = 1
MANIFEST_NAME = "manifest.json"


class PreparedDataError(ValueError):
    """A folder of prepared data that is absent, damaged or of another layout."""


@dataclass(frozen=True)
class Manifest:
    """What a prepared folder holds.

    Attributes
    ----------
    schema : int
        ``SCHEMA``.
    raw_sha256 : dict of str to str
        Checksum of the raw file of each split.
    counts : dict of str to dict of str to [int, int]
        By split and mass: rows of background and of the resonance.
    sizes : dict of str to int
        Bytes of each data file.
    """

    schema: int
    raw_sha256: dict[str, str]
    counts: dict[str, dict[str, list[int]]]
    sizes: dict[str, int]

    def n_rows(self, split: str, mass: int) -> int:
        """Return the number of rows of a split and mass."""
        return sum(self.counts[split][str(mass)])

    def to_json(self) -> str:
        """Return the manifest as text."""
        return json.dumps(asdict(self), indent=2) + "\n"


def prepared_folder() -> Path:
    """Return where prepared data lies, in the project's cache; it need not exist yet."""
    return raw.cache_directory() / FOLDER / "prepared"


def array_name(split: str, mass: int, kind: Literal["X", "y"]) -> str:
    """Return the name of a data file: ``train_500_X.npy``."""
    return f"{split}_{mass}_{kind}.npy"


def read_manifest(folder: Path) -> Manifest:
    """Read a prepared folder's manifest and compare the files' sizes with it.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    manifest : Manifest

    Raises
    ------
    PreparedDataError
        No manifest, a damaged one, one of another layout, or a file of another size.
    """
    path = folder / MANIFEST_NAME
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        if content["schema"] != SCHEMA:
            raise PreparedDataError(
                f"{folder} has layout {content['schema']}; expected layout {SCHEMA}."
            )
        manifest = Manifest(**content)
        expected = {array_name(s, m, kind) for s in NAMES for m in MASSES for kind in ("X", "y")}
        if set(manifest.sizes) != expected or set(manifest.raw_sha256) != set(NAMES):
            raise KeyError("files")
        for split in NAMES:
            for mass in MASSES:
                manifest.n_rows(split, mass)
    except FileNotFoundError as error:
        raise PreparedDataError(f"{folder} holds no prepared HEPMASS data: {error}.") from error
    except PreparedDataError:
        raise
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise PreparedDataError(f"{path} is damaged: {error!r}.") from error
    for name, size in manifest.sizes.items():
        file = folder / name
        actual = file.stat().st_size if file.is_file() else None
        if actual != size:
            got = "none" if actual is None else f"{actual} bytes"
            raise PreparedDataError(f"{file}: expected {size} bytes, got {got}.")
    return manifest


def load_rows(
    folder: Path, manifest: Manifest, split: str, mass: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Map the rows of one split and mass into memory.

    Parameters
    ----------
    folder : Path
    manifest : Manifest
        Of this folder.
    split : str
        ``train`` or ``test``.
    mass : int
        GeV.

    Returns
    -------
    X : ndarray of shape (n, 27), float32, read-only
    y : ndarray of shape (n,), int8, read-only
        1 for the resonance, 0 for background.

    Raises
    ------
    PreparedDataError
        A file that is no such array.
    """
    n = manifest.n_rows(split, mass)
    expected = {"X": ("<f4", (n, len(FEATURES))), "y": ("|i1", (n,))}
    arrays = []
    for kind in ("X", "y"):
        path = folder / array_name(split, mass, kind)
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise PreparedDataError(f"{path} cannot be read: {error}.") from error
        if (array.dtype.str, array.shape) != expected[kind]:
            raise PreparedDataError(
                f"{path}: expected {expected[kind]}, got {(array.dtype.str, array.shape)}."
            )
        arrays.append(array)
    return arrays[0], arrays[1]
