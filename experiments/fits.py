"""Fit KRDA for what figures show beyond the records, and store that as CSV beside them.

A stored file names the identity of the cell that it was made from, and is made again if that is
another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pandas as pd

from experiments.cells.cell import Cell
from experiments.cells.configuration import cell_from_config, compose_config
from experiments.cells.plan import TablePlan
from experiments.cells.protocol import Protocol, Repetition, draw_repetition
from experiments.datasets.base import unlock
from experiments.reading.figures.numbers import (
    COMPONENTS,
    CURVES,
    GAUSSIANS,
    MARGINALS,
    ROWS,
    TRAINED,
    load,
    save,
)
from experiments.store.text import sha256_of
from krda.diagnostics import column_distances
from krda.estimator import KRDA

_VERSION = 1
"""Raise it if other numbers are computed from the same cell."""


def stored_identity(cell: Cell) -> str:
    """Hash of everything that can change what is stored of a cell's fit, 12 hex digits."""
    return sha256_of({"cell": cell.identity(cell.load().sha256), "version": _VERSION})[:12]


def unfitted_krda(cell: Cell) -> KRDA:
    """KRDA with the seed of repetition 0."""
    return cast("KRDA", cell.make_method(cell.seed(0)))


def fit_repetition(cell: Cell) -> tuple[KRDA, Repetition]:
    """KRDA fitted as repetition 0 of a cell, and the rows it was fitted to."""
    data = draw_repetition(cell.load(), 0, Protocol(**cell.config["protocol"]))
    return unfitted_krda(cell).fit(data.Xs, data.ys, data.Xt), data


def transport_rows(cell: Cell) -> pd.DataFrame:
    """Rows of a two-dimensional task: 'source', 'transported' and 'target', with their labels.

    KRDA is fitted on all training rows. The transport does not know the target's labels.
    """
    task = cell.load()
    transported = unfitted_krda(cell).fit(task.Xs, task.ys, task.Xt).transform(task.Xs)
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
    columns = steps, train[:, 0], held_out[:, 0], train[:, 1], held_out[:, 1]
    found = pd.DataFrame(dict(zip(CURVES, columns, strict=False)))
    return found.assign(kept=(steps == history.best_step).astype(int))


def marginals(cell: Cell) -> pd.DataFrame:
    """Kolmogorov-Smirnov statistics of repetition 0's columns to the target's, a row a column."""
    model, data = fit_repetition(cell)
    before, after = (
        column_distances(rows, data.Xt).kolmogorov_smirnov
        for rows in (data.Xs, model.transform(data.Xs))
    )
    found = pd.DataFrame({"column": range(len(before)), "before": before, "after": after})
    return found.assign(task=cell.task, identity=stored_identity(cell))[list(MARGINALS)]


def update(plans: Sequence[TablePlan], directory: Path, say: Callable[[str], None]) -> bool:
    """Fit what the figures of some tables show and is not stored, or is of another identity.

    A fit that fails costs no other one: ``say`` takes a line about it, and the result is False.
    """
    failed = []

    def attempt(name: str, step: Callable[..., None], cell: Any, plan: TablePlan) -> None:
        try:
            step(directory / f"{name}.csv", cell, plan)
        except OSError:  # a disk that takes no more concerns every fit
            raise
        except Exception as error:
            failed.append(name)
            say(f"figure {name}: the fit of {cell} failed, {type(error).__name__}: {error}")

    for plan in plans:
        for task in plan.tasks if "krda" in plan.methods else ():
            attempt(f"marginals_{plan.name}", update_marginals, task, plan)
        if plan.dataset in TRAINED:
            cell = f"dataset={plan.dataset} dataset.task={TRAINED[plan.dataset]}"
            attempt(f"training_{plan.name}", update_training, cell, plan)
        if plan.dataset == "moons":
            for name, cell in transports().items():
                attempt(name, update_rows, cell, plan)
    return not failed


def transports() -> dict[str, str]:
    """Overrides of the cells whose transported rows are drawn, by the names of the files."""
    moons = "dataset=moons dataset.angle=40"
    more = f"{moons} dataset.data.n_source=1000 dataset.data.n_target=1000"
    return {
        "moons_40": moons,
        **{f"moons_components_{n}": f"{more} method.n_components={n}" for n in COMPONENTS},
        **{f"gaussians_{m}": f"dataset=gaussians dataset.task={m}" for m in GAUSSIANS},
    }


def update_rows(path: Path, cell: str, plan: TablePlan) -> None:
    """Store :func:`transport_rows` of a cell, with the overrides of a table."""
    _update(path, cell, plan, ROWS, transport_rows, digits=7)


def update_training(path: Path, cell: str, plan: TablePlan) -> None:
    """Store :func:`training_curves` of a cell, with the overrides of its table."""
    _update(path, cell, plan, CURVES, training_curves, digits=5)


def _update(
    path: Path,
    overrides: str,
    plan: TablePlan,
    columns: Sequence[str],
    make: Callable[[Cell], pd.DataFrame],
    digits: int,
) -> None:
    cell = cell_from_config(compose_config(("method=krda", *overrides.split(), *plan.overrides)))
    identity = stored_identity(cell)
    found = _load(path, columns)
    if found is None or found[1] != identity:
        save(make(cell), path, identity, digits)


def update_marginals(path: Path, task: str, plan: TablePlan) -> None:
    """Store :func:`marginals` of a task among those of its table; a fit that fails leaves none."""
    cell = plan.cells[task, "krda"]
    found = _load(path, MARGINALS)
    parts = {} if found is None else dict(iter(found[0].groupby("task")))
    if task in parts and (parts.pop(task).identity == stored_identity(cell)).all():
        return
    try:
        parts[task] = marginals(cell)
    finally:
        if parts:
            save(pd.concat([parts[t] for t in plan.tasks if t in parts]), path)


def _load(path: Path, columns: Sequence[str]) -> tuple[pd.DataFrame, str] | None:
    """What is stored; None if nothing is, or it is damaged."""
    try:
        return load(path, columns)
    except (OSError, ValueError):
        return None
