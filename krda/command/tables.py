"""Two CSV files as the tables that KRDA is fitted to.

A file is read once, and every cell as its text. Labels and identifiers stay that text. A row is
never cut, filled or joined with another: it is refused.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import shlex
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from krda.command.console import printable

#: Columns that are written beside the predictions, whatever the tables are.
WRITTEN = ("row", "prediction", "refits_agree", "source_only", "standardised")

_NUMBER = r"(?a)\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*"
_INTEGER = r"0|-?[1-9][0-9]{0,17}"
_PLAIN = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?"  # as programs write numbers: 1 and 1.0, not 01 or 1E5
# What a spreadsheet runs, unless it is a number; a sign alone is harmless.
_FORMULA = r"(?s)(\s*[=+\-@＝＋－＠]|[\t\r\n]).*\w.*"
_MISSING = ("", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", "nat")
_INFINITE = ("inf", "-inf", "+inf", "infinity", "-infinity", "+infinity")


class TableError(ValueError):
    """Files that cannot be worked with; the message says what to do."""


@dataclass(frozen=True)
class Tables:
    """What KRDA is fitted to: two frames with the same columns, and the source's labels."""

    Xs: pd.DataFrame
    ys: NDArray[Any]  # integers if every label is written as one, otherwise text
    Xt: pd.DataFrame
    notes: tuple[str, ...]  # what was done to make the tables agree, and what looks odd
    identifiers: pd.Series | None = None  # of the target's rows, as text


def read_tables(
    source: Path,
    target: Path,
    label: str,
    *,
    drop: Sequence[str] = (),
    identifier: str | None = None,
    separator: str = ",",
    encoding: str = "utf-8-sig",
) -> Tables:
    """Read a labelled source and an unlabelled target, or raise a TableError.

    ``drop`` names columns of either file that are no features. ``identifier`` is a column of the
    target that names its rows. The target's labels, if it has any, are not used.
    """
    notes: list[str] = []
    S, T = (_read(path, separator, encoding) for path in (source, target))
    unknown = [name for name in drop if name not in S and name not in T]
    if unknown:
        raise TableError(f"--drop names columns that neither file has: {listed(unknown)}.")
    if label not in S:
        raise TableError(
            f"{source} has no column {label!r} for the labels; its columns are {listed(S)}. Name "
            "one with --label."
        )
    if label in T:
        notes.append(f"{target} has the label column {label!r}, too: left out, never used.")
    identifiers = None if identifier is None else _identifiers(identifier, label, target, T)
    ys = _labels(source, S[label])
    S, T = (
        _features(table, path, {*drop, label, identifier}, notes)
        for table, path in ((S, source), (T, target))
    )
    for X, path, others, other in ((S, source, T, target), (T, target, S, source)):
        alone = [name for name in X if name not in others]
        if alone:
            raise TableError(
                f"{other} lacks columns that {path} has: {listed(alone)}. Both need the same "
                f"features; rename them, or leave them out: {_drop(alone)}"
            )
    if not len(S.columns):
        raise TableError(f"{source} has no column but the label and those dropped.")
    Xs, Xt = _numbers(S, source), _numbers(T, target)
    counts = [n for n in Xs if all(X[n].is_unique and (X[n] % 1 == 0).all() for X in (Xs, Xt))]
    if counts:
        notes.append(
            f"another whole number in every row of {listed(counts)}: identifiers are no features. "
            "Leave them out with --drop, or with --id, which keeps one beside the predictions."
        )
    return Tables(Xs, ys, Xt, tuple(notes), identifiers)


def listed(names: Iterable[object]) -> str:
    """Write the first names of many, those with spaces around them in quotes."""
    texts = [str(name)[:60] for name in names]
    shown = [printable(text) if text == text.strip() != "" else repr(text) for text in texts[:8]]
    return ", ".join(shown) + (f" and {len(texts) - 8} more" if len(texts) > 8 else "")


def _drop(names: Iterable[str]) -> str:
    """Write the option that leaves columns out."""
    return f"--drop {shlex.join(map(printable, names))}"[:400]


# Files


def _read(path: Path, separator: str, encoding: str) -> pd.DataFrame:
    """Read a file as a table of text."""
    header, *rows = _records(path, _text(path, encoding), separator)
    names = [name if name.strip() else f"Unnamed: {i}" for i, name in enumerate(header)]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise TableError(f"{path} has several columns of one name: {listed(twice)}. Rename them.")
    return pd.DataFrame(rows, columns=names, dtype=object)


def _text(path: Path, encoding: str) -> str:
    """Give a file's text, possibly compressed by gzip; refuse what is no text."""
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).decode(encoding)
        wrong = "it holds bytes that are 0" if "\0" in text else ""
    except FileNotFoundError as error:
        raise TableError(f"{path} does not exist.") from error
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(f"{path} cannot be read: {error}.") from error
    except (LookupError, UnicodeError) as error:
        wrong = str(error)
    if wrong:
        raise TableError(
            f"{path} is no {encoding.removesuffix('-sig')} text ({wrong}); expected CSV. Save a "
            "spreadsheet or a Parquet file as CSV first. For text give its encoding: --encoding "
            "utf-16, utf-16-le or utf-16-be, or --encoding cp1252 for most other files of Western "
            "Europe (which never fails: look at the result)."
        )
    return text.removeprefix("\ufeff")


def _records(path: Path, text: str, separator: str) -> list[list[str]]:
    """Give the cells of each row, the header first; all rows have equally many.

    Blank lines are skipped, except in a table of one column, where they lack a value.
    """
    lines = io.StringIO(text, newline="").readlines()
    reader = csv.reader(lines, delimiter=separator, strict=True)
    rows: list[list[str]] = []
    first = 1  # the line that the record begins in
    try:
        for record in reader:
            width = len(rows[0]) if rows else len(record)
            spanned = [line for line in lines[first - 1 : reader.line_num] if line.strip()]
            # A text of several lines is fine. Lines that have all separators of a row are rows.
            if len(spanned) > 1 and all(line.count(separator) >= width - 1 for line in spanned):
                raise csv.Error(f"a quote is closed in line {reader.line_num} only, after rows")
            if len(record) < 2 and not any(map(str.strip, record)):
                record = [""] if width == 1 and rows else []
            if record and len(record) != width:
                raise csv.Error(
                    f"{len(record)} values, the header names {width} columns ({listed(rows[0])}). "
                    "Look for decimal commas, texts with separators but without quotes, and a "
                    "separator at the line's end"
                )
            rows += [record] if record else []
            first = reader.line_num + 1
    except csv.Error as error:
        raise TableError(
            f"{path} cannot be read as CSV: line {first}: {error}. Quotes enclose a whole cell, "
            'and those within it are written twice: """5 inch" for "5 inch.'
        ) from error
    while len(rows) > 1 and rows[-1] == [""]:  # blank lines at the end
        rows.pop()
    if len(rows) < 2:
        raise TableError(f"{path} cannot be read as CSV: it has no rows below a header.")
    others = [mark for mark in ";\t|," if mark != separator and mark in rows[0][0]]
    if others and len(rows[0]) == 1:
        raise TableError(
            f"{path} has one column, named {listed(rows[0])}: give the character between its "
            f"columns with --separator, such as --separator {others[0]!r}. Numbers need decimal "
            "points, not decimal commas."
        )
    return rows


# What columns hold


def _identifiers(name: str, label: str, path: Path, T: pd.DataFrame) -> pd.Series:
    """Give the column that names the target's rows beside the predictions."""
    if name == label or name not in T:
        raise TableError(
            f"--id names {name!r}, which is no column of {path} beside the label; its columns are "
            f"{listed(T)}."
        )
    if name in WRITTEN or name.startswith("probability_"):
        raise TableError(
            f"--id names {name!r}, which is the name of a column of the predictions. Rename the "
            "column, or leave it out with --drop."
        )
    _refuse_formulas([name, *T[name]], f"{path} has identifiers in {name!r}", "leave out --id")
    return T[name]


def _refuse_formulas(cells: Iterable[str], where: str, remedy: str) -> None:
    """Raise if a spreadsheet that opens the predictions would run one of the cells."""
    risky = [
        cell
        for cell in dict.fromkeys(cells)
        if re.fullmatch(_FORMULA, cell) and not re.fullmatch(_NUMBER, cell)
    ]
    if risky:
        raise TableError(
            f"{where} that a spreadsheet would run as formulas: {listed(risky)}. They are written "
            f"unchanged, so the predictions would hold them, too. Rename them, or {remedy}."
        )


def _labels(path: Path, text: pd.Series) -> NDArray[Any]:
    """Give the labels as text, or as integers if all are and the text follows from them.

    A class may be named NA, None or null, which mark missing values elsewhere.
    """
    marks = text.str.strip().str.lower().isin(_MISSING)
    plain = text.str.fullmatch(_PLAIN)
    # Beside plain numbers such a mark is no class.
    missing = marks if plain.any() and (plain | marks).all() else text.str.strip() == ""
    if missing.any():
        raise TableError(
            f"{path} has {text[missing].iloc[0]!r} for a label in {missing.sum()} rows (first: row "
            f"{missing.argmax()}, from 0): expected one for each. Take these rows out, or, if they "
            "are a class, give it a name like those of the others."
        )
    classes = list(text.unique())
    _refuse_formulas(classes, f"{path} has labels", "take these rows out")
    if text.str.fullmatch(_NUMBER).all() and any(float(cell) % 1 for cell in classes):
        raise TableError(
            f"{path} has numbers with fractions for labels ({listed(classes)}): expected classes. "
            "If these are classes, give them names; a quantity cannot be predicted."
        )
    return text.to_numpy(np.int64 if text.str.fullmatch(_INTEGER).all() else object)


def _features(
    table: pd.DataFrame, path: Path, without: set[str | None], notes: list[str]
) -> pd.DataFrame:
    """Leave out what is no feature: named columns, and those without a name and values."""
    kept = table[[name for name in table if name not in without]]
    unnamed = [name for name in kept if name.startswith("Unnamed: ")]
    empty = [name for name in unnamed if not kept[name].any()]  # separators at the ends of lines
    if empty:
        notes.append(f"{path} has a column without name and values: left out.")
    if len(empty) < len(unnamed):
        raise TableError(
            f"{path} has columns without a name, such as a row number that was written along: "
            f"name them, or leave them out: {_drop(unnamed)}"
        )
    return kept.drop(columns=empty)


def _numbers(X: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Read columns as numbers; raise if one holds other cells."""
    numbers: dict[str, Any] = {}
    text: list[str] = []
    missing: list[str] = []
    for name, cells in X.items():
        words = cells.str.strip().str.lower()
        numeric = cells.str.fullmatch(_NUMBER)
        if words.isin(("true", "false")).all():
            numbers[name] = (words == "true").astype(np.float64)
            continue
        numbers[name] = cells.where(numeric, "nan").astype(np.float64)
        wrong = ~np.isfinite(numbers[name])
        other = wrong & ~numeric & ~words.isin((*_MISSING, *_INFINITE))
        for rows, columns in ((other, text), (wrong, missing)):
            if rows.any():
                found = f"{cells[rows].iloc[0]!r} in {rows.sum()} of {len(cells)} rows"
                columns.append(f"{name} ({found})")
                break
    if text:
        raise TableError(
            f"{path} has text in {listed(text)}. Encode it as numbers, with decimal points instead "
            "of decimal commas, in the same way in both files, or leave it out with --drop."
        )
    if missing:
        raise TableError(
            f"{path} has missing or infinite values in {listed(missing)}. Replace them, in the "
            "same way in both files, or leave out these rows or columns."
        )
    return pd.DataFrame(numbers)
