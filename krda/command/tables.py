"""Two CSV files as the tables that KRDA is fitted to.

A file is read once, and every cell as its text. Labels and identifiers stay that text. A row is
never cut, filled or joined with another: it is refused.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from krda.command.console import printable

#: Columns that are written beside the predictions, whatever the tables are.
WRITTEN = ("row", "prediction", "refits_agree", "source_only", "standardised")

_NUMBER = r"(?a)\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*"
_PLAIN = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?"  # as programs write numbers: 1 and 1.0, not 01 or 1E5
# What a spreadsheet runs, unless it is a number; a sign alone is harmless.
_FORMULA = r"(?s)(\s*[=+\-@＝＋－＠]|[\t\r\n]).*\w.*"
_MISSING = ("", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", "nat")


class TableError(ValueError):
    """Files that cannot be worked with; the message says what to do."""


class Tables(NamedTuple):
    """What KRDA is fitted to: two frames with the same columns, and the source's labels."""

    Xs: pd.DataFrame
    ys: NDArray[Any]  # text
    Xt: pd.DataFrame
    notes: list[str]  # what was left out, and what looks odd
    identifiers: pd.Series | None  # of the target's rows, as text


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
    S, T = (_read(path, separator, encoding) for path in (source, target))
    unknown = [name for name in drop if name not in S and name not in T]
    if unknown:
        raise TableError(f"--drop names columns that neither file has: {listed(unknown)}.")
    if label not in S:
        raise TableError(
            f"{source} has no column {label!r} for the labels; its columns are {listed(S)}. Name "
            "one with --label, or the character between the columns with --separator."
        )
    notes = []
    if label in T:
        notes.append(f"{target} has the label column {label!r}, too: left out, never used.")
    identifiers = None if identifier is None else _identifiers(identifier, label, target, T)
    ys = _labels(source, S[label])
    S, T = (X.drop(columns=[*drop, label, identifier], errors="ignore") for X in (S, T))
    alone = S.columns.symmetric_difference(T.columns)
    if len(alone):
        raise TableError(
            f"{source} and {target} need the same features, but only one of them has "
            f"{listed(alone)}. Rename columns, leave some out with --drop, or give the character "
            "between columns with --separator."
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
    return Tables(Xs, ys, Xt, notes, identifiers)


def listed(names: Iterable[object]) -> str:
    """Write the first names of many."""
    texts = [printable(str(name)[:60]) for name in names]
    return ", ".join(texts[:8]) + (f" and {len(texts) - 8} more" if len(texts) > 8 else "")


# Files


def _read(path: Path, separator: str, encoding: str) -> pd.DataFrame:
    """Read a file as a table of text; leave out a column without name and values."""
    try:
        text = path.read_text(encoding)
        if "\0" in text:
            raise UnicodeError("it holds bytes that are 0")
    except (LookupError, UnicodeError) as error:
        raise TableError(
            f"{path} is no {encoding.removesuffix('-sig')} text ({error}); expected CSV. Unpack an "
            "archive, and save a spreadsheet or a Parquet file as CSV first. For text give its "
            "encoding: --encoding utf-16, utf-16-le or utf-16-be, or --encoding cp1252 for most "
            "other files of Western Europe (which never fails: look at the result)."
        ) from error
    header, *rows = _records(path, text.removeprefix("\ufeff"), separator)
    names = [name if name.strip() else f"Unnamed: {i}" for i, name in enumerate(header)]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise TableError(f"{path} has several columns of one name: {listed(twice)}. Rename them.")
    table = pd.DataFrame(rows, columns=names, dtype=object)
    empty = [name for name in table.filter(regex="^Unnamed: ") if not table[name].any()]
    return table.drop(columns=empty)  # made by separators at the ends of lines


def _records(path: Path, text: str, separator: str) -> Iterator[list[str]]:
    """Give the cells of the header and of each row, equally many.

    Blank lines are skipped, except in a table of one column, where they lack a value.
    """
    lines = io.StringIO(re.sub(r"\n[\n ]*\Z", "", text))
    reader = csv.reader(lines, delimiter=separator, strict=True)
    width, first, n = 0, 1, 0  # columns, the line that the record begins in, records
    try:
        for record in reader:
            if len(record) > 1 or "".join(record).strip() or width == 1:
                width, n = width or len(record), n + 1
                if len(record or [""]) != width:
                    raise csv.Error(
                        f"{len(record)} values, the header names {width} columns. Look for decimal "
                        "commas, texts with separators but without quotes, a separator at the "
                        "line's end, and a separator that --separator must name"
                    )
                # A text of several lines is fine. Lines with all separators of a row are rows.
                more = [part for cell in record for part in cell.split("\n")[1:] if part.strip()]
                if more and all(part.count(separator) >= width - 1 for part in more):
                    raise csv.Error(f"a quote is closed in line {reader.line_num} only, after rows")
                yield record or [""]
            first = reader.line_num + 1
        if n < 2:
            raise csv.Error("it has no rows below a header")
    except csv.Error as error:
        raise TableError(
            f"{path} cannot be read as CSV: line {first}: {error}. Quotes enclose a whole cell, "
            'and those within it are written twice: """5 inch" for "5 inch.'
        ) from error


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
    risky = {c for c in cells if re.fullmatch(_FORMULA, c) and not re.fullmatch(_NUMBER, c)}
    if risky:
        raise TableError(
            f"{where} that a spreadsheet would run as formulas: {listed(risky)}. They are written "
            f"unchanged, so the predictions would hold them, too. Rename them, or {remedy}."
        )


def _labels(path: Path, text: pd.Series) -> NDArray[Any]:
    """Check labels; a class may be named NA, None or null, which mark missing values elsewhere."""
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
    _refuse_formulas(text, f"{path} has labels", "take these rows out")
    if text.str.fullmatch(_NUMBER).all() and (text.astype(np.float64) % 1).any():
        raise TableError(
            f"{path} has numbers with fractions for labels ({listed(text.unique())}): expected "
            "classes. If these are classes, give them names; a quantity cannot be predicted."
        )
    return text.to_numpy()


def _numbers(X: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Read columns as numbers; raise if one holds other cells."""
    numbers, wrong = {}, []
    for name, cells in X.items():
        words = cells.str.strip().str.lower()
        if words.isin(("true", "false")).all():
            cells = words.map({"true": "1", "false": "0"})
        numbers[name] = cells.where(cells.str.fullmatch(_NUMBER), "nan").astype(np.float64)
        bad = cells[~np.isfinite(numbers[name])]
        if len(bad):
            wrong.append(f"{name} ({bad.iloc[0]!r} in {len(bad)} of {len(cells)} rows)")
    if wrong:
        raise TableError(
            f"{path} has cells that are no finite numbers in {listed(wrong)}. Replace missing "
            "values, and encode text as numbers, with decimal points instead of decimal commas, in "
            "the same way in both files; or leave these columns out with --drop."
        )
    return pd.DataFrame(numbers)
