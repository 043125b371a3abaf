"""Text files as tables of text: encoding, separator, rows and decimal commas.

Every cell stays the text that the file holds. A row is never cut, filled or joined with another:
the file is refused instead.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from krda.tables.errors import LINE, MISSING, TableError, listed, shown

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}

_SAMPLE = 2**17  # characters that decide on the separator

# A number that may have a decimal comma, with points between thousands or without.
_WITH_COMMA = re.compile(r"(?a)[-+]?(?=,?\d)(\d+|[1-9]\d{0,2}(\.\d{3})+)?(,\d+)?([eE][-+]?\d+)?")
_THOUSANDS = re.compile(r"(?a)[-+]?[1-9]\d{0,2}(,\d{3})+")


def parse_text(
    content: bytes, path: str, separator: str | None, decimal: str | None, encoding: str | None,
    as_text: Sequence[str],
) -> tuple[pd.DataFrame, list[str]]:  # fmt: skip
    """Give a file's content as a table of text, and notes on what was detected.

    Columns ``as_text`` keep their decimal commas.
    """
    if separator is not None and (len(separator) != 1 or separator in '"\r\n'):
        raise TableError(
            f"`separator` must be one character, such as ';', and no quote; got {separator!r}."
        )
    if decimal not in (None, ".", ","):
        raise TableError(f"`decimal` must be '.' or ',', got {decimal!r}.")
    text, notes = _decode(content, path, encoding)
    found = separator or _find_separator(text, path)
    if separator is None and found != ",":
        notes.append(f"{path}: {SEPARATORS[found]} separate the columns.")
    lines, records = zip(*_records(path, text, found), strict=True)
    header = records[0]
    if separator is None and len(header) == 1 and any(mark in header[0] for mark in SEPARATORS):
        raise TableError(
            f"{path} has a single column, called {shown(header[0])}. Quotes enclose one cell: "
            "remove those around whole lines, or name the character between the columns with "
            "`separator`."
        )
    index = pd.Index(lines[1:], name=LINE)
    table = checked(pd.DataFrame(records[1:], index=index, columns=header, dtype=object), path)
    if decimal == "," or (decimal is None and found != ","):
        table, replaced = _with_points(table, path, as_text, certain=decimal == ",")
        if replaced:
            notes.append(f"{path}: decimal commas were read in {listed(replaced)}.")
    return table, notes


# Encoding


def _decode(content: bytes, path: str, encoding: str | None) -> tuple[str, list[str]]:
    """Decode a file; give its text with plain line ends, and a note if the encoding is a guess."""
    name = encoding or _find_encoding(content)
    try:
        text = content.decode(name)
        if "\0" in text:
            raise UnicodeError("it holds bytes that are 0")
    except (LookupError, UnicodeError) as error:
        raise TableError(
            f"{path} is no {name} text ({error}). If it is a .parquet, .feather, .xlsx, .gz or "
            ".zip file, give it that suffix. If it is text, name its encoding, such as utf-16 or "
            "cp850, with `encoding`."
        ) from error
    notes = []
    if encoding is None and name == "cp1252":
        notes.append(
            f"{path} is not UTF-8 and was read as {name}. Look at letters that are not English; if "
            "they are wrong, name the encoding with `encoding`."
        )
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"), notes


def _find_encoding(content: bytes) -> str:
    """Tell UTF-16 by its mark, and UTF-8; take all else for cp1252."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    with contextlib.suppress(UnicodeError):
        content.decode("utf-8")
        return "utf-8"
    return "cp1252"


# Separator and rows


def _find_separator(text: str, path: str) -> str:
    """Find the separator that gives all rows as many cells as the header, or most of them."""
    agreement = {}
    for separator in SEPARATORS:
        lines = io.StringIO(text[:_SAMPLE])
        try:
            records = [r for r in csv.reader(lines, delimiter=separator) if "".join(r).strip()]
        except csv.Error:
            continue
        widths = [len(record) for record in records]
        if len(text) > _SAMPLE:
            widths.pop()  # cut
        if widths and widths[0] > 1:
            agreement[separator] = widths.count(widths[0]) / len(widths)
    fitting = [separator for separator, share in agreement.items() if share == 1]
    if len(fitting) > 1:
        raise TableError(
            f"{path} can be read with {' or '.join(SEPARATORS[s] for s in fitting)} between the "
            "columns. Name the right one with `separator`."
        )
    return max(agreement, key=agreement.__getitem__, default=",")


def _records(path: str, text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Give the header and each row: its line and its cells, equally many.

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
                        "line's end, and another separator, to be named with `separator`"
                    )
                # A text of several lines is fine. Lines with all separators of a row are rows.
                several = record if reader.line_num > first else []
                more = [part for cell in several for part in cell.split("\n")[1:] if part.strip()]
                if more and all(part.count(separator) >= width - 1 for part in more):
                    raise csv.Error(f"a quote is closed in line {reader.line_num} only, after rows")
                yield first, record or [""]
            first = reader.line_num + 1
    except csv.Error as error:
        raise TableError(
            f"{path} cannot be read as CSV: line {first}: {error}. Quotes enclose a whole cell, "
            'and those within it are written twice: """5 inch" for "5 inch.'
        ) from error
    if n < 2:
        raise TableError(f"{path} has no rows below its header.")


def checked(table: Any, path: str) -> pd.DataFrame:
    """Refuse names that are empty or not unique; leave out nameless columns without values.

    Such a column is what a separator at the end of each line makes.
    """
    table.columns = names = [str(name).strip() for name in table.columns]
    for i in [i for i, name in enumerate(names) if not name]:
        cells = [cell for cell in table.iloc[:, i].dropna() if str(cell).strip()]
        if cells:
            raise TableError(
                f"{path} has no name for column {i + 1}, which begins with {listed(cells[:3])}. "
                "Write names into the first row, and delete what is above them, such as a title. "
                "An index of pandas is left out by to_csv(index=False)."
            )
    twice = [name for name, n in Counter(filter(None, names)).items() if n > 1]
    if twice:
        raise TableError(f"{path} has several columns of one name: {listed(twice)}. Rename them.")
    if not len(table) or not any(names):
        raise TableError(f"{path} has no rows below its header.")
    return table.loc[:, list(map(bool, names))]


# Decimal commas


def _with_points(
    table: pd.DataFrame, path: str, as_text: Sequence[str], *, certain: bool
) -> tuple[pd.DataFrame, list[str]]:
    """Write points for decimal commas in columns of numbers; name these columns.

    A comma can separate thousands, too. ``certain`` says that it does not. Else one cell of the
    file must show it, such as 1,5 or 0,123.
    """
    columns = {}
    ambiguous: str | None = None
    for name, cells in table.drop(columns=as_text, errors="ignore").items():
        words = [cell.strip() for cell in cells]
        numbers = [word for word in words if word.lower() not in MISSING]
        commas = [word for word in numbers if "," in word]
        if commas and all(map(_WITH_COMMA.fullmatch, numbers)):
            columns[name] = [
                word if word.lower() in MISSING else word.replace(".", "").replace(",", ".")
                for word in words
            ]
            certain = certain or not all(map(_THOUSANDS.fullmatch, commas))
            ambiguous = ambiguous or f"{commas[0]} in column {shown(name)}"
    if columns and not certain:
        raise TableError(
            f"{path} has commas that can be decimal marks or separate thousands, such as "
            f"{ambiguous}. Say which with `decimal`: ',' for decimal commas, '.' for thousands."
        )
    return table.assign(**columns), list(columns)
