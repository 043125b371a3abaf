"""Rows before and after the transport: moons, and the paper's figures 1 and 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.stats import gaussian_kde

from experiments.reading.figures.numbers import COMPONENTS, GAUSSIANS, read_stored
from experiments.reading.figures.style import (
    MAPPING,
    PAGE_WIDTH,
    SOURCE,
    TARGET,
    TRANSPORTED,
    new_figure,
)

_LOOKS = {"source": (SOURCE, "o"), "target": (TARGET, "^"), "transported": (TRANSPORTED, "x")}
_SEEN = "Three panels of points: source, target and transported rows, with arrows along the map."

Points = dict[str, NDArray[np.float64]]


def draw_moons(directory: Path) -> Any:
    """Source, target and transported rows side by side, with some mappings; None without rows."""
    panels = {
        "source and target": ("moons_40", ("target", "source")),
        "the transport": ("moons_40", ("source", "transported", "mapping")),
        "transported source on the target": ("moons_40", ("target", "transported")),
    }
    return _draw("KRDA on moons, target rotated by 40°", panels, directory)


def draw_components(directory: Path) -> Any:
    """Moons at 40 degrees with 2, 3 and 5 components (paper, figure 2); None without rows."""
    kinds = (*_LOOKS, "mapping")
    panels = {f"{n} components": (f"moons_components_{n}", kinds) for n in COMPONENTS}
    return _draw("KRDA on moons, target rotated by 40°", panels, directory)


def draw_gaussians(directory: Path) -> Any:
    """Mixtures of m Gaussians transported to mixtures of n (paper, figure 1); None without rows."""
    kinds = ("contours", "source", "transported", "mapping")
    panels = {
        f"{pair.replace('-', ' to ')} Gaussians": (f"gaussians_{pair}", kinds) for pair in GAUSSIANS
    }
    return _draw("KRDA from a mixture of Gaussians to another one", panels, directory)


def _draw(title: str, panels: Mapping[str, tuple[str, Sequence[str]]], directory: Path) -> Any:
    """Panels by title: a name of stored rows, and the kinds of them that are shown."""
    stored: dict[str, Points] = {}
    for panel, (name, _) in panels.items():
        if (rows := read_stored(directory, name)) is not None:
            groups = rows.groupby("kind")
            stored[panel] = {str(kind): own[["x", "y"]].to_numpy() for kind, own in groups}
    if not stored:
        return None
    every = np.concatenate([points for own in stored.values() for points in own.values()])
    width, height = np.ptp(every, axis=0)
    size = PAGE_WIDTH, PAGE_WIDTH / 3 * height / width + 0.9
    with new_figure(*size, title, _SEEN, _nearness(stored)) as figure:
        axes = figure.subplots(1, len(panels), sharex=True, sharey=True)
        for axis, (panel, (_, kinds)) in zip(axes, panels.items(), strict=True):
            axis.set_title(panel if panel in stored else f"{panel}: missing")
            axis.set_aspect("equal")
            for kind in kinds if panel in stored else ():
                _show(axis, stored[panel], kind)
        shown = [axis.get_legend_handles_labels() for axis in axes]
        labels = {name: one for pair in shown for one, name in zip(*pair, strict=True)}
        figure.legend(labels.values(), labels, loc="outside lower center", ncols=4)
        return figure


def _show(axis: Any, points: Points, kind: str) -> None:
    """Points of a kind; or arrows along the map; or contours of the target's density."""
    if kind == "mapping":
        arrow = {"arrowstyle": "-|>", "color": MAPPING, "lw": 0.8}
        for start, end in zip(points["source"][:12], points["transported"][:12], strict=True):
            axis.annotate("", end, start, arrowprops=arrow)
        axis.plot([], [], color=MAPPING, lw=0.8, label="the map of some rows")
    elif kind == "contours":
        target = points["target"]
        density = gaussian_kde(target.T, bw_method=0.15)
        x, y = np.meshgrid(*np.linspace(target.min(axis=0) - 1, target.max(axis=0) + 1, 90).T)
        heights = density(np.stack([x.ravel(), y.ravel()])).reshape(x.shape)
        levels = np.quantile(density(target.T), [0.05, 0.5])
        axis.contour(x, y, heights, levels=levels, colors=TARGET, linewidths=0.9)
        axis.plot([], [], color=TARGET, label="target: around 50 % and 95 % of the rows")
    else:
        colour, marker = _LOOKS[kind]
        # As a picture within the vector file, since points are thousands.
        axis.scatter(*points[kind].T, s=5, c=colour, marker=marker, lw=0.5, label=kind,
                     rasterized=True)  # fmt: skip


def _nearness(stored: Mapping[str, Points]) -> str:
    """How near source and transported rows are to the target's, in the median."""
    said: dict[str, str] = {}
    for panel, points in stored.items():
        target = cKDTree(points["target"])
        before, after = (
            np.median(target.query(points[kind])[0]) for kind in ("source", "transported")
        )
        said.setdefault(f"{before:.2g} to {after:.2g}", panel)
    only = len(said) == 1
    parts = (text if only else f"{text} ({panel})" for text, panel in said.items())
    return f"The median distance to the nearest target row falls from {', '.join(parts)}."
