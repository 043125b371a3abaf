"""The density's training: held-out and training NLL of each domain, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.cells.cell import Cell
from experiments.cells.plan import TablePlan
from experiments.reading.figures.files import load_numbers, obtain, save_numbers, useless
from experiments.reading.figures.fits import fit_repetition, stored_identity
from experiments.reading.figures.request import Request
from experiments.reading.figures.style import (
    BLACK,
    PAGE_WIDTH,
    SOURCE,
    TARGET,
    figure_legend,
    new_figure,
    save_figure,
)

FloatArray = NDArray[np.float64]

# One task of each data set; of HEPMASS's the paper's second, with a wide gap between the masses.
TASKS = {"moons": "40", "hepmass": "500-1000", "hepmass_sim": "500-1000", "amazon": "B-D"}

# Raise it when other numbers are computed from the same cell.
_VERSION = 1
_FIELDS = ["step", "source_train", "source_held_out", "target_train", "target_held_out", "kept"]
_DOMAINS = (("source", SOURCE), ("target", TARGET))


@dataclass(frozen=True)
class Curves:
    """Mean negative log-likelihood of the standardised columns.

    Attributes
    ----------
    steps : ndarray of shape (n,)
    nll : ndarray of shape (n, 4)
        Columns as in the stored file: training and held-out, of the source and of the target.
    kept : int
        Step whose parameters were kept.
    """

    steps: FloatArray
    nll: FloatArray
    kept: int


def curves_identity(cell: Cell) -> str:
    """Hash of everything that can change the curves, 12 hex digits."""
    return stored_identity(cell, _VERSION)


def training_curves(cell: Cell) -> Curves:
    """Fit KRDA as repetition 0 of a cell does, and tell how its training went.

    Parameters
    ----------
    cell : Cell
        Of the method ``krda``.

    Returns
    -------
    curves : Curves

    Raises
    ------
    ValueError
        The method is another one.
    """
    history = fit_repetition(cell)[0].history_
    pairs = np.stack([history.train_nll.numpy(), history.held_out_nll.numpy()], axis=2)
    return Curves(history.steps.numpy(), pairs.reshape(len(pairs), 4), history.best_step)


def save_curves(curves: Curves, path: Path, identity: str) -> None:
    """Write curves as CSV; their identity stands in the first line."""
    lines = (
        (step, *(f"{v:.5g}" for v in row), int(step == curves.kept))
        for step, row in zip(curves.steps.tolist(), curves.nll.tolist(), strict=True)
    )
    save_numbers(path, _FIELDS, lines, identity)


def load_curves(path: Path) -> tuple[Curves, str]:
    """Read what :func:`save_curves` wrote.

    Parameters
    ----------
    path : Path

    Returns
    -------
    curves : Curves
    identity : str

    Raises
    ------
    ValueError
        The file was not written by :func:`save_curves`, or was damaged since.
    """
    try:
        table, identity = load_numbers(path, _FIELDS)
        if sum(row["kept"] == "1" for row in table) != 1:
            raise ValueError("not one step is kept")
    except ValueError as error:
        raise useless(path, "training curves", error) from error
    numbers = np.array([[float(row[name]) for name in _FIELDS] for row in table])
    kept = int(numbers[numbers[:, -1] == 1, 0][0])
    return Curves(numbers[:, 0], numbers[:, 1:5], kept), identity


def obtain_curves(request: Request, table: TablePlan, task: str, path: Path) -> Curves | None:
    """Read the curves of a table's task, after computing and storing them where need be.

    Parameters
    ----------
    request : Request
    table : TablePlan
    task : str
    path : Path
        Where they are stored.

    Returns
    -------
    curves : Curves or None
        None where nothing is stored and nothing was to be computed.
    """

    def cell() -> Cell:
        return request.cell(f"dataset={table.dataset}", f"dataset.task={task}", "method=krda")

    return obtain(
        path,
        load_curves,
        lambda: curves_identity(cell()),
        lambda identity: save_curves(training_curves(cell()), path, identity),
        compute=request.compute,
    )


def draw(curves: Curves, *, title: str) -> Any:
    """Draw training and held-out curves, one panel a domain.

    Parameters
    ----------
    curves : Curves
    title : str

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    with new_figure(PAGE_WIDTH, 2.7) as figure:
        axes = figure.subplots(1, 2, sharex=True)
        for i, (axis, (domain, colour)) in enumerate(zip(axes, _DOMAINS, strict=True)):
            train, held_out = curves.nll[:, 2 * i], curves.nll[:, 2 * i + 1]
            axis.plot(curves.steps, train, color=colour, ls=(0, (4, 1.5)), label="training rows")
            axis.plot(curves.steps, held_out, color=colour, lw=1.6, label="held-out rows")
            axis.axvline(curves.kept, color=BLACK, lw=0.8, ls=":", label="parameters kept")
            # What diverges later must not hide where the minimum is.
            low = min(train.min(), held_out.min())
            rise = max(held_out[0] - held_out.min(), 1.0)
            axis.set_ylim(low - 0.1 * rise, held_out.min() + 2 * rise)
            axis.set_title(domain)
            axis.set_xlabel("Step")
        axes[0].set_ylabel("Negative log-likelihood (nats a row)")
        figure_legend(figure, axes[:1], 3)
        figure.suptitle(title)
        return figure


def render(request: Request) -> list[Path]:
    """Make ``training_DATASET`` for each table that is asked for.

    Parameters
    ----------
    request : Request

    Returns
    -------
    paths : list of Path
    """

    def make(table: TablePlan, name: str) -> list[Path]:
        task = TASKS.get(table.dataset)
        if task is None:
            return []
        curves = obtain_curves(request, table, task, request.directory / f"{name}.csv")
        if curves is None:
            request.tell(f"figure {name}: left out, no curves are stored")
            return []
        title = f"{table.title}, {table.task_label.format(task)}: training of the density"
        return save_figure(draw(curves, title=title), request.directory / name)

    return request.each_table("training", make)
