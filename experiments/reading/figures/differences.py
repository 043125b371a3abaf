"""Ours minus the published value, task by method, as a heat map with numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.cells.plan import TablePlan, method_label
from experiments.published import PublishedCell
from experiments.published.anomalies import anomalies
from experiments.reading.figures.accuracy import notes, published_values
from experiments.reading.figures.request import Request
from experiments.reading.figures.style import PAGE_WIDTH, footnote, new_figure
from experiments.reading.figures.values import CellValue, draw_recorded, task_name, title_of
from experiments.reading.tables.wording import signed

# Orange to violet, told apart by the colour-blind.
_MAP = "PuOr_r"
_LIMIT = 40.0
_SUSPECT = "†"


def draw(
    table: TablePlan,
    values: Mapping[tuple[str, str], CellValue],
    theirs: Mapping[tuple[str, str], PublishedCell],
) -> Any:
    """Draw the differences in points of accuracy; the numbers carry the sign for reading in grey.

    Parameters
    ----------
    table : TablePlan
    values : mapping of (task, method) to CellValue
    theirs : mapping of (task, method) to PublishedCell

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    methods = [m for m in table.paper if any((task, m) in theirs for task in table.tasks)]
    odd = [o for o in anomalies(table.dataset) if o.suspect and not o.general]
    differences = np.full((len(table.tasks), len(methods)), np.nan)
    with new_figure(PAGE_WIDTH, 0.24 * len(table.tasks) + 1.5) as figure:
        axis = figure.subplots()
        suspect = False
        for row, task in enumerate(table.tasks):
            for column, method in enumerate(methods):
                there = theirs.get((task, method))
                if there is None:
                    text = "–"
                elif (value := values[task, method]).interval is None:
                    text = value.gap or "missing"
                else:
                    differences[row, column] = value.interval.mean - there.mean
                    text = signed(differences[row, column])
                    if any(o.concerns(table.dataset, task, method) for o in odd):
                        text += _SUSPECT
                        suspect = True
                    if value.gap is not None:
                        text += f" ({value.gap})"
                _write(axis, row, column, text, float(differences[row, column]))
        image = axis.imshow(differences, cmap=_MAP, vmin=-_LIMIT, vmax=_LIMIT, aspect="auto")
        axis.set_xticks(range(len(methods)), [method_label(m) for m in methods])
        axis.tick_params(axis="x", top=True, labeltop=True, bottom=False, labelbottom=False,
                         rotation=35)  # fmt: skip
        for label in axis.get_xticklabels():
            label.set_ha("left")
        axis.set_yticks(range(len(table.tasks)), [task_name(table, t) for t in table.tasks])
        axis.set_ylabel("Task")
        axis.spines[:].set_visible(False)
        figure.colorbar(image, ax=axis, extend="both", pad=0.01, aspect=30,
                        label="Points of accuracy, ours − published")  # fmt: skip
        figure.suptitle(f"{title_of(table)}: ours minus the published accuracy")
        lines = notes(table, {key: v for key, v in values.items() if key in theirs}, methods)
        if suspect:
            lines.append(
                f"{_SUSPECT} The published value is suspect, see experiments/published/"
                "anomalies.yaml."
            )
        footnote(figure, lines)
        return figure


def _write(axis: Any, row: int, column: int, text: str, difference: float) -> None:
    from matplotlib.patches import Rectangle

    if np.isnan(difference):
        axis.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fc="0.93", ec="0.7",
                                 hatch="////", lw=0))  # fmt: skip
    axis.text(
        column, row, text, ha="center", va="center",
        color="white" if _is_dark(difference) else "black",
        fontsize=6.5 if len(text) <= 8 else 5,
    )  # fmt: skip


def _is_dark(difference: float) -> bool:
    """Whether the colour behind a number is so dark that the number must be white."""
    if np.isnan(difference):
        return False
    from matplotlib import colormaps

    red, green, blue, _ = colormaps[_MAP](0.5 + np.clip(difference, -_LIMIT, _LIMIT) / 2 / _LIMIT)
    return bool(0.299 * red + 0.587 * green + 0.114 * blue < 0.5)


def render(request: Request) -> list[Path]:
    """Make ``differences_TABLE`` of every table with published values, from records.

    Parameters
    ----------
    request : Request

    Returns
    -------
    paths : list of Path
    """

    def make(table: TablePlan, name: str) -> list[Path]:
        theirs = published_values(table)
        if not theirs:
            request.tell(f"figure {name}: left out, the paper has no values of such data")
            return []
        cells = {key: cell for key, cell in table.cells.items() if key in theirs}
        figure = partial(draw, table, theirs=theirs)
        return draw_recorded(request, name, cells, figure, "records with published values")

    return request.each_table("differences", make)
