"""Figures: the rows they show are computed once and stored, drawing needs the stored rows alone."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.cells import Cell
from experiments.datasets.base import unlock
from experiments.protocol import method_seed
from krda.estimator import KRDA

FloatArray = NDArray[np.float64]

# Okabe and Ito's colours, told apart by the colour-blind; the paper's source blue, target green,
# transported orange, mappings red.
SOURCE, TARGET, TRANSPORTED, MAPPING = "#0072B2", "#009E73", "#E69F00", "#D55E00"
_MARKERS = ("o", "^")


@dataclass(frozen=True)
class TransportRows:
    """Rows of a two-dimensional task before and after the transport.

    Attributes
    ----------
    source, transported : ndarray of shape (n_source, 2)
    target : ndarray of shape (n_target, 2)
    source_labels : ndarray of shape (n_source,)
    target_labels : ndarray of shape (n_target,)
        For the reader's eye; the transport does not know them.
    """

    source: FloatArray
    transported: FloatArray
    target: FloatArray
    source_labels: NDArray[np.int64]
    target_labels: NDArray[np.int64]


def transport_rows(cell: Cell) -> TransportRows:
    """Fit KRDA on all training rows of a cell's task and transport the source.

    Parameters
    ----------
    cell : Cell
        Of a two-dimensional data set, with a method that transports, such as ``krda``.

    Returns
    -------
    rows : TransportRows
    """
    task = cell.load()
    model = cell.make_method(method_seed(task, cell.method, 0))
    if not isinstance(model, KRDA):
        raise ValueError(f"The figure shows a transport; {cell.method} is not KRDA.")
    return TransportRows(
        source=task.Xs,
        transported=model.fit_transform(task.Xs, task.ys, task.Xt),
        target=task.Xt,
        source_labels=task.ys,
        target_labels=unlock(task.yt),
    )


def save_rows(rows: TransportRows, path: Path) -> None:
    """Write rows as CSV: kind, label, x, y; numbers in full precision."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kinds = (
        ("source", rows.source, rows.source_labels),
        ("transported", rows.transported, rows.source_labels),
        ("target", rows.target, rows.target_labels),
    )
    with path.open("w", newline="", encoding="ascii") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["kind", "label", "x", "y"])
        for kind, points, labels in kinds:
            for (x, y), label in zip(points.tolist(), labels.tolist(), strict=True):
                writer.writerow([kind, label, repr(x), repr(y)])


def load_rows(path: Path) -> TransportRows:
    """Read what :func:`save_rows` wrote."""
    with path.open(newline="", encoding="ascii") as file:
        table = list(csv.DictReader(file))

    def points(kind: str) -> FloatArray:
        return np.array([[float(r["x"]), float(r["y"])] for r in table if r["kind"] == kind])

    def labels(kind: str) -> NDArray[np.int64]:
        return np.array([int(r["label"]) for r in table if r["kind"] == kind])

    return TransportRows(
        points("source"),
        points("transported"),
        points("target"),
        labels("source"),
        labels("target"),
    )


@contextmanager
def style() -> Iterator[Any]:
    """Matplotlib without a display, fonts embedded, nothing in the file that changes by the day."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    settings: Any = {
        "font.size": 9,
        "pdf.fonttype": 42,
        "svg.hashsalt": "krda",
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with plt.rc_context(settings):
        yield plt
    plt.close("all")


def save_figure(figure: Any, path: Path) -> list[Path]:
    """Save a figure as PNG and PDF, the same bytes each time.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : Path
        Without suffix.

    Returns
    -------
    paths : list of Path
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    png, pdf = path.with_name(f"{path.name}.png"), path.with_name(f"{path.name}.pdf")
    figure.savefig(png, dpi=200, metadata={"Software": None})
    figure.savefig(pdf, metadata={"CreationDate": None})
    return [png, pdf]


def draw_transport(
    rows: TransportRows, path: Path, *, title: str, n_mappings: int = 12
) -> list[Path]:
    """Draw source, target and transported rows side by side, with some mappings.

    Parameters
    ----------
    rows : TransportRows
    path : Path
        Without suffix.
    title : str
    n_mappings : int
        Source rows, evenly spread over the source, whose way is drawn.

    Returns
    -------
    paths : list of Path
    """
    shown = np.linspace(0, len(rows.source) - 1, n_mappings).astype(int)
    with style() as plt:
        figure, axes = plt.subplots(
            1, 3, figsize=(9, 3.2), sharex=True, sharey=True, layout="constrained"
        )
        clouds = {
            "source": (rows.source, rows.source_labels, SOURCE),
            "target": (rows.target, rows.target_labels, TARGET),
            "transported source": (rows.transported, rows.source_labels, TRANSPORTED),
        }
        panels = (
            ("source and target", ("target", "source")),
            ("the transport", ("source", "transported source")),
            ("transported source on the target", ("target", "transported source")),
        )
        for axis, (name, kinds) in zip(axes, panels, strict=True):
            for kind in kinds:
                points, labels, colour = clouds[kind]
                for label, marker in enumerate(_MARKERS):
                    axis.scatter(
                        *points[labels == label].T,
                        s=9,
                        c=colour,
                        marker=marker,
                        linewidths=0,
                        alpha=0.7,
                        label=kind if label == 0 else None,
                    )
            axis.set_title(name, fontsize=9)
            axis.set_aspect("equal")
        for i in shown:
            axes[1].annotate(
                "",
                rows.transported[i],
                rows.source[i],
                arrowprops={"arrowstyle": "->", "color": MAPPING, "lw": 1},
            )
        handles = {k: h for a in axes for h, k in zip(*a.get_legend_handles_labels(), strict=True)}
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3,
                      frameon=False)  # fmt: skip
        figure.suptitle(title, fontsize=10)
        return save_figure(figure, path)


def moons_figure(cell: Cell, directory: Path, *, compute: bool) -> list[Path]:
    """Make the figure of moons at the cell's angle.

    Parameters
    ----------
    cell : Cell
        KRDA on a moons task.
    directory : Path
        Holds the stored rows, and gets the figure.
    compute : bool
        Fit and store the rows first; else they must be there.

    Returns
    -------
    paths : list of Path
        Empty where nothing is stored and nothing was to be computed.
    """
    data = directory / f"moons_{cell.task}.csv"
    if compute:
        save_rows(transport_rows(cell), data)
    if not data.is_file():
        return []
    title = f"KRDA on moons, target rotated by {cell.task}° (circles and triangles: the classes)"
    return draw_transport(load_rows(data), data.with_suffix(""), title=title)
