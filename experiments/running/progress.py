"""How far a run is, and how long the rest takes, by the seconds of cells that were run before."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from experiments.cells.cell import Cell
from experiments.running.engine import Ended
from experiments.store.frame import frame_of, to_frame
from experiments.store.records import Record

PLAIN_SECONDS = 30.0
"""Time between two lines of progress without a terminal."""


class Estimates:
    """Seconds of cells, as records of the same configs in some results say, stale ones too."""

    def __init__(self, results: Iterable[Path]) -> None:
        frame = pd.concat([frame_of([]), *(to_frame(directory) for directory in results)])
        frame["seconds"] = frame.fit_seconds + frame.predict_seconds
        done = frame[frame.status == "done"]
        means = done.groupby("config").seconds.mean()
        self._means = {str(config): float(seconds) for config, seconds in means.items()}
        self._estimated = self._measured = 0.0

    def of(self, cell: Cell) -> float | None:
        """Seconds of a cell; None if it was never run."""
        mean = self._means.get(cell.config_sha256[:12])
        return None if mean is None else mean * cell.n_repetitions

    def observe(self, cell: Cell, record: Record) -> None:
        """Note how long a cell has taken, which corrects for the speed of this machine."""
        seconds = [(o.fit_seconds or 0.0) + (o.predict_seconds or 0.0) for o in record.outcomes]
        estimated = self.of(cell)
        if estimated is not None and record.complete:
            self._estimated += estimated
            self._measured += sum(seconds)

    def left(self, cells: Iterable[Cell], n_workers: int) -> float | None:
        """Seconds until all these cells are done; None if nothing is known of any."""
        found = [self.of(cell) for cell in cells]
        known = [seconds for seconds in found if seconds is not None]
        if not known:
            return None
        # Of a cell that was never run, the average is the best guess.
        total = sum(known) / len(known) * len(found)
        factor = self._measured / self._estimated if self._estimated > 1.0 else 1.0
        return factor * max(total / n_workers, max(known))


class RunProgress:
    """How far a run is: a bar on a terminal, elsewhere a line now and then."""

    def __init__(
        self, console: Console, cells: Sequence[Cell], estimates: Estimates, n_workers: int
    ) -> None:
        self.console = console
        self.open = list(cells)
        self.estimates = estimates
        self.n_workers = n_workers
        self.n_cells, self.n_failed = len(cells), 0
        self.spoken = time.monotonic()
        columns = TextColumn("cells"), BarColumn(), TextColumn("{task.fields[state]}")
        self.bar = Progress(
            *columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal
        )
        self.task = self.bar.add_task("", total=len(cells), state=str(self))

    def __enter__(self) -> None:
        self.bar.start()

    def __exit__(self, *error: object) -> None:
        self.bar.stop()
        if self.n_cells and error[0] is None:
            self.console.print(str(self))

    def show(self, ended: Ended | None) -> None:
        """Note that a cell has ended, or that time has passed."""
        if ended is not None:
            self.open.remove(ended.cell)
            self.n_failed += bool(ended.errors)
            if ended.record is not None:
                self.estimates.observe(ended.cell, ended.record)
        self.bar.update(self.task, completed=self.n_cells - len(self.open), state=str(self))
        now = time.monotonic()
        if not self.console.is_terminal and now - self.spoken >= PLAIN_SECONDS:
            self.console.print(f"{time.strftime('%H:%M:%S')} {self}")
            self.spoken = now

    def left(self, form: str) -> str:
        """Put the estimated time to the end into a text; "" if nothing is known."""
        seconds = self.estimates.left(self.open, self.n_workers)
        if seconds is None:
            return ""
        unit, value = ("seconds", seconds) if seconds < 90 else ("minutes", seconds / 60)
        return form.format(f"{max(value, 1):.0f} {unit}")

    def __str__(self) -> str:
        n_done = self.n_cells - len(self.open) - self.n_failed
        left = self.left(", about {} left")
        return f"{n_done} of {self.n_cells} cells done, {self.n_failed} failed{left}"
