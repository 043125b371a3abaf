"""How a table's cells stand on the page, the same in every format.

Two layouts. The wide table has methods in rows, three lines a method, and tasks in columns; more
tasks than fit beside each other are split into blocks of equal size. The paper's own tables have
tasks in rows and methods in columns, as the paper prints them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

from experiments.tables import wording
from experiments.tables.model import Cell, MethodRow, Table, TaskColumn

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
    tasks = table.spec.tasks
    n_blocks = math.ceil(len(tasks) / MOST_COLUMNS)
    ends = [round(len(tasks) * (i + 1) / n_blocks) for i in range(n_blocks)]
    starts = [0, *ends[:-1]]
    return tuple(
        _by_method(table, tasks[start:end], last=end == len(tasks))
        for start, end in zip(starts, ends, strict=True)
    )


def _by_method(table: Table, tasks: tuple[TaskColumn, ...], *, last: bool) -> Grid:
    n_tasks = len(table.spec.tasks)
    lines: list[Line] = []
    separated = False
    for method in table.spec.rows:
        cells = [table.cells[task.name, method.name] for task in tasks]
        summary = table.summaries[method.name]
        # Without published values a method is one line, and nothing sets the paper's apart.
        aside = method.ours and table.has_published
        ruled = not separated and (table.has_published or not lines)
        above: Literal["", "rule", "ours"] = "rule" if ruled else ""
        if aside and not separated:
            above, separated = "ours", True
        ours = [_ours(cell) for cell in cells]
        mean = [Entry(wording.mean_text(summary.ours, n_tasks))] if last else []
        who = wording.NOT_IN_PAPER if aside else "ours"
        lines.append(Line((Entry(method.label), Entry(who), *ours, *mean), above))
        if not (method.published and table.has_published):
            continue
        printed = [_printed(table, cell) for cell in cells]
        mean = [Entry(wording.mean_text(summary.published, n_tasks))] if last else []
        lines.append(Line((Entry(""), Entry("paper"), *printed, *mean)))
        differences = [Entry(wording.difference_text(cell)) for cell in cells]
        text = wording.mean_text(summary.difference, n_tasks, sign=True)
        mean = [Entry(text)] if last else []
        lines.append(Line((Entry(""), Entry("difference"), *differences, *mean)))
    head = ("Method", "", *(task.label for task in tasks), *(["mean"] if last else []))
    return Grid(head, tuple(lines))


def _by_task(table: Table) -> Grid:
    methods = table.spec.rows
    n_tasks = len(table.spec.tasks)
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
    summaries = [table.summaries[method.name] for method in methods]
    lines += _three(
        "mean",
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
    aside = method.ours and table.has_published
    return f"{method.label} ({wording.NOT_IN_PAPER})" if aside else method.label


def _ours(cell: Cell) -> Entry:
    return Entry(wording.ours_text(cell), cell.bold)


def _printed(table: Table, cell: Cell) -> Entry:
    bold = cell.published is not None and cell.published.bold
    return Entry(wording.published_text(cell), bold, wording.suspicions(table, cell))
