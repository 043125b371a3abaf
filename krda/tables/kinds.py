"""What a column holds: numbers, truth values, dates or text, decided on both tables together."""

from __future__ import annotations

import re
from typing import NamedTuple

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
)
from krda.tables.errors import TableError, place, shown
from krda.validation import FloatArray

#: If at most this share of the cells is odd, these are errors in the file; else it is text.
ODD_SHARE = 0.1
TABLES = ("source", "target")
Pair = tuple[Cells, Cells]

# Cells of each table that are looked at before all are.
_FIRST = 50
_LIKE_DATE = re.compile(r"(?a)\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*")
_DOUBTFUL_DATES = (
    "If these are dates, write all as 2024-01-31: now their forms differ, or no cell shows which "
    "number is the day."
)
_OR_LEAVE_IT = (
    ", name the column in `categories` if it holds categories, or leave it out with `drop`"
)


class Content(NamedTuple):
    """How a column is read, with the numbers of each table; text is not read as numbers."""

    reading: Reading | None = None
    values: tuple[FloatArray, ...] = ()
    note: str = ""


def find_content(columns: Pair) -> Content:
    """Decide how a column is read; raise if the tables differ or a few cells are odd."""
    if any(cells.dtype == "category" for cells in columns):
        return Content()
    for reading in (Reading("number"), Reading("number", "thousands"), Reading("boolean")):
        if values := _values(reading, columns):
            note = "Commas are read as separators of thousands." if reading.form else ""
            return Content(reading, values, note)
    dates = [Reading("date", form) for form in _date_forms(columns)]
    found = [Content(reading, values) for reading in dates if (values := _values(reading, columns))]
    if len(found) == 1 or (found and found[0].reading == Reading("date", ISO)):
        return found[0]
    if not found:
        _refuse_numbers(columns)
        for reading in (Reading("number"), *dates):
            _refuse_differing(columns, reading)
        for reading in dates:
            _refuse_odd(columns, "date", _odd(reading, columns))
    return Content(note=_DOUBTFUL_DATES if dates and _are_like_dates(columns) else "")


def _values(reading: Reading, columns: Pair) -> tuple[FloatArray, ...] | None:
    """Give the numbers of both tables, or None if a cell is odd; the first ones often say so."""
    for n in (_FIRST, None):
        read = [reading.read(cells.first(n) if n else cells) for cells in columns]
        if any(odd.any() for _, odd in read):
            return None
    return tuple(numbers for numbers, _ in read)


def _odd(reading: Reading, columns: Pair) -> list[BoolArray]:
    return [reading.read(cells)[1] for cells in columns]


def _date_forms(columns: Pair) -> tuple[str, ...]:
    """Give the forms to try: none if the first cells of neither table look like dates."""
    typed = any(cells.dtype == "date" for cells in columns)
    first = [word for cells in columns for word in cells.first(_FIRST).texts()]
    return (ISO, *DATE_FORMS) if typed or any(map(_LIKE_DATE.fullmatch, first)) else ()


def _are_like_dates(columns: Pair) -> bool:
    words = [word for cells in columns for word in cells.texts() if word]
    return sum(map(bool, map(_LIKE_DATE.fullmatch, words))) >= (1 - ODD_SHARE) * len(words)


# Columns that are refused


def _refuse_numbers(columns: Pair) -> None:
    """Raise for decimal commas, for infinite numbers, and for a few odd cells among numbers."""
    odd = _odd(Reading("number"), columns)
    unlike = []
    for o, cells, table in zip(odd, columns, TABLES, strict=True):
        if cells.dtype == "number" and o.any():  # infinite
            raise odd_cell("number", cells, o, table, _OR_LEAVE_IT)
        words = cells.texts().tolist()
        like = {word: like_number(word) for word in set(words)}
        unlike.append(o & ~np.array([like[word] for word in words]))
    if any(u.any() for u in unlike):
        _refuse_odd(columns, "number", unlike)
        return
    which = 0 if odd[0].any() else 1
    cells, row = columns[which], int(odd[which].argmax())
    raise TableError(
        f"column {shown(cells.column.name)} of the {TABLES[which]} has {shown(cells.values[row])} "
        f"in {place(cells.column.index, row)}; expected numbers up to 1e308 with decimal points. "
        "If commas are decimal marks in all of a text file, say so with `decimal`; else write "
        f"points{_OR_LEAVE_IT}."
    )


def _refuse_differing(columns: Pair, reading: Reading) -> None:
    """Raise if all cells of one table can be read, and not those of the other.

    Unless the other has these cells, too: rows of a category with levels 101 and 12B may lack 12B.
    """
    odd = _odd(reading, columns)
    words = [cells.texts() for cells in columns]
    known = [set(w[~cells.missing]) for w, cells in zip(words, columns, strict=True)]
    for this, other in ((0, 1), (1, 0)):
        if known[this] and not odd[this].any() and not known[this] <= known[other]:
            row = int(odd[other].argmax())
            raise TableError(
                f"column {shown(columns[this].column.name)} holds {reading.kind}s in the "
                f"{TABLES[this]}, such as {shown(words[this][~columns[this].missing][0])}, and "
                f"{shown(words[other][row])} in {place(columns[other].column.index, row)} of the "
                f"{TABLES[other]}; expected the same in both tables. Write it in the same way in "
                f"both files{_OR_LEAVE_IT}."
            )


def _refuse_odd(columns: Pair, kind: Kind, odd: list[BoolArray]) -> None:
    """Raise if a few cells are odd: some, and at most a tenth of those that are not missing."""
    count = sum(int((~cells.missing).sum()) for cells in columns)
    if 0 < sum(int(o.sum()) for o in odd) <= ODD_SHARE * count:
        table = 0 if odd[0].any() else 1
        raise odd_cell(kind, columns[table], odd[table], TABLES[table], _OR_LEAVE_IT)
