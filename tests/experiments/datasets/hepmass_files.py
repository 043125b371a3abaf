"""Small files in exactly the format of the HEPMASS files, with rows that can be told apart."""

import gzip
import hashlib
import io
from pathlib import Path

import numpy as np

from experiments.datasets.collisions import MASSES
from experiments.datasets.hepmass_raw import NAMES, RawSource

HEADER = b"# label," + b",".join(b"f%d" % i for i in range(27)) + b",mass\n"
#: Rows of each mass and label in a file.
N_EACH = 25


def table(split: str, n_each: int = N_EACH) -> np.ndarray:
    """All columns; f0 numbers the rows, from 0 in training and from 100,000 in the test file."""
    rng = np.random.default_rng(len(split))
    mass = np.repeat([499.999969, 750.0, 1000.0, 1250.0, 1500.0], 2 * n_each)
    label = np.tile([0.0, 1.0], 5 * n_each)
    features = rng.standard_normal((len(mass), 27)).astype(np.float32).astype(np.float64)
    rows = np.column_stack([label, features, mass])[rng.permutation(len(mass))]
    rows[:, 1] = np.arange(len(rows)) + (100_000 if split == "test" else 0)
    return rows


def text_of(rows: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savetxt(stream, rows, fmt="%.18e", delimiter=",")
    return HEADER + stream.getvalue()


def write(folder: Path, split: str, text: bytes | None = None) -> RawSource:
    """Write a gzip file; by default the good one."""
    folder.mkdir(parents=True, exist_ok=True)
    text = text_of(table(split)) if text is None else text
    path = folder / NAMES[split]
    path.write_bytes(gzip.compress(text, compresslevel=1, mtime=0))
    return RawSource(split, path)


def write_both(folder: Path) -> dict[str, RawSource]:
    return {split: write(folder, split) for split in NAMES}


def checksums(sources: dict[str, RawSource]) -> dict[str, str]:
    return {
        NAMES[split]: hashlib.sha256(source.path.read_bytes()).hexdigest()
        for split, source in sources.items()
    }


def expected_arrays(split: str) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Features and labels by mass, straight from the table."""
    rows = table(split)
    masses = np.rint(rows[:, -1])
    return {
        mass: (rows[masses == mass, 1:-1].astype(np.float32), rows[masses == mass, 0])
        for mass in MASSES
    }
