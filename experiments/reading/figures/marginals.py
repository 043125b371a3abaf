"""Every column of every task before and after the transport."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from experiments.cells.cell import Cell
from experiments.cells.plan import TablePlan
from experiments.reading.figures.quantiles import (
    LEVELS,
    FloatArray,
    Marginals,
    load_marginals,
    marginals,
    marginals_identity,
    save_marginals,
)
from experiments.reading.figures.request import Request
from experiments.reading.figures.series import mark_missing
from experiments.reading.figures.style import (
    BLACK,
    PAGE_WIDTH,
    SOURCE,
    TARGET,
    TRANSPORTED,
    figure_legend,
    new_figure,
    save_figure,
)
from experiments.reading.figures.values import task_name, title_of

METHOD = "krda"
WIDE = 8
"""Tables of more columns than this have no room for a panel a column."""

_KINDS = (
    ("target", TARGET, "-", 2.2),
    ("source", SOURCE, "--", 1.0),
    ("transported source", TRANSPORTED, (0, (4, 1, 1, 1)), 1.2),
)


def draw_columns(table: TablePlan, found: Mapping[str, Marginals]) -> Any:
    """Draw the distribution functions, one panel a task and column.

    Parameters
    ----------
    table : TablePlan
    found : mapping of task to Marginals
        All with the same few columns; a task that is not there is marked as missing.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    d = len(next(iter(found.values())).source)
    per_row = max(1, 6 // d)  # tasks side by side
    n_rows = -(-len(table.tasks) // per_row)
    height = 0.95 * n_rows + 0.9
    # All panels are alike, so their places can be written down, which takes no time.
    with new_figure(PAGE_WIDTH, height, layout=None) as figure:
        # Panels that share an axis ask each other: by the row, that is a few questions.
        grid = figure.subplots(n_rows, per_row * d, sharey="row", squeeze=False)
        _place(figure, n_rows, per_row * d)
        for number, task in enumerate(table.tasks):
            row, first = divmod(number, per_row)
            for column in range(d):
                axis = grid[row, first * d + column]
                axis.tick_params(labelsize=5, length=2, pad=1)
                axis.locator_params(axis="x", nbins=3)
                name = f"{task_name(table, task)}, column {column + 1}"
                # With a place of its own no room is looked for, panel by panel.
                axis.set_title(name, fontsize=6, pad=2, y=1)
                if task in found:
                    _distribution_functions(axis, found[task], column)
                else:
                    mark_missing(axis)
        for number in range(len(table.tasks), n_rows * per_row):
            row, first = divmod(number, per_row)
            for axis in grid[row, first * d : (first + 1) * d]:
                axis.remove()
        figure.supylabel("Share of rows at or below the value", fontsize=8, x=0.006)
        title = "Value of the column; KS: largest distance to the target, before → after"
        figure_legend(figure, list(grid.flat), 3, title)
        figure.suptitle(
            f"{title_of(table)}: single columns before and after KRDA's transport",
            y=1 - 0.06 / height,
        )
        return figure


def _place(figure: Any, n_rows: int, n_columns: int) -> None:
    """Leave room around and between the panels, in inches."""
    left, right, bottom, top, beside, below = 0.4, 0.05, 0.59, 0.35, 0.12, 0.28
    width, height = figure.get_size_inches()
    panel_width = (width - left - right - (n_columns - 1) * beside) / n_columns
    panel_height = (height - bottom - top - (n_rows - 1) * below) / n_rows
    figure.subplots_adjust(
        left / width, bottom / height, 1 - right / width, 1 - top / height,
        beside / panel_width, below / panel_height,
    )  # fmt: skip


def _distribution_functions(axis: Any, task: Marginals, column: int) -> None:
    quantiles = {
        "source": task.source,
        "transported source": task.transported,
        "target": task.target,
    }
    for kind, colour, dashes, width in _KINDS:
        axis.plot(quantiles[kind][column], LEVELS, color=colour, ls=dashes, lw=width, label=kind)
    # The outermost quantiles do not count: one outlier would squeeze all else together.
    inner = np.concatenate([q[column, 1:-1] for q in quantiles.values()])
    low, high = inner.min(), inner.max()
    margin = 0.05 * (high - low) or 1.0
    axis.set_xlim(low - margin, high + margin)
    axis.set_ylim(0, 1)
    axis.text(
        0.97, 0.05, f"KS {task.before[column]:.2f} → {task.after[column]:.2f}",
        transform=axis.transAxes, ha="right", fontsize=5,
        bbox={"fc": "white", "ec": "none", "alpha": 0.7, "pad": 0.5},
    )  # fmt: skip


def draw_statistics(table: TablePlan, found: Mapping[str, Marginals]) -> Any:
    """Draw the Kolmogorov-Smirnov statistics of all columns before and after, as heat maps.

    Parameters
    ----------
    table : TablePlan
    found : mapping of task to Marginals
        A task that is not there is hatched and marked as missing.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    from matplotlib.patches import Rectangle

    d = len(next(iter(found.values())).source)
    maps = {
        "before: source and target": {task: m.before for task, m in found.items()},
        "after: transported source and target": {task: m.after for task, m in found.items()},
    }
    largest = max(float(v.max()) for tasks in maps.values() for v in tasks.values())
    with new_figure(PAGE_WIDTH, 0.19 * len(table.tasks) + 1.3) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        for axis, (name, tasks) in zip(axes, maps.items(), strict=True):
            grid = np.full((len(table.tasks), d), np.nan)
            for row, task in enumerate(table.tasks):
                if task in tasks:
                    grid[row] = tasks[task]
                    told = f"{grid[row].mean():.2f}"
                else:
                    axis.add_patch(Rectangle((-0.5, row - 0.5), d, 1, fc="0.93", ec="0.7",
                                             hatch="////", lw=0))  # fmt: skip
                    told = "missing"
                axis.text(d - 0.2, row, told, fontsize=5.5, va="center")
            # Its lightness falls all the way, so it reads in grey.
            image = axis.imshow(grid, cmap="cividis_r", vmin=0, vmax=largest, aspect="auto")
            axis.set_title(name)
            shown = [1, *range(5, d + 1, 5)]
            axis.set_xticks([column - 1 for column in shown], shown)
            axis.set_xlabel("Column (at the end of a row: mean)")
            axis.spines[:].set_visible(False)
        axes[0].set_yticks(range(len(table.tasks)), [task_name(table, t) for t in table.tasks])
        axes[0].set_ylabel("Task")
        figure.colorbar(image, ax=list(axes), label="Kolmogorov-Smirnov statistic", pad=0.04,
                        aspect=30)  # fmt: skip
        figure.suptitle(f"{title_of(table)}: how far single columns lie from the target's")
        return figure


def draw_quantiles(table: TablePlan, found: Mapping[str, Marginals]) -> Any:
    """Draw quantiles against the target's, one panel a task, a line a column.

    Columns are measured from the target's median in units of half the distance between its 5 %
    and 95 % quantiles, so that all share the axes; on the diagonal, the distributions are equal.

    Parameters
    ----------
    table : TablePlan
    found : mapping of task to Marginals
        A task that is not there is marked as missing.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    n_columns = 5
    n_rows = -(-len(table.tasks) // n_columns)
    with new_figure(PAGE_WIDTH, 1.4 * n_rows + 0.9) as figure:
        grid = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
        axes = list(grid.flat)
        for axis, task in zip(axes, table.tasks, strict=False):
            axis.set_title(task_name(table, task), fontsize=7, pad=2)
            axis.set_xlim(-1.6, 1.6)
            axis.set_ylim(-2.6, 2.6)
            if task not in found:
                mark_missing(axis)
                continue
            m = found[task]
            axis.plot(_scaled(m.target, m.target).T, _scaled(m.source, m.target).T,
                      color=SOURCE, ls="--", lw=0.5, alpha=0.7)  # fmt: skip
            axis.plot(_scaled(m.target, m.target).T, _scaled(m.transported, m.target).T,
                      color=TRANSPORTED, lw=0.6, alpha=0.9)  # fmt: skip
            axis.plot([-3, 3], [-3, 3], color=BLACK, lw=0.5, ls=":", label="equal to the target")
            axis.plot([], [], color=SOURCE, ls="--", lw=1, label="source")
            axis.plot([], [], color=TRANSPORTED, lw=1, label="transported source")
        for axis in axes[len(table.tasks) :]:
            axis.remove()
        figure.supylabel("Equal quantile of the source, before and after", fontsize=8)
        figure_legend(figure, axes[: len(table.tasks)], 3,
                      "Quantile of the target's column, scaled")  # fmt: skip
        figure.suptitle(f"{title_of(table)}: quantiles of all columns, a line each")
        return figure


def _scaled(quantiles: FloatArray, target: FloatArray) -> FloatArray:
    """Quantiles from 2.5 % to 97.5 % in the target's units, shape (d, len(LEVELS) - 2).

    Constant columns of the target are left in their own unit.
    """
    middle = target[:, [len(LEVELS) // 2]]
    unit = (target[:, [-3]] - target[:, [2]]) / 2
    scaled: FloatArray = (quantiles - middle) / np.where(unit > 0, unit, 1.0)
    return scaled[:, 1:-1]


def obtain_marginals(request: Request, table: TablePlan, path: Path) -> dict[str, Marginals]:
    """Read a table's marginals, after computing and storing what is wanted and not there.

    Parameters
    ----------
    request : Request
    table : TablePlan
    path : Path
        Where they are stored.

    Returns
    -------
    found : dict of task to Marginals
        In the order of the table's tasks; those that are neither stored nor computed are not in
        it. Without ``compute`` stored ones are taken whatever they were made by, as tables do.
    """
    try:
        there = load_marginals(path)
    except ValueError as error:
        request.tell(str(error))
        there = {}
    if not request.compute:
        return {task: there[task] for task in table.tasks if task in there}
    found = {}
    for task in table.tasks:
        cell = table.cells[task, METHOD]
        computed = _current(cell, there.get(task), request, table)
        if computed is not None:
            found[task] = computed
            if computed is not there.get(task):
                # After each task: a fit on many columns takes a while, and a run may be stopped.
                save_marginals({**there, **found}, path)
    save_marginals(found, path)
    # As they are stored, not as they were computed: to the digits that a later drawing has.
    return load_marginals(path)


def _current(
    cell: Cell, stored: Marginals | None, request: Request, table: TablePlan
) -> Marginals | None:
    try:
        if stored is not None and stored.identity == marginals_identity(cell):
            return stored
        return marginals(cell)
    except Exception as error:  # what fails on one task must not take the others' panels away
        request.tell(
            f"figure marginals_{table.name}: {cell.label} failed, {type(error).__name__}: {error}"
        )
        return None


def render(request: Request) -> list[Path]:
    """Make ``marginals_TABLE`` of every table that KRDA is in; for wide ones two figures.

    Parameters
    ----------
    request : Request

    Returns
    -------
    paths : list of Path
    """

    def make(table: TablePlan, name: str) -> list[Path]:
        if METHOD not in table.methods:
            return []
        found = obtain_marginals(request, table, request.directory / f"{name}.csv")
        if not found:
            request.tell(f"figure {name}: left out, no quantiles are stored")
            return []
        for task in table.tasks:
            if task not in found:
                request.tell(f"figure {name}: nothing is stored for {task}")
        if len(next(iter(found.values())).source) <= WIDE:
            return save_figure(draw_columns(table, found), request.directory / name)
        paths = save_figure(draw_statistics(table, found), request.directory / name)
        figure = draw_quantiles(table, found)
        return paths + save_figure(figure, request.directory / f"{name}_quantiles")

    return request.each_table("marginals", make)
