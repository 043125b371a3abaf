"""The file of predictions: refused early if it cannot be written, and written whole."""

from __future__ import annotations

import csv
import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from krda.command.tables import TableError


def check_output(path: Path, inputs: Sequence[Path], *, force: bool) -> None:
    """Raise a TableError if predictions could not, or should not, be written."""
    folder = path.resolve().parent
    if path.exists() and not path.is_file():
        raise TableError(f"--output names a folder, a device or a pipe, expected a file: {path}.")
    if not os.access(folder, os.W_OK):
        raise TableError(f"The folder of --output does not exist or is read-only: {folder}.")
    if path.resolve() in [p.resolve() for p in inputs]:
        raise TableError(f"--output names an input: {path}.")
    if path.exists() and not force:
        raise TableError(
            f"{path} exists. Name another file with --output, or overwrite it with --force."
        )
    if path.exists() and not path.stat().st_mode & 0o222:
        raise TableError(f"--output names a file that is read-only: {path}. Name another file.")


def write_predictions(path: Path, columns: Mapping[str, Any], *, force: bool) -> None:
    """Write one line for each target row, its number first; raise a TableError on failure.

    At any time the file is the old one or the new one as a whole. Without ``force`` a file that
    exists is kept.
    """
    table = pd.DataFrame(dict(columns)).rename_axis("row")
    text = table.to_csv(lineterminator="\n")
    if "\r" in text:  # which the csv module of Python 3.11 leaves bare, and readers break lines at
        text = table.to_csv(lineterminator="\n", quoting=csv.QUOTE_ALL)
    path = path.resolve()  # a link stays a link
    temporary = path.with_name(f".krda-{secrets.token_hex(4)}.part")
    try:
        with temporary.open("x", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        if path.exists():
            if not force:
                raise FileExistsError(17, "it exists")
            shutil.copymode(path, temporary)
        temporary.replace(path)
    except OSError as error:
        raise TableError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)
