"""Files that the command writes: whole or not at all, and safe to open in a spreadsheet."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from krda.adaptation.files import write_whole
from krda.tables.errors import NUMBER, TableError, listed

#: Columns that are written beside the predictions, whatever the tables are.
WRITTEN = ("row", "prediction", "agreement", "abstain")

# What a spreadsheet runs, unless it is a number; a sign alone is harmless.
_FORMULA = r"(?s)(\s*[=+\-@＝＋－＠]|[\t\r\n]).*\w.*"


def check_outputs(outputs: Sequence[Path], inputs: Sequence[Path], *, force: bool) -> None:
    """Raise FileNotFoundError for an input, TableError for a file that should not be written."""
    for path in inputs:
        path.stat()
    for path in outputs:
        folder = path.resolve().parent
        if path.exists() and not path.is_file():
            raise TableError(f"{path} is a folder, a device or a pipe: expected a file to write.")
        if not os.access(folder, os.W_OK):
            raise TableError(f"The folder of {path} does not exist or is read-only: {folder}.")
        if path.resolve() in [p.resolve() for p in inputs]:
            raise TableError(f"{path} is an input: name another file to write.")
        if path.exists() and not force:
            raise TableError(f"{path} exists. Name another file, or overwrite it with --force.")
    if len({path.resolve() for path in outputs}) < len(outputs):
        raise TableError("Two outputs have the same name.")


def identifiers(frame: pd.DataFrame, name: str | None, label: str | None) -> pd.Series | None:
    """Give the column that names the rows, or None without a name for it."""
    if name is None:
        return None
    if name == label or name not in frame:
        raise TableError(
            f"--id names {name!r}, which is no column of the table beside the label; its columns "
            f"are {listed(frame.columns)}."
        )
    if name in WRITTEN or name.startswith("probability_"):
        raise TableError(
            f"--id names {name!r}, which is the name of a column of the predictions. Rename it in "
            "the file."
        )
    refuse_formulas([name, *frame[name].astype(str)], f"The column {name!r} has identifiers")
    return frame[name]


def refuse_formulas(cells: Iterable[str], where: str) -> None:
    """Raise if a spreadsheet that opens the predictions would run one of the cells."""
    risky = {c for c in cells if re.fullmatch(_FORMULA, c) and not re.fullmatch(NUMBER, c.strip())}
    if risky:
        raise TableError(
            f"{where} that a spreadsheet would run as formulas: {listed(risky)}. They are written "
            "unchanged, so the predictions would hold them, too. Rename them, or leave them out."
        )


def write_predictions(
    path: Path, predicted: pd.DataFrame, id_name: str | None, names: pd.Series | None
) -> None:
    """Write a line for each target row, its number first; the file is the old or the new one."""
    refuse_formulas(map(str, predicted["prediction"].unique()), "The source has labels")
    table = predicted.reset_index(drop=True).rename_axis("row")
    if names is not None:
        table.insert(0, id_name, names.to_numpy())
    write_whole(path, table.to_csv(lineterminator="\n").encode())
