"""Accuracy against what grows: the angle, the strength of a shift, the number of training rows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pandas as pd

from experiments.analysis.cells import KRDA, REFERENCES
from experiments.analysis.rounding import number, signed
from experiments.analysis.table import Table
from experiments.reading.figures.style import (
    FAINT,
    KRDA_COLOUR,
    OTHER,
    PAGE_WIDTH,
    PAPER,
    SOURCE,
    new_figure,
)

if TYPE_CHECKING:
    from experiments.cells.plan import CurvePlan, TablePlan

_STRENGTH = re.compile(r"(\w+)-(\d\.\d+)")
_COLUMNS = 4


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


def is_ordered(plan: TablePlan) -> bool:
    """Whether the tasks are numbers, such as angles."""
    return all(task.isdigit() for task in plan.tasks)


def has_strengths(plan: TablePlan) -> bool:
    """Whether the tasks are kinds of shift at some strengths."""
    return all(_STRENGTH.fullmatch(task) for task in plan.tasks)


def shown(table: Table) -> pd.DataFrame:
    """Cells of the paper's methods if published values of theirs are shown, else all."""
    return table.cells[table.cells.in_paper] if table.published else table.cells


def draw_accuracy(table: Table) -> Any:
    """Accuracies by task, whose names are numbers, a panel a method; None without any."""
    title = f"{table.plan.title}: accuracy by task, with 95 % intervals"
    return _draw(shown(table), title, "", "the paper" if table.published else "")


def draw_learning_curve(plan: CurvePlan, cells: pd.DataFrame) -> Any:
    """Accuracy against the number of training rows (paper, figure 3); None without any."""
    title = f"{plan.title}: mean with 95 % intervals of {cells.n_repetitions.max()} repetitions"
    order = {method: place for place, method in enumerate(plan.methods)}
    cells = cells.sort_values("method", key=lambda methods: methods.map(order), kind="stable")
    return _draw(cells, title, plan.label, "")


def _draw(cells: pd.DataFrame, title: str, label: str, paper: str) -> Any:
    """A panel a method, KRDA's line in each. A cell without a value is a gap in its line."""
    if cells["mean"].isna().all():
        return None
    groups, ticks = cells.groupby("method", sort=False), cells.task.unique()
    n_rows = math.ceil(len(groups) / _COLUMNS)
    krda = cells[cells.method == KRDA]
    seen = "A panel a method: our accuracies filled, the paper's open, KRDA's line in each panel."
    with new_figure(PAGE_WIDTH, 1.3 * n_rows + 0.9, title, seen, _lead(cells)) as figure:
        grid = figure.subplots(n_rows, _COLUMNS, sharex=True, sharey=True, squeeze=False)
        for axis, (method, own) in zip(grid.flat, groups, strict=False):
            x, is_krda = own.task.astype(float), method == KRDA
            axis.plot(
                krda.task.astype(float), krda["mean"], color=KRDA_COLOUR, lw=0.9, label="KRDA"
            )
            axis.errorbar(x, own["mean"], own.ci95, fmt="o:", ms=3, lw=0.9, label="ours",
                          color=KRDA_COLOUR if is_krda else OTHER)  # fmt: skip
            if paper:
                axis.errorbar(x, own.published_mean, own.published_ci95, **PAPER, lw=0,
                              elinewidth=0.5, ecolor=OTHER, label=paper)  # fmt: skip
            _mark_gaps(axis, x, own)
            axis.set_title(own.label.iloc[0], fontweight="bold" if is_krda else "normal")
            axis.grid(axis="y", lw=0.3)
        axis.set_ylim(max(axis.get_ylim()[0], -4), 104)
        axis.set_xticks(ticks.astype(float), ticks)
        grid[-1][0].set_xlabel(label, loc="left")
        for spare in grid.flat[len(groups) :]:
            spare.set_axis_off()
        labels = grid.flat[0].get_legend_handles_labels()
        figure.legend(*labels, loc="outside lower center", ncols=3)
        figure.supylabel("Accuracy (%)", fontsize=8)
        return figure


def _lead(cells: pd.DataFrame) -> str:
    """On how many tasks KRDA's mean is the highest, and where it is the lowest."""
    rivals = cells[~cells.method.isin(REFERENCES)]
    wide = rivals.pivot(index="task", columns="method", values="mean").dropna()
    if KRDA not in wide or wide.empty or len(wide.columns) < 2:
        return ""
    krda, others = wide[KRDA], wide.drop(columns=KRDA)
    lowest, names = krda.idxmin(), dict(zip(cells.method, cells.label, strict=True))
    best = others.loc[lowest]
    return (
        f"Among these methods KRDA has the highest mean {(krda >= others.max(axis=1)).sum()} of "
        f"{len(wide)} times; its lowest is {number(krda[lowest])} % at {lowest}, where the best "
        f"other has {number(best.max())} % ({names[best.idxmax()]})."
    )


def draw_strengths(table: Table) -> Any:
    """Accuracy against the strength of a shift, a panel a kind of it; None without any."""
    cells, means = table.cells, table.means["mean"].ours
    if cells["mean"].isna().all():
        return None
    cells = cells.join(cells.task.str.extract(_STRENGTH).set_axis(["kind", "strength"], axis=1))
    best = means.drop([KRDA, *REFERENCES], errors="ignore").idxmax()
    looks = {
        KRDA: (KRDA_COLOUR, "o-"), "source_only": (OTHER, "x:"), "target_only": (OTHER, "+--"),
        best: (SOURCE, "s-."),
    }  # fmt: skip
    title = f"{table.plan.title}: accuracy against the strength of the shift"
    seen = "A panel a kind of shift: lines of accuracy against its strength, KRDA's coloured."
    with new_figure(PAGE_WIDTH, 3.1, title, seen, _at_full_strength(cells, best)) as figure:
        kinds = cells.groupby("kind", sort=False)
        axes = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
        for axis, (kind, own) in zip(axes, kinds, strict=True):
            for method, line in own.groupby("method", sort=False):
                x = line.strength.astype(float)
                if method in looks:
                    colour, style = looks[method]
                    axis.errorbar(x, line["mean"], line.ci95, fmt=style, color=colour, ms=4,
                                  lw=1.2, zorder=3, label=line.label.iloc[0])  # fmt: skip
                else:
                    axis.plot(x, line["mean"], color=FAINT, lw=0.7, alpha=0.7)
                _mark_gaps(axis, x, line)
            axis.set(title=kind, xlabel="Strength")
            axis.grid(axis="y", lw=0.3)
        axes[0].plot([], [], color=FAINT, lw=0.7, label="other methods")
        axes[0].set_ylabel("Accuracy (%)")
        labels = axes[0].get_legend_handles_labels()
        figure.legend(*labels, loc="outside lower center", ncols=5)
        return figure


def _at_full_strength(cells: pd.DataFrame, best: str) -> str:
    """What KRDA and the best other method gain over Source only at the highest strength."""
    full = cells[cells.strength == cells.strength.max()]
    wide = full.pivot(index="kind", columns="method", values="mean").reindex(full.kind.unique())
    names = dict(zip(cells.method, cells.label, strict=True))
    gains = {
        names[method]: (wide[method] - wide["source_only"]).dropna()
        for method in (KRDA, best)
        if {method, "source_only"} <= set(wide)
    }
    said = "; ".join(
        f"{name} " + ", ".join(f"{signed(points)} ({kind})" for kind, points in own.items())
        for name, own in gains.items()
        if len(own)
    )
    return f"Points gained over Source only at full strength: {said}." if said else ""
