"""Accuracy: by task with the published values, and against the number of training rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from experiments.analysis.table import Table
from experiments.catalogue import method_label
from experiments.published import STAND_INS
from experiments.reading.figures.style import (
    BLACK,
    GREY,
    PAGE_WIDTH,
    SOURCE,
    figure_legend,
    footnote,
    method_style,
    new_figure,
    percent_limits,
)

if TYPE_CHECKING:
    from experiments.cells.curves import CurvePlan
    from experiments.cells.plan import TablePlan

_REFERENCE = "source_only"


def task_name(plan: TablePlan, task: str) -> str:
    """A task's name as a reader sees it: "40°", "B→D"."""
    return plan.task_label.format(task).replace("-", "→")


def gap(cell: Any) -> str:
    """What to write if a cell is not complete: "missing" or "3/5"; empty if it is."""
    if not cell.recorded:
        return "missing"
    return "" if cell.complete else f"{cell.n_done}/{cell.n_repetitions}"


def gaps(cells: pd.DataFrame, name: Callable[[str], str]) -> list[str]:
    """Footnotes on cells that have no record or lack repetitions, one for each kind of gap."""
    kinds = [
        "No record" if found == "missing" else f"Only {found} repetitions" if found else ""
        for found in map(gap, cells.itertuples())
    ]
    totals = cells.method.value_counts()
    lines = []
    lacking = cells.assign(kind=kinds)[lambda frame: frame.kind != ""]
    for kind, of_kind in lacking.groupby("kind"):
        parts = []
        for method, own in of_kind.groupby("method", sort=False):
            few = len(own) <= 6 and len(own) < totals[method]
            where = ", ".join(map(name, own.task)) if few else f"{len(own)} of {totals[method]}"
            parts.append(f"{method_label(str(method))} ({where})")
        lines.append(f"{kind}: {'; '.join(parts)}.")
    return lines


def notes(table: Table, cells: pd.DataFrame) -> list[str]:
    """Footnotes of a figure with published values: whose these are, and what is missing."""
    lines = gaps(cells, lambda task: task_name(table.plan, task))
    if table.plan.dataset in STAND_INS:
        real = STAND_INS[table.plan.dataset].upper()
        lines.insert(
            0,
            f"Ours are on simulated data; the published values are of the real {real} and stand "
            "here for orientation.",
        )
    return lines


def draw_accuracy(table: Table) -> Any:
    """Accuracies of methods by task, a panel each; None without any.

    They are the paper's methods if published values of theirs are shown, else all. Tasks that are
    numbers are joined by lines.
    """
    plan = table.plan
    cells = table.cells[table.cells.in_paper] if table.published else table.cells
    if cells["mean"].isna().all():
        return None
    numeric = all(task.removeprefix("-").replace(".", "", 1).isdigit() for task in plan.tasks)
    places = [float(task) for task in plan.tasks] if numeric else list(range(len(plan.tasks)))
    methods = list(cells.method.unique())
    n_columns = 4 if len(plan.tasks) <= 12 else 3
    n_rows = -(-len(methods) // n_columns)
    names = [task_name(plan, task) for task in plan.tasks]
    with new_figure(PAGE_WIDTH, 1.35 * n_rows + (1.1 if numeric else 1.4)) as figure:
        grid = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
        axes = list(grid.flat)
        reference = table.cells[table.cells.method == _REFERENCE]
        for axis, method in zip(axes, methods, strict=False):
            axis.set_title(method_label(method))
            if method != _REFERENCE and len(reference):
                axis.plot(
                    places, reference["mean"], color=GREY, ls=":" if numeric else "none", lw=1,
                    marker=None if numeric else "_", ms=7, label="Source only, ours",
                )  # fmt: skip
            own = cells[cells.method == method]
            _draw_method(axis, places, own, joined=numeric)
            if own.published_mean.notna().any():
                axis.errorbar(
                    places, own.published_mean, own.published_ci95, fmt="D", ms=3.6, mfc="none",
                    mec=BLACK, mew=0.8, ecolor=BLACK, elinewidth=0.6, label="published",
                )  # fmt: skip
            axis.grid(axis="y", color="0.9", lw=0.5)
            axis.set_xticks(places, names)
            if not numeric:
                axis.tick_params(axis="x", rotation=90, labelsize=6)
            elif len(places) > 5:
                axis.set_xticks(places[::2], names[::2])
        for axis in axes[len(methods) :]:
            axis.remove()
        percent_limits(axes[0])
        for axis in grid[:, 0]:
            axis.set_ylabel("Accuracy (%)")
        for column in range(min(n_columns, len(methods))):
            lowest = grid[(len(methods) - 1 - column) // n_columns, column]
            lowest.tick_params(axis="x", labelbottom=True)
            lowest.set_xlabel("Rotation of the target" if plan.dataset == "moons" else "Task")
        figure_legend(figure, axes[: len(methods)], 4)
        figure.suptitle(f"{plan.title}: accuracy of each method, with 95% intervals")
        footnote(figure, notes(table, cells))
        return figure


def _draw_method(axis: Any, places: Sequence[float], cells: pd.DataFrame, *, joined: bool) -> None:
    means, half = cells["mean"], cells.ci95.fillna(0.0)
    axis.errorbar(
        places, means, [means - (means - half), (means + half) - means],
        fmt="o-" if joined else "o", color=SOURCE, ms=3, lw=1.3, elinewidth=0.9, label="ours",
    )  # fmt: skip
    for x, cell in zip(places, cells.itertuples(), strict=True):
        text = gap(cell)
        if text and math.isnan(cell.mean):
            axis.text(x, 0.03, text, rotation=90, fontsize=5, ha="center",
                      transform=axis.get_xaxis_transform())  # fmt: skip
        elif text:
            axis.annotate(text, (x, cell.mean), (2, 3), textcoords="offset points", fontsize=5.5)


def draw_learning_curve(plan: CurvePlan, cells: pd.DataFrame) -> Any:
    """Accuracy against the number of training rows (paper, figure 3); None without any.

    A cell without a value is a gap in its line.
    """
    if cells["mean"].isna().all():
        return None
    with new_figure(PAGE_WIDTH, 3.9) as figure:
        axes = figure.subplots(1, len(plan.panels), sharey=True, squeeze=False)[0]
        for axis, (title, own) in zip(axes, plan.panels.items(), strict=True):
            for method in (*own, *plan.everywhere):
                _draw_line(axis, plan.values, method, cells[cells.method == method])
            axis.set_title(title)
            axis.set_xticks(plan.values)
            axis.set_xlabel(plan.label)
            axis.grid(axis="y", color="0.9", lw=0.5)
        axes[0].set_ylabel("Accuracy (%)")
        percent_limits(axes[0])
        figure_legend(figure, axes, 6)
        n = cells.n_repetitions.max()
        figure.suptitle(f"{plan.title}: mean and 95% band of {n} repetitions")
        band = "Bands: other subsamples of the same rows and other seeds, not other data."
        footnote(figure, [band, *gaps(cells, lambda rows: f"{rows} rows")])
        return figure


def _draw_line(axis: Any, values: Sequence[int], method: str, cells: pd.DataFrame) -> None:
    style, emphasis = method_style(method), method == "krda"
    means, half = cells["mean"], cells.ci95.fillna(0.0)
    axis.fill_between(values, means - half, means + half, color=style.colour, alpha=0.13, lw=0)
    axis.plot(
        values, means, color=style.colour, ls=style.dashes, marker=style.marker, ms=4,
        lw=2 if emphasis else 1.2, zorder=4 if emphasis else 3, label=method_label(method),
    )  # fmt: skip
    for x, cell in zip(values, cells.itertuples(), strict=True):
        if gap(cell) and not math.isnan(cell.mean):
            axis.annotate(gap(cell), (x, cell.mean), (2, 3), textcoords="offset points", fontsize=6)
