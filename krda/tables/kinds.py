"""What a column holds: numbers, truth values, dates or text, decided on both tables together."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from krda.tables.cells import (
    DATE_FORMS,
    ISO,
    BoolArray,
    Cells,
    Kind,
    Reading,
    like_number,
    odd_cell,
    texts,
)
from krda.tables.errors import TableError, shown
from krda.validation import FloatArray

#: If at most this share of the cells is odd, these are errors in the file; else it is text.
ODD_SHARE = 0.1
#: Tables with fewer rows may have another value in each of them by chance.
IDENTIFIER_ROWS = 10
# How far the distribution of identifiers is from even, at most, see `is_numbering`.
_EVEN = 0.1

# Cells of each table that are looked at before all are.
_FIRST = 50
_LIKE_DATE = re.compile(r"(?a)\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*")
_Pair = tuple[Cells, Cells]
TABLES = ("source", "target")


class Content(NamedTuple):
    """How a column is read, with the numbers of each table; text is not read as numbers."""

    reading: Reading | None
    values: list[FloatArray]
    note: str = ""


def find_content(name: str, columns: _Pair) -> Content:
    """Decide how a column is read; raise if the tables differ or a few cells are odd."""
    if any(cells.dtype == "category" for cells in columns):
        return Content(None, [])
    for reading in (Reading("number"), Reading("number", "thousands"), Reading("boolean")):
        values = _values(reading, columns)
        if values:
            note = "Commas are read as separators of thousands." if reading.form else ""
            return Content(reading, values, note)
    dates = [Reading("date", form) for form in _date_forms(columns)]
    found = [(reading, values) for reading in dates if (values := _values(reading, columns))]
    if found and (len(found) == 1 or found[0][0].form == ISO):
        return Content(*found[0])
    if found:
        note = "If these are dates, day and month cannot be distinguished: write 2024-01-31."
        return Content(None, [], note)
    _refuse_decimals(name, columns)
    for reading in (Reading("number"), *dates):
        _refuse_differing(name, columns, reading)
    for reading in dates:
        _refuse_odd(name, columns, "date", _odd(reading, columns))
    return Content(None, [])


def _values(reading: Reading, columns: _Pair) -> list[FloatArray] | None:
    """Give the numbers of both tables, or None if a cell is odd; the first ones often say so."""
    for part in (slice(_FIRST), slice(None)):
        read = [reading.read(Cells(c.dtype, c.values[part], c.missing[part])) for c in columns]
        if any(odd.any() for _, odd in read):
            return None
    return [numbers for numbers, _ in read]


def _odd(reading: Reading, columns: _Pair) -> list[BoolArray]:
    return [reading.read(cells)[1] for cells in columns]


def _date_forms(columns: _Pair) -> tuple[str, ...]:
    """Give the forms to try: none if the first cells of neither table look like dates."""
    typed = any(cells.dtype == "date" for cells in columns)
    first = [str(word) for cells in columns for word in cells.values[~cells.missing][:_FIRST]]
    if typed or any(map(_LIKE_DATE.fullmatch, first)):
        return (ISO, *DATE_FORMS)
    return ()


# Columns that are refused


def _refuse_decimals(name: str, columns: _Pair) -> None:
    """Raise for decimal commas, for infinite numbers, and for a few odd cells among numbers."""
    odd = _odd(Reading("number"), columns)
    unlike = []
    for o, cells, table in zip(odd, columns, TABLES, strict=True):
        if cells.dtype == "number" and o.any():  # infinite
            raise odd_cell("number", cells, o, name, table)
        words = texts(cells)
        like = set(filter(like_number, set(words[o])))
        unlike.append(o & np.array([word not in like for word in words]))
    if any(u.any() for u in unlike):
        _refuse_odd(name, columns, "number", unlike)
        return
    first = 0 if odd[0].any() else 1
    cell = columns[first].values[odd[first]][0]
    raise TableError(
        f"column {shown(name)} of the {TABLES[first]} has {shown(cell)}; expected finite numbers "
        "with decimal points. Read a file with decimal commas with decimal=',', or write points in "
        "it; else name the column in categories, or leave it out with drop."
    )


def _refuse_differing(name: str, columns: _Pair, reading: Reading) -> None:
    """Raise if all cells of one table can be read, and not those of the other.

    Unless the other has these cells, too: rows of a category with levels 101 and 12B may lack 12B.
    """
    odd = _odd(reading, columns)
    words = [texts(cells) for cells in columns]
    known = [set(w[~cells.missing]) for w, cells in zip(words, columns, strict=True)]
    for this, other in ((0, 1), (1, 0)):
        if known[this] and not odd[this].any() and not known[this] <= known[other]:
            row = int(odd[other].argmax())
            raise TableError(
                f"column {shown(name)} holds {reading.kind}s in the {TABLES[this]}, such as "
                f"{shown(words[this][~columns[this].missing][0])}, and {shown(words[other][row])} "
                f"in row {row} (from 0) of the {TABLES[other]}; expected the same in both tables. "
                "Write it in the same way in both files, name it in categories if it holds "
                "categories, or leave it out with drop."
            )


def _refuse_odd(name: str, columns: _Pair, kind: Kind, odd: list[BoolArray]) -> None:
    """Raise if a few cells are odd: some, and at most a tenth of those that are not missing."""
    count = sum(int((~cells.missing).sum()) for cells in columns)
    if 0 < sum(int(o.sum()) for o in odd) <= ODD_SHARE * count:
        table = 0 if odd[0].any() else 1
        raise odd_cell(kind, columns[table], odd[table], name, TABLES[table])


# Identifiers


def is_numbering(numbers: FloatArray) -> bool:
    """Say whether numbers name rows: whole, all different, and evenly spread over their range.

    Numbers that count rows are even, also if some are left out or their order is random. Measured
    quantities, such as incomes, have a centre and tails.
    """
    x = np.sort(numbers)
    if len(x) < IDENTIFIER_ROWS or np.isnan(x).any() or (x % 1).any() or not np.diff(x).all():
        return False
    even = np.linspace(0, 1, len(x))
    return bool(np.abs((x - x[0]) / (x[-1] - x[0]) - even).max() <= _EVEN)


def are_all_different(words: Any) -> bool:
    """Say whether each row has another text."""
    return len(words) >= IDENTIFIER_ROWS and len(set(words)) == len(words)
