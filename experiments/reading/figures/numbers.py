"""Numbers that figures show beyond the records: CSV files beside them, made by experiments.fits."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.whole_files import write_text

LEVELS = np.linspace(0.0, 1.0, 41)
"""Of the stored quantiles."""
QUANTILES = [f"q{1000 * level:.0f}" for level in LEVELS]

ROWS = ("kind", "label", "x", "y")
CURVES = (
    "step", "source_train", "source_held_out", "target_train", "target_held_out", "kept",
)  # fmt: skip
MARGINALS = ("task", "identity", "column", "kind", "ks", *QUANTILES)

# One task of each data set; of HEPMASS's the paper's second, with a wide gap between the masses.
TRAINED = {"moons": "40", "hepmass": "500-1000", "hepmass_sim": "500-1000", "amazon": "B-D"}
COMPONENTS = (2, 3, 5)
GAUSSIANS = ("2-3", "3-2", "4-8")


def save(frame: pd.DataFrame, path: Path, identity: str = "", digits: int = 5) -> None:
    """Write a CSV file, whole; the identity of what it was made from is in the first line."""
    text = frame.copy()
    for column in text.select_dtypes(float):
        text[column] = ["" if np.isnan(v) else f"{v:.{digits}g}" for v in text[column]]
    head = f"# {identity}\n" if identity else ""
    write_text(path, head + text.to_csv(index=False, lineterminator="\n"))


def load(path: Path, columns: Sequence[str]) -> tuple[pd.DataFrame, str]:
    """Read what :func:`save` wrote, and its identity; ValueError if it was damaged since."""
    text = path.read_text(encoding="ascii", errors="replace")
    head = text.partition("\n")[0] if text.startswith("# ") else ""
    try:
        frame = pd.read_csv(
            io.StringIO(text.removeprefix(head)),
            dtype={"task": str, "identity": str},
        )
        if list(frame) != list(columns) or frame.empty:
            raise ValueError(f"its columns are {', '.join(map(str, frame))}")
        if frame.drop(columns="ks", errors="ignore").isna().any(axis=None):
            raise ValueError("a line lacks fields")
    except ValueError as error:
        raise ValueError(
            f"{path} does not hold the numbers of a figure ({error}); delete it and let them be "
            "computed again."
        ) from error
    return frame, head.removeprefix("# ").strip()


def stored(directory: Path, name: str, columns: Sequence[str] = ROWS) -> pd.DataFrame | None:
    """What is stored under a name, whatever it was made by; None if nothing is."""
    path = directory / f"{name}.csv"
    return load(path, columns)[0] if path.is_file() else None
