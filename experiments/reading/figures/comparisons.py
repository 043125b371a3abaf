"""Methods beside each other: differences from the paper, cost, and average ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import scikit_posthocs

from experiments.analysis.comparisons import (
    ALPHA,
    average_ranks,
    families,
    nemenyi,
    rank_tests,
)
from experiments.analysis.rounding import signed
from experiments.analysis.table import Table
from experiments.catalogue import method_label
from experiments.reading.figures.accuracy import gap, gaps, notes, task_name
from experiments.reading.figures.style import (
    BLACK,
    MAPPING,
    PAGE_WIDTH,
    SKY,
    SOURCE,
    figure_legend,
    footnote,
    hatch,
    new_figure,
)

# Orange to violet, told apart by the colour-blind.
_MAP = "PuOr_r"
_LIMIT = 40.0
_SUSPECT = "†"


def draw_differences(table: Table) -> Any:
    """Ours minus the published value, task by method, as a heat map with numbers; None if none."""
    plan = table.plan
    cells = table.cells[table.cells.in_paper & table.cells.published_mean.notna()]
    if cells["mean"].isna().all():
        return None
    methods, tasks = list(cells.method.unique()), list(plan.tasks)
    differences = np.full((len(tasks), len(methods)), np.nan)
    with new_figure(PAGE_WIDTH, 0.24 * len(tasks) + 1.5) as figure:
        axis = figure.subplots()
        texts = {}
        for cell in cells.itertuples():
            place = tasks.index(cell.task), methods.index(cell.method)
            differences[place] = cell.difference
            if math.isnan(cell.difference):
                texts[place] = gap(cell)
                continue
            text = signed(cell.difference) + (_SUSPECT if cell.suspect else "")
            texts[place] = f"{text} ({gap(cell)})" if gap(cell) else text
        for row in range(len(tasks)):
            for column in range(len(methods)):
                text = texts.get((row, column), "–")
                _write(axis, row, column, text, float(differences[row, column]))
        image = axis.imshow(differences, cmap=_MAP, vmin=-_LIMIT, vmax=_LIMIT, aspect="auto")
        axis.set_xticks(range(len(methods)), [method_label(m) for m in methods])
        axis.tick_params(axis="x", top=True, labeltop=True, bottom=False, labelbottom=False,
                         rotation=35)  # fmt: skip
        for label in axis.get_xticklabels():
            label.set_ha("left")
        axis.set_yticks(range(len(tasks)), [task_name(plan, task) for task in tasks])
        axis.set_ylabel("Task")
        axis.spines[:].set_visible(False)
        figure.colorbar(image, ax=axis, extend="both", pad=0.01, aspect=30,
                        label="Points of accuracy, ours − published")  # fmt: skip
        figure.suptitle(f"{plan.title}: ours minus the published accuracy")
        lines = notes(table, cells)
        if any(_SUSPECT in text for text in texts.values()):
            where = "experiments/published/anomalies.yaml"
            lines.append(f"{_SUSPECT} The published value is suspect, see {where}.")
        footnote(figure, lines)
        return figure


def _write(axis: Any, row: int, column: int, text: str, difference: float) -> None:
    if np.isnan(difference):
        hatch(axis, column - 0.5, row - 0.5, 1)
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


def costs(table: Table) -> pd.DataFrame:
    """Median ``seconds`` of a fit and mean ``accuracy``, by method that has a value on every task.

    A mean over a part of the tasks cannot be compared with means over all of them.
    """
    means = table.means["mean"]
    whole = means.index[means.n_ours == means.n_tasks]
    done = table.runs[table.runs.status == "done"]
    seconds = done.groupby("method").fit_seconds.median()
    return pd.DataFrame({"seconds": seconds.reindex(whole), "accuracy": means.ours[whole]}).dropna()


def draw_runtime(table: Table) -> Any:
    """Mean accuracy against the median seconds of a fit, a marker a method; None without any."""
    if table.cells["mean"].isna().all():
        return None
    found = costs(table)
    in_paper = dict(zip(table.cells.method, table.cells.in_paper, strict=True))
    families_ = {
        "no adaptation": ("X", BLACK, ["source_only", "target_only"]),
        "KRDA": ("*", MAPPING, ["krda"]),
        "other methods of the paper": ("o", SOURCE, [m for m in found.index if in_paper[m]]),
        "rows of ours": ("s", SKY, [m for m in found.index if not in_paper[m]]),
    }
    shown: set[str] = set()
    with new_figure(PAGE_WIDTH, 4.2) as figure:
        axis = figure.subplots()
        for family, (marker, colour, methods) in families_.items():
            own = [m for m in methods if m in found.index and m not in shown]
            shown.update(own)
            if own:
                axis.scatter(
                    found.seconds[own], found.accuracy[own], s=70 if marker == "*" else 26,
                    marker=marker, c=colour, edgecolors=BLACK, linewidths=0.5, label=family,
                    zorder=3,
                )  # fmt: skip
        axis.set_xscale("log")
        axis.margins(x=0.14, y=0.08)
        axis.grid(color="0.92", lw=0.5)
        axis.set_xlabel("Seconds of a fit, median over tasks and repetitions (log scale)")
        axis.set_ylabel(f"Accuracy (%), mean over {len(table.plan.tasks)} tasks")
        figure_legend(figure, [axis], 4)
        figure.suptitle(f"{table.plan.title}: accuracy against time to fit, one thread")
        lines = gaps(table.cells, lambda task: task_name(table.plan, task))
        lines.append(
            "Wall-clock seconds with a cell at work on every core; the processors are those of "
            "provenance.md."
        )
        absent = [label for method, label in table.labels.items() if method not in found.index]
        if absent:
            lines.append(f"Not shown, for want of a value on some task: {', '.join(absent)}.")
        footnote(figure, lines)
        points = {method_label(m): (row.seconds, row.accuracy) for m, row in found.iterrows()}
        _label_points(figure, axis, points)
        return figure


def _label_points(figure: Any, axis: Any, points: Mapping[str, tuple[float, float]]) -> None:
    """Write each point's name beside it, at the nearest place that hides no other."""
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    figure.canvas.draw()  # settles where the axes are
    renderer = figure.canvas.get_renderer()
    pixels = {name: axis.transData.transform(point) for name, point in points.items()}
    half = 4 * figure.dpi / 72
    taken = [Bbox.from_extents(x - half, y - half, x + half, y + half) for x, y in pixels.values()]
    inside = axis.get_window_extent()
    beside = (
        (1, 0, "left", "center"), (-1, 0, "right", "center"), (0, 1, "center", "bottom"),
        (0, -1, "center", "top"), (0.7, 0.7, "left", "bottom"), (0.7, -0.7, "left", "top"),
        (-0.7, 0.7, "right", "bottom"), (-0.7, -0.7, "right", "top"),
    )  # fmt: skip
    places = [(radius, *where) for radius in (5, 10, 16, 24, 34, 46, 60) for where in beside]
    for name in sorted(points, key=lambda name: tuple(pixels[name])):
        for radius, dx, dy, ha, va in places:
            text = axis.annotate(
                name, points[name], (dx * radius, dy * radius), textcoords="offset points",
                ha=ha, va=va, fontsize=6.5,
                arrowprops=None if radius <= 5 else
                {"arrowstyle": "-", "lw": 0.4, "color": "0.5", "shrinkA": 0, "shrinkB": 2},
            )  # fmt: skip
            text.update_positions(renderer)
            box = Text.get_window_extent(text, renderer)  # of the words, without the line
            box = Bbox.from_extents(box.x0 - 1, box.y0 - 1, box.x1 + 1, box.y1 + 1)
            within = inside.x0 <= box.x0 and box.x1 <= inside.x1
            within = within and inside.y0 <= box.y0 and box.y1 <= inside.y1
            if within and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            text.remove()
        else:
            axis.annotate(name, points[name], (5, 0), textcoords="offset points", fontsize=6.5,
                          va="center")  # fmt: skip


def draw_ranks(table: Table) -> Any:
    """Critical-difference diagram of the paper's methods (Demsar, 2006); None if there is no test.

    Methods are at their average ranks, the best at the left; a bar joins those that Nemenyi's test
    does not tell apart at level 0.05.
    """
    first = next(families(table.cells), None)
    if first is None or (p := nemenyi(first[2])).empty:
        return None
    means = first[2]
    ranks, test = average_ranks(means), rank_tests(means)
    names = [f"{method_label(method)} ({rank:.2f})" for method, rank in ranks.items()]
    # Whole numbers for names, whose order no hash seed changes.
    p = pd.DataFrame(p.to_numpy())
    with new_figure(9, 1.6 + 0.14 * len(names)) as figure:
        axes = figure.subplots()
        drawn = scikit_posthocs.critical_difference_diagram(
            dict(enumerate(ranks)),
            p,
            alpha=ALPHA,
            ax=axes,
            label_fmt_left="{label}",
            label_fmt_right="{label}",
            text_h_margin=0.05,
            color_palette=dict.fromkeys(range(len(names)), "0.2"),
            elbow_props={"linewidth": 0.8},
            crossbar_props={"color": "#0072B2", "linewidth": 2.5},
        )
        for text in drawn["labels"]:
            text.set_text(names[int(text.get_text())])
        title = f"{table.title}: average ranks over {test['n_tasks']} tasks"
        difference = f"critical difference {test['critical_difference']:.2f}"
        axes.set_title(f"{title}; {difference}", fontsize=10, pad=24)
        return figure
