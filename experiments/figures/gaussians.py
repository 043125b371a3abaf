"""Mixtures of m Gaussians transported to mixtures of n (paper, figure 1)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.datasets.gaussians import Gaussians
from experiments.figures.clouds import KINDS, draw_cloud, draw_mappings, label_axes, spread
from experiments.figures.request import Request
from experiments.figures.rows import TransportRows
from experiments.figures.series import mark_missing, render_series
from experiments.figures.style import PAGE_WIDTH, figure_legend, new_figure

NAME = "gaussians"
_MARKERS = {"source": "o", "target": "^", "transported source": "x"}
# Transported rows lie on the target and must not hide it.
_SIZES = {"source": 5, "target": 9, "transported source": 3}


def draw(rows: Mapping[str, TransportRows | None], n_mappings: int = 12) -> Any:
    """Draw one panel a task, with source, target, transported rows and some mappings.

    Parameters
    ----------
    rows : mapping of task to TransportRows or None
    n_mappings : int
        Source rows, far from each other, whose way is drawn.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    with new_figure(PAGE_WIDTH, 2.15) as figure:
        axes = figure.subplots(1, len(rows), sharex=True, sharey=True, squeeze=False)[0]
        for axis, (task, found) in zip(axes, rows.items(), strict=True):
            m, n = task.split("-")
            axis.set_title(f"{m} → {n} components")
            axis.set_aspect("equal")
            if found is None:
                mark_missing(axis)
                continue
            for kind in KINDS:
                draw_cloud(axis, found, kind, _MARKERS[kind], size=_SIZES[kind])
            draw_mappings(axis, found, spread(found.source, n_mappings))
        label_axes(axes)
        figure_legend(figure, axes, 4)
        figure.suptitle("KRDA from a mixture of Gaussians to another one")
        return figure


def render(request: Request) -> list[Path]:
    """Make ``gaussians``, where the moons, the other synthetic data, are asked for.

    Parameters
    ----------
    request : Request

    Returns
    -------
    paths : list of Path
    """
    if not request.shows("moons"):
        return []
    cells = {
        task: request.cell("dataset=gaussians", f"dataset.task={task}", "method=krda")
        for task in Gaussians().task_names
    }
    return render_series(request, NAME, cells, draw)
