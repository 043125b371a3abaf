"""What is done with one column of the tables, decided on both together and said in a report.

The state is plain: numbers, text and lists, so that a fitted encoder can be saved by skops.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from krda.tables.cells import Cells, Reading, odd_cell
from krda.tables.errors import listed, shown
from krda.tables.kinds import TABLES, Content, Pair, find_content
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
#: Tables with fewer rows may have another value in each of them by chance.
IDENTIFIER_ROWS = 10
# How far the distribution of identifiers is from even, at most, see `_is_numbering`.
_EVEN = 0.1

_USES = {"number": "a number", "boolean": "0 and 1", "date": "days since 1970-01-01"}


@dataclass(frozen=True)
class ColumnReport:
    """What a column of the tables holds, and what was done with it.

    Attributes
    ----------
    name : str
        The column.
    kind : str
        "number", "category", "boolean" or "date"; or, for columns left out, "constant",
        "identifier" or "text".
    done : str
        What was done, in a sentence.
    missing_source, missing_target : int
        Rows without a value, those with a sentinel such as -999 included.
    note : str
        What may need a look; often empty.
    """

    name: str
    kind: str
    done: str
    missing_source: int
    missing_target: int
    note: str = ""


@dataclass(frozen=True)
class Use:
    """How the cells of a column are read before scikit-learn encodes them.

    ``levels`` gives for each level of a category what it counts as; ``full`` says that no value was
    missing.
    """

    name: str
    reading: Reading | None = None  # None for a category
    sentinels: list[float] = field(default_factory=list)
    binary: bool = False  # whether there are no values but 0 and 1
    flagged: bool = False  # whether another column says which values are missing
    full: bool = True
    levels: dict[str, str] = field(default_factory=dict)

    def encoder(self) -> Any:
        """Make scikit-learn's encoder of the column."""
        if self.reading is None:
            return OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        strategy = "most_frequent" if self.binary else "median"
        return SimpleImputer(strategy=strategy, add_indicator=self.flagged)

    def names(self, encoder: Any) -> list[str]:
        """Give the names of the output columns of the fitted encoder."""
        if self.reading is None:
            return [f"{self.name}={level}" for level in encoder.categories_[0]]
        return [self.name, f"{self.name} is {GAP}"][: 1 + self.flagged]

    def groups(self, outputs: list[int]) -> list[list[int]]:
        """Give the output columns that together are one category."""
        if self.reading is None:
            return [outputs]
        return [outputs[:1]] * self.binary + [outputs[1:]] * self.flagged

    def read(self, cells: Cells, table: str) -> NDArray[Any]:
        """Give numbers, NaN if missing, or levels, as (n, 1); raise if cells cannot be read."""
        if self.reading is None:
            return self._read_levels(cells, table)
        numbers, odd = self.reading.read(cells)
        if odd.any():
            raise odd_cell(self.reading.kind, cells, odd, table)
        gaps = np.isnan(numbers) | np.isin(numbers, self.sentinels)
        if self.full and gaps.any():
            usual = "more frequent value" if self.binary else "median"
            warn_user(
                f"column {shown(self.name)} of the {table} has {int(gaps.sum())} gaps, and had "
                f"none in fit: they are filled with the {usual}."
            )
        return np.where(gaps, np.nan, numbers)[:, np.newaxis]

    def _read_levels(self, cells: Cells, table: str) -> NDArray[Any]:
        words = [word or GAP for word in cells.texts()]
        unknown = Counter(word for word in words if word not in self.levels)
        if unknown:
            others = OTHER in self.levels.values()
            warn_user(
                f"column {shown(self.name)} of the {table} has {unknown.total()} cells with levels "
                f"that were in neither table of fit: {listed(unknown)}. They are encoded as "
                + ("'other'." if others else "zeros in all columns of the category.")
            )
        known = [self.levels.get(word, OTHER) for word in words]
        return np.array(known, dtype=object)[:, np.newaxis]


class _Column(NamedTuple):
    """What is known of a column of both tables."""

    name: str
    content: Content
    sentinels: list[float]
    known: list[NDArray[Any]]  # the values of each table without those that are missing
    missing: tuple[int, int]
    flagged: bool


class _Done(NamedTuple):
    """What was done: how the column is used, if it is, and the words of its report."""

    kind: str
    sentence: str
    note: str = ""
    use: Use | None = None


def fit_column(columns: Pair, category: bool) -> tuple[Use | None, ColumnReport]:
    """Decide on a column of both tables; it is a category if the user says so."""
    content = Content() if category else find_content(columns)
    values: list[Any] = list(content.values) or [cells.texts() for cells in columns]
    is_number = content.reading is not None and content.reading.kind == "number"
    sentinels = find_sentinels(np.concatenate(values)) if is_number else []
    gaps = [cells.missing for cells in columns]
    if sentinels:
        gaps = [gap | np.isin(x, sentinels) for gap, x in zip(gaps, values, strict=True)]
    column = _Column(
        str(columns[0].column.name),
        content,
        sentinels,
        known=[x[~gap] for x, gap in zip(values, gaps, strict=True)],
        missing=(int(gaps[0].sum()), int(gaps[1].sum())),
        flagged=any(gap.mean() > MISSING_SHARE for gap in gaps),
    )
    typed = category or any(cells.dtype == "category" for cells in columns)
    done = _left_out(column, typed) or (
        _measured(column, content.reading) if content.reading else _category(column)
    )
    notes = [content.note, *_counts(sentinels, values), done.note]
    note = " ".join(filter(None, notes))
    return done.use, ColumnReport(column.name, done.kind, done.sentence, *column.missing, note)


def _left_out(column: _Column, typed: bool) -> _Done | None:
    """Say why a column cannot help, if so; it may be a category by its type."""
    known, reading = column.known, column.content.reading
    empty = [table for table, x in zip(TABLES, known, strict=True) if not len(x)]
    if empty:
        where = "neither table has" if len(empty) == 2 else f"the {empty[0]} does not have"
        return _Done("constant", f"Left out: {where} a value in it.")
    if all((x == x[0]).all() for x in known) and not column.flagged:
        return _Done("constant", "Left out: each table has one value in all rows.")
    if reading and reading.kind == "number":
        if not any(column.missing) and all(map(_is_numbering, known)):
            return _Done("identifier", "Left out: its numbers count or name the rows.")
    elif not reading and not typed:
        n_levels = len(set(np.concatenate(known).tolist()))
        n_rows = sum(map(len, known)) + sum(column.missing)
        if n_levels > min(MAX_LEVELS, max(FEW_LEVELS, n_rows // ROWS_A_LEVEL)):
            if all(len(set(x.tolist())) == len(x) >= IDENTIFIER_ROWS for x in known):
                return _Done("identifier", "Left out: each row has another text.")
            why = f"it is text of {n_levels} levels; name it in `categories` to use the frequent"
            return _Done("text", f"Left out: {why} ones.")
    return None


def _measured(column: _Column, reading: Reading) -> _Done:
    """Use a column of numbers, dates or truth values."""
    binary = bool(np.isin(np.concatenate(column.known), (0, 1)).all())
    kind = "boolean" if binary and reading.kind == "number" else reading.kind
    sentence, note = f"Used as {_USES[kind]}", ""
    if any(column.missing):
        usual = "more frequent value" if binary else "median"
        sentence += f"; missing values become the {usual}"
        sentence += ", and a column of zeros and ones marks them" if column.flagged else ""
    if reading.kind == "number" and all(
        len(x) > 1 and not (x % 1).any() and len(np.unique(x)) == len(x) for x in column.known
    ):
        note = "Each row has another whole number: if it is an identifier, drop the column."
    if reading.kind == "date" and not _overlap(*column.known):
        note = (
            "The dates of source and target do not overlap: if the column only tells the tables "
            "apart, drop it."
        )
    full = not any(column.missing)
    use = Use(column.name, reading, column.sentinels, binary, column.flagged, full)
    return _Done(kind, f"{sentence}.", note, use)


def _overlap(a: FloatArray, b: FloatArray) -> bool:
    return bool(len(a) and len(b) and a.min() <= b.max() and b.min() <= a.max())


def _category(column: _Column) -> _Done:
    """Use a column of text; levels that are rare in both tables are joined."""
    each = zip(column.known, column.missing, strict=True)
    counts = [Counter(x.tolist()) + Counter({GAP: missing}) for x, missing in each]
    least = [max(RARE_ROWS, RARE_SHARE * count.total()) for count in counts]
    rare = [
        level
        for level in {*counts[0], *counts[1]} - {GAP}
        if all(count[level] < n for count, n in zip(counts, least, strict=True))
    ]
    levels = {level: level for level in sorted({*counts[0], *counts[1]})}
    levels |= dict.fromkeys(rare, OTHER)
    outputs = set(levels.values())
    if len(outputs) == 1:
        return _Done("text", f"Left out: each of its {len(levels)} levels is rare in both tables.")
    sentence = f"Used as a category of {len(outputs)} levels"
    sentence += f"; '{OTHER}' joins {len(rare)} rare ones" if rare else ""
    sentence += f"; '{GAP}' has the rows without a value" if GAP in levels else ""
    note = ""
    for table, own, others in zip(TABLES, counts, counts[::-1], strict=True):
        alone = sorted({*own} - {*others} - {GAP})
        note += f" Only the {table} has {listed(map(shown, alone))}." if alone else ""
    return _Done("category", f"{sentence}.", note.strip(), Use(column.name, levels=levels))


# Sentinels and identifiers


def find_sentinels(values: FloatArray) -> list[float]:
    """Find numbers that mean missing values, such as -999, in all values of both tables.

    They are repeated, they are the least or the greatest value, and their distance to all other
    values is more than ten robust standard deviations of these.
    """
    values = values[~np.isnan(values)]
    found: list[float] = []
    while len(values):
        ends = float(values.min()), float(values.max())
        sentinel = next((end for end in ends if _is_sentinel(end, values)), None)
        if sentinel is None:
            break
        found.append(sentinel)
        values = values[values != sentinel]
    return found


def _is_sentinel(value: float, values: FloatArray) -> bool:
    rest = values[values != value]
    if value not in SENTINELS or len(values) - len(rest) < 2 or len(rest) < 2:
        return False
    quarters: Any = np.percentile(rest, [25, 75])
    spread = (quarters[1] - quarters[0]) / 1.349 or rest.std()  # 1.349: of a normal distribution
    return bool(spread > 0 and np.abs(rest - value).min() > SENTINEL_DISTANCE * spread)


def _counts(sentinels: list[float], values: list[FloatArray]) -> list[str]:
    return [
        "{:g} means missing: {} in the source, {} in the target.".format(
            value, *(int((x == value).sum()) for x in values)
        )
        for value in sentinels
    ]


def _is_numbering(numbers: FloatArray) -> bool:
    """Say whether numbers name rows: whole, all different, and evenly spread over their range.

    Numbers that count rows are even, also if some are left out or their order is random. Measured
    quantities, such as incomes, have a centre and tails.
    """
    x = np.sort(numbers)
    if len(x) < IDENTIFIER_ROWS or (x % 1).any() or not np.diff(x).all():
        return False
    even = np.linspace(0, 1, len(x))
    return bool(np.abs((x - x[0]) / (x[-1] - x[0]) - even).max() <= _EVEN)
