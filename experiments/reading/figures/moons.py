"""Moons at 40 degrees: source, target, transported source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.cells.cell import Cell
from experiments.reading.figures.clouds import draw_cloud, draw_mappings, label_axes
from experiments.reading.figures.request import Request
from experiments.reading.figures.rows import TransportRows, obtain_rows
from experiments.reading.figures.style import PAGE_WIDTH, figure_legend, new_figure, save_figure

_PANELS = (
    ("source and target", ("target", "source"), False),
    ("the transport", ("source", "transported source"), True),
    ("transported source on the target", ("target", "transported source"), False),
)


def draw(rows: TransportRows, *, title: str, n_mappings: int = 12) -> Any:
    """Draw source, target and transported rows side by side, with some mappings.

    Parameters
    ----------
    rows : TransportRows
        Labels 0 are drawn as circles, labels 1 as triangles.
    title : str
    n_mappings : int
        Source rows, evenly spread over the source, whose way is drawn.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    chosen = np.linspace(0, len(rows.source) - 1, n_mappings).astype(int)
    with new_figure(PAGE_WIDTH, 2.9) as figure:
        axes = figure.subplots(1, len(_PANELS), sharex=True, sharey=True)
        for axis, (name, kinds, mappings) in zip(axes, _PANELS, strict=True):
            for kind in kinds:
                draw_cloud(axis, rows, kind, "o^")
            if mappings:
                draw_mappings(axis, rows, chosen)
            axis.set_title(name)
            axis.set_aspect("equal")
        label_axes(axes)
        figure_legend(figure, axes, 4)
        figure.suptitle(title)
        return figure


def moons_figure(cell: Cell, directory: Path, *, compute: bool) -> list[Path]:
    """Make the figure of moons at the cell's angle.

    Parameters
    ----------
    cell : Cell
        KRDA on a moons task.
    directory : Path
        Holds the stored rows, and gets the figure.
    compute : bool
        Fit and store the rows if they are not there; else they must be.

    Returns
    -------
    paths : list of Path
        Empty where nothing is stored and nothing was to be computed.
    """
    path = directory / f"moons_{cell.task}"
    rows = obtain_rows(cell, path.with_name(f"{path.name}.csv"), compute=compute)
    if rows is None:
        return []
    title = f"KRDA on moons, target rotated by {cell.task}° (circles and triangles: the classes)"
    return save_figure(draw(rows, title=title), path)


def render(request: Request) -> list[Path]:
    """Make ``moons_40``, where the moons are asked for.

    Parameters
    ----------
    request : Request

    Returns
    -------
    paths : list of Path
    """
    if not request.shows("moons"):
        return []
    cell = request.cell("dataset=moons", "dataset.angle=40", "method=krda")
    paths = moons_figure(cell, request.directory, compute=request.compute)
    if not paths:
        request.tell("figure moons_40: left out, no rows are stored")
    return paths
