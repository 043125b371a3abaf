"""Numbers that figures show beyond the records: CSV files beside them, made by experiments.fits."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from experiments.whole_files import write_text

ROWS = ("kind", "label", "x", "y")
CURVES = (
    "step", "source_train", "source_held_out", "target_train", "target_held_out", "kept",
)  # fmt: skip
MARGINALS = ("task", "identity", "column", "before", "after")

# One task of each data set; of HEPMASS's the paper's second, with a wide gap between the masses.
TRAINED = {"moons": "40", "hepmass": "500-1000", "hepmass_sim": "500-1000", "amazon": "B-D"}
COMPONENTS = (2, 3, 5)
GAUSSIANS = ("2-3", "3-2", "4-8")


def save(frame: pd.DataFrame, path: Path, identity: str = "", digits: int = 5) -> None:
    """Write a CSV file, whole; the identity of what it was made from is in the first line."""
    head = f"# {identity}\n" if identity else ""
    text = frame.to_csv(index=False, lineterminator="\n", float_format=f"%.{digits}g")
    write_text(path, head + text)


def load(path: Path, columns: Sequence[str]) -> tuple[pd.DataFrame, str]:
    """Read what :func:`save` wrote, and its identity; ValueError if it was damaged since."""
    text = path.read_text(encoding="ascii", errors="replace")
    try:
        types = {"task": str, "identity": str}
        frame = pd.read_csv(io.StringIO(text), comment="#", dtype=types)
        whole = list(frame) == list(columns) and len(frame) > 0 and frame.notna().all(axis=None)
    except ValueError:
        whole = False
    if not whole:
        raise ValueError(
            f"{path} does not hold the numbers of a figure, with the columns {', '.join(columns)}; "
            "delete it and let them be computed again."
        )
    return frame, text.partition("\n")[0][2:] if text.startswith("# ") else ""


def read_stored(directory: Path, name: str, columns: Sequence[str] = ROWS) -> pd.DataFrame | None:
    """What is stored under a name, whatever it was made by; None if nothing is."""
    path = directory / f"{name}.csv"
    return load(path, columns)[0] if path.is_file() else None
