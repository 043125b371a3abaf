"""How one column of the tables becomes columns of numbers, fitted once and used for later tables.

The state is plain: numbers, text and lists, so that a fitted encoder can be saved by skops.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from krda.tables.cells import Cells, Reading, texts
from krda.tables.errors import listed, shown
from krda.validation import FloatArray, warn_user

OTHER, GAP = "other", "missing"

#: A column says which values are missing if more than this share is, in either table.
MISSING_SHARE = 0.01
#: A level is rare if it has less than this share of the rows, in each table...
RARE_SHARE = 0.01
#: ... or if it has fewer rows than this, in each table.
RARE_ROWS = 2
#: Text is a category if it has at most so many levels...
MAX_LEVELS = 30
#: ... with this many rows each, on average. A few levels may have fewer rows.
ROWS_A_LEVEL = 10
FEW_LEVELS = 5
#: What programs write for missing values, if it is far from all other values.
SENTINELS = (-1, *(sign * int("9" * n) for n in (2, 3, 4, 5, 6) for sign in (-1, 1)))
#: How far, in robust standard deviations.
SENTINEL_DISTANCE = 10


@dataclass(frozen=True)
class Measured:
    """A column of numbers, dates or truth values."""

    name: str
    reading: Reading
    fill: float  # for missing values
    flagged: bool  # whether a second column says which values are missing
    binary: bool  # whether there are no values but 0 and 1
    sentinels: list[float]

    def names(self) -> list[str]:
        """Give the names of the output columns."""
        return [self.name, f"{self.name} is {GAP}"] if self.flagged else [self.name]

    def groups(self) -> list[list[int]]:
        """Give the output columns, from 0, that together are one category."""
        return [[0]] * self.binary + [[1]] * self.flagged

    def encode(self, cells: Cells, table: str) -> FloatArray:
        """Give the output columns (n, k) of a table; raise if cells cannot be read."""
        numbers = self.reading.read_all(cells, self.name, table)
        gaps = np.isnan(numbers) | np.isin(numbers, self.sentinels)
        values = np.where(gaps, self.fill, numbers)
        return np.column_stack([values, gaps] if self.flagged else [values]).astype(np.float64)


@dataclass(frozen=True)
class Category:
    """A column of text: each level has an output column of zeros and ones."""

    name: str
    levels: list[str]
    rare: list[str] = field(default_factory=list)  # levels that are read as 'other'

    def names(self) -> list[str]:
        """Give the names of the output columns."""
        return [f"{self.name}={level}" for level in self.levels]

    def groups(self) -> list[list[int]]:
        """Give the output columns, from 0, that together are one category."""
        return [list(range(len(self.levels)))]

    def encode(self, cells: Cells, table: str) -> FloatArray:
        """Give the output columns (n, k) of a table; warn about levels that are unknown."""
        places = {level: i for i, level in enumerate(self.levels)}
        last = len(self.levels)  # a column that is left out: rows of unknown levels have no 1
        rest = places.get(OTHER, last)
        known = places | dict.fromkeys(self.rare, rest)
        words = [word or GAP for word in texts(cells).tolist()]
        unknown = Counter(word for word in words if word not in known)
        if unknown:
            warn_user(
                f"column {shown(self.name)} of the {table} has {unknown.total()} cells with levels "
                f"that were in neither table of fit: {listed(unknown)}. They are encoded as "
                + ("'other'." if rest < last else "zeros in all columns of the category.")
            )
        ones = np.zeros((len(words), last + 1))
        ones[np.arange(len(words)), [known.get(word, rest) for word in words]] = 1
        return ones[:, :last]


def find_levels(name: str, tables: tuple[Cells, Cells]) -> Category:
    """Find the levels of both tables; join those that are rare in both."""
    counts = [Counter(word or GAP for word in texts(cells).tolist()) for cells in tables]
    least = [max(RARE_ROWS, RARE_SHARE * count.total()) for count in counts]
    levels = sorted(set(counts[0]) | set(counts[1]))
    rare = [
        level
        for level in levels
        if level != GAP and all(c[level] < n for c, n in zip(counts, least, strict=True))
    ]
    common = [level for level in levels if level not in {*rare, OTHER, GAP}]
    common += [OTHER] * (bool(rare) or OTHER in levels) + [GAP] * (GAP in levels)
    return Category(name, common, [level for level in rare if level != OTHER])


def max_levels(n_rows: int) -> int:
    """Give how many levels a category may have, in tables with so many rows together."""
    return min(MAX_LEVELS, max(FEW_LEVELS, n_rows // ROWS_A_LEVEL))


def find_sentinels(values: FloatArray) -> list[float]:
    """Find numbers that mean missing values, such as -999, in all values of both tables.

    They are repeated, they are the least or the greatest value, and their distance to all other
    values is more than ten robust standard deviations of these.
    """
    values = values[~np.isnan(values)]
    found: list[float] = []
    while True:
        sentinel = next((s for s in _ends(values) if _is_sentinel(s, values)), None)
        if sentinel is None:
            return found
        found.append(sentinel)
        values = values[values != sentinel]


def _ends(values: FloatArray) -> list[float]:
    return [float(values.min()), float(values.max())] if len(values) else []


def _is_sentinel(value: float, values: FloatArray) -> bool:
    rest = values[values != value]
    if value not in SENTINELS or len(values) - len(rest) < 2 or len(rest) < 2:
        return False
    quarters: Any = np.percentile(rest, [25, 75])
    spread = (quarters[1] - quarters[0]) / 1.349 or rest.std()  # 1.349: of a normal distribution
    return bool(spread > 0 and np.abs(rest - value).min() > SENTINEL_DISTANCE * spread)
