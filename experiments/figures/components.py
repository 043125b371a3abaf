"""Moons at 40 degrees with 2, 3 and 5 components of the density (paper, figure 2)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.figures.clouds import KINDS, draw_cloud, draw_mappings, label_axes, spread
from experiments.figures.request import Request
from experiments.figures.rows import TransportRows
from experiments.figures.series import mark_missing, render_series
from experiments.figures.style import MAPPING, PAGE_WIDTH, figure_legend, new_figure

NAME = "moons_components"
COMPONENTS = (2, 3, 5)
_MARKERS = {"source": "o", "target": "^", "transported source": "x"}
# Transported rows lie on the target and must not hide it.
_SIZES = {"source": 5, "target": 9, "transported source": 4}


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
    with new_figure(PAGE_WIDTH, 3.05) as figure:
        axes = figure.subplots(1, len(rows), sharex=True, sharey=True, squeeze=False)[0]
        for axis, (components, found) in zip(axes, rows.items(), strict=True):
            axis.set_title(f"{components} components")
            axis.set_aspect("equal")
            if found is None:
                mark_missing(axis)
                continue
            for kind in KINDS:
                draw_cloud(axis, found, kind, _MARKERS[kind], size=_SIZES[kind])
            chosen = spread(found.source, n_mappings)
            draw_mappings(axis, found, chosen)
            for number, i in enumerate(chosen, start=1):
                for x, y in (found.source[i], found.transported[i]):
                    axis.text(
                        x, y, str(number), fontsize=5.5, ha="center", va="center",
                        bbox={"boxstyle": "circle,pad=0.15", "fc": "white", "ec": MAPPING,
                              "lw": 0.6},
                    )  # fmt: skip
        label_axes(axes)
        figure_legend(figure, axes, 4)
        figure.suptitle(
            "KRDA on moons, target rotated by 40°\n"
            "The numbers follow the same source rows through all panels"
        )
        return figure


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
