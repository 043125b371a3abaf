"""Rows before and after the transport: moons, and the paper's figures 1 and 2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.reading.figures.numbers import COMPONENTS, GAUSSIANS, stored
from experiments.reading.figures.style import (
    MAPPING,
    PAGE_WIDTH,
    SOURCE,
    TARGET,
    TRANSPORTED,
    figure_legend,
    mark_missing,
    new_figure,
)

_COLOURS = {"source": SOURCE, "target": TARGET, "transported": TRANSPORTED}
_MARKERS = {"source": "o", "target": "^", "transported": "x"}


def points(rows: pd.DataFrame, kind: str) -> NDArray[np.float64]:
    """Rows of a kind, shape (n, 2)."""
    found: NDArray[np.float64] = rows.loc[rows.kind == kind, ["x", "y"]].to_numpy(dtype=float)
    return found


def draw_moons(directory: Path) -> Any:
    """Source, target and transported rows side by side, with some mappings; None without rows.

    Labels 0 are circles, labels 1 triangles.
    """
    rows = stored(directory, "moons_40")
    if rows is None:
        return None
    panels = (
        ("source and target", ("target", "source"), False),
        ("the transport", ("source", "transported"), True),
        ("transported source on the target", ("target", "transported"), False),
    )
    n_source = len(points(rows, "source"))
    with new_figure(PAGE_WIDTH, 2.9) as figure:
        axes = figure.subplots(1, len(panels), sharex=True, sharey=True)
        for axis, (name, kinds, mappings) in zip(axes, panels, strict=True):
            for kind in kinds:
                _draw_cloud(axis, rows, kind, "o^", 7)
            if mappings:
                _draw_mappings(axis, rows, np.linspace(0, n_source - 1, 12).astype(int))
            axis.set_title(name)
            axis.set_aspect("equal")
        title = "KRDA on moons, target rotated by 40° (circles and triangles: the classes)"
        _finish(figure, axes, title)
        return figure


def draw_components(directory: Path) -> Any:
    """Moons at 40 degrees with 2, 3 and 5 components (paper, figure 2); None without rows.

    The same source rows are followed and numbered in all panels.
    """
    rows = {f"{n} components": stored(directory, f"moons_components_{n}") for n in COMPONENTS}

    def numbered(axis: Any, found: pd.DataFrame) -> None:
        chosen = spread(points(found, "source"), 8)
        _draw_mappings(axis, found, chosen)
        for place, i in enumerate(chosen, start=1):
            for kind in ("source", "transported"):
                axis.text(
                    *points(found, kind)[i], str(place), fontsize=5.5, ha="center", va="center",
                    bbox={"boxstyle": "circle,pad=0.15", "fc": "white", "ec": MAPPING, "lw": 0.6},
                )  # fmt: skip

    title = "KRDA on moons, target rotated by 40°\n"
    title += "The numbers follow the same source rows through all panels"
    return draw_panels(rows, 3.05, title, {"source": 5, "target": 9, "transported": 4}, numbered)


def draw_gaussians(directory: Path) -> Any:
    """Mixtures of m Gaussians transported to mixtures of n (paper, figure 1); None without rows."""
    rows = {
        f"{pair.replace('-', ' → ')} components": stored(directory, f"gaussians_{pair}")
        for pair in GAUSSIANS
    }

    def ways(axis: Any, found: pd.DataFrame) -> None:
        _draw_mappings(axis, found, spread(points(found, "source"), 12))

    title = "KRDA from a mixture of Gaussians to another one"
    return draw_panels(rows, 2.15, title, {"source": 5, "target": 9, "transported": 3}, ways)


def draw_panels(
    rows: Mapping[str, pd.DataFrame | None],
    height: float,
    title: str,
    sizes: Mapping[str, float],
    draw_ways: Callable[[Any, pd.DataFrame], None],
) -> Any:
    """A row of panels by title, each with source, target, transported rows and ways of some."""
    if all(found is None for found in rows.values()):
        return None
    with new_figure(PAGE_WIDTH, height) as figure:
        axes = figure.subplots(1, len(rows), sharex=True, sharey=True, squeeze=False)[0]
        for axis, (name, found) in zip(axes, rows.items(), strict=True):
            axis.set_title(name)
            axis.set_aspect("equal")
            if found is None:
                mark_missing(axis)
                continue
            for kind, marker in _MARKERS.items():
                _draw_cloud(axis, found, kind, marker, sizes[kind])
            draw_ways(axis, found)
        _finish(figure, axes, title)
        return figure


def _finish(figure: Any, axes: Any, title: str) -> None:
    for axis in axes:
        axis.set_xlabel("first column")
    axes[0].set_ylabel("second column")
    figure_legend(figure, axes, 4)
    figure.suptitle(title)


def _draw_cloud(axis: Any, rows: pd.DataFrame, kind: str, markers: str, size: float) -> None:
    """One kind of rows; ``markers`` has one a label, or one for all."""
    found, labels = points(rows, kind), rows.label[rows.kind == kind].to_numpy()
    for label, marker in enumerate(markers):
        axis.scatter(
            *(found if len(markers) == 1 else found[labels == label]).T,
            s=size,
            c=_COLOURS[kind],
            marker=marker,
            linewidths=0.6 if marker in "x+" else 0,
            alpha=0.6,
            label=(f"{kind} source" if kind == "transported" else kind) if label == 0 else None,
        )


def spread(found: NDArray[np.float64], n: int) -> NDArray[np.intp]:
    """Indices of points far apart: the one nearest to the middle, then each time the farthest."""
    chosen = [int(np.linalg.norm(found - found.mean(axis=0), axis=1).argmin())]
    distance = np.full(len(found), np.inf)
    while len(chosen) < min(n, len(found)):
        distance = np.minimum(distance, np.linalg.norm(found - found[chosen[-1]], axis=1))
        chosen.append(int(distance.argmax()))
    return np.array(chosen)


def _draw_mappings(axis: Any, rows: pd.DataFrame, chosen: NDArray[np.intp]) -> None:
    """Arrows from source rows to where they are transported."""
    source, transported = points(rows, "source"), points(rows, "transported")
    for i in chosen:
        axis.annotate(
            "", transported[i], source[i],
            arrowprops={"arrowstyle": "-|>", "color": MAPPING, "lw": 0.9, "mutation_scale": 7,
                        "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
    # An arrow has no entry in a legend; a line without points stands for them all.
    axis.plot([], [], color=MAPPING, lw=0.9, label="mapping")
