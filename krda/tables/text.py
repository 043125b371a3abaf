"""Text files as tables of text: encoding, separator, rows and decimal commas.

Every cell stays the text that the file holds. A row is never cut, filled or joined with another:
the file is refused instead.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence

import pandas as pd

from krda.tables.errors import MISSING, TableError, listed, shown

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}

_BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
# Encodings that charset-normalizer may find. Without these limits it often takes a rare one.
_ENCODINGS = ["cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp850", "mac_roman", "koi8_r",
              "cp932", "cp949", "gb18030", "big5"]  # fmt: skip
# How files begin that are no text.
_BINARY = {
    b"PAR1": "a Parquet file (.parquet)",
    b"ARROW1": "a Feather file (.feather)",
    b"PK\3\4": "a spreadsheet (.xlsx, .ods) or an archive (.zip)",
    b"\xd0\xcf\x11\xe0": "a spreadsheet (.xls)",
    b"\x1f\x8b": "an archive (.gz)",
    b"BZh": "an archive (.bz2)",
    b"\xfd7zXZ": "an archive (.xz)",
}
_SAMPLE = 2**17  # characters that decide on the separator

# A number that may have a decimal comma, with points between thousands or without.
_WITH_COMMA = re.compile(r"(?a)[-+]?(?=,?\d)(\d+|[1-9]\d{0,2}(\.\d{3})+)?(,\d+)?([eE][-+]?\d+)?")
_THOUSANDS = re.compile(r"(?a)[-+]?[1-9]\d{0,2}(,\d{3})+")


def parse_text(
    content: bytes,
    path: str,
    *,
    separator: str | None,
    decimal: str | None,
    encoding: str | None,
    as_text: Sequence[str] = (),
    tabs: bool = False,
) -> tuple[pd.DataFrame, list[str]]:
    """Give a file's content as a table of text, and notes on what was detected.

    Columns ``as_text`` keep their decimal commas. ``tabs`` says that tabs separate the columns if
    several characters can.
    """
    if separator is not None and (len(separator) != 1 or separator in '"\r\n'):
        raise TableError(
            f"the separator must be one character, such as ';', and no quote; got {separator!r}."
        )
    if decimal not in (None, ".", ","):
        raise TableError(f"the decimal mark must be '.' or ',', got {decimal!r}.")
    text, notes = _decode(content, path, encoding)
    if separator is None:
        separator = _find_separator(text, path, tabs)
        if separator != ",":
            notes.append(f"{path}: {SEPARATORS[separator]} separate the columns.")
    header, *rows = _records(path, text, separator)
    table = pd.DataFrame(_named(path, header, rows), dtype=object)
    if decimal == "," or (decimal is None and separator != ","):
        table, replaced = _with_points(table, path, as_text, certain=decimal == ",")
        if replaced:
            notes.append(f"{path}: decimal commas were read in {listed(replaced)}.")
    return table, notes


# Encoding


def _decode(content: bytes, path: str, encoding: str | None) -> tuple[str, list[str]]:
    """Decode a file; give its text with plain line ends, and a note if it is not UTF-8."""
    name, guessed = (encoding, False) if encoding else _find_encoding(content)
    try:
        text = content.decode(name)
        if "\0" in text:
            raise UnicodeError("it holds bytes that are 0")
        if guessed and re.search(r"[\x01-\x08\x0e-\x1f\x7f]", text):
            raise UnicodeError("it holds control characters")
    except (LookupError, UnicodeError) as error:
        kind = next((k for start, k in _BINARY.items() if content.startswith(start)), None)
        raise TableError(
            f"{path} is no {name} text ({error}). "
            + (f"It seems to be {kind}: give the file that suffix. " if kind else "")
            + "Expected separated text, .parquet, .feather, .xlsx, .xls or .ods. For text name its "
            "encoding, such as utf-16 or cp1252, with encoding."
        ) from error
    notes = []
    if guessed:
        notes.append(
            f"{path}: the encoding is a guess, {name}. Look at letters that are not English, and "
            "name the encoding if they are wrong."
        )
    elif encoding is None and name != "utf-8":
        notes.append(f"{path}: the encoding is {name}.")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"), notes


def _find_encoding(content: bytes) -> tuple[str, bool]:
    """Give the encoding, and whether it is a guess."""
    for mark, name in _BYTE_ORDER_MARKS.items():
        if content.startswith(mark):
            return name, False
    start = content[: 2**16]
    half = max(len(start) // 2, 1)
    even, odd = start[::2].count(0) / half, start[1::2].count(0) / half
    # In UTF-16, every second byte of an English letter, a digit or a separator is 0.
    if min(even, odd) < 0.01 and max(even, odd) > 0.3:
        return ("utf-16-le" if odd > even else "utf-16-be"), False
    try:
        content.decode("utf-8")
    except UnicodeError:
        return _guess_encoding(content), True
    return "utf-8", False


def _guess_encoding(content: bytes) -> str:
    """Guess by the lines that are not ASCII; cp1252 if nothing fits better, or if few differ."""
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return "cp1252"
    if sum(byte > 127 for byte in set(content)) < 4:
        return "cp1252"
    lines = b"\n".join(line for line in content.splitlines() if not line.isascii())[: 2**16]
    matches = from_bytes(lines, cp_isolation=_ENCODINGS)
    best = matches.best()
    if best is None:
        return "cp1252"
    ties = [m for m in matches if (m.chaos, m.coherence) == (best.chaos, best.coherence)]
    western = any("cp1252" in [m.encoding, *m.could_be_from_charset] for m in ties)
    return "cp1252" if western else best.encoding


# Separator and rows


def _find_separator(text: str, path: str, tabs: bool) -> str:
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
    if tabs and "\t" in fitting:
        return "\t"
    if len(fitting) > 1:
        raise TableError(
            f"{path} can be read with {' or '.join(SEPARATORS[s] for s in fitting)} between the "
            "columns. Name the right one with separator."
        )
    return max(agreement, key=agreement.__getitem__, default=",")


def _records(path: str, text: str, separator: str) -> Iterator[list[str]]:
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
                        "line's end, and another separator, to be named with separator"
                    )
                # A text of several lines is fine. Lines with all separators of a row are rows.
                several = record if reader.line_num > first else []
                more = [part for cell in several for part in cell.split("\n")[1:] if part.strip()]
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


def _named(path: str, header: list[str], rows: list[list[str]]) -> dict[str, list[str]]:
    """Give columns by name, without those that a separator at the end of each line makes."""
    columns: dict[str, list[str]] = {}
    for i, name in enumerate(map(str.strip, header)):
        cells = [row[i] for row in rows]
        if not name and any(map(str.strip, cells)):
            filled = [cell for cell in cells if cell.strip()]
            raise TableError(
                f"{path} has no name for column {i + 1} (line 1), which begins with "
                f"{listed(filled[:3])}. Write a name into the header; an index of pandas is left "
                "out by to_csv(index=False)."
            )
        if name in columns:
            raise TableError(
                f"{path} has several columns of one name (line 1): {listed([name])}. Rename them."
            )
        if name:
            columns[name] = cells
    return columns


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
            f"{ambiguous}. Say which with decimal: ',' for decimal commas, '.' for thousands."
        )
    return table.assign(**columns), list(columns)
