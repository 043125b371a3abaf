"""Mixtures of m Gaussians transported to mixtures of n (paper, figure 1)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.datasets.gaussians import Gaussians
from experiments.reading.figures.clouds import draw_mappings, spread
from experiments.reading.figures.request import Request
from experiments.reading.figures.rows import TransportRows
from experiments.reading.figures.series import draw_panels, render_series

NAME = "gaussians"


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

    def draw_ways(axis: Any, found: TransportRows) -> None:
        draw_mappings(axis, found, spread(found.source, n_mappings))

    return draw_panels(
        rows,
        2.15,
        {task: f"{task.replace('-', ' → ')} components" for task in rows},
        "KRDA from a mixture of Gaussians to another one",
        {"source": 5, "target": 9, "transported source": 3},
        draw_ways,
    )


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
