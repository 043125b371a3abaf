"""A row of panels, each a transport of its own: what the paper's figures 1 and 2 share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from experiments.cells import Cell
from experiments.figures.request import Request
from experiments.figures.rows import TransportRows, obtain_rows
from experiments.figures.style import save_figure


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


def mark_missing(axis: Any) -> None:
    """Say in a panel that nothing is stored for it.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
    """
    axis.text(0.5, 0.5, "missing", transform=axis.transAxes, ha="center", va="center")
