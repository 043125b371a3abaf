"""KRDA's densities: their training, and every column before and after the transport."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.reading.figures.accuracy import task_name
from experiments.reading.figures.numbers import (
    CURVES,
    LEVELS,
    MARGINALS,
    QUANTILES,
    TRAINED,
    stored,
)
from experiments.reading.figures.style import (
    BLACK,
    PAGE_WIDTH,
    SOURCE,
    TARGET,
    TRANSPORTED,
    figure_legend,
    hatch,
    mark_missing,
    new_figure,
)

if TYPE_CHECKING:
    from experiments.cells.plan import TablePlan

FloatArray = NDArray[np.float64]

WIDE = 8
"""Tables of more columns than this have no room for a panel a column."""

_KINDS = (
    ("target", "target", TARGET, "-", 2.2),
    ("source", "source", SOURCE, "--", 1.0),
    ("transported", "transported source", TRANSPORTED, (0, (4, 1, 1, 1)), 1.2),
)


def draw_training(plan: TablePlan, directory: Path) -> Any:
    """Training and held-out negative log-likelihood, a panel a domain; None without numbers."""
    curves = stored(directory, f"training_{plan.name}", CURVES)
    if curves is None:
        return None
    with new_figure(PAGE_WIDTH, 2.7) as figure:
        axes = figure.subplots(1, 2, sharex=True)
        for axis, domain, colour in zip(axes, ("source", "target"), (SOURCE, TARGET), strict=True):
            train, held_out = curves[f"{domain}_train"], curves[f"{domain}_held_out"]
            axis.plot(curves.step, train, color=colour, ls=(0, (4, 1.5)), label="training rows")
            axis.plot(curves.step, held_out, color=colour, lw=1.6, label="held-out rows")
            kept = curves.step[curves.kept == 1].iloc[0]
            axis.axvline(kept, color=BLACK, lw=0.8, ls=":", label="parameters kept")
            # What diverges later must not hide where the minimum is.
            low = min(train.min(), held_out.min())
            rise = max(held_out[0] - held_out.min(), 1.0)
            axis.set_ylim(low - 0.1 * rise, held_out.min() + 2 * rise)
            axis.set_title(domain)
            axis.set_xlabel("Step")
        axes[0].set_ylabel("Negative log-likelihood (nats a row)")
        figure_legend(figure, axes[:1], 3)
        task = plan.task_label.format(TRAINED[plan.dataset])
        figure.suptitle(f"{plan.title}, {task}: training of the density")
        return figure


def of_columns(found: pd.DataFrame, task: str, kind: str, columns: str | list[str]) -> FloatArray:
    """Stored values of a task's columns of a kind, a row each."""
    rows = found[(found.task == task) & (found.kind == kind)]
    values: FloatArray = rows[columns].to_numpy(dtype=float)
    return values


def draw_marginals(plan: TablePlan, directory: Path) -> Any:
    """Columns before and after: distribution functions, or of wide tables statistics as heat maps.

    None without numbers; a task that has none is marked as missing.
    """
    found = stored(directory, f"marginals_{plan.name}", MARGINALS)
    if found is None:
        return None
    d = found.column.nunique()
    return _draw_columns(plan, found, d) if d <= WIDE else _draw_statistics(plan, found, d)


def _draw_columns(plan: TablePlan, found: pd.DataFrame, d: int) -> Any:
    per_row = max(1, 6 // d)  # tasks side by side
    n_rows = -(-len(plan.tasks) // per_row)
    height = 0.95 * n_rows + 0.9
    # All panels have one size, so their places can be written down, which takes no time.
    with new_figure(PAGE_WIDTH, height, layout=None) as figure:
        # Panels that share an axis ask each other: by the row, that is a few questions.
        grid = figure.subplots(n_rows, per_row * d, sharey="row", squeeze=False)
        _place(figure, n_rows, per_row * d)
        for number, task in enumerate(plan.tasks):
            row, first = divmod(number, per_row)
            for column in range(d):
                axis = grid[row, first * d + column]
                axis.tick_params(labelsize=5, length=2, pad=1)
                axis.locator_params(axis="x", nbins=3)
                name = f"{task_name(plan, task)}, column {column + 1}"
                # With a place of its own no room is looked for, panel by panel.
                axis.set_title(name, fontsize=6, pad=2, y=1)
                if (found.task == task).any():
                    _distribution_functions(axis, found, task, column)
                else:
                    mark_missing(axis)
        for number in range(len(plan.tasks), n_rows * per_row):
            row, first = divmod(number, per_row)
            for axis in grid[row, first * d : (first + 1) * d]:
                axis.remove()
        figure.supylabel("Share of rows at or below the value", fontsize=8, x=0.006)
        title = "Value of the column; KS: largest distance to the target, before → after"
        figure_legend(figure, list(grid.flat), 3, title)
        heading = f"{plan.title}: single columns before and after KRDA's transport"
        figure.suptitle(heading, y=1 - 0.06 / height)
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


def _distribution_functions(axis: Any, found: pd.DataFrame, task: str, column: int) -> None:
    own = {kind: of_columns(found, task, kind, QUANTILES)[column] for kind, *_ in _KINDS}
    for kind, name, colour, dashes, width in _KINDS:
        axis.plot(own[kind], LEVELS, color=colour, ls=dashes, lw=width, label=name)
    # The outermost quantiles do not count: one outlier would squeeze all else together.
    inner = np.concatenate([values[1:-1] for values in own.values()])
    low, high = inner.min(), inner.max()
    margin = 0.05 * (high - low) or 1.0
    axis.set_xlim(low - margin, high + margin)
    axis.set_ylim(0, 1)
    before, after = (of_columns(found, task, k, "ks")[column] for k in ("source", "transported"))
    axis.text(
        0.97, 0.05, f"KS {before:.2f} → {after:.2f}", transform=axis.transAxes, ha="right",
        fontsize=5, bbox={"fc": "white", "ec": "none", "alpha": 0.7, "pad": 0.5},
    )  # fmt: skip


def _draw_statistics(plan: TablePlan, found: pd.DataFrame, d: int) -> Any:
    maps = {
        "before: source and target": "source",
        "after: transported source and target": "transported",
    }
    with new_figure(PAGE_WIDTH, 0.19 * len(plan.tasks) + 1.3) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        for axis, (name, kind) in zip(axes, maps.items(), strict=True):
            grid = np.full((len(plan.tasks), d), np.nan)
            for row, task in enumerate(plan.tasks):
                if (found.task == task).any():
                    grid[row] = of_columns(found, task, kind, "ks")
                    text = f"{grid[row].mean():.2f}"
                else:
                    hatch(axis, -0.5, row - 0.5, d)
                    text = "missing"
                axis.text(d - 0.2, row, text, fontsize=5.5, va="center")
            # Its lightness falls all the way, so it reads in grey.
            image = axis.imshow(grid, cmap="cividis_r", vmin=0, vmax=found.ks.max(), aspect="auto")
            axis.set_title(name)
            shown = [1, *range(5, d + 1, 5)]
            axis.set_xticks([column - 1 for column in shown], shown)
            axis.set_xlabel("Column (at the end of a row: mean)")
            axis.spines[:].set_visible(False)
        axes[0].set_yticks(range(len(plan.tasks)), [task_name(plan, t) for t in plan.tasks])
        axes[0].set_ylabel("Task")
        figure.colorbar(image, ax=list(axes), label="Kolmogorov-Smirnov statistic", pad=0.04,
                        aspect=30)  # fmt: skip
        figure.suptitle(f"{plan.title}: how far single columns lie from the target's")
        return figure


def draw_quantiles(plan: TablePlan, directory: Path) -> Any:
    """Quantiles of wide tables against the target's, a panel a task, a line a column.

    Columns are measured from the target's median in units of half the distance between its 5 % and
    95 % quantiles; on the diagonal the distributions are equal. None for other tables.
    """
    found = stored(directory, f"marginals_{plan.name}", MARGINALS)
    if found is None or found.column.nunique() <= WIDE:
        return None
    n_columns = 5
    n_rows = -(-len(plan.tasks) // n_columns)
    with new_figure(PAGE_WIDTH, 1.4 * n_rows + 0.9) as figure:
        grid = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
        axes = list(grid.flat)
        for axis, task in zip(axes, plan.tasks, strict=False):
            axis.set_title(task_name(plan, task), fontsize=7, pad=2)
            axis.set_xlim(-1.6, 1.6)
            axis.set_ylim(-2.6, 2.6)
            if not (found.task == task).any():
                mark_missing(axis)
                continue
            source, transported, target = (
                of_columns(found, task, kind, QUANTILES)
                for kind in ("source", "transported", "target")
            )
            source, transported, target = (
                _scaled(values, target).T for values in (source, transported, target)
            )
            axis.plot(target, source, color=SOURCE, ls="--", lw=0.5, alpha=0.7)
            axis.plot(target, transported, color=TRANSPORTED, lw=0.6, alpha=0.9)
            axis.plot([-3, 3], [-3, 3], color=BLACK, lw=0.5, ls=":", label="equal to the target")
            axis.plot([], [], color=SOURCE, ls="--", lw=1, label="source")
            axis.plot([], [], color=TRANSPORTED, lw=1, label="transported source")
        for axis in axes[len(plan.tasks) :]:
            axis.remove()
        figure.supylabel("Equal quantile of the source, before and after", fontsize=8)
        title = "Quantile of the target's column, scaled"
        figure_legend(figure, axes[: len(plan.tasks)], 3, title)
        figure.suptitle(f"{plan.title}: quantiles of all columns, a line each")
        return figure


def _scaled(values: FloatArray, target: FloatArray) -> FloatArray:
    """Quantiles from 2.5 % to 97.5 % in the target's units; constant columns keep their own."""
    middle = target[:, [len(LEVELS) // 2]]
    unit = (target[:, [-3]] - target[:, [2]]) / 2
    scaled: FloatArray = (values - middle) / np.where(unit > 0, unit, 1.0)
    return scaled[:, 1:-1]
