"""The fit of KRDA that figures show beyond the records, and what it hangs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hydra.utils import instantiate

from experiments.cells.cell import Cell
from experiments.datasets.base import Task
from experiments.store.records import sha256_of

# Drawing what is stored does without the libraries that a fit needs, which take long to load.
if TYPE_CHECKING:
    from experiments.cells.protocol import Protocol, Repetition
    from krda.estimator import KRDA


def stored_identity(cell: Cell, version: int) -> str:
    """Hash of everything that can change what is stored of a cell's fit, 12 hex digits.

    Parameters
    ----------
    cell : Cell
    version : int
        Raised when other numbers are computed from the same cell.

    Returns
    -------
    identity : str
    """
    return sha256_of({"cell": cell.identity(cell.load().sha256), "version": version})[:12]


def unfitted_krda(cell: Cell, task: Task) -> KRDA:
    """Make KRDA with the seed of repetition 0.

    Parameters
    ----------
    cell : Cell
    task : Task
        The cell's.

    Returns
    -------
    model : KRDA

    Raises
    ------
    ValueError
        The cell's method is another one.
    """
    from experiments.cells.protocol import method_seed
    from krda.estimator import KRDA

    model = cell.make_method(method_seed(task, cell.method, 0))
    if not isinstance(model, KRDA):
        raise ValueError(f"The figure shows a transport; {cell.method} is not KRDA.")
    return model


def fit_repetition(cell: Cell) -> tuple[KRDA, Repetition]:
    """Fit KRDA as repetition 0 of a cell does.

    Parameters
    ----------
    cell : Cell

    Returns
    -------
    model : KRDA
    data : Repetition
        The rows it was fitted to.

    Raises
    ------
    ValueError
        The cell's method is another one.
    """
    from experiments.cells.protocol import draw_repetition

    task = cell.load()
    protocol: Protocol = instantiate(cell.config["protocol"])
    data = draw_repetition(task, 0, protocol)
    return unfitted_krda(cell, task).fit(data.Xs, data.ys, data.Xt), data
