"""The density's training: held-out and training NLL of each domain, step by step."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.cells import Cell
from experiments.figures.files import written_whole
from experiments.figures.fits import fit_repetition, stored_identity
from experiments.figures.request import Request
from experiments.figures.style import (
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
    with written_whole(path) as file:
        file.write(f"# {identity}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_FIELDS)
        for step, row in zip(curves.steps.tolist(), curves.nll.tolist(), strict=True):
            writer.writerow([step, *(f"{v:.5g}" for v in row), int(step == curves.kept)])


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
    with path.open(newline="", encoding="ascii") as file:
        head = file.readline()
        reader = csv.reader(file)
        names, table = next(reader, None), list(reader)
    if not head.startswith("# ") or names != _FIELDS or sum(r[-1] == "1" for r in table) != 1:
        raise ValueError(
            f"{path} does not hold training curves; delete it and let them be computed again."
        )
    numbers = np.array([[float(value) for value in row] for row in table])
    kept = int(numbers[numbers[:, -1] == 1, 0][0])
    return Curves(numbers[:, 0], numbers[:, 1:5], kept), head[2:].strip()


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
    paths: list[Path] = []
    for table in request.tables:
        task = TASKS.get(table.dataset)
        if task is None:
            continue
        name = f"training_{table.name}"
        stored = request.directory / f"{name}.csv"
        if request.compute:
            cell = request.cell(f"dataset={table.dataset}", f"dataset.task={task}", "method=krda")
            identity = curves_identity(cell)
            try:
                current = load_curves(stored)[1] == identity
            except (OSError, ValueError):
                current = False
            if not current:
                save_curves(training_curves(cell), stored, identity)
        if not stored.is_file():
            request.tell(f"figure {name}: left out, no curves are stored")
            continue
        title = f"{table.title}, {table.task_label.format(task)}: training of the density"
        paths += save_figure(draw(load_curves(stored)[0], title=title), request.directory / name)
    return paths
