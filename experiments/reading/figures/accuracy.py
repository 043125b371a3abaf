"""Accuracy by task, one panel a method, with the published values as markers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from experiments.cells.plan import TablePlan, method_label
from experiments.published import STAND_INS, PublishedCell, has_published, published
from experiments.reading.figures.request import Request
from experiments.reading.figures.style import (
    BLACK,
    GREY,
    PAGE_WIDTH,
    SOURCE,
    figure_legend,
    footnote,
    new_figure,
    percent_limits,
)
from experiments.reading.figures.values import (
    CellValue,
    draw_recorded,
    gaps,
    task_name,
    title_of,
)

_REFERENCE = "source_only"


def draw(
    table: TablePlan,
    values: Mapping[tuple[str, str], CellValue],
    theirs: Mapping[tuple[str, str], PublishedCell],
) -> Any:
    """Draw the accuracies of methods on the tasks of a table.

    They are the paper's methods where there are published values of theirs, else all. Tasks that
    are numbers are joined by lines, others are not: between two masses or two kinds of goods lies
    nothing.

    Parameters
    ----------
    table : TablePlan
    values : mapping of (task, method) to CellValue
    theirs : mapping of (task, method) to PublishedCell

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    numeric = all(_is_number(task) for task in table.tasks)
    places = [float(task) for task in table.tasks] if numeric else list(range(len(table.tasks)))
    methods = shown_methods(table, theirs)
    n_columns = 4 if len(table.tasks) <= 12 else 3
    n_rows = -(-len(methods) // n_columns)
    with new_figure(PAGE_WIDTH, 1.35 * n_rows + (1.1 if numeric else 1.4)) as figure:
        grid = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
        axes = list(grid.flat)
        for axis, method in zip(axes, methods, strict=False):
            axis.set_title(method_label(method))
            if method != _REFERENCE and _REFERENCE in table.methods:
                _, means, _ = _ours(table, values, _REFERENCE)
                axis.plot(
                    places,
                    means,
                    color=GREY,
                    ls=":" if numeric else "none",
                    lw=1,
                    marker=None if numeric else "_",
                    ms=7,
                    label="Source only, ours",
                )
            _draw_method(axis, table, places, values, method, joined=numeric)
            shown = [(x, theirs[task, method]) for x, task in zip(places, table.tasks, strict=True)
                     if (task, method) in theirs]  # fmt: skip
            if shown:
                axis.errorbar(
                    [x for x, _ in shown],
                    [cell.mean for _, cell in shown],
                    [cell.ci95 for _, cell in shown],
                    fmt="D", ms=3.6, mfc="none", mec=BLACK, mew=0.8, ecolor=BLACK, elinewidth=0.6,
                    label="published",
                )  # fmt: skip
            axis.grid(axis="y", color="0.9", lw=0.5)
            axis.set_xticks(places, [task_name(table, task) for task in table.tasks])
            if not numeric:
                axis.tick_params(axis="x", rotation=90, labelsize=6)
            elif len(places) > 5:
                axis.set_xticks(places[::2], [task_name(table, t) for t in table.tasks[::2]])
        for axis in axes[len(methods) :]:
            axis.remove()
        percent_limits(axes[0])
        for axis in grid[:, 0]:
            axis.set_ylabel("Accuracy (%)")
        for column in range(min(n_columns, len(methods))):
            lowest = grid[(len(methods) - 1 - column) // n_columns, column]
            lowest.tick_params(axis="x", labelbottom=True)
            lowest.set_xlabel("Rotation of the target" if table.dataset == "moons" else "Task")
        figure_legend(figure, axes[: len(methods)], 4)
        figure.suptitle(f"{title_of(table)}: accuracy of each method, with 95% intervals")
        footnote(figure, notes(table, values, methods))
        return figure


def shown_methods(
    table: TablePlan, theirs: Mapping[tuple[str, str], PublishedCell]
) -> tuple[str, ...]:
    """Methods of the figure: the paper's where published values stand beside them, else all."""
    return table.paper if theirs and table.paper else table.methods


def notes(
    table: TablePlan,
    values: Mapping[tuple[str, str], CellValue],
    methods: Sequence[str],
) -> list[str]:
    """Footnotes of a figure with published values: whose these are, and what is missing.

    Parameters
    ----------
    table : TablePlan
    values : mapping of (task, method) to CellValue
    methods : sequence of str
        Those that the figure shows.

    Returns
    -------
    lines : list of str
    """
    shown = {key: value for key, value in values.items() if key[1] in methods}
    lines = gaps(shown, lambda task: task_name(table, task))
    if table.dataset in STAND_INS:
        real = STAND_INS[table.dataset].upper()
        lines.insert(
            0,
            "Ours are on simulated data; the published values are of the real "
            f"{real} and stand here for orientation.",
        )
    return lines


def published_values(table: TablePlan) -> Mapping[tuple[str, str], PublishedCell]:
    """Published values of a table's data set; none where the paper has none."""
    return published(table.dataset) if has_published(table.dataset) else {}


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _ours(
    table: TablePlan, values: Mapping[tuple[str, str], CellValue], method: str
) -> tuple[list[float], list[float], list[float]]:
    """Lower end, mean and upper end by task; NaN, which is drawn as a gap, where there is none."""
    intervals = [
        value.interval if (value := values.get((task, method))) else None for task in table.tasks
    ]
    return (
        [i.low if i else math.nan for i in intervals],
        [i.mean if i else math.nan for i in intervals],
        [i.high if i else math.nan for i in intervals],
    )


def _draw_method(
    axis: Any,
    table: TablePlan,
    places: list[float] | list[int],
    values: Mapping[tuple[str, str], CellValue],
    method: str,
    *,
    joined: bool,
) -> None:
    low, means, high = _ours(table, values, method)
    below = [m - a for m, a in zip(means, low, strict=True)]
    above = [b - m for m, b in zip(means, high, strict=True)]
    axis.errorbar(
        places, means, [below, above], fmt="o-" if joined else "o", color=SOURCE, ms=3, lw=1.3,
        elinewidth=0.9, label="ours",
    )  # fmt: skip
    for x, mean, task in zip(places, means, table.tasks, strict=True):
        gap = values[task, method].gap
        if gap == "missing" or math.isnan(mean):
            axis.text(x, 0.03, "missing" if gap == "missing" else gap, rotation=90, fontsize=5,
                      ha="center", transform=axis.get_xaxis_transform())  # fmt: skip
        elif gap is not None:
            axis.annotate(gap, (x, mean), (2, 3), textcoords="offset points", fontsize=5.5)


def render(request: Request) -> list[Path]:
    """Make ``accuracy_TABLE`` of every table, from records.

    Parameters
    ----------
    request : Request

    Returns
    -------
    paths : list of Path
    """

    def make(table: TablePlan, name: str) -> list[Path]:
        figure = partial(draw, table, theirs=published_values(table))
        return draw_recorded(request, name, table.cells, figure)

    return request.each_table("accuracy", make)
