"""A row of panels, each a transport of its own: what the paper's figures 1 and 2 share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from experiments.cells.cell import Cell
from experiments.reading.figures.clouds import KINDS, draw_cloud, label_axes
from experiments.reading.figures.request import Request
from experiments.reading.figures.rows import TransportRows, obtain_rows
from experiments.reading.figures.style import PAGE_WIDTH, figure_legend, new_figure, save_figure

_MARKERS = {"source": "o", "target": "^", "transported source": "x"}


def render_series(
    request: Request,
    name: str,
    cells: Mapping[str, Cell],
    draw: Callable[[Mapping[str, TransportRows | None]], Any],
) -> list[Path]:
    """Obtain the rows of each panel and draw what is there.

    Parameters
    ----------
    request : Request
    name : str
        Of the figure's files; rows are stored as ``NAME_PANEL.csv``.
    cells : mapping of panel to Cell
    draw : callable
        From the rows of each panel, None where there are none, to a figure.

    Returns
    -------
    paths : list of Path
        Empty where there are no rows at all.
    """
    rows: dict[str, TransportRows | None] = {}
    for panel, cell in cells.items():
        path = request.directory / f"{name}_{panel}.csv"
        rows[panel] = obtain_rows(cell, path, compute=request.compute)
        if rows[panel] is None:
            request.tell(f"figure {name}: no rows are stored for {panel}")
    if all(found is None for found in rows.values()):
        request.tell(f"figure {name}: left out")
        return []
    return save_figure(draw(rows), request.directory / name)


def draw_panels(
    rows: Mapping[str, TransportRows | None],
    height: float,
    names: Mapping[str, str],
    title: str,
    sizes: Mapping[str, float],
    draw_ways: Callable[[Any, TransportRows], None],
) -> Any:
    """Draw a row of panels with source, target, transported rows and the ways of some.

    Parameters
    ----------
    rows : mapping of panel to TransportRows or None
    height : float
        Of the figure, inches.
    names : mapping of panel to str
        Titles of the panels.
    title : str
    sizes : mapping of kind to float
        Area of a marker in square points. Transported rows lie on the target and must not hide it.
    draw_ways : callable
        Draws into a panel the way of some rows through the transport.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    with new_figure(PAGE_WIDTH, height) as figure:
        axes = figure.subplots(1, len(rows), sharex=True, sharey=True, squeeze=False)[0]
        for axis, (panel, found) in zip(axes, rows.items(), strict=True):
            axis.set_title(names[panel])
            axis.set_aspect("equal")
            if found is None:
                mark_missing(axis)
                continue
            for kind in KINDS:
                draw_cloud(axis, found, kind, _MARKERS[kind], size=sizes[kind])
            draw_ways(axis, found)
        label_axes(axes)
        figure_legend(figure, axes, 4)
        figure.suptitle(title)
        return figure


def mark_missing(axis: Any) -> None:
    """Say in a panel that nothing is stored for it.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
    """
    axis.text(0.5, 0.5, "missing", transform=axis.transAxes, ha="center", va="center")
