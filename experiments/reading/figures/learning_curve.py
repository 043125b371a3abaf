"""Learning curves: accuracy against the number of training rows (paper, figure 3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from experiments.cells.cell import Cell
from experiments.cells.configuration import config_names
from experiments.cells.curves import CurvePlan, curves_of, load_curve
from experiments.cells.plan import method_label
from experiments.reading.figures.request import Request
from experiments.reading.figures.style import (
    PAGE_WIDTH,
    figure_legend,
    footnote,
    method_style,
    new_figure,
    percent_limits,
)
from experiments.reading.figures.values import CellValue, draw_recorded, gaps


def learning_curve_cells(overrides: Sequence[str] = ()) -> list[Cell]:
    """All cells of all learning curves.

    Parameters
    ----------
    overrides : sequence of str
        Hydra overrides for every cell, such as ``("protocol=smoke",)``.

    Returns
    -------
    cells : list of Cell
        Ordinary cells of the benchmark; their records lie in the same store.
    """
    return [
        cell
        for name in config_names("curve")
        for cell in load_curve(name, overrides).cells.values()
    ]


def draw(plan: CurvePlan, values: Mapping[tuple[int, str], CellValue]) -> Any:
    """Draw a learning curve; a cell without a value is a gap in its line.

    Parameters
    ----------
    plan : CurvePlan
    values : mapping of (value, method) to CellValue

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    with new_figure(PAGE_WIDTH, 3.9) as figure:
        axes = figure.subplots(1, len(plan.panels), sharey=True, squeeze=False)[0]
        for axis, (title, own) in zip(axes, plan.panels.items(), strict=True):
            for method in (*own, *plan.everywhere):
                _draw_method(axis, plan, method, [values[x, method] for x in plan.values])
            axis.set_title(title)
            axis.set_xticks(plan.values)
            axis.set_xlabel(plan.label)
            axis.grid(axis="y", color="0.9", lw=0.5)
        axes[0].set_ylabel("Accuracy (%)")
        percent_limits(axes[0])
        figure_legend(figure, axes, 6)
        n = max(value.n_repetitions for value in values.values())
        figure.suptitle(f"{plan.title}: mean and 95% band of {n} repetitions")
        band = "Bands: other subsamples of the same rows and other seeds, not other data."
        footnote(figure, [band, *gaps(values, lambda rows: f"{rows} rows")])
        return figure


def _draw_method(axis: Any, plan: CurvePlan, method: str, values: list[CellValue]) -> None:
    style = method_style(method)
    emphasis = method == "krda"
    means = [v.interval.mean if v.interval else math.nan for v in values]
    low = [v.interval.low if v.interval else math.nan for v in values]
    high = [v.interval.high if v.interval else math.nan for v in values]
    axis.fill_between(plan.values, low, high, color=style.colour, alpha=0.13, lw=0)
    axis.plot(
        plan.values,
        means,
        color=style.colour,
        ls=style.dashes,
        marker=style.marker,
        ms=4,
        lw=2 if emphasis else 1.2,
        zorder=4 if emphasis else 3,
        label=method_label(method),
    )
    for x, mean, value in zip(plan.values, means, values, strict=True):
        if value.interval is not None and value.gap is not None:
            axis.annotate(value.gap, (x, mean), (2, 3), textcoords="offset points", fontsize=6)


def render(request: Request) -> list[Path]:
    """Make the learning curves of the data sets that are asked for, from records.

    Parameters
    ----------
    request : Request

    Returns
    -------
    paths : list of Path
    """

    def make(plan: CurvePlan, name: str) -> list[Path]:
        return draw_recorded(request, name, plan.cells, partial(draw, plan))

    return request.each("learning_curve", curves_of(request.tables), make)
