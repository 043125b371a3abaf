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
from decimal import Decimal
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
_DECIMAL_COMMA = r"\s*[-+]?[0-9.]*,[0-9]+\s*"
# What a spreadsheet runs, unless it is a number; a sign alone is harmless.
_FORMULA = r"(?s)(\s*[=+\-@＝＋－＠]|[\t\r\n]).*\w.*"
_MISSING = ("", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", "nat")
_INFINITE = ("inf", "-inf", "+inf", "infinity", "-infinity", "+infinity")

# First bytes of Parquet, Feather, spreadsheets, bzip2, xz and zstd.
_NO_TEXT = (b"PAR1", b"ARROW1", b"FEA1", b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"BZh", b"\xfd7zXZ",
            b"\x28\xb5\x2f\xfd")  # fmt: skip

# Names or values that a message lists before it stops, and characters of each.
_LISTED, _LENGTH = 8, 60


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
    S, empty_of_source = _read(source, separator, encoding)
    T, empty_of_target = _read(target, separator, encoding)
    for path, empty in ((source, empty_of_source), (target, empty_of_target)):
        if empty:
            notes.append(f"{path} has a column without name and values: left out.")
    known = {*S, *T, *empty_of_source, *empty_of_target}
    unknown = [name for name in drop if name not in known]
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
    ys = _labels(source, label, S[label], notes)
    without = {*drop, label, identifier}
    S, T = (table[[name for name in table if name not in without]] for table in (S, T))
    for X, path, others, other in ((S, source, T, target), (T, target, S, source)):
        alone = [str(name) for name in X if name not in others]
        if alone:
            quoted = " ".join(shlex.quote(printable(name)) for name in alone)
            raise TableError(
                f"{other} lacks columns that {path} has: {listed(alone)}. Both need the same "
                f"features; rename them, or leave them out: --drop {quoted[:400]}"
            )
    if S.empty:
        raise TableError(f"{source} has no column but the label and those dropped.")
    if list(S) != list(T):
        notes.append(f"{target} has its columns in another order: brought to that of {source}.")
    Xs, Xt = _numbers(S, source), _numbers(T[list(S)], target)
    odd = [name for name in Xs if all(_numbers_rows(X[name]) for X in (Xs, Xt))]
    if odd:
        notes.append(
            f"another whole number in every row of {listed(odd)}: identifiers are no features. "
            f"Leave them out with --drop, or with --id, which keeps one beside the predictions."
        )
    return Tables(Xs, ys, Xt, tuple(notes), identifiers)


def _numbers_rows(column: pd.Series) -> bool:
    """Say whether a column may number the rows: whole numbers, none of them twice."""
    return len(column) > 2 and bool((column % 1 == 0).all() and column.is_unique)


def listed(names: Iterable[object]) -> str:
    """Write the first names of many, those with spaces around them in quotes."""
    texts = [text if len(text) <= _LENGTH else f"{text[:_LENGTH]}..." for text in map(str, names)]
    shown = [printable(t) if t == t.strip() and t else repr(t) for t in texts[:_LISTED]]
    more = f" and {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
    return ", ".join(shown) + more


# Files


def _read(path: Path, separator: str, encoding: str) -> tuple[pd.DataFrame, list[str]]:
    """Read a file as a table of text; give the columns left out, without name and values, too."""
    header, *rows = _records(path, _text(path, encoding), separator)
    names = [name if name.strip() else f"Unnamed: {i}" for i, name in enumerate(header)]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise TableError(f"{path} has several columns of one name: {listed(twice)}. Rename them.")
    if len(rows) < 2:
        found = "1 row" if rows else "no rows"
        raise TableError(f"{path} has {found} below its header; at least 2 are needed.")
    table = pd.DataFrame(rows, columns=names, dtype=object)
    empty = [name for name in names if name.startswith("Unnamed: ") and not table[name].any()]
    return table.drop(columns=empty), empty  # from a separator at the end of each line


def _text(path: Path, encoding: str) -> str:
    """Give a file's text, possibly compressed by gzip; refuse what is no text."""
    try:
        data = path.read_bytes()
        if data.startswith(b"\x1f\x8b"):
            data = gzip.decompress(data)
        text = data.decode(encoding)
    except FileNotFoundError as error:
        raise TableError(f"{path} does not exist.") from error
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(f"{path} cannot be read: {error}.") from error
    except UnicodeError as error:
        text = "\0"
        wrong = f"{path} is no {encoding.removesuffix('-sig')} text ({error})"
    else:
        wrong = f"{path} holds bytes that are 0"
    if data.startswith(_NO_TEXT):
        raise TableError(
            f"{path} is a spreadsheet, a Parquet or another packed file, expected CSV. Save it as "
            "CSV first, such as with pandas.read_excel or pandas.read_parquet, and to_csv."
        )
    if "\0" in text:
        raise TableError(
            f"{wrong}. Save it as UTF-8, or give its encoding: --encoding utf-16, utf-16-le or "
            "utf-16-be, or --encoding cp1252 for most other files of Western Europe (which never "
            "fails: look at the result)."
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
            others = [mark for mark in ";\t|," if mark != separator and mark in "".join(record)]
            if others and width == 1 and not rows:
                raise TableError(
                    f"{path} has one column, named {listed(record)}: give the character between "
                    f"its columns with --separator, such as --separator {others[0]!r}. Numbers "
                    "need decimal points, not decimal commas."
                )
            if record and len(record) != width:
                raise TableError(
                    f"{path} cannot be read as CSV: line {first} has {len(record)} values, the "
                    f"header names {width} columns ({listed(rows[0])}). Look for decimal commas, "
                    "texts with separators but without quotes, and a separator at the line's end."
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
    if not rows:
        raise TableError(f"{path} cannot be read as CSV: it is empty.")
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


def _labels(path: Path, name: str, text: pd.Series, notes: list[str]) -> NDArray[Any]:
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
    numbers = [cell for cell in classes if re.fullmatch(_NUMBER, cell)]
    if len(numbers) == len(classes) and any(float(cell) % 1 for cell in classes):
        raise TableError(
            f"{path} has numbers with fractions for labels ({listed(classes)}): expected classes. "
            "If these are classes, give them names; a quantity cannot be predicted."
        )
    if len(classes) < 2:
        raise TableError(
            f"{path} has one class only in {name!r} ({listed(classes)}): at least two are needed."
        )
    _refuse_formulas(classes, f"{path} has labels", "take these rows out")
    same: dict[Any, list[str]] = {}
    for cell in classes:
        same.setdefault(Decimal(cell.strip()) if cell in numbers else cell.strip(), []).append(cell)
    notes += [
        f"labels that are written differently are classes of their own: {cells}."
        for cells in same.values()
        if len(cells) > 1
    ]
    integers = text.str.fullmatch(_INTEGER).all()
    return text.to_numpy(np.int64 if integers else object)


def _numbers(X: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Read columns as numbers; raise if one has no name, or holds other cells than numbers."""
    unnamed = [name for name in map(str, X) if name.startswith("Unnamed: ")]
    if unnamed:
        raise TableError(
            f"{path} has columns without a name, such as a row number that was written along: "
            f"name them, or leave them out: --drop {shlex.join(unnamed)}"
        )
    numbers: dict[str, Any] = {}
    faults: dict[str, list[str]] = {kind: [] for kind in _REMEDIES}
    for name in map(str, X):
        cells = X[name]
        numeric = cells.str.fullmatch(_NUMBER)
        values = cells.where(numeric, "nan").astype(np.float64)
        text = cells.str.strip().str.lower()
        wrong = ~np.isfinite(values)
        if text.isin(("true", "false")).all():
            values = (text == "true").astype(np.float64)
        elif wrong.any():
            commas = cells.str.fullmatch(_DECIMAL_COMMA)
            other = wrong & ~numeric & ~text.isin((*_MISSING, *_INFINITE))
            kinds: Any = zip(_REMEDIES, (commas, other, wrong), strict=True)
            kind, rows = next((kind, rows) for kind, rows in kinds if rows.any())
            found = f"{cells[rows].iloc[0]!r} in {rows.sum()} of {len(cells)} rows"
            faults[kind].append(f"{name} ({found})")
        numbers[name] = values
    for kind, columns in faults.items():
        if columns:
            raise TableError(f"{path} has {kind} in {listed(columns)}. {_REMEDIES[kind]}.")
    return pd.DataFrame(numbers)


_REMEDIES = {
    "decimal commas": "Write decimal points, and nothing between thousands",
    "text": "Encode it as numbers, in the same way in both files, or leave it out with --drop",
    "missing or infinite values": "Replace them, in the same way in both files, or leave out these "
    "rows or columns",
}
