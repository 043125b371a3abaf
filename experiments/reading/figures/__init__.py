"""The figures: drawn from records and stored rows alone, one module each.

:data:`FIGURES` names them all. What a figure shows beyond the records, such as transported rows,
is computed once and stored as CSV beside it; drawing reads the CSV.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from experiments.cells.plan import TablePlan
from experiments.reading.figures import (
    accuracy,
    components,
    differences,
    gaussians,
    learning_curve,
    marginals,
    moons,
    runtime,
    training,
)
from experiments.reading.figures.learning_curve import learning_curve_cells
from experiments.reading.figures.moons import moons_figure
from experiments.reading.figures.request import Request
from experiments.reading.render import ReadOnce
from experiments.store.records import RecordStore

__all__ = [
    "FIGURES",
    "Figures",
    "Request",
    "learning_curve_cells",
    "moons_figure",
    "render_figures",
]

MOST_WORKERS = 4
"""Each loads the drawing library anew, which takes about as long as drawing three figures."""

FIGURES: dict[str, Callable[[Request], list[Path]]] = {
    # The one that takes longest goes first, so that several processes end together.
    "marginals": marginals.render,
    "accuracy": accuracy.render,
    "differences": differences.render,
    "runtime": runtime.render,
    "gaussians": gaussians.render,
    "moons": moons.render,
    "components": components.render,
    "learning_curve": learning_curve.render,
    "training": training.render,
}
"""Name of a kind of figure to the function that makes the files of it that are asked for."""


class Figures(NamedTuple):
    """What was drawn, and what could not be.

    Attributes
    ----------
    paths : list of Path
        The files written.
    failures : list of str
        A line for each figure that could not be made.
    """

    paths: list[Path]
    failures: list[str]


def render_figures(
    store: RecordStore,
    directory: Path,
    *,
    compute: bool,
    tables: Sequence[TablePlan],
    tell: Callable[[str], None] = print,
    n_workers: int = 1,
) -> Figures:
    """Make all figures that belong to some tables.

    Parameters
    ----------
    store : RecordStore
        Of the records.
    directory : Path
        Holds the stored rows, and gets the figures; made if it is not there.
    compute : bool
        Compute rows that are not stored, or are of another state of code and data; else draw
        what is stored.
    tables : sequence of TablePlan
        Those of synthetic data bring the figures without a table with them.
    tell : callable
        Takes a line about each figure that is left out for want of data.
    n_workers : int
        Processes that draw at once, four at most. What is computed is computed one after the other
        in this process.

    Returns
    -------
    figures : Figures
        The same records and rows give the same bytes. A figure that fails costs no other one.
    """
    if compute or n_workers == 1:
        request = Request(store, directory, compute, tables, tell)
        paths = [path for name in FIGURES for path in _make(name, request)]
        return Figures(paths, request.failures)
    with ProcessPoolExecutor(
        min(n_workers, MOST_WORKERS),
        # A forked child could inherit a lock that another thread holds.
        mp_context=get_context("spawn"),
        initializer=_start_worker,
        initargs=(store.root, directory, tuple(tables)),
    ) as pool:
        figures = Figures([], [])
        for made, told, failures in pool.map(_make_in_worker, FIGURES):
            for line in told:
                tell(line)
            figures.paths.extend(made)
            figures.failures.extend(failures)
        return figures


def _make(name: str, request: Request) -> list[Path]:
    # What fails before a kind of figure comes to its single ones costs that kind alone.
    return request.attempt(name, partial(FIGURES[name], request))


_worker_request: Request | None = None


def _start_worker(records: Path, directory: Path, tables: tuple[TablePlan, ...]) -> None:
    global _worker_request
    _worker_request = Request(ReadOnce(records), directory, compute=False, tables=tables)


def _make_in_worker(name: str) -> tuple[list[Path], list[str], list[str]]:
    assert _worker_request is not None
    told: list[str] = []
    request = replace(_worker_request, tell=told.append, failures=[])
    return _make(name, request), told, request.failures
