"""Columns of source, target and transported rows as quantiles: computed once, then stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.cells.cell import Cell
from experiments.reading.figures.files import load_numbers, save_numbers, useless
from experiments.reading.figures.fits import fit_repetition, stored_identity

FloatArray = NDArray[np.float64]

LEVELS = np.linspace(0.0, 1.0, 41)
"""Of the stored quantiles."""

# Raise it when other numbers are computed from the same cell.
_VERSION = 1
_KINDS = ("source", "transported", "target")
_FIELDS = ["task", "identity", "column", "kind", "ks", *(f"q{1000 * q:.0f}" for q in LEVELS)]


@dataclass(frozen=True)
class Marginals:
    """The single columns of one task, before and after the transport.

    Attributes
    ----------
    identity : str
        Of :func:`marginals_identity`.
    source, transported, target : ndarray of shape (d, len(LEVELS))
        Quantiles of each column.
    before, after : ndarray of shape (d,)
        Kolmogorov-Smirnov statistics of source and target, of transported source and target.
    """

    identity: str
    source: FloatArray
    transported: FloatArray
    target: FloatArray
    before: FloatArray
    after: FloatArray


def marginals_identity(cell: Cell) -> str:
    """Hash of everything that can change the quantiles, 12 hex digits."""
    return stored_identity(cell, _VERSION)


def marginals(cell: Cell) -> Marginals:
    """Fit KRDA as in repetition 0 of a cell, and sum up the columns of its training rows.

    Parameters
    ----------
    cell : Cell
        With KRDA as its method.

    Returns
    -------
    marginals : Marginals

    Raises
    ------
    ValueError
        The method is another one.
    """
    from krda.diagnostics import column_distances

    model, data = fit_repetition(cell)
    transported = model.transform(data.Xs)
    return Marginals(
        identity=marginals_identity(cell),
        source=np.quantile(data.Xs, LEVELS, axis=0).T,
        transported=np.quantile(transported, LEVELS, axis=0).T,
        target=np.quantile(data.Xt, LEVELS, axis=0).T,
        before=column_distances(data.Xs, data.Xt).kolmogorov_smirnov,
        after=column_distances(transported, data.Xt).kolmogorov_smirnov,
    )


def save_marginals(found: Mapping[str, Marginals], path: Path) -> None:
    """Write the marginals of a table's tasks as CSV, five significant digits.

    Parameters
    ----------
    found : mapping of task to Marginals
    path : Path
    """
    save_numbers(path, _FIELDS, (line for task, m in found.items() for line in _lines(task, m)))


def _lines(task: str, m: Marginals) -> Iterator[tuple[object, ...]]:
    statistics = {"source": m.before, "transported": m.after}
    for column in range(len(m.source)):
        for kind in _KINDS:
            ks = f"{statistics[kind][column]:.5g}" if kind in statistics else ""
            yield (
                task,
                m.identity,
                column,
                kind,
                ks,
                *(f"{q:.5g}" for q in getattr(m, kind)[column]),
            )


def load_marginals(path: Path) -> dict[str, Marginals]:
    """Read what :func:`save_marginals` wrote.

    Parameters
    ----------
    path : Path

    Returns
    -------
    found : dict of task to Marginals
        Empty where there is no file.

    Raises
    ------
    ValueError
        The file was not written by :func:`save_marginals`, or was damaged since.
    """
    if not path.is_file():
        return {}
    try:
        rows, _ = load_numbers(path, _FIELDS, identified=False)
        tasks = dict.fromkeys(row["task"] for row in rows)
        return {task: _task([row for row in rows if row["task"] == task]) for task in tasks}
    except ValueError as error:
        raise useless(path, "marginals", error) from error


def _task(rows: list[dict[str, str]]) -> Marginals:
    of_kind = {kind: [row for row in rows if row["kind"] == kind] for kind in _KINDS}
    if len({len(found) for found in of_kind.values()}) != 1:
        raise ValueError("a kind of rows lacks columns")

    def quantiles(kind: str) -> FloatArray:
        return np.array([[float(row[name]) for name in _FIELDS[5:]] for row in of_kind[kind]])

    def statistics(kind: str) -> FloatArray:
        return np.array([float(row["ks"]) for row in of_kind[kind]])

    return Marginals(
        identity=rows[0]["identity"],
        source=quantiles("source"),
        transported=quantiles("transported"),
        target=quantiles("target"),
        before=statistics("source"),
        after=statistics("transported"),
    )
