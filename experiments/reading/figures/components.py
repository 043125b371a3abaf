"""Moons at 40 degrees with 2, 3 and 5 components of the density (paper, figure 2)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from experiments.reading.figures.clouds import draw_mappings, spread
from experiments.reading.figures.request import Request
from experiments.reading.figures.rows import TransportRows
from experiments.reading.figures.series import draw_panels, render_series
from experiments.reading.figures.style import MAPPING

NAME = "moons_components"
COMPONENTS = (2, 3, 5)


def draw(rows: Mapping[str, TransportRows | None], n_mappings: int = 8) -> Any:
    """Draw one panel a number of components; the same source rows are followed in all.

    Parameters
    ----------
    rows : mapping of number of components to TransportRows or None
        All with the same source rows.
    n_mappings : int
        Source rows, far from each other, whose way is drawn; numbered at both ends.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    return draw_panels(
        rows,
        3.05,
        {components: f"{components} components" for components in rows},
        "KRDA on moons, target rotated by 40°\n"
        "The numbers follow the same source rows through all panels",
        {"source": 5, "target": 9, "transported source": 4},
        partial(_draw_numbered, n_mappings=n_mappings),
    )


def _draw_numbered(axis: Any, rows: TransportRows, n_mappings: int) -> None:
    chosen = spread(rows.source, n_mappings)
    draw_mappings(axis, rows, chosen)
    for number, i in enumerate(chosen, start=1):
        for x, y in (rows.source[i], rows.transported[i]):
            axis.text(
                x, y, str(number), fontsize=5.5, ha="center", va="center",
                bbox={"boxstyle": "circle,pad=0.15", "fc": "white", "ec": MAPPING, "lw": 0.6},
            )  # fmt: skip


def render(request: Request) -> list[Path]:
    """Make ``moons_components``, where the moons are asked for.

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
        str(components): request.cell(
            "dataset=moons",
            "dataset.angle=40",
            "dataset.data.n_source=1000",
            "dataset.data.n_target=1000",
            "method=krda",
            f"method.n_components={components}",
        )
        for components in COMPONENTS
    }
    return render_series(request, NAME, cells, draw)
