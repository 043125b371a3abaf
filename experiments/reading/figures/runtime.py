"""What accuracy costs: mean accuracy against the median seconds of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from experiments.cells.plan import TablePlan, method_label
from experiments.reading.figures.request import Request
from experiments.reading.figures.style import (
    BLACK,
    MAPPING,
    PAGE_WIDTH,
    SKY,
    SOURCE,
    figure_legend,
    footnote,
    new_figure,
)
from experiments.reading.figures.values import (
    CellValue,
    draw_recorded,
    gaps,
    task_name,
    title_of,
)

_FAMILIES = {
    "no adaptation": (("source_only", "target_only"), "X", BLACK),
    "KRDA": (("krda",), "*", MAPPING),
    "other methods of the paper": ((), "o", SOURCE),
    "rows of ours": ((), "s", SKY),
}


class Cost(NamedTuple):
    """Where a method stands.

    Attributes
    ----------
    seconds : float
        Median over tasks and repetitions.
    accuracy : float
        Mean over tasks of the means, percent.
    """

    seconds: float
    accuracy: float


def costs(
    table: TablePlan, values: Mapping[tuple[str, str], CellValue]
) -> tuple[dict[str, Cost], list[str]]:
    """Sum up each method that has a value on every task.

    A mean over a part of the tasks cannot stand beside means over all of them.

    Parameters
    ----------
    table : TablePlan
    values : mapping of (task, method) to CellValue

    Returns
    -------
    costs : dict of method to Cost
    left_out : list of str
        Methods that lack a task.
    """
    found, left_out = {}, []
    for method in table.methods:
        own = [values[task, method] for task in table.tasks]
        means = [value.interval.mean for value in own if value.interval is not None]
        seconds = [s for value in own for s in value.fit_seconds]
        if len(means) < len(own) or not seconds:
            left_out.append(method)
            continue
        found[method] = Cost(median(seconds), sum(means) / len(means))
    return found, left_out


def draw(table: TablePlan, values: Mapping[tuple[str, str], CellValue]) -> Any:
    """Draw a marker a method.

    Parameters
    ----------
    table : TablePlan
    values : mapping of (task, method) to CellValue

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    found, left_out = costs(table, values)
    with new_figure(PAGE_WIDTH, 4.2) as figure:
        axis = figure.subplots()
        for family, (marker, colour, methods) in _families(table).items():
            shown = [found[m] for m in methods if m in found]
            if shown:
                axis.scatter(
                    [cost.seconds for cost in shown], [cost.accuracy for cost in shown],
                    s=70 if marker == "*" else 26, marker=marker, c=colour, edgecolors=BLACK,
                    linewidths=0.5, label=family, zorder=3,
                )  # fmt: skip
        axis.set_xscale("log")
        axis.margins(x=0.14, y=0.08)
        axis.grid(color="0.92", lw=0.5)
        axis.set_xlabel("Seconds of a fit, median over tasks and repetitions (log scale)")
        axis.set_ylabel(f"Accuracy (%), mean over {len(table.tasks)} tasks")
        figure_legend(figure, [axis], 4)
        figure.suptitle(f"{title_of(table)}: accuracy against time to fit, one thread")
        lines = gaps(values, lambda task: task_name(table, task))
        lines.append(
            "Wall-clock seconds with a cell at work on every core; the processors are those of "
            "provenance.md."
        )
        if left_out:
            names = ", ".join(method_label(m) for m in left_out)
            lines.append(f"Not shown, for want of a value on some task: {names}.")
        footnote(figure, lines)
        _label_points(
            figure,
            axis,
            {method_label(m): (cost.seconds, cost.accuracy) for m, cost in found.items()},
        )
        return figure


def _families(table: TablePlan) -> dict[str, tuple[str, str, list[str]]]:
    """Marker, colour and methods of each family."""
    named = {m: family for family, (methods, _, _) in _FAMILIES.items() for m in methods}
    families: dict[str, tuple[str, str, list[str]]] = {
        family: (marker, colour, []) for family, (_, marker, colour) in _FAMILIES.items()
    }
    for method in table.methods:
        other = "rows of ours" if method in table.ours else "other methods of the paper"
        families[named.get(method, other)][2].append(method)
    return families


def _label_points(figure: Any, axis: Any, points: Mapping[str, tuple[float, float]]) -> None:
    """Write each point's name beside it, where it hides no other name or point.

    Tries places around the point, near ones first, and takes the first that is free.
    """
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    figure.canvas.draw()  # settles where the axes lie
    renderer = figure.canvas.get_renderer()
    pixels = {name: axis.transData.transform(point) for name, point in points.items()}
    half = 4 * figure.dpi / 72
    taken = [Bbox.from_extents(x - half, y - half, x + half, y + half) for x, y in pixels.values()]
    inside = axis.get_window_extent()
    for name in sorted(points, key=lambda name: tuple(pixels[name])):
        for radius in (5, 10, 16, 24, 34, 46, 60):
            placed = False
            for dx, dy, ha, va in (
                (1, 0, "left", "center"), (-1, 0, "right", "center"), (0, 1, "center", "bottom"),
                (0, -1, "center", "top"), (0.7, 0.7, "left", "bottom"),
                (0.7, -0.7, "left", "top"), (-0.7, 0.7, "right", "bottom"),
                (-0.7, -0.7, "right", "top"),
            ):  # fmt: skip
                text = axis.annotate(
                    name, points[name], (dx * radius, dy * radius), textcoords="offset points",
                    ha=ha, va=va, fontsize=6.5,
                    arrowprops=None if radius <= 5 else
                    {"arrowstyle": "-", "lw": 0.4, "color": "0.5", "shrinkA": 0, "shrinkB": 2},
                )  # fmt: skip
                text.update_positions(renderer)
                box = Text.get_window_extent(text, renderer)  # of the words, without the line
                box = Bbox.from_extents(box.x0 - 1, box.y0 - 1, box.x1 + 1, box.y1 + 1)
                within = inside.x0 <= box.x0 and box.x1 <= inside.x1 and (
                    inside.y0 <= box.y0 and box.y1 <= inside.y1
                )  # fmt: skip
                if within and not any(box.overlaps(other) for other in taken):
                    taken.append(box)
                    placed = True
                    break
                text.remove()
            if placed:
                break
        else:
            axis.annotate(name, points[name], (5, 0), textcoords="offset points", fontsize=6.5,
                          va="center")  # fmt: skip


def render(request: Request) -> list[Path]:
    """Make ``runtime_TABLE`` of every table, from records.

    Parameters
    ----------
    request : Request

    Returns
    -------
    paths : list of Path
    """

    def make(table: TablePlan, name: str) -> list[Path]:
        return draw_recorded(request, name, table.cells, partial(draw, table))

    return request.each_table("runtime", make)
