"""Two CSV files as the tables that KRDA is fitted to, checked, and predictions as a third.

Needs pandas (``pip install "krda[cli]"``), which the rest of the library does without.
"""

from __future__ import annotations

import csv
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

# Columns, or values, that a message lists before it stops.
_LISTED = 8


class TableError(ValueError):
    """Files that cannot be worked with; the message says what to do."""


@dataclass(frozen=True)
class Tables:
    """What KRDA is fitted to.

    Attributes
    ----------
    Xs : DataFrame of shape (n_source, d)
    ys : ndarray of shape (n_source,)
        Numbers where all labels are, else the text of the file.
    Xt : DataFrame of shape (n_target, d)
        Columns as in ``Xs``.
    notes : tuple of str
        What was done to make the tables agree, and what looks odd.
    identifiers : Series of shape (n_target,) or None
        The target's column that names its rows; None without one.
    """

    Xs: pd.DataFrame
    ys: NDArray[Any]
    Xt: pd.DataFrame
    notes: tuple[str, ...]
    identifiers: pd.Series | None = None


def import_pandas() -> ModuleType:
    """Import pandas, or raise a TableError that says how to get it."""
    try:
        import pandas
    except ImportError as error:
        raise TableError(
            'Reading CSV files needs pandas, which is not installed: pip install "krda[cli]" '
            '(in a checkout: pip install ".[cli]").'
        ) from error
    return pandas


def read_tables(
    source: Path,
    target: Path,
    label: str,
    *,
    drop: Sequence[str] = (),
    identifier: str | None = None,
    separator: str = ",",
) -> Tables:
    """Read a labelled source and an unlabelled target, with one header line each.

    Parameters
    ----------
    source, target : Path
        CSV files.
    label : str
        The source's column of labels. Where the target has it too, it is left out unread.
    drop : sequence of str
        Columns that are no features; each must be in one of the files.
    identifier : str or None
        A column of the target that names its rows. No feature either; the source may lack it.
    separator : str, default=","

    Returns
    -------
    tables : Tables

    Raises
    ------
    TableError
        A file that is missing or is no table, columns that are missing in one of the two, that
        share a name or have none, that are no numbers or lack values, or no label column.
    """
    frames = {name: _read(path, separator) for name, path in (("S", source), ("T", target))}
    Xs, Xt = frames["S"], frames["T"]
    unknown = [name for name in drop if name not in Xs and name not in Xt]
    if unknown:
        raise TableError(f"--drop names columns that neither file has: {_listed(unknown)}.")
    if label in drop:
        raise TableError(f"--drop names the label column {label!r}. The target's is never used.")
    if label not in Xs:
        raise TableError(
            f"{source} has no column {label!r} for the labels; its columns are "
            f"{_listed(Xs.columns)}. Name one with --label."
        )
    identifiers = None
    if identifier is not None:
        if identifier == label or identifier not in Xt:
            raise TableError(
                f"--id names {identifier!r}, which is no column of {target} beside the label; its "
                f"columns are {_listed(Xt.columns)}."
            )
        identifiers, drop = Xt[identifier], (*drop, identifier)
    notes = []
    if label in Xt:
        notes.append(f"{target} has the label column {label!r}, too: left out, never used.")
    ys = _read_labels(source, label, separator, taken_for_missing=Xs[label].isna().to_numpy())
    Xs, Xt = (X.drop(columns=[c for c in (*drop, label) if c in X]) for X in (Xs, Xt))
    for X, path, others, other in ((Xs, source, Xt, target), (Xt, target, Xs, source)):
        alone = [name for name in X.columns if name not in others]
        if alone:
            raise TableError(
                f"{other} lacks columns that {path} has: {_listed(alone)}. Both need the same "
                f"features; rename them, or leave them out: --drop {' '.join(map(repr, alone))}"
            )
    if not len(Xs.columns):
        raise TableError(f"{source} has no column but the label and those dropped.")
    if list(Xs.columns) != list(Xt.columns):
        notes.append(f"{target} has its columns in another order: brought to that of {source}.")
        Xt = Xt[list(Xs.columns)]
    for X, path in ((Xs, source), (Xt, target)):
        _check_values(X, path)
    odd = [name for name in Xs.columns if _numbers_rows(Xs[name]) and _numbers_rows(Xt[name])]
    if odd:
        notes.append(
            f"another whole number in every row of {_listed(odd)}: identifiers are no features. "
            f"Leave them out with --drop, or with --id, which keeps one beside the predictions."
        )
    return Tables(Xs, ys, Xt, tuple(notes), identifiers)


def _numbers_rows(column: pd.Series) -> bool:
    """Whether a column may number the rows: whole numbers, none of them twice."""
    return column.dtype.kind in "iu" and len(column) > 2 and bool(column.is_unique)


def _read(path: Path, separator: str) -> pd.DataFrame:
    pandas = import_pandas()
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            lines = csv.reader(stream, delimiter=separator)
            header = next((line for line in lines if line), [])
        with warnings.catch_warnings():
            # More values than names in a line: pandas would leave some out.
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            frame = pandas.read_csv(
                path, sep=separator, index_col=False, encoding="utf-8-sig", low_memory=False
            )
    except FileNotFoundError as error:
        raise TableError(f"{path} does not exist.") from error
    except (OSError, ValueError, csv.Error, pandas.errors.ParserWarning) as error:
        raise TableError(f"{path} cannot be read as CSV: {str(error).strip()}") from error
    twice = [name for name, count in Counter(header).items() if count > 1 and name]
    if twice:
        raise TableError(f"{path} has several columns of one name: {_listed(twice)}. Rename them.")
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
        raise TableError(
            f"{path} has one column, named {header[0]!r}: give the character between its columns "
            "with --separator, such as --separator ';' or --separator '\\t' for a tabulator"
        )
    if not len(frame):
        raise TableError(f"{path} has no rows.")
    return frame


def _read_labels(
    path: Path, label: str, separator: str, *, taken_for_missing: NDArray[np.bool_]
) -> NDArray[Any]:
    """Read the labels as the text that stands in the file, or as numbers where all are.

    A class may be named NA, None or null, which pandas takes for missing values elsewhere.
    """
    pandas = import_pandas()
    text = pandas.read_csv(
        path,
        sep=separator,
        usecols=[label],
        dtype=str,
        keep_default_na=False,
        encoding="utf-8-sig",
    )[label]
    empty = (text == "").to_numpy()
    if empty.any():
        raise TableError(
            f"{path} lacks the label in {int(empty.sum())} rows (first: row "
            f"{int(empty.argmax())}, from 0). Take these rows out."
        )
    numbers = pandas.to_numeric(text, errors="coerce").to_numpy()
    is_number = np.isfinite(numbers)
    if is_number.all():
        return numbers
    if (is_number | taken_for_missing).all() and is_number.any():
        first = int(taken_for_missing.argmax())
        raise TableError(
            f"{path} has numbers for labels but {text[first]!r} in {int(taken_for_missing.sum())} "
            f"rows (first: row {first}, from 0). Take these rows out, or, if they are a class, "
            "give it a number, too."
        )
    return text.to_numpy(dtype=object)


def _check_values(X: pd.DataFrame, path: Path) -> None:
    """Raise where a column is an unnamed one, is no numbers, or lacks values."""
    pandas = import_pandas()
    unnamed = [name for name in X.columns if str(name).startswith("Unnamed: ")]
    if unnamed:
        raise TableError(
            f"{path} has columns without a name, such as a row number that was written along: "
            f"name them, or leave them out: --drop {' '.join(map(repr, unnamed))}"
        )
    wrong = []
    for name in X.columns:
        column = X[name]
        if not (pandas.api.types.is_numeric_dtype(column) or column.isna().all()):
            failed = pandas.to_numeric(column, errors="coerce").isna() & column.notna()
            example = column[failed].iloc[0] if failed.any() else column.dropna().iloc[0]
            wrong.append(f"{name} ({example!r})")
    if wrong:
        raise TableError(
            f"{path} has columns that are not numbers: {_listed(wrong)}. Encode them as numbers, "
            "alike in both files, or leave them out with --drop."
        )
    missing = X.isna().sum()
    missing = missing[missing > 0]
    if len(missing):
        counts = [f"{name} ({count} of {len(X)} rows)" for name, count in missing.items()]
        raise TableError(
            f"{path} lacks values in {_listed(counts)}. Fill them, alike in both files, or leave "
            "out these rows or columns."
        )
    infinite = [
        str(name)
        for name in X.columns
        if not np.isfinite(np.asarray(X[name], dtype=np.float64)).all()
    ]
    if infinite:
        raise TableError(
            f"{path} has infinite values in {_listed(infinite)}. Replace them, or leave out these "
            "rows or columns."
        )


def _listed(names: Any) -> str:
    """Write the first names of many."""
    names = [str(name) for name in names]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def check_output(path: Path, inputs: Sequence[Path], *, force: bool) -> None:
    """Raise a TableError where predictions could not, or should not, be written.

    Parameters
    ----------
    path : Path
    inputs : sequence of Path
        Never overwritten.
    force : bool
        Whether another file that exists may be.
    """
    if path.is_dir():
        raise TableError(f"--output names a folder: {path}. Name a file in it.")
    if not path.parent.is_dir():
        raise TableError(f"The folder of --output does not exist: {path.parent}.")
    if any(path.resolve() == other.resolve() for other in inputs):
        raise TableError(f"--output names an input: {path}.")
    if path.exists() and not force:
        raise TableError(
            f"{path} exists. Name another file with --output, or overwrite it with --force."
        )


def write_predictions(
    path: Path,
    predicted: NDArray[Any],
    probabilities: NDArray[np.float64] | None,
    classes: NDArray[Any],
    *,
    identifiers: pd.Series | None = None,
    more: Mapping[str, NDArray[Any]] | None = None,
    force: bool,
) -> None:
    """Write one line for each target row.

    Parameters
    ----------
    path : Path
    predicted : ndarray of shape (n,)
    probabilities : ndarray of shape (n, n_classes) or None
    classes : ndarray of shape (n_classes,)
    identifiers : Series of shape (n,) or None
        Written along under its own name.
    more : mapping of str to ndarray of shape (n,), or None
        Further columns.
    force : bool
        Whether a file that exists is overwritten.

    Raises
    ------
    TableError
        The file exists, or cannot be written.
    """
    columns: dict[str, Any] = {"row": np.arange(len(predicted))}
    if identifiers is not None:
        columns[str(identifiers.name)] = identifiers.to_numpy()
    columns["prediction"] = predicted
    if probabilities is not None:
        named = zip(classes, probabilities.T, strict=True)
        columns |= {f"probability_{label}": values for label, values in named}
    frame = import_pandas().DataFrame(columns | dict(more or {}))
    try:
        with path.open("w" if force else "x", encoding="utf-8", newline="") as stream:
            frame.to_csv(stream, index=False, lineterminator="\n")
    except OSError as error:
        raise TableError(f"{path} cannot be written: {error}") from error
