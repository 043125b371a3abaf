"""How far a run is, and how long the rest takes, by the seconds of cells that were run before."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Column

from experiments.cells.cell import Cell
from experiments.store.frame import to_frame

if TYPE_CHECKING:
    from experiments.running.engine import Ended

SECONDS_BETWEEN_LINES = 30.0


def estimates(results: Iterable[Path]) -> dict[str, float]:
    """Seconds of a repetition by config, as the records in some results say, stale ones too."""
    frame = pd.concat(to_frame(directory) for directory in results)
    seconds: pd.Series = frame.fit_seconds + frame.predict_seconds
    return seconds.groupby(frame.config).mean().dropna().to_dict()


def seconds_of(cell: Cell, seconds: Mapping[str, float]) -> float:
    """Seconds of a cell by the estimates; infinity if it was never run."""
    return seconds.get(cell.config_sha256[:12], float("inf")) * cell.n_repetitions


class RunProgress:
    """How far a run is: a bar on a terminal, else a line now and then."""

    def __init__(self, cells: Sequence[Cell], seconds: Mapping[str, float], n_workers: int) -> None:
        self.open = list(cells)
        self.seconds = seconds
        self.n_workers = n_workers
        self.n_cells, self.n_failed = len(cells), 0
        self.last_line = time.monotonic()
        names = Column(no_wrap=True, overflow="ellipsis", ratio=1)
        console = Console(highlight=False)
        self.bar = Progress(
            BarColumn(16), MofNCompleteColumn(), TextColumn("{task.description}"),
            TextColumn("{task.fields[names]}", style="dim", table_column=names),
            console=console, disable=not console.is_terminal, expand=True,
        )  # fmt: skip
        self.task = self.bar.add_task("loading", total=self.n_cells, names="")

    def show(self, ended: Ended | None) -> None:
        """Note that a cell has ended, or that time has passed."""
        if ended is not None:
            self.open.remove(ended.cell)
            self.n_failed += bool(ended.errors)
            if ended.errors and not self.bar.disable:
                failed = f"failed: {ended.cell.label}: {ended.errors[0]}"
                self.bar.console.print(failed, style="red", markup=False, soft_wrap=True)
        # Cells are taken in this order, so these are at work.
        names = ", ".join(cell.label for cell in self.open[: self.n_workers])
        done = self.n_cells - len(self.open)
        self.bar.update(self.task, completed=done, description=self.left(), names=names)
        now = time.monotonic()
        if self.bar.disable and (not self.open or now - self.last_line >= SECONDS_BETWEEN_LINES):
            print(f"{time.strftime('%H:%M:%S')} {self}")
            self.last_line = now

    def __str__(self) -> str:
        n_done = self.n_cells - len(self.open) - self.n_failed
        return f"{n_done} of {self.n_cells} cells done, {self.n_failed} failed{self.left(', ')}"

    def left(self, before: str = "") -> str:
        """The time to the end, as a part of a sentence; "" if nothing is known."""
        known = [s for s in (seconds_of(c, self.seconds) for c in self.open) if s < float("inf")]
        if not known:
            return ""
        # Of a cell that was never run, the average is the best guess. No cell halves.
        total = sum(known) / len(known) * len(self.open)
        minutes = max(total / self.n_workers, max(known)) / 60
        return before + ("under a minute left" if minutes < 1 else f"about {minutes:.1f} min left")
