"""What figures show beyond the records: fits of KRDA, computed once and stored as CSV beside them.

A stored file names the identity of the cell that it was made from; with ``compute`` it is made
again if that is another one. Without, what is stored is drawn, whatever it was made by, as in
tables.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd

from experiments.cells.cell import Cell
from experiments.cells.configuration import cell_from_config, compose_config
from experiments.store.text import sha256_of
from experiments.whole_files import write_text

# Drawing what is stored does without the libraries that a fit needs, which take long to load.
if TYPE_CHECKING:
    from experiments.cells.plan import TablePlan
    from experiments.cells.protocol import Repetition
    from krda.estimator import KRDA

LEVELS = np.linspace(0.0, 1.0, 41)
"""Of the stored quantiles."""

QUANTILES = [f"q{1000 * level:.0f}" for level in LEVELS]
ROWS = ("kind", "label", "x", "y")
CURVES = (
    "step", "source_train", "source_held_out", "target_train", "target_held_out", "kept",
)  # fmt: skip
MARGINALS = ("task", "identity", "column", "kind", "ks", *QUANTILES)
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
    from experiments.cells.protocol import Protocol, draw_repetition

    data = draw_repetition(cell.load(), 0, Protocol(**cell.config["protocol"]))
    return unfitted_krda(cell).fit(data.Xs, data.ys, data.Xt), data


def transport_rows(cell: Cell) -> pd.DataFrame:
    """Rows of a two-dimensional task: 'source', 'transported' and 'target', with their labels.

    KRDA is fitted on all training rows. The transport does not know the target's labels.
    """
    from experiments.datasets.base import unlock

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
    """Quantiles and Kolmogorov-Smirnov statistics of repetition 0's columns, a row each."""
    from krda.diagnostics import column_distances

    model, data = fit_repetition(cell)
    transported = model.transform(data.Xs)
    frames = []
    for kind, rows in (("source", data.Xs), ("transported", transported), ("target", data.Xt)):
        found = pd.DataFrame(np.quantile(rows, LEVELS, axis=0).T, columns=QUANTILES)
        found.insert(0, "ks", np.nan)
        if kind != "target":
            found["ks"] = column_distances(rows, data.Xt).kolmogorov_smirnov
        found.insert(0, "kind", kind)
        found.insert(0, "column", range(len(found)))
        frames.append(found)
    every = pd.concat(frames).sort_values("column", kind="stable")
    every.insert(0, "identity", stored_identity(cell))
    every.insert(0, "task", cell.task)
    return every


def save(frame: pd.DataFrame, path: Path, identity: str = "", digits: int = 5) -> None:
    """Write a CSV file, whole; the identity is in the first line."""
    text = frame.copy()
    for column in text.select_dtypes(float):
        text[column] = ["" if np.isnan(v) else f"{v:.{digits}g}" for v in text[column]]
    head = f"# {identity}\n" if identity else ""
    write_text(path, head + text.to_csv(index=False, lineterminator="\n"))


def load(path: Path, columns: Sequence[str]) -> tuple[pd.DataFrame, str]:
    """Read what :func:`save` wrote, and its identity; ValueError if it was damaged since."""
    text = path.read_text(encoding="ascii", errors="replace")
    head = text.partition("\n")[0] if text.startswith("# ") else ""
    try:
        frame = pd.read_csv(
            io.StringIO(text.removeprefix(head)),
            dtype={"task": str, "identity": str},
            float_precision="round_trip",
        )
        if list(frame) != list(columns):
            raise ValueError(f"its columns are {', '.join(map(str, frame))}")
        if frame.drop(columns="ks", errors="ignore").isna().any(axis=None) or frame.empty:
            raise ValueError("a line lacks fields")
    except ValueError as error:
        raise ValueError(
            f"{path} does not hold the numbers of a figure ({error}); delete it and let them be "
            "computed again."
        ) from error
    return frame, head.removeprefix("# ").strip()


@dataclass(frozen=True)
class Numbers:
    """Where the stored numbers are, and whether to compute those that are missing or of old code.

    ``overrides`` are Hydra's, of all cells, such as a trial protocol; ``say`` takes a line about
    what could not be computed.
    """

    directory: Path
    compute: bool
    overrides: tuple[str, ...] = ()
    say: Callable[[str], None] = print

    def cell(self, *overrides: str) -> Cell:
        """A cell with the overrides of all cells."""
        return cell_from_config(compose_config((*overrides, *self.overrides)))

    def rows(self, name: str, *overrides: str) -> pd.DataFrame | None:
        """:func:`transport_rows` of a cell, seven digits; None if not stored."""
        return self._obtain(name, ROWS, overrides, transport_rows, 7)

    def curves(self, name: str, *overrides: str) -> pd.DataFrame | None:
        """:func:`training_curves` of a cell, five digits; None if not stored."""
        return self._obtain(name, CURVES, overrides, training_curves, 5)

    def _obtain(
        self,
        name: str,
        columns: Sequence[str],
        overrides: Iterable[str],
        make: Callable[[Cell], pd.DataFrame],
        digits: int,
    ) -> pd.DataFrame | None:
        path = self.directory / f"{name}.csv"
        if self.compute:
            cell = self.cell(*overrides)
            wanted = stored_identity(cell)
            try:
                current = load(path, columns)[1] == wanted
            except (OSError, ValueError):
                current = False
            if not current:
                save(make(cell), path, wanted, digits)
        # As it is stored, so that every later drawing has the same digits.
        return load(path, columns)[0] if path.is_file() else None

    def marginals(self, plan: TablePlan) -> pd.DataFrame | None:
        """:func:`marginals` of a table's tasks, five digits; None if nothing is stored.

        A task that fails is reported and left out.
        """
        path = self.directory / f"marginals_{plan.name}.csv"
        there = pd.DataFrame(columns=list(MARGINALS))
        try:
            if path.is_file():
                there = load(path, MARGINALS)[0]
        except ValueError as error:
            self.say(str(error))
        if self.compute:
            for task in plan.tasks:
                cell = plan.cells[task, "krda"]
                try:
                    if (there.identity[there.task == task] == stored_identity(cell)).any():
                        continue
                    others = [frame for frame in (there[there.task != task],) if len(frame)]
                    found = pd.concat([*others, marginals(cell)])
                except Exception as error:
                    self.say(f"figure marginals_{plan.name}: {cell.label} failed, "
                             f"{type(error).__name__}: {error}")  # fmt: skip
                    found = there[there.task != task]
                # After each task: a fit on many columns takes a while, and a run may be stopped.
                found = found.sort_values(
                    "task", key=lambda s: s.map(plan.tasks.index), kind="stable"
                )
                save(found, path)
                there = load(path, MARGINALS)[0] if len(found) else found
        found = there[there.task.isin(plan.tasks)]
        return found if len(found) else None
