"""Rows before and after the transport: moons, and the paper's figures 1 and 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.reading.figures.numbers import COMPONENTS, GAUSSIANS, read_stored
from experiments.reading.figures.style import (
    MAPPING,
    PAGE_WIDTH,
    SOURCE,
    TARGET,
    TRANSPORTED,
    new_figure,
)

_LOOKS = {"target": (TARGET, "^"), "source": (SOURCE, "o"), "transported": (TRANSPORTED, "x")}
_ALL = (*_LOOKS, "mapping")


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
    panels = {f"{n} components": (f"moons_components_{n}", _ALL) for n in COMPONENTS}
    return _draw("KRDA on moons, target rotated by 40°", panels, directory)


def draw_gaussians(directory: Path) -> Any:
    """Mixtures of m Gaussians transported to mixtures of n (paper, figure 1); None without rows."""
    panels = {f"{pair} components": (f"gaussians_{pair}", _ALL) for pair in GAUSSIANS}
    return _draw("KRDA from a mixture of Gaussians to another one", panels, directory)


def _draw(title: str, panels: Mapping[str, tuple[str, Sequence[str]]], directory: Path) -> Any:
    """Panels by title: a name of stored rows, and the kinds of them that are shown."""
    found = {panel: read_stored(directory, name) for panel, (name, _) in panels.items()}
    if all(rows is None for rows in found.values()):
        return None
    with new_figure(PAGE_WIDTH, 3.0) as figure:
        axes = figure.subplots(1, len(panels), sharex=True, sharey=True)
        for axis, (panel, rows) in zip(axes, found.items(), strict=True):
            axis.set_title(panel if rows is not None else f"{panel}: missing")
            axis.set_aspect("equal")
            if rows is None:
                continue
            points = {kind: own[["x", "y"]].to_numpy() for kind, own in rows.groupby("kind")}
            for kind in panels[panel][1]:
                if kind == "mapping":
                    some = zip(points["source"][:12], points["transported"][:12], strict=True)
                    for start, end in some:
                        arrow = {"arrowstyle": "-|>", "color": MAPPING}
                        axis.annotate("", end, start, arrowprops=arrow)
                else:
                    colour, marker = _LOOKS[kind]
                    axis.scatter(*points[kind].T, s=5, c=colour, marker=marker, lw=0.5, label=kind)
        labels: dict[str, Any] = {}
        for axis in axes:
            handles, names = axis.get_legend_handles_labels()
            labels |= dict(zip(names, handles, strict=True))
        figure.legend(labels.values(), labels, loc="outside lower center", ncols=3)
        figure.suptitle(title)
        return figure
