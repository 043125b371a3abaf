"""The figures: drawn from records and stored rows alone, one module each.

:data:`FIGURES` names them all. What a figure shows beyond the records, such as transported rows,
is computed once and stored as CSV beside it; drawing reads the CSV.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from experiments.figures import (
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
from experiments.figures.learning_curve import learning_curve_cells
from experiments.figures.moons import moons_figure
from experiments.figures.request import Request
from experiments.plan import TablePlan
from experiments.records import RecordStore

__all__ = ["FIGURES", "Request", "learning_curve_cells", "moons_figure", "render_figures"]

FIGURES: dict[str, Callable[[Request], list[Path]]] = {
    "gaussians": gaussians.render,
    "moons": moons.render,
    "components": components.render,
    "learning_curve": learning_curve.render,
    "accuracy": accuracy.render,
    "differences": differences.render,
    "runtime": runtime.render,
    "marginals": marginals.render,
    "training": training.render,
}
"""Name of a kind of figure to the function that makes the files of it that are asked for."""


def render_figures(
    store: RecordStore,
    directory: Path,
    *,
    compute: bool,
    tables: Sequence[TablePlan],
    tell: Callable[[str], None] = print,
) -> list[Path]:
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

    Returns
    -------
    paths : list of Path
        The files written; the same records and rows give the same bytes.
    """
    request = Request(store, directory, compute, tables, tell)
    return [path for make in FIGURES.values() for path in make(request)]
