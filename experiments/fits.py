"""Fit KRDA for what figures show beyond the records, and store that as CSV beside them.

A stored file names the identity of the cell that it was made from, and is made again if that is
another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import cast

import pandas as pd

from experiments.cells.cell import Cell
from experiments.cells.configuration import cells_of
from experiments.cells.plan import TablePlan
from experiments.cells.protocol import Protocol, draw_repetition
from experiments.datasets.base import Task, unlock
from experiments.reading.figures.numbers import COMPONENTS, GAUSSIANS, TRAINED, load, save
from experiments.store.text import sha256_of
from krda.diagnostics import column_distances
from krda.estimator import KRDA

Make = Callable[[Cell], pd.DataFrame]

_VERSION = 1
"""Raise it if other numbers are computed from the same cell."""


def stored_identity(cell: Cell) -> str:
    """Hash of everything that can change what is stored of a cell's fit, 12 hex digits."""
    return sha256_of({"cell": cell.identity(cell.data_sha256()), "version": _VERSION})[:12]


def fit_repetition(cell: Cell) -> tuple[KRDA, Task]:
    """KRDA fitted as repetition 0 of a cell, and the rows it was fitted to."""
    data = draw_repetition(cell.load(), 0, Protocol(**cell.config["protocol"]))
    return _krda(cell).fit(data.Xs, data.ys, data.Xt), data


def _krda(cell: Cell) -> KRDA:
    return cast("KRDA", cell.make_method(cell.seed(0)))


def transport_rows(cell: Cell) -> pd.DataFrame:
    """Rows of a two-dimensional task: 'source', 'transported' and 'target', with their labels.

    KRDA is fitted on all training rows. The transport does not know the target's labels.
    """
    task = cell.load()
    transported = _krda(cell).fit(task.Xs, task.ys, task.Xt).transform(task.Xs)
    parts = {
        "source": (task.Xs, task.ys),
        "transported": (transported, task.ys),
        "target": (task.Xt, unlock(task.yt)),
    }
    return pd.concat(
        pd.DataFrame({"kind": kind, "label": labels, "x": points[:, 0], "y": points[:, 1]})
        for kind, (points, labels) in parts.items()
    )


def training_curves(cell: Cell) -> pd.DataFrame:
    """Negative log-likelihood by step of repetition 0's training, and the step that was kept."""
    history = fit_repetition(cell)[0].history_
    train, held_out = history.train_nll.numpy(), history.held_out_nll.numpy()
    steps = history.steps.numpy().astype(int)
    return pd.DataFrame(
        {
            "step": steps,
            "source_train": train[:, 0],
            "source_held_out": held_out[:, 0],
            "target_train": train[:, 1],
            "target_held_out": held_out[:, 1],
            "kept": (steps == history.best_step).astype(int),
        }
    )


def marginals(cell: Cell) -> pd.DataFrame:
    """Kolmogorov-Smirnov statistics of repetition 0's columns to the target's, a row a column."""
    model, data = fit_repetition(cell)
    before, after = (
        column_distances(rows, data.Xt) for rows in (data.Xs, model.transform(data.Xs))
    )
    of = {"task": cell.task, "identity": stored_identity(cell), "column": range(len(before))}
    return pd.DataFrame({**of, "before": before, "after": after})


def update(plans: Sequence[TablePlan], directory: Path, narrate: Callable[[str], None]) -> bool:
    """Fit what the figures of some tables show and is not stored, or is of another identity.

    ``narrate`` takes what is being fitted. A fit that fails costs no other one: a line about it is
    printed, and the result is False.
    """
    good = True
    for plan in plans:
        for name, cell, make in _fits_of(plan):
            narrate(f"fitting KRDA for the figure {name}: {cell.task}")
            try:
                _update(directory / f"{name}.csv", cell, plan, make)
            except OSError:  # a disk that takes no more concerns every fit
                raise
            except Exception as error:
                good = False
                reason = f"{type(error).__name__}: {error}"
                print(f"figure {name}: the fit of {cell.label} failed, {reason}")
    return good


def _fits_of(plan: TablePlan) -> Iterator[tuple[str, Cell, Make]]:
    """Yield a file's name, a cell that it is of, and what makes it."""

    def krda(dataset: str, task: str, *overrides: str) -> Cell:
        return cells_of(dataset, [task], ["krda"], (*overrides, *plan.overrides))[0]

    if "krda" in plan.methods:
        for task in plan.tasks:
            yield f"marginals_{plan.name}", krda(plan.dataset, task), marginals
    if plan.dataset in TRAINED:
        yield f"training_{plan.name}", krda(plan.dataset, TRAINED[plan.dataset]), training_curves
    if plan.dataset == "moons":
        yield "moons_40", krda("moons", "40"), transport_rows
        more = ("dataset.data.n_source=1000", "dataset.data.n_target=1000")
        for n in COMPONENTS:
            cell = krda("moons", "40", *more, f"method.n_components={n}")
            yield f"moons_components_{n}", cell, transport_rows
        for pair in GAUSSIANS:
            yield f"gaussians_{pair}", krda("gaussians", pair), transport_rows


def _update(path: Path, cell: Cell, plan: TablePlan, make: Make) -> None:
    """Make a cell's numbers unless they are stored."""
    identity = stored_identity(cell)
    try:
        stored, of = load(path)
    except (OSError, ValueError):  # nothing is stored, or it is damaged
        stored, of = None, ""
    if make is not marginals:
        if of != identity:
            save(make(cell), path, identity, digits=7 if make is transport_rows else 5)
        return
    tasks = {} if stored is None else dict(iter(stored.groupby("task")))
    if cell.task not in tasks or (tasks[cell.task].identity != identity).any():
        tasks[cell.task] = make(cell)
        save(pd.concat([tasks[task] for task in plan.tasks if task in tasks]), path)
