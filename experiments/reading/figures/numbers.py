"""Numbers that figures show beyond the records: CSV files beside them, made by experiments.fits."""

from __future__ import annotations

import io
from pathlib import Path

import pandas as pd

from experiments.whole_files import write_text

# One task of each data set; of HEPMASS's the paper's second, with a wide gap between the masses.
TRAINED = {"moons": "40", "hepmass": "500-1000", "hepmass_sim": "500-1000", "amazon": "B-D"}
COMPONENTS = (2, 3, 5)
GAUSSIANS = ("2-3", "3-2", "4-8")


def save(frame: pd.DataFrame, path: Path, identity: str = "", digits: int = 5) -> None:
    """Write a CSV file, whole; the identity of what it was made from is in the first line."""
    head = f"# {identity}\n" if identity else ""
    text = frame.to_csv(index=False, lineterminator="\n", float_format=f"%.{digits}g")
    write_text(path, head + text)


def load(path: Path) -> tuple[pd.DataFrame, str]:
    """Read what :func:`save` wrote, and its identity; ValueError if it was damaged since."""
    text = path.read_text(encoding="ascii")
    frame = pd.read_csv(io.StringIO(text), comment="#", dtype={"task": str, "identity": str})
    if frame.empty or frame.isna().any(axis=None):
        raise ValueError(f"{path} is damaged. Delete it; it is then computed again.")
    return frame, text.partition("\n")[0][2:] if text.startswith("# ") else ""


def read_stored(directory: Path, name: str) -> pd.DataFrame | None:
    """What is stored under a name, whatever it was made by; None if nothing is."""
    path = directory / f"{name}.csv"
    return load(path)[0] if path.is_file() else None
