"""Two CSV files as the tables that KRDA is fitted to, checked, and predictions as a third.

A file is read once, and every cell as the text that it holds. Labels and identifiers stay that
text. A row is never cut, filled or joined with another to make it fit: it is refused.

Needs pandas (``pip install "krda[cli]"``), which the rest of the library does without.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import secrets
import shlex
import shutil
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from krda.notices import printable

if TYPE_CHECKING:
    import pandas as pd

#: Columns that are written beside the predictions, whatever the tables are.
WRITTEN = ("row", "prediction", "refits_agree", "source_only", "standardised")

#: UTF-8, with or without a byte order mark.
UTF8 = "utf-8-sig"

# Columns, or values, that a message lists before it stops, and characters of each.
_LISTED = 8
_LENGTH = 60

# Cells that mark a missing number, in lower case and without the spaces around them.
_MISSING = {"", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", "nat"}

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_DECIMAL_COMMA = re.compile(r"\s*[-+]?[0-9.]*,[0-9]+\s*")
# With what a cell begins that spreadsheets take for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")

# First bytes of files that are no text: what they are, and what pandas reads them with.
_BINARY = {
    b"PAR1": ("a Parquet file", "read_parquet"),
    b"PK\x03\x04": ("a spreadsheet (xlsx, ods) or another zip archive", "read_excel"),
    b"\xd0\xcf\x11\xe0": ("an old spreadsheet (xls)", "read_excel"),
    b"ARROW1": ("a Feather file", "read_feather"),
    b"FEA1": ("a Feather file", "read_feather"),
    b"BZh": ("compressed by bzip2", "read_csv"),
    b"\xfd7zXZ": ("compressed by xz", "read_csv"),
    b"\x28\xb5\x2f\xfd": ("compressed by zstd", "read_csv"),
}


class TableError(ValueError):
    """Files that cannot be worked with; the message says what to do."""


@dataclass(frozen=True)
class Tables:
    """What KRDA is fitted to.

    Attributes
    ----------
    Xs : DataFrame of shape (n_source, d)
    ys : ndarray of shape (n_source,)
        Integers if every label is one that is written in one way only, else the text of the file.
    Xt : DataFrame of shape (n_target, d)
        Columns as in ``Xs``.
    notes : tuple of str
        What was done to make the tables agree, and what looks odd.
    identifiers : Series of shape (n_target,) or None
        The target's column that names its rows, as the text of the file; None without one.
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
    encoding: str = UTF8,
) -> Tables:
    """Read a labelled source and an unlabelled target, with one header line each.

    Parameters
    ----------
    source, target : Path
        CSV files, possibly compressed by gzip.
    label : str
        The source's column of labels. If the target has it too, it is left out unread.
    drop : sequence of str
        Columns that are no features; each must be in one of the files.
    identifier : str or None
        A column of the target that names its rows. No feature either; the source may lack it.
    separator : str, default=","
    encoding : str, default="utf-8-sig"
        Of both files.

    Returns
    -------
    tables : Tables

    Raises
    ------
    TableError
        A file that is missing or is no table, rows of several lengths, columns that are missing in
        one of the two, that share a name or have none, that are no numbers or lack values, no
        label column, fewer than two rows or classes, or an identifier or labels that cannot be
        written as they are.
    """
    pandas = import_pandas()
    notes: list[str] = []
    S, T = (_read(path, separator, encoding, notes) for path in (source, target))
    # An empty column without a name is left out already, and may be named all the same.
    missing = [name for name in drop if name not in S and name not in T]
    unknown = [name for name in missing if not name.startswith("Unnamed: ")]
    if unknown:
        raise TableError(f"--drop names columns that neither file has: {listed(unknown)}.")
    if label in drop:
        raise TableError(f"--drop names the label column {label!r}. The target's is never used.")
    if label not in S:
        raise TableError(
            f"{source} has no column {label!r} for the labels; its columns are {listed(S)}. Name "
            "one with --label."
        )
    identifiers = None
    if identifier is not None:
        _check_identifier(identifier, label, target, T)
        identifiers = pandas.Series(T[identifier], name=identifier, dtype=object)
        drop = (*drop, identifier)
    if label in T:
        notes.append(f"{target} has the label column {label!r}, too: left out, never used.")
    ys = _check_labels(source, label, S[label], notes)
    S, T = ({name: X[name] for name in X if name not in (*drop, label)} for X in (S, T))
    for X, path, others, other in ((S, source, T, target), (T, target, S, source)):
        alone = [name for name in X if name not in others]
        if alone:
            raise TableError(
                f"{other} lacks columns that {path} has: {listed(alone)}. Both need the same "
                f"features; rename them, or leave them out: --drop {_quoted(alone)}"
            )
    if not S:
        raise TableError(f"{source} has no column but the label and those dropped.")
    if list(S) != list(T):
        notes.append(f"{target} has its columns in another order: brought to that of {source}.")
        T = {name: T[name] for name in S}
    Xs, Xt = (pandas.DataFrame(_numbers(X, path)) for X, path in ((S, source), (T, target)))
    odd = [name for name in Xs.columns if _numbers_rows(Xs[name]) and _numbers_rows(Xt[name])]
    if odd:
        notes.append(
            f"another whole number in every row of {listed(odd)}: identifiers are no features. "
            f"Leave them out with --drop, or with --id, which keeps one beside the predictions."
        )
    return Tables(Xs, ys, Xt, tuple(notes), identifiers)


def _numbers_rows(column: pd.Series) -> bool:
    """Whether a column may number the rows: whole numbers, none of them twice."""
    return len(column) > 2 and bool((column % 1 == 0).all() and column.is_unique)


# Reading


def _read(path: Path, separator: str, encoding: str, notes: list[str]) -> dict[str, Sequence[str]]:
    """Read the cells of each column as text."""
    header: list[str] = []
    rows: list[list[str]] = []
    try:
        with _open(path, encoding) as stream:
            for line, record in _records(path, stream, separator):
                if not header:
                    header = _check_header(path, record, separator)
                elif len(record) == len(header):
                    rows.append(record)
                else:
                    raise TableError(_unequal(path, line, record, header))
    except FileNotFoundError as error:
        raise TableError(f"{path} does not exist.") from error
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(f"{path} cannot be read: {_reason(error)}.") from error
    except UnicodeError as error:
        raise TableError(_wrong_encoding(path, encoding, error)) from error
    if not header:
        raise TableError(f"{path} cannot be read as CSV: it is empty.")
    while rows and rows[-1] == [""]:  # lines without text at the end of a table of one column
        rows.pop()
    if len(rows) < 2:
        found = "1 row" if rows else "no rows"
        raise TableError(f"{path} has {found} below its header; at least 2 are needed.")
    columns: dict[str, Sequence[str]] = dict(zip(header, zip(*rows, strict=True), strict=True))
    empty = [name for name in columns if name.startswith("Unnamed: ") and not any(columns[name])]
    for name in empty:  # from a separator at the end of each line
        del columns[name]
        notes.append(f"{path} has a column without name and values: left out.")
    return columns


@contextmanager
def _open(path: Path, encoding: str) -> Iterator[io.TextIOWrapper]:
    """Open a file of text, possibly packed; refuse what is no text. Read once: it may be a pipe."""
    with path.open("rb") as file:
        packed = file.peek(2).startswith(b"\x1f\x8b")
        with gzip.open(file) if packed else file as data:
            head = data.peek(8)
            for mark, (kind, reader) in _BINARY.items():
                if head.startswith(mark):
                    raise TableError(
                        f"{path} is {kind}, expected CSV text. Save it as CSV first, such as in "
                        f"Python: pandas.{reader}({str(path)!r}).to_csv('NAME.csv', index=False)"
                    )
            if encoding == UTF8 and head.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise TableError(
                    f"{path} is UTF-16, expected UTF-8. Give --encoding utf-16, or save it as "
                    "UTF-8."
                )
            yield io.TextIOWrapper(data, encoding, newline="")


def _records(path: Path, stream: Iterable[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Give each record with the number of the line that it begins in.

    Lines without text are passed over, except in a table of one column, where they lack a value.
    """
    lines: list[str] = []

    def watched() -> Iterator[str]:
        for line in stream:
            if "\0" in line:
                raise TableError(
                    f"{path} holds bytes that are 0, expected text. If it is UTF-16, give "
                    "--encoding utf-16-le or utf-16-be; else it is no CSV file."
                )
            lines.append(line)
            yield line

    reader = csv.reader(watched(), delimiter=separator, strict=True)
    width = 0
    first = 1
    quotes = (
        "Quotes enclose a whole cell, and those within it are written twice; a cell that only "
        'begins with a quote, such as "5 inch, has to be written """5 inch".'
    )
    while True:
        try:
            record = next(reader, None)
        except csv.Error as error:
            raise TableError(
                f"{path} cannot be read as CSV: line {first}: {error}. {quotes}"
            ) from error
        if record is None:
            return
        width = width or len(record)
        # A text of several lines is fine. Lines that have all separators of a row are rows.
        texts = [line for line in lines if line.strip()]
        if len(texts) > 1 and all(text.count(separator) >= width - 1 for text in texts):
            raise TableError(
                f"{path} cannot be read as CSV: a quote in line {first} is closed in line "
                f"{reader.line_num} only, and the lines between look like rows. {quotes}"
            )
        blank = not record or (len(record) == 1 and not record[0].strip())
        if not blank:
            yield first, record
        elif width == 1:
            yield first, [""]
        first = reader.line_num + 1
        lines.clear()


def _check_header(path: Path, header: list[str], separator: str) -> list[str]:
    """Name the columns, those without a name as pandas does; raise if two share a name."""
    marks = [mark for mark in ";\t|," if mark != separator and mark in header[0]]
    if len(header) == 1 and marks:
        raise TableError(
            f"{path} has one column, named {_short(header[0])!r}: give the character between its "
            f"columns with --separator, such as --separator {marks[0]!r}. Numbers need decimal "
            "points, not decimal commas."
        )
    header[0] = header[0].removeprefix("\ufeff")
    names = [name if name.strip() else f"Unnamed: {i}" for i, name in enumerate(header)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise TableError(f"{path} has several columns of one name: {listed(twice)}. Rename them.")
    return names


def _unequal(path: Path, line: int, record: Sequence[str], header: Sequence[str]) -> str:
    message = (
        f"{path} cannot be read as CSV: line {line} has {len(record)} values, the header names "
        f"{len(header)} columns ({listed(header)})."
    )
    if len(record) < len(header):
        return f"{message} Complete the line, or take it out."
    if not record[-1]:
        return f"{message} The line ends with a separator: take it away, or add one to the header."
    return (
        f"{message} If it has decimal commas, write decimal points; if a text holds the separator, "
        "put it in quotes."
    )


def _wrong_encoding(path: Path, encoding: str, error: UnicodeError) -> str:
    name = "UTF-8" if encoding == UTF8 else encoding
    found = ""
    if isinstance(error, UnicodeDecodeError):
        around = error.object[max(error.start - 10, 0) : error.start + 10]
        found = f": {around!r}"
    return (
        f"{path} is no {name} text{found}. Save it as UTF-8, or give its encoding, such as "
        "--encoding cp1252 for most files of Western Europe (cp1252 never fails: look at the "
        "result)."
    )


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error)


# What columns hold


def _check_identifier(name: str, label: str, target: Path, T: Mapping[str, Sequence[str]]) -> None:
    """Raise if a column cannot name the target's rows beside the predictions."""
    if name == label or name not in T:
        raise TableError(
            f"--id names {name!r}, which is no column of {target} beside the label; its columns "
            f"are {listed(T)}."
        )
    if name in WRITTEN or name.startswith("probability_"):
        raise TableError(
            f"--id names {name!r}, which is the name of a column of the predictions. Rename the "
            "column, or leave it out with --drop."
        )
    _refuse_formulas([name, *T[name]], f"{target} has identifiers in {name!r}", "leave out --id")


def _refuse_formulas(cells: Iterable[str], where: str, remedy: str) -> None:
    """Raise if a spreadsheet that opens the predictions would run one of the cells.

    Numbers and lone signs do no harm. To write others in another way would change them.
    """
    risky = [
        cell
        for cell in dict.fromkeys(cells)
        if (cell.startswith(_FORMULA) or cell.lstrip().startswith(_FORMULA))
        and any(map(str.isalnum, cell))
        and _number(cell) is None
    ]
    if risky:
        raise TableError(
            f"{where} that a spreadsheet would run as formulas: {listed(risky)}. They are written "
            f"as they are, so a file of predictions would carry them on. Rename them, or {remedy}."
        )


def _check_labels(path: Path, name: str, text: Sequence[str], notes: list[str]) -> NDArray[Any]:
    """Give the labels: the text of the file, or integers if all are and the text follows from them.

    A class may be named NA, None or null, which mark missing values elsewhere.
    """
    empty = [i for i, cell in enumerate(text) if not cell.strip()]
    if empty:
        raise TableError(
            f"{path} lacks the label in {len(empty)} rows (first: row {empty[0]}, from 0). Take "
            "these rows out."
        )
    classes = list(dict.fromkeys(text))
    values = {cell: _number(cell) for cell in classes}
    marks = [cell for cell in classes if cell.strip().lower() in _MISSING]
    others = [cell for cell in classes if cell not in marks]
    if marks and others and all(values[c] is not None and _is_plain(c) for c in others):
        rows = [i for i, cell in enumerate(text) if cell in marks]
        raise TableError(
            f"{path} has numbers for labels but {marks[0]!r} in {len(rows)} rows (first: row "
            f"{rows[0]}, from 0). Take these rows out, or, if they are a class, give it a number, "
            "too."
        )
    numbers = [value for value in values.values() if value is not None]
    if len(numbers) == len(classes) and any(value % 1 for value in numbers):
        raise TableError(
            f"{path} has numbers with fractions for labels ({listed(classes)}): expected classes. "
            "If these are classes, give them names; a quantity cannot be predicted."
        )
    if len(classes) < 2:
        raise TableError(
            f"{path} has one class only in {name!r} ({_short(classes[0])!r}): at least two are "
            "needed."
        )
    _refuse_formulas(classes, f"{path} has labels", "take these rows out")
    alike: dict[Decimal | str, list[str]] = {}
    for cell, value in values.items():
        key = cell.strip()
        alike.setdefault(key if value is None else Decimal(key), []).append(cell)
    for same in alike.values():
        if len(same) > 1:
            notes.append(f"labels that are written differently are classes of their own: {same}.")
    if all(_INTEGER.fullmatch(cell) for cell in classes):
        return np.array(text, dtype=np.int64)
    return np.array(text, dtype=object)


def _is_plain(cell: str) -> bool:
    """Whether a number is written as programs write it, such as 1 and 1.0, not 01 or 1E5."""
    return bool(_INTEGER.fullmatch(cell)) or repr(_number(cell)) == cell


def _number(cell: str) -> float | None:
    """Read a finite number as it is written in English; None for others."""
    if "_" in cell or not cell.isascii():  # which Python takes, too
        return None
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _numbers(X: Mapping[str, Sequence[str]], path: Path) -> dict[str, NDArray[np.float64]]:
    """Read columns as numbers; raise if one has no name, or holds other cells than numbers."""
    unnamed = [name for name in X if name.startswith("Unnamed: ")]
    if unnamed:
        raise TableError(
            f"{path} has columns without a name, such as a row number that was written along: "
            f"name them, or leave them out: --drop {_quoted(unnamed)}"
        )
    numbers: dict[str, NDArray[np.float64]] = {}
    faults: dict[str, list[str]] = {"text": [], "missing": [], "infinite": []}
    commas = False
    for name, cells in X.items():
        values = _column_of_numbers(cells)
        if values is not None:
            numbers[name] = values
            continue
        wrong: dict[str, list[str]] = {}
        for cell in cells:
            if _number(cell) is None:
                wrong.setdefault(_kind(cell), []).append(cell)
        for kind, found in wrong.items():
            example = f"{len(found)} of {len(cells)} rows" if kind == "missing" else repr(found[0])
            faults[kind].append(f"{_short(name)} ({_short(example)})")
        commas = commas or any(map(_DECIMAL_COMMA.fullmatch, wrong.get("text", ())))
    if faults["text"]:
        remedy = (
            "Write decimal points, not decimal commas, and nothing between thousands"
            if commas
            else "Encode them as numbers, alike in both files, or leave them out with --drop"
        )
        raise TableError(
            f"{path} has columns that are not numbers: {listed(faults['text'])}. {remedy}."
        )
    if faults["missing"]:
        raise TableError(
            f"{path} lacks values in {listed(faults['missing'])}. Fill them, alike in both files, "
            "or leave out these rows or columns."
        )
    if faults["infinite"]:
        raise TableError(
            f"{path} has infinite values in {listed(faults['infinite'])}. Replace them, or leave "
            "out these rows or columns."
        )
    return numbers


def _column_of_numbers(cells: Sequence[str]) -> NDArray[np.float64] | None:
    """Read a column of numbers or of truth values; None if a cell is another."""
    text = "".join(cells)
    if "_" in text or not text.isascii():  # see _number, which is slower
        return None
    try:
        values = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        truth = [cell.strip().lower() for cell in cells]
        if set(truth) <= {"true", "false"}:
            return np.array([cell == "true" for cell in truth], dtype=np.float64)
        return None
    return values if np.isfinite(values).all() else None


def _kind(cell: str) -> str:
    """Say what a cell is that is no finite number."""
    if cell.strip().lower() in _MISSING:
        return "missing"
    try:
        return "infinite" if np.isinf(float(cell)) else "text"
    except ValueError:
        return "text"


def _short(text: object) -> str:
    """Cut a long text, for a message."""
    text = str(text)
    return text if len(text) <= _LENGTH else f"{text[:_LENGTH]}..."


def listed(names: Iterable[object]) -> str:
    """Write the first names of many, those with spaces around them in quotes."""
    texts = [_short(name) for name in names]
    shown = [printable(t) if t == t.strip() and t else repr(t) for t in texts[:_LISTED]]
    more = f" and {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
    return ", ".join(shown) + more


def _quoted(names: Iterable[str]) -> str:
    text = " ".join(shlex.quote(printable(name)) for name in names)
    return text if len(text) <= _LENGTH * _LISTED else "COLUMN ..."


# Writing


def check_output(path: Path, inputs: Sequence[Path], *, force: bool) -> None:
    """Raise a TableError if predictions could not, or should not, be written.

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
    if path.exists() and not path.is_file():
        raise TableError(f"--output names a device or a pipe, expected a file: {path}.")
    if not path.parent.is_dir():
        raise TableError(f"The folder of --output does not exist: {path.parent}.")
    if any(path.resolve() == other.resolve() for other in inputs):
        raise TableError(f"--output names an input: {path}.")
    if path.exists() and not force:
        raise TableError(
            f"{path} exists. Name another file with --output, or overwrite it with --force."
        )
    if path.exists() and not path.stat().st_mode & 0o222:
        raise TableError(f"--output names a file that is read-only: {path}. Name another file.")
    if not os.access(path.resolve().parent, os.W_OK):
        raise TableError(f"The folder of --output cannot be written to: {path.resolve().parent}.")


def write_predictions(
    path: Path,
    predicted: NDArray[Any],
    probabilities: NDArray[np.float64] | None,
    classes: NDArray[Any],
    *,
    identifiers: pd.Series | None = None,
    more: Mapping[str, Sequence[Any] | NDArray[Any]] | None = None,
    force: bool,
) -> None:
    """Write one line for each target row; the file is whole at any time.

    Parameters
    ----------
    path : Path
    predicted : ndarray of shape (n,)
    probabilities : ndarray of shape (n, n_classes) or None
    classes : ndarray of shape (n_classes,)
    identifiers : Series of shape (n,) or None
        Written along under its own name.
    more : mapping of str to array-like of shape (n,), or None
        Further columns.
    force : bool
        Whether a file that exists is replaced.

    Raises
    ------
    TableError
        The file exists, or cannot be written. What was there before is unchanged.
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
        _write_whole(path, frame, force=force)
    except OSError as error:
        raise TableError(f"{path} cannot be written: {_reason(error)}.") from error


def _write_whole(path: Path, frame: pd.DataFrame, *, force: bool) -> None:
    """Write beside the file, and rename: whatever ends the program leaves the old or the new."""
    path = path.resolve()  # a link stays one
    temporary = path.with_name(f".krda-{secrets.token_hex(4)}.part")
    # The csv module of Python 3.11 leaves carriage returns bare, which readers take for line ends.
    texts = [*frame.columns, *frame.select_dtypes(exclude="number").to_numpy(dtype=object).flat]
    bare = any("\r" in str(text) for text in texts)
    quoting: Literal[0, 1] = csv.QUOTE_ALL if bare else csv.QUOTE_MINIMAL
    try:
        with temporary.open("x", encoding="utf-8", newline="") as stream:
            frame.to_csv(stream, index=False, lineterminator="\n", quoting=quoting)
            stream.flush()
            os.fsync(stream.fileno())
        if not force:
            path.open("x").close()
        elif path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
