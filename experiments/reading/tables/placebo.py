"""Whether 'reproduced' tells methods apart: every row of ours judged by every published column.

A verdict is worth what it would refuse. Here each method's row is judged, by the rule of
:mod:`experiments.analysis.verdicts`, against its own published column and, as a placebo, against
those of the other methods, which it has no business to reproduce. Where these pass about as often,
a 'reproduced' in that column says that the method is right no more than that it is another one.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from experiments.analysis.verdicts import Verdict, judge
from experiments.reading.tables.model import Cell, Table

MARGIN = 10.0
"""Percentage points by which the own row must pass more often than the others in the mean."""

HALF = 50.0
"""Percent of cells; where the other rows pass more often in the mean, passing tells nothing."""


class Telling(enum.Enum):
    """What 'reproduced' is worth in a column; the values are what is printed."""

    TELLING = "telling"
    NOT_TELLING = "not telling"
    NOTHING = "nothing reproduced"


class Count(NamedTuple):
    """On how many cells of a column a row passes.

    Attributes
    ----------
    reproduced : int
    within : int
        Those, and the undecided ones: within a tolerance of any width.
    """

    reproduced: int
    within: int


@dataclass(frozen=True)
class PlaceboColumn:
    """A published column and the rows of ours that were judged by it.

    Attributes
    ----------
    method : str
        Whose column it is.
    n_cells : int
        Tasks with a published value that is not suspect.
    own : Count
        Of the method's own row.
    others : mapping of method to Count
        Of the other rows, in the order of the table; those that are not in the paper among them.
    """

    method: str
    n_cells: int
    own: Count
    others: Mapping[str, Count]

    @property
    def mean_of_others(self) -> float:
        """Cells reproduced by another row, mean over these rows."""
        return sum(count.reproduced for count in self.others.values()) / len(self.others)

    @property
    def mean_of_others_within(self) -> float:
        """Cells on which another row is within the tolerance, mean over these rows."""
        return sum(count.within for count in self.others.values()) / len(self.others)

    @property
    def best_of_others(self) -> tuple[int, tuple[str, ...]]:
        """Most cells that another row reproduces, and the methods that do."""
        most = max(count.reproduced for count in self.others.values())
        return most, tuple(m for m, count in self.others.items() if count.reproduced == most)

    @property
    def telling(self) -> Telling:
        """By the own row's share of cells, the others' mean share, and the two limits above."""
        if self.own.reproduced == 0:
            return Telling.NOTHING
        own = 100 * self.own.reproduced / self.n_cells
        others = 100 * self.mean_of_others / self.n_cells
        clear = round(own - others, 8) >= MARGIN and round(others, 8) <= HALF
        return Telling.TELLING if clear else Telling.NOT_TELLING


@dataclass(frozen=True)
class Placebo:
    """All columns of a table.

    Attributes
    ----------
    columns : tuple of PlaceboColumn
        At least one, in the order of the table.
    """

    columns: tuple[PlaceboColumn, ...]

    @property
    def own_share(self) -> float:
        """Percent of cells, over all columns, that the own row reproduces."""
        n_cells = sum(column.n_cells for column in self.columns)
        return 100 * sum(column.own.reproduced for column in self.columns) / n_cells

    @property
    def others_share(self) -> float:
        """Percent of cells, over all columns and other rows, that the other row reproduces."""
        n_pairs = sum(column.n_cells * len(column.others) for column in self.columns)
        found = sum(count.reproduced for c in self.columns for count in c.others.values())
        return 100 * found / n_pairs

    def column(self, method: str) -> PlaceboColumn | None:
        """Column of a method; None where it is not judged."""
        return next((column for column in self.columns if column.method == method), None)


def placebo_of(table: Table) -> Placebo | None:
    """Judge every complete row of a table by every published column that has its own row complete.

    Parameters
    ----------
    table : Table

    Returns
    -------
    placebo : Placebo or None
        None where nothing is judged: other data than the published, no published value that is not
        suspect, or fewer than two rows whose cells are all complete.
    """
    if table.stands_in_for is not None:
        return None
    tasks = [task.name for task in table.spec.tasks]
    rows = [
        method.name
        for method in table.spec.rows
        if all(_usable(table.cells[task, method.name]) for task in tasks)
    ]
    columns = []
    for method in rows:
        own = [task for task in tasks if _judged(table.cells[task, method])]
        if not own or len(rows) < 2:
            continue
        counts = {row: _count(table, row, method, own) for row in rows}
        others = {row: count for row, count in counts.items() if row != method}
        columns.append(PlaceboColumn(method, len(own), counts[method], others))
    return Placebo(tuple(columns)) if columns else None


def _usable(cell: Cell) -> bool:
    return cell.complete and cell.interval is not None and cell.interval.half_width is not None


def _judged(cell: Cell) -> bool:
    """Whether the published value of a cell is there and can be taken at face value."""
    return cell.published is not None and not any(anomaly.suspect for anomaly in cell.anomalies)


def _count(table: Table, row: str, column: str, tasks: list[str]) -> Count:
    spec = table.spec
    verdicts = [
        judge(
            table.cells[task, row].interval,
            (theirs.mean, theirs.ci95),
            test_rows=spec.test_rows,
            test_share=spec.test_shares.get((task, column), 1.0),
        ).verdict
        for task in tasks
        if (theirs := table.cells[task, column].published) is not None
    ]
    reproduced = verdicts.count(Verdict.REPRODUCED)
    return Count(reproduced, reproduced + verdicts.count(Verdict.UNDECIDED))
