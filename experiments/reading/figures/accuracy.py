"""Accuracy: by task with the published values, and against the number of training rows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pandas as pd

from experiments.analysis.table import Table
from experiments.catalogue import method_label
from experiments.published import STAND_INS
from experiments.reading.figures.style import LINES, PAGE_WIDTH, new_figure

if TYPE_CHECKING:
    from experiments.cells.plan import CurvePlan, TablePlan


def task_name(plan: TablePlan, task: str) -> str:
    """A task's name as a reader sees it: "40°", "B→D"."""
    return re.sub("(?<=[A-Z0-9])-(?=[A-Z0-9])", "→", plan.task_label.format(task))


def gap(cell: Any) -> str:
    """What to write if a cell is not complete: "missing" or "3/5"; empty if it is."""
    if not cell.recorded:
        return "missing"
    return "" if cell.complete else f"{cell.n_done}/{cell.n_repetitions}"


def _mark_gaps(axis: Any, places: Iterable[Any], cells: pd.DataFrame) -> None:
    """Write at its place what a cell lacks; at the lower edge if it has no mean."""
    for x, cell in zip(places, cells.itertuples(), strict=True):
        if text := gap(cell):
            if math.isnan(cell.mean):
                where = axis.get_xaxis_transform()
                axis.text(x, 0.03, text, rotation=90, fontsize=5, ha="center", transform=where)
            else:
                axis.text(x, cell.mean, text, fontsize=5)


def draw_accuracy(table: Table) -> Any:
    """Accuracies of methods by task, a panel each; None without any.

    They are the paper's methods if published values of theirs are shown, else all.
    """
    plan = table.plan
    cells = table.cells[table.cells.in_paper] if table.published else table.cells
    if cells["mean"].isna().all():
        return None
    groups = cells.groupby("label", sort=False)
    real = STAND_INS.get(plan.dataset)
    published = f"published, of the real {real.upper()}" if real else "published"
    n_rows = math.ceil(len(groups) / 3)
    with new_figure(PAGE_WIDTH, 1.4 * n_rows + 0.9) as figure:
        grid = figure.subplots(n_rows, 3, sharex=True, sharey=True, squeeze=False)
        for axis, (label, own) in zip(grid.flat, groups, strict=False):
            names = [task_name(plan, task) for task in own.task]
            axis.errorbar(names, own["mean"], own.ci95, fmt="o", ms=3, label="ours")
            if table.published:
                axis.errorbar(names, own.published_mean, own.published_ci95, fmt="D", ms=4,
                              mfc="none", lw=0.8, label=published)  # fmt: skip
            _mark_gaps(axis, names, own)
            axis.set_title(label)
            axis.grid(axis="y", lw=0.3)
            axis.tick_params(axis="x", rotation=90, labelsize=6)
        for axis in grid.flat[len(groups) :]:
            axis.set_axis_off()
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=2)
        figure.supylabel("Accuracy (%)")
        figure.suptitle(f"{plan.title}: accuracy of each method, with 95 % intervals")
        return figure


def draw_learning_curve(plan: CurvePlan, cells: pd.DataFrame) -> Any:
    """Accuracy against the number of training rows (paper, figure 3); None without any.

    A cell without a value is a gap in its line.
    """
    if cells["mean"].isna().all():
        return None
    with new_figure(PAGE_WIDTH, 3.9) as figure:
        axes = figure.subplots(1, len(plan.panels), sharey=True, squeeze=False)[0]
        for axis, (title, methods) in zip(axes, plan.panels.items(), strict=True):
            shown = (*plan.everywhere, *methods)
            for method, (colour, dashes, marker) in zip(shown, LINES, strict=False):
                own = cells[cells.method == method]
                low, high = own["mean"] - own.ci95, own["mean"] + own.ci95
                axis.fill_between(plan.values, low, high, color=colour, alpha=0.13, lw=0)
                axis.plot(plan.values, own["mean"], color=colour, ls=dashes, marker=marker, ms=4,
                          label=method_label(method))  # fmt: skip
                _mark_gaps(axis, plan.values, own)
            axis.set(title=title, xticks=plan.values, xlabel=plan.label)
            axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=3)
        axes[0].set_ylabel("Accuracy (%)")
        n = cells.n_repetitions.max()
        figure.suptitle(f"{plan.title}: mean and 95 % band of {n} repetitions")
        return figure
