"""Rows of two-dimensional tasks before and after the transport: computed once, then stored."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.cells.cell import Cell
from experiments.datasets.base import unlock
from experiments.reading.figures.files import load_numbers, obtain, save_numbers, useless
from experiments.reading.figures.fits import stored_identity, unfitted_krda

FloatArray = NDArray[np.float64]

# Raise it when other rows are computed from the same cell.
_VERSION = 1
_FIELDS = ["kind", "label", "x", "y"]


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


def rows_identity(cell: Cell) -> str:
    """Hash of everything that can change the rows, 12 hex digits."""
    return stored_identity(cell, _VERSION)


def transport_rows(cell: Cell) -> TransportRows:
    """Fit KRDA on all training rows of a cell's task and transport the source.

    Parameters
    ----------
    cell : Cell
        Of a two-dimensional data set, with a method that transports, such as ``krda``.

    Returns
    -------
    rows : TransportRows

    Raises
    ------
    ValueError
        The method is another one.
    """
    task = cell.load()
    model = unfitted_krda(cell, task)
    return TransportRows(
        source=task.Xs,
        transported=model.fit(task.Xs, task.ys, task.Xt).transform(task.Xs),
        target=task.Xt,
        source_labels=task.ys,
        target_labels=unlock(task.yt),
    )


def save_rows(rows: TransportRows, path: Path, identity: str) -> None:
    """Write rows as CSV: kind, label, x, y; seven significant digits, a hundredth of a pixel.

    Parameters
    ----------
    rows : TransportRows
    path : Path
    identity : str
        Of :func:`rows_identity`; stands in the first line.
    """
    kinds = (
        ("source", rows.source, rows.source_labels),
        ("transported", rows.transported, rows.source_labels),
        ("target", rows.target, rows.target_labels),
    )
    lines = (
        (kind, label, f"{x:.7g}", f"{y:.7g}")
        for kind, points, labels in kinds
        for (x, y), label in zip(points.tolist(), labels.tolist(), strict=True)
    )
    save_numbers(path, _FIELDS, lines, identity)


def load_rows(path: Path) -> tuple[TransportRows, str]:
    """Read what :func:`save_rows` wrote.

    Parameters
    ----------
    path : Path

    Returns
    -------
    rows : TransportRows
    identity : str

    Raises
    ------
    ValueError
        The file was not written by :func:`save_rows`, or was damaged since.
    """
    try:
        table, identity = load_numbers(path, _FIELDS)
    except ValueError as error:
        raise useless(path, "rows of a figure", error) from error

    def points(kind: str) -> FloatArray:
        return np.array([[float(r["x"]), float(r["y"])] for r in table if r["kind"] == kind])

    def labels(kind: str) -> NDArray[np.int64]:
        return np.array([int(r["label"]) for r in table if r["kind"] == kind])

    rows = TransportRows(
        points("source"),
        points("transported"),
        points("target"),
        labels("source"),
        labels("target"),
    )
    if len(rows.source) != len(rows.transported) or not len(rows.source):
        raise ValueError(
            f"{path}: {len(rows.source)} source and {len(rows.transported)} transported rows; "
            "delete it and let them be computed again."
        )
    return rows, identity


def obtain_rows(cell: Cell, path: Path, *, compute: bool) -> TransportRows | None:
    """Read a cell's rows, after computing and storing them where that is wanted and needed.

    Parameters
    ----------
    cell : Cell
    path : Path
        Where they are stored.
    compute : bool
        Compute them unless rows of the same identity are stored; else take what is stored,
        whatever it was made by, as tables do.

    Returns
    -------
    rows : TransportRows or None
        None where nothing is stored and nothing was to be computed.
    """
    return obtain(
        path,
        load_rows,
        lambda: rows_identity(cell),
        lambda identity: save_rows(transport_rows(cell), path, identity),
        compute=compute,
    )
