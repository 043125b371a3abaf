"""Run many cells in parallel so that nothing finished is lost and nothing is done twice.

The process that calls :class:`Run` plans, claims cells, hands them to workers and is the only one
of them that writes records. Workers report each repetition when it begins and when it ends; so

- a repetition that raises is recorded as failed by the worker itself;
- a worker that dies, or exceeds its time limit, costs the repetition it was at: the others are
  kept, and those still to run go to a new worker. Where it was training several of them as one
  program, it costs none of them: they are run again, one after another;
- a kill of everything costs the repetitions at work, and what was finished since a cell was last
  written: a cell under way is written again when a repetition ends and a second has passed.

Cells that another run has claimed are left to it. When nothing else is left, they are waited for:
what the other run has finished is taken as it is, and what it has abandoned is done here.
"""

from __future__ import annotations

import contextlib
import importlib
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.cells.cell import (
    TOGETHER_ERROR,
    Cell,
    CellState,
    cell_state,
    describe_error,
    kept_outcomes,
    lost_outcome,
    record_of,
    run_repetitions,
    seed_of,
)
from experiments.running.cell_claims import Claims
from experiments.running.estimates import Estimates
from experiments.running.workers import Event, Report, run_jobs
from experiments.store.records import Outcome, Record, RecordError, RecordStore, Status

CHECKPOINT_SECONDS = 1.0
"""Least time between two writings of a cell under way."""

POLL_SECONDS = 1.0
"""Time between two looks at the cells that other runs have claimed."""


@dataclass(frozen=True)
class Job:
    """What a worker is told.

    Attributes
    ----------
    config : dict
        Of the cell.
    identity : str
        Of the cell, as the run's process sees it.
    repetitions : tuple of int
        Those to run.
    together : bool
        Whether they may be trained as one program.
    key : int
        Number of the cell in the run.
    timeout_seconds : float or None
    """

    config: dict[str, Any]
    identity: str
    repetitions: tuple[int, ...]
    together: bool
    key: int
    timeout_seconds: float | None

    def time_limit(self, news: Any) -> float | None:
        """Time from one report to the next: as many repetitions' as the worker is at."""
        at = len(news) if isinstance(news, tuple) else 1
        return None if self.timeout_seconds is None else at * self.timeout_seconds


def load_libraries() -> None:
    """Load what every cell needs; in a worker, before any time limit counts."""
    for module in (
        "hydra.utils",
        "sklearn.svm",
        "experiments.cells.protocol",
        "experiments.store.provenance",
    ):
        importlib.import_module(module)


def run_job(job: Job, report: Report) -> None:
    """Run repetitions in a worker process; report their numbers and their outcomes.

    Parameters
    ----------
    job : Job
    report : callable

    Raises
    ------
    RuntimeError
        This process has loaded other code, data or libraries than the one that planned the run.
    """
    # Anew, so that nothing is taken over from the process that planned.
    cell = Cell(job.config)
    for module in cell.modules:
        importlib.import_module(module)
    if cell.identity(cell.data_sha256()) != job.identity:
        raise RuntimeError(
            "code, data or libraries have changed since the run began; start the run again"
        )
    for outcome in run_repetitions(cell, job.repetitions, report, together=job.together):
        report(outcome)


@dataclass(frozen=True)
class Failure:
    """A repetition that is not done, or a cell that could not be run at all.

    Attributes
    ----------
    cell : Cell
    repetition : int or None
        None for the cell as a whole.
    status, error : str
    """

    cell: Cell
    repetition: int | None
    status: str
    error: str


@dataclass
class _Work:
    """A cell that the run has to see to."""

    cell: Cell
    path: Path
    stamp: int | None  # of the record's file when the run was planned
    data_sha256: str
    seconds: float | None  # for one repetition, estimated
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    at: tuple[int, ...] = ()  # the repetitions at work
    together: bool = True  # whether they may be trained as one program
    written: float = 0.0  # when it last was, or began
    unwritten: bool = False  # whether an outcome came after the last writing

    @property
    def identity(self) -> str:
        return self.cell.identity(self.data_sha256)

    @property
    def todo(self) -> tuple[int, ...]:
        return tuple(r for r in range(self.cell.n_repetitions) if r not in self.outcomes)

    def record(self) -> Record:
        return record_of(self.cell, self.data_sha256, self.outcomes)


class Run:
    """One run over cells; iterate over :meth:`go` to make it happen.

    Parameters
    ----------
    cells : sequence of Cell
    store : RecordStore
    estimates : Estimates
    n_workers : int
        Cells at work at once.
    timeout_seconds : float or None
        Time limit for a repetition in place of the cells' own.
    claims : Claims or None
        None makes them with the usual times.

    Attributes
    ----------
    n_cells, n_before : int
        All cells, and those that were done before.
    damaged : list of str
        Path and reason of each damaged record; its cell is run again.
    n_done : int
        Cells that have become done, here or elsewhere.
    failures : list of Failure
        What is not done, in the order in which it was found.
    apart : dict of str to str
        Cells whose repetitions are done, but one after another, for training them as one program
        failed; from the cell's label to the error.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        store: RecordStore,
        estimates: Estimates,
        *,
        n_workers: int,
        timeout_seconds: float | None = None,
        claims: Claims | None = None,
    ) -> None:
        self.store = store
        self.n_workers = n_workers
        self.timeout_seconds = timeout_seconds
        self.n_cells = len(cells)
        self.n_done = 0
        self.failures: list[Failure] = []
        self.damaged: list[str] = []
        self.apart: dict[str, str] = {}
        self.estimates = estimates
        self._claims = Claims() if claims is None else claims
        self._works: list[_Work] = []
        for cell in cells:
            self._plan(cell, cell_state(cell, store))
        self.n_before = self.n_cells - len(self._works) - len({f.cell.label for f in self.failures})
        # Long cells first, so that none of them is left alone at the end; unknown ones before all.
        self._works.sort(key=lambda w: -_remaining(w, float("inf")))
        self._waiting = deque(range(len(self._works)))
        self._again: deque[int] = deque()
        self._elsewhere: list[int] = []
        self._looked = -POLL_SECONDS
        self._open = set(range(len(self._works)))
        self._active: set[int] = set()
        self._failed_cells = {f.cell.label for f in self.failures}

    def _plan(self, cell: Cell, found: CellState) -> None:
        if found.state == "done":
            return
        if found.state == "damaged":
            self.damaged.append(str(found.reason))
        try:
            data_sha256 = cell.data_sha256()
        except (Exception, SystemExit) as error:
            # Loading data can fail in as many ways as there are data sets.
            self.failures.append(Failure(cell, None, "failed", f"no data: {describe_error(error)}"))
            return
        path = self.store.path(cell.dataset, cell.task, cell.method, cell.config_sha256)
        work = _Work(cell, path, _stamp(path), data_sha256, self.estimates.repetition(cell))
        work.outcomes = kept_outcomes(found.resumable)
        self._works.append(work)

    @property
    def n_to_run(self) -> int:
        """Cells that were not done when the run was planned."""
        return len(self._works)

    @property
    def n_failed(self) -> int:
        """Cells that have failed."""
        return len(self._failed_cells)

    @property
    def n_elsewhere(self) -> int:
        """Cells that are left to another run for now."""
        return len(self._elsewhere)

    @property
    def running(self) -> list[str]:
        """Names of the cells at work here."""
        return sorted(self._works[key].cell.label for key in self._active)

    def seconds_left(self) -> float | None:
        """Estimate the time to the end; None where nothing is known of any cell."""
        works = [self._works[key] for key in self._open]
        known = [w.seconds for w in self._works if w.seconds is not None]
        if not known:
            return None if works else 0.0
        # Of a cell that no record tells of, the average is the best guess.
        average = sum(known) / len(known)
        left = [_remaining(work, average) for work in works]
        factor = self.estimates.factor
        return factor * max(sum(left) / self.n_workers, max(left, default=0.0))

    def go(self) -> Iterator[Event[Job, None]]:
        """Run what is to be run.

        Yields
        ------
        event : Event
            After it was dealt with; at least one a second.

        Raises
        ------
        OSError
            A record cannot be written. Closing the iterator, or any exception, ends the workers;
            what is finished is kept.
        """
        events: Iterator[Event[Job, None]] = run_jobs(
            run_job,
            self._jobs(),
            n_workers=self.n_workers,
            prepare=load_libraries,
            timeout_seconds=Job.time_limit,
        )
        with self._claims, contextlib.closing(events):  # type: ignore[type-var]
            try:
                for event in events:
                    self._handle(event)
                    yield event
            finally:
                for key in self._active:
                    if self._works[key].unwritten:
                        with contextlib.suppress(OSError):
                            self.store.write(self._works[key].record())

    def _jobs(self) -> Iterator[Job | None]:
        while self._open:
            yield self._next()

    def _next(self) -> Job | None:
        if self._again:
            return self._job(self._again.popleft())
        while self._waiting:
            key = self._waiting.popleft()
            if self._claims.acquire(self._works[key].path):
                if self._is_ours(key):
                    return self._job(key)
            else:
                self._elsewhere.append(key)
        if time.monotonic() - self._looked >= POLL_SECONDS:
            for key in tuple(self._elsewhere):
                if self._claims.acquire(self._works[key].path):
                    self._elsewhere.remove(key)
                    if self._is_ours(key):
                        return self._job(key)
            self._looked = time.monotonic()
        return None

    def _job(self, key: int) -> Job:
        work = self._works[key]
        self._active.add(key)
        limit = self.timeout_seconds or work.cell.timeout_seconds
        return Job(work.cell.config, work.identity, work.todo, work.together, key, limit)

    def _is_ours(self, key: int) -> bool:
        """Look, with the claim in hand, whether another run has brought the cell to an end."""
        work = self._works[key]
        try:
            record = self.store.read(work.path)
        except RecordError:
            work.outcomes = {}
            return True
        if record.identity != work.identity:
            work.outcomes = {}
            return True
        # A failure that repeats itself gives an equal record, so the file tells, not its content.
        written_since = _stamp(work.path) != work.stamp
        settled = record.complete or (not record.pending and written_since)
        if settled:
            self._settle(key, record)
            return False
        work.outcomes = kept_outcomes(record)
        return True

    def _handle(self, event: Event[Job, None]) -> None:
        if event.job is None:
            return
        key = event.job.key
        work = self._works[key]
        if event.kind == "started":
            work.at, work.written = (), time.monotonic()
        elif event.kind == "progress" and isinstance(event.result, Outcome):
            outcome = event.result
            if outcome.repetition not in work.at:
                return
            seed = seed_of(work.cell, outcome.repetition)
            if outcome.seed != seed:
                outcome = lost_outcome(
                    work.cell, outcome.repetition, "failed",
                    f"its worker sent a result of the seed {outcome.seed}, not of {seed}",
                )  # fmt: skip
            # First of all: an interrupt from here on must not cost what was done.
            work.unwritten = True
            work.at = tuple(r for r in work.at if r != outcome.repetition)
            work.outcomes[outcome.repetition] = outcome
            self.estimates.observe(work.seconds, outcome)
            apart = (outcome.environment or {}).get(TOGETHER_ERROR)
            # Of a repetition that failed alone as well, the failure is told.
            if apart is not None and outcome.status == "done":
                self.apart[work.cell.label] = apart
            if work.todo:
                self._checkpoint(work)
        elif event.kind == "progress" and isinstance(event.result, tuple):
            work.at = tuple(r for r in event.result if r in work.todo)
        elif event.kind == "done":
            for repetition in work.todo:
                work.outcomes[repetition] = lost_outcome(
                    work.cell, repetition, "failed", "its worker sent no result of it"
                )
            self._finish(key)
        else:
            work.unwritten = True
            status: Status = "timeout" if event.kind == "timeout" else "failed"
            if len(work.at) > 1:
                # Whose fault it was will show when each of them runs alone.
                work.together = False
            else:
                # Before its first repetition, the worker was loading what all of them need.
                for repetition in work.at or work.todo:
                    work.outcomes[repetition] = lost_outcome(
                        work.cell, repetition, status, event.error or "unknown"
                    )
            work.at = ()
            if work.todo:
                self._checkpoint(work)
                self._again.append(key)
            else:
                self._finish(key)

    def _checkpoint(self, work: _Work) -> None:
        if time.monotonic() - work.written >= CHECKPOINT_SECONDS:
            self.store.write(work.record())
            work.written = time.monotonic()
            work.unwritten = False

    def _finish(self, key: int) -> None:
        work = self._works[key]
        record = work.record()
        self.store.write(record)
        work.unwritten = False
        self._settle(key, record)

    def _settle(self, key: int, record: Record) -> None:
        work = self._works[key]
        self._claims.release(work.path)
        self._open.discard(key)
        self._active.discard(key)
        work.outcomes = {}
        if record.complete:
            self.n_done += 1
            return
        self._failed_cells.add(work.cell.label)
        self.failures += [
            Failure(work.cell, o.repetition, o.status, str(o.error)) for o in record.failures
        ]


def _stamp(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def _remaining(work: _Work, average: float) -> float:
    one = average if work.seconds is None else work.seconds
    return one * len(work.todo)
