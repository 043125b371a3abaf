"""How a table's cells stand on the page, the same in every format.

Two layouts. The wide table has methods in rows, three lines a method, and tasks in columns; more
tasks than fit beside each other are split into blocks of equal size. The paper's own tables have
tasks in rows and methods in columns, as the paper prints them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

from experiments.reading.tables import wording
from experiments.reading.tables.model import Cell, MethodRow, Table, TaskColumn

MOST_COLUMNS = 12
"""Tasks that fit beside each other on a page."""

N_TEXT = 2
"""Columns at the left that hold words."""


class Entry(NamedTuple):
    """What stands in one place; plain Unicode, not escaped.

    Attributes
    ----------
    text : str
    bold : bool
    marks : str
        Letters to be set as a superscript.
    """

    text: str
    bold: bool = False
    marks: str = ""


class Line(NamedTuple):
    """A line of a grid.

    Attributes
    ----------
    entries : tuple of Entry
    above : {'', 'rule', 'ours'}
        What separates it from the line above: nothing, a rule, or the rule below which methods
        stand that are not in the paper.
    """

    entries: tuple[Entry, ...]
    above: Literal["", "rule", "ours"] = ""


@dataclass(frozen=True)
class Grid:
    """Lines of equal length below a head of that length; the first two columns hold words."""

    head: tuple[str, ...]
    lines: tuple[Line, ...]


def grids(table: Table) -> tuple[Grid, ...]:
    """Lay a table out.

    Parameters
    ----------
    table : Table

    Returns
    -------
    grids : tuple of Grid
        One, or one for each block of at most :data:`MOST_COLUMNS` tasks.
    """
    if table.spec.tasks_in_rows:
        return (_by_task(table),)
    blocks = _blocks(table)
    return tuple(_by_method(table, tasks, last=tasks is blocks[-1]) for tasks in blocks)


def corrected_grids(table: Table) -> tuple[Grid, ...]:
    """Lay out the corrected half-widths: methods in rows, one line a method, in the same blocks.

    Parameters
    ----------
    table : Table

    Returns
    -------
    grids : tuple of Grid
        None where no cell is complete.
    """
    spec = table.spec
    rows = [m for m in spec.rows if any(table.cells[t.name, m.name].complete for t in spec.tasks)]
    return tuple(
        Grid(
            ("Method", "", *(task.label for task in tasks)),
            tuple(
                Line(
                    (
                        Entry(method.label),
                        Entry(_who(table, method)),
                        *(
                            Entry(
                                wording.corrected_text(
                                    table.cells[task.name, method.name], spec.share
                                )
                            )
                            for task in tasks
                        ),
                    )
                )
                for method in rows
            ),
        )
        for tasks in _blocks(table)
        if rows
    )


def _blocks(table: Table) -> list[tuple[TaskColumn, ...]]:
    tasks = table.spec.tasks
    n_blocks = math.ceil(len(tasks) / MOST_COLUMNS)
    ends = [round(len(tasks) * (i + 1) / n_blocks) for i in range(n_blocks)]
    return [tasks[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def _by_method(table: Table, tasks: tuple[TaskColumn, ...], *, last: bool) -> Grid:
    means = table.means if last else ()
    lines: list[Line] = []
    separated = False
    for method in table.spec.rows:
        cells = [table.cells[task.name, method.name] for task in tasks]
        who = _who(table, method)
        aside = who == wording.NOT_IN_PAPER
        ruled = not separated and (table.has_published or not lines)
        above: Literal["", "rule", "ours"] = "rule" if ruled else ""
        if aside and not separated:
            above, separated = "ours", True
        ours = [_ours(cell) for cell in cells]
        own = [Entry(wording.mean_text(by[method.name].ours, n)) for _, n, by in means]
        lines.append(Line((Entry(method.label), Entry(who), *ours, *own), above))
        if not (method.published and table.has_published):
            continue
        printed = [_printed(table, cell) for cell in cells]
        own = [Entry(wording.mean_text(by[method.name].published, n)) for _, n, by in means]
        lines.append(Line((Entry(""), Entry("paper"), *printed, *own)))
        differences = [Entry(wording.difference_text(cell)) for cell in cells]
        own = [
            Entry(wording.mean_text(by[method.name].difference, n, sign=True)) for _, n, by in means
        ]
        lines.append(Line((Entry(""), Entry("difference"), *differences, *own)))
    head = ("Method", "", *(task.label for task in tasks), *(label for label, *_ in means))
    return Grid(head, tuple(lines))


def _by_task(table: Table) -> Grid:
    methods = table.spec.rows
    lines: list[Line] = []
    for task in table.spec.tasks:
        cells = [table.cells[task.name, method.name] for method in methods]
        lines += _three(
            task.label,
            [_ours(cell) for cell in cells],
            [_printed(table, cell) for cell in cells],
            [Entry(wording.difference_text(cell)) for cell in cells],
            published=table.has_published,
        )
    for label, n_tasks, by in table.means:
        summaries = [by[method.name] for method in methods]
        lines += _three(
            label,
            [Entry(wording.mean_text(s.ours, n_tasks)) for s in summaries],
            [Entry(wording.mean_text(s.published, n_tasks)) for s in summaries],
            [Entry(wording.mean_text(s.difference, n_tasks, sign=True)) for s in summaries],
            published=table.has_published,
        )
    return Grid(("Task", "", *(_column(table, method) for method in methods)), tuple(lines))


def _three(
    label: str,
    ours: list[Entry],
    printed: list[Entry],
    differences: list[Entry],
    *,
    published: bool,
) -> list[Line]:
    lines = [Line((Entry(label), Entry("ours"), *ours), "rule")]
    if published:
        lines.append(Line((Entry(""), Entry("paper"), *printed)))
        lines.append(Line((Entry(""), Entry("difference"), *differences)))
    return lines


def _column(table: Table, method: MethodRow) -> str:
    who = _who(table, method)
    return f"{method.label} ({who})" if who == wording.NOT_IN_PAPER else method.label


def _who(table: Table, method: MethodRow) -> str:
    """Whose row it is; without published values nothing sets the paper's methods apart."""
    return wording.NOT_IN_PAPER if method.ours and table.has_published else "ours"


def _ours(cell: Cell) -> Entry:
    return Entry(wording.ours_text(cell), cell.bold)


def _printed(table: Table, cell: Cell) -> Entry:
    bold = cell.published is not None and cell.published.bold
    return Entry(wording.published_text(cell), bold, wording.suspicions(table, cell))
