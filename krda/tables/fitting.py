"""What is done with one column of the tables: encoded or left out, with a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from krda.tables.cells import Cells, Reading, texts
from krda.tables.columns import (
    GAP,
    MISSING_SHARE,
    OTHER,
    Category,
    Measured,
    find_levels,
    find_sentinels,
    max_levels,
)
from krda.tables.errors import listed, shown
from krda.tables.kinds import TABLES, Content, are_all_different, find_content, is_numbering
from krda.validation import FloatArray


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


_USES = {"number": "a number", "boolean": "0 and 1", "date": "days since 1970-01-01"}

Fitted = tuple[Measured | Category | None, ColumnReport]


def fit_column(name: str, columns: tuple[Cells, Cells], category: bool) -> Fitted:
    """Decide on a column of both tables; it is a category if the user says so."""
    content = Content(None, []) if category else find_content(name, columns)
    if content.reading is None:
        return _fit_text(name, columns, category, content.note)
    return _fit_measured(name, content.reading, content.values, content.note)


def _fit_measured(name: str, reading: Reading, values: list[FloatArray], note: str) -> Fitted:
    """Fit a column of numbers, dates or truth values."""
    sentinels = find_sentinels(np.concatenate(values)) if reading.kind == "number" else []
    for sentinel in sentinels:
        counts = [int((x == sentinel).sum()) for x in values]
        note += (
            f" {sentinel:g} means missing: {counts[0]} in the source, {counts[1]} in the target."
        )
    values = [np.where(np.isin(x, sentinels), np.nan, x) for x in values]
    gaps = [np.isnan(x) for x in values]
    missing = (int(gaps[0].sum()), int(gaps[1].sum()))
    known = [x[~gap] for x, gap in zip(values, gaps, strict=True)]
    flagged = any(gap.mean() > MISSING_SHARE for gap in gaps)
    note = note.strip()

    def left_out(kind: str, why: str) -> Fitted:
        return None, ColumnReport(name, kind, f"Left out: {why}.", *missing, note)

    if not all(map(len, known)):
        return left_out("constant", _no_value(known))
    if all(len(np.unique(x)) == 1 for x in known) and not flagged:
        return left_out("constant", "each table has one value in all rows")
    if reading.kind == "number":
        if all(map(is_numbering, values)):
            return left_out("identifier", "its numbers count or name the rows")
        if all(len(x) > 1 and not (x % 1).any() and len(np.unique(x)) == len(x) for x in known):
            note += " Each row has another whole number: if it is an identifier, drop the column."
    pooled = np.concatenate(known)
    binary = bool(np.isin(pooled, (0, 1)).all())
    kind = "boolean" if binary and reading.kind == "number" else reading.kind
    fill = float(pooled.mean() > 0.5) if binary else float(np.median(pooled))
    done = f"Used as {_USES[kind]}"
    if any(missing):
        done += f"; missing values become {'the more frequent value' if binary else 'the median'}"
        done += ", and a column of zeros and ones marks them" if flagged else ""
    encoder = Measured(name, reading, fill, flagged, binary, sentinels)
    return encoder, ColumnReport(name, kind, f"{done}.", *missing, note.strip())


def _fit_text(name: str, columns: tuple[Cells, Cells], category: bool, note: str) -> Fitted:
    """Fit a category, or leave out text."""
    words = [texts(cells) for cells in columns]
    known = [w[~cells.missing].tolist() for w, cells in zip(words, columns, strict=True)]
    missing = (int(columns[0].missing.sum()), int(columns[1].missing.sum()))
    n_levels = len({*known[0], *known[1]})
    typed = category or any(cells.dtype == "category" for cells in columns)

    def left_out(kind: str, why: str) -> Fitted:
        return None, ColumnReport(name, kind, f"Left out: {why}.", *missing, note)

    if not all(map(len, known)):
        return left_out("constant", _no_value(known))
    if all(len(set(w)) == 1 for w in words):
        return left_out("constant", "each table has one value in all rows")
    if not typed and n_levels > max_levels(sum(map(len, words))):
        if all(map(are_all_different, known)):
            return left_out("identifier", "each row has another text")
        why = f"it is text of {n_levels} levels; name it in categories to use the frequent ones"
        return left_out("text", why)
    encoder = find_levels(name, columns)
    if len(encoder.levels) == 1:
        return left_out("text", f"each of its {n_levels} levels is rare in both tables")
    done = f"Used as a category of {len(encoder.levels)} levels"
    if encoder.rare:
        done += f"; '{OTHER}' joins {len(encoder.rare)} rare ones"
    if GAP in encoder.levels:
        done += f"; '{GAP}' has the rows without a value"
    for table, own, others in ((0, *known), (1, *known[::-1])):
        alone = sorted(set(own) - set(others))
        if alone:
            note += f" Only the {TABLES[table]} has {listed(map(shown, alone))}."
    return encoder, ColumnReport(name, "category", f"{done}.", *missing, note.strip())


def _no_value(known: Sequence[FloatArray | list[str]]) -> str:
    """Say which table has no value."""
    empty = [table for table, values in zip(TABLES, known, strict=True) if not len(values)]
    if len(empty) == 2:
        return "neither table has a value in it"
    return f"the {empty[0]} has no value in it"
