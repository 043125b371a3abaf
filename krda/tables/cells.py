"""The cells of one column of one table, and how they are read as numbers.

A :class:`Reading` is chosen once, for both tables, and reads later tables in the same way.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from krda.tables.errors import MISSING, NUMBER, TableError, place, shown
from krda.validation import FloatArray

BoolArray = NDArray[np.bool_]
Kind = Literal["number", "boolean", "date"]

#: What a cell of each kind looks like.
EXPECTED = {
    "number": "a number such as 1.5",
    "boolean": "true or false, yes or no, y or n, t or f",
    "date": "a date such as 2024-01-31",
}
ISO = "ISO8601"
#: Forms of dates besides ISO's, each with a time or without.
DATE_FORMS = tuple(
    date + time
    for date in ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y")
    for time in ("", " %H:%M", " %H:%M:%S")
)

_NUMBER = re.compile(NUMBER)
_UNUSUAL = re.compile(r"[^0-9.eE+\-\n]")
_GROUPED = re.compile(r"(?a)[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
_WITH_COMMA = re.compile(r"(?a)[-+]?\d*(\.\d{3})*,\d+([eE][-+]?\d+)?")
_ISO = re.compile(r"(?a)\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?\s?(Z|[-+]\d\d(:?\d\d)?)?)?")
_TRUTH = ({"true": 1.0, "false": 0.0}, {"yes": 1.0, "no": 0.0}, {"y": 1.0, "n": 0.0},
          {"t": 1.0, "f": 0.0}, {"1": 1.0, "0": 0.0})  # fmt: skip


class Cells(NamedTuple):
    """One column of one table."""

    column: Any  # a pandas Series
    dtype: Literal["number", "boolean", "date", "category", "text"]
    # Numbers, dates in days and truth values, NaN if missing; or stripped text, '' if missing.
    values: NDArray[Any]
    missing: BoolArray

    def first(self, n: int) -> Cells:
        """Give the first cells."""
        return Cells(self.column[:n], self.dtype, self.values[:n], self.missing[:n])

    def texts(self) -> NDArray[Any]:
        """Give cells as stripped text, '' if they are missing, whatever their type is."""
        return self.values if self.dtype in ("category", "text") else _texts(self.column)


def cells_of(column: Any) -> Cells:
    """Give the cells of a pandas Series by its type."""
    types = pd.api.types
    if types.is_datetime64_any_dtype(column):
        days = _days(pd.to_datetime(column, utc=True))
        return Cells(column, "date", days, np.isnan(days))
    if types.is_numeric_dtype(column) and not types.is_complex_dtype(column):  # or truth values
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        kind: Kind = "boolean" if types.is_bool_dtype(column) else "number"
        return Cells(column, kind, numbers, np.isnan(numbers))
    texts = _texts(column)
    typed = isinstance(column.dtype, pd.CategoricalDtype)
    return Cells(column, "category" if typed else "text", texts, texts == "")


def _texts(column: Any) -> NDArray[Any]:
    gaps = column.isna().to_numpy()
    cells = column.astype(object).to_numpy()
    words = [
        cell.strip() if type(cell) is str else "" if gap else _text_of(cell)
        for cell, gap in zip(cells, gaps, strict=True)
    ]
    return np.array(["" if word.lower() in MISSING else word for word in words], dtype=object)


def _text_of(cell: object) -> str:
    """Write a cell; 1.0 is 1, since a gap makes whole numbers fractions."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


def _days(dates: Any) -> FloatArray:
    """Give days since 1970, NaN if missing; whatever the unit, to the microsecond."""
    times = dates.to_numpy("datetime64[us]")
    days = times.astype(np.int64) / 86400e6
    return np.where(np.isnat(times), np.nan, days)


@dataclass(frozen=True)
class Reading:
    """How the cells of a column become numbers."""

    kind: Kind
    form: str = ""  # of dates; "thousands" if commas separate the thousands of numbers

    def read(self, cells: Cells) -> tuple[FloatArray, BoolArray]:
        """Give numbers, NaN if missing or odd, and which cells are odd: not of this kind."""
        if cells.dtype in ("category", "text"):
            numbers = np.full(len(cells.values), np.nan)
            words = cells.values[~cells.missing]
            numbers[~cells.missing] = _READERS[self.kind](words, self.form)
        elif cells.dtype == self.kind:
            numbers = cells.values
        elif (cells.dtype, self.kind) == ("number", "boolean"):
            numbers = np.where(np.isin(cells.values, (0, 1)), cells.values, np.nan)
        else:
            numbers = np.full(len(cells.values), np.nan)
        odd = ~np.isfinite(numbers) & ~cells.missing
        return np.where(odd, np.nan, numbers), odd


def like_number(word: str) -> bool:
    """Say whether text is a number in some way of writing, with decimal points or commas."""
    return any(form.fullmatch(word) for form in (_NUMBER, _GROUPED, _WITH_COMMA))


def odd_cell(kind: Kind, cells: Cells, odd: BoolArray, table: str, advice: str = "") -> TableError:
    """Say which cell of a column is not like the others."""
    row, count = int(odd.argmax()), int(odd.sum())
    return TableError(
        f"column {shown(cells.column.name)} of the {table} has {shown(cells.texts()[row])} in "
        + place(cells.column.index, row)
        + (f" and {count - 1} more such cells" if count > 1 else "")
        + f"; expected {EXPECTED[kind]} in each row. Correct or empty these cells{advice}."
    )


def _numbers(words: NDArray[Any], form: str) -> FloatArray:
    """Read decimal numbers with points."""
    if form == "thousands":
        words = np.array([w.replace(",", "") if _GROUPED.fullmatch(w) else w for w in words], "O")
    if not _UNUSUAL.search("\n".join(words)):  # fast, and fails only for odd cells
        with contextlib.suppress(ValueError):
            return words.astype(np.float64)
    return np.array([w if _NUMBER.fullmatch(w) else "nan" for w in words], "O").astype(np.float64)


def _truth_values(words: NDArray[Any], form: str) -> FloatArray:
    """Read one pair of words, in any case, as 1 and 0."""
    lower = [word.lower() for word in words]
    pair = next((pair for pair in _TRUTH if pair.keys() >= set(lower)), {})
    return np.array([pair.get(word, np.nan) for word in lower], dtype=np.float64)


def _dates(words: NDArray[Any], form: str) -> FloatArray:
    """Read dates of one form as days; those with an offset as UTC."""
    if form == ISO:
        words = np.array([w if _ISO.fullmatch(w) else "" for w in words], dtype=object)
    series = pd.Series(words, dtype=object)
    return _days(pd.to_datetime(series, format=form, utc=True, errors="coerce"))


_READERS = {"number": _numbers, "boolean": _truth_values, "date": _dates}
