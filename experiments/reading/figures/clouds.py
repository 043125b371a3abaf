"""Clouds of rows, and their ways through the transport: what three figures draw."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.reading.figures.rows import FloatArray, TransportRows
from experiments.reading.figures.style import MAPPING, SOURCE, TARGET, TRANSPORTED

KINDS = ("source", "target", "transported source")


def draw_cloud(axis: Any, rows: TransportRows, kind: str, markers: str, size: float = 7) -> None:
    """Draw one kind of rows.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
    rows : TransportRows
    kind : {"source", "target", "transported source"}
    markers : str
        One a label, from 0; one alone for all labels.
    size : float
        Area of a marker in square points.
    """
    points, labels, colour = {
        "source": (rows.source, rows.source_labels, SOURCE),
        "target": (rows.target, rows.target_labels, TARGET),
        "transported source": (rows.transported, rows.source_labels, TRANSPORTED),
    }[kind]
    for number, marker in enumerate(markers):
        shown = points if len(markers) == 1 else points[labels == number]
        axis.scatter(
            *shown.T,
            s=size,
            c=colour,
            marker=marker,
            linewidths=0.6 if marker in "x+" else 0,
            alpha=0.6,
            label=kind if number == 0 else None,
        )


def spread(points: FloatArray, n: int) -> NDArray[np.intp]:
    """Choose points that lie far apart: each is the farthest from those before it.

    Parameters
    ----------
    points : ndarray of shape (m, 2)
    n : int
        How many; all where there are fewer.

    Returns
    -------
    chosen : ndarray of shape (min(n, m),)
        Indices; the first is the point nearest to the middle.
    """
    nearest = np.linalg.norm(points - points.mean(axis=0), axis=1)
    chosen = [int(nearest.argmin())]
    distance = np.full(len(points), np.inf)
    while len(chosen) < min(n, len(points)):
        distance = np.minimum(distance, np.linalg.norm(points - points[chosen[-1]], axis=1))
        chosen.append(int(distance.argmax()))
    return np.array(chosen)


def draw_mappings(axis: Any, rows: TransportRows, chosen: NDArray[np.intp]) -> None:
    """Draw arrows from source rows to where they are transported.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
    rows : TransportRows
    chosen : ndarray of shape (k,)
        Source rows.
    """
    for number, i in enumerate(chosen):
        axis.annotate(
            "",
            rows.transported[i],
            rows.source[i],
            arrowprops={"arrowstyle": "-|>", "color": MAPPING, "lw": 0.9, "mutation_scale": 7,
                        "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
        if number == 0:
            # An arrow has no entry in a legend; a line without points stands for them all.
            axis.plot([], [], color=MAPPING, lw=0.9, label="mapping")


def label_axes(axes: Any, first: str = "first column", second: str = "second column") -> None:
    """Name the axes of a row of panels that share them.

    Parameters
    ----------
    axes : sequence of Axes
    first, second : str
    """
    for axis in axes:
        axis.set_xlabel(first)
    axes[0].set_ylabel(second)
