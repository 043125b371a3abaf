"""The one engine that runs cells: worker processes for the fits, a lock for each cell.

``experiments.reproduce`` and the jobs of a Hydra sweep both call :meth:`Engine.run`. It keeps these
promises:

- A fit runs in a worker process. A worker that dies or exceeds its time limit costs the repetition
  that it was running; pebble puts a new one in its place. If it was training several repetitions as
  one program, each of them is run again alone, so that only the one at fault is lost.
- A cell is locked while it is run. The lock ends with its process, however that ends, so two runs
  on one directory share the work, and none waits for a dead one.
- A record is written when every repetition of its cell was run, whole. A kill, Ctrl-C or a full
  disk costs the cells at work and nothing that was finished.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple, TypeVar

from filelock import FileLock, Timeout
from pebble import ProcessExpired, ProcessPool

from experiments.cells.cell import Cell
from experiments.cells.repetitions import (
    cell_environment,
    describe_error,
    lost_outcome,
    record_of,
    run_repetitions,
)
from experiments.cells.state import cell_state
from experiments.store.records import Outcome, Record, RecordStore, Status

R = TypeVar("R")

BUSY_SECONDS = 1.0
"""How long a run waits for a cell that another run has locked before it takes up the next one."""


class CellError(RuntimeError):
    """A cell that cannot be run at all: no data, a wrong class, code that has changed."""


class LostWorkerError(RuntimeError):
    """A worker process died, or was ended at the time limit; ``status`` says which."""

    def __init__(self, status: Status, error: str) -> None:
        super().__init__(error)
        self.status = status


class Engine:
    """Runs cells into a store, ``n_workers`` fits at once.

    ``timeout_seconds`` limits a repetition in place of the cells' own limits.
    """

    def __init__(
        self, store: RecordStore, *, n_workers: int = 1, timeout_seconds: float | None = None
    ) -> None:
        self.store = store
        self.n_workers = n_workers
        self.timeout_seconds = timeout_seconds
        self._pool: ProcessPool | None = None
        self._futures: set[Future[Any]] = set()
        self._mutex = threading.Lock()
        self._stopped = False

    def run(self, cell: Cell, *, force: bool = False, wait: float = -1) -> tuple[Record, bool]:
        """Run a cell, or read its record if it is complete; say whether it was run.

        With ``force`` it is run in any case. If another process is at the cell, it is waited for,
        or ``filelock.Timeout`` raised after ``wait`` seconds.
        """
        try:
            data_sha256 = cell.data_sha256()
            identity = cell.identity(data_sha256)
        except (Exception, SystemExit) as error:  # as many kinds as there are data sets
            raise CellError(f"cannot be run: {describe_error(error)}") from error
        with self._lock(cell).acquire(timeout=wait):
            found = cell_state(cell, self.store)
            if found.state == "done" and found.record is not None and not force:
                return found.record, False
            outcomes, where = self._outcomes(cell, identity)
            record = record_of(cell, data_sha256, outcomes, where)
            self.store.write(record)
            return record, True

    def call(
        self, function: Callable[..., R], *arguments: Any, timeout_seconds: float | None = None
    ) -> R:
        """Call a function, importable by name, in a worker process."""
        with self._mutex:
            if self._stopped:
                raise CancelledError
            if self._pool is None or not self._pool.active:
                self._pool = _start_pool(self.n_workers)
            future = self._pool.schedule(function, arguments, timeout=timeout_seconds)
            self._futures.add(future)
        try:
            return future.result()
        except TimeoutError:
            raise LostWorkerError(
                "timeout", f"the time limit of {timeout_seconds:g} s was exceeded"
            ) from None
        except ProcessExpired as error:
            raise LostWorkerError("failed", _death(error.exitcode)) from None
        finally:
            self._futures.discard(future)

    def time_limit(self, cell: Cell, n_repetitions: int) -> float | None:
        """Seconds that some repetitions of a cell may take in one call; None without a limit."""
        limit = self.timeout_seconds or cell.timeout_seconds
        return None if limit is None else limit * n_repetitions

    def stop(self) -> None:
        """End the workers; cells at work are given up, and nothing of them is written."""
        with self._mutex:
            self._stopped = True
        for future in tuple(self._futures):
            future.cancel()
        if self._pool is not None:
            self._pool.stop()  # type: ignore[no-untyped-call]
            self._pool.join()

    def _lock(self, cell: Cell) -> FileLock:
        name = f"{cell.dataset}-{cell.task}-{cell.method}-{cell.config_sha256[:12]}.lock"
        path = self.store.root / ".locks" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(path)

    def _outcomes(self, cell: Cell, identity: str) -> tuple[list[Outcome], dict[str, Any]]:
        """Run the repetitions, a worker's task each or all as one; say what they ran on, too."""
        alone = [[r] for r in range(cell.n_repetitions)]
        groups = deque([[r for (r,) in alone]] if cell.trains_together else alone)
        outcomes: list[Outcome] = []
        where = None
        while groups:
            group = groups.popleft()
            seconds = self.time_limit(cell, len(group))
            try:
                found, where = self.call(
                    work, cell.config, identity, group, timeout_seconds=seconds
                )
            except LostWorkerError as lost:
                if len(group) > 1:  # whose fault it was shows when each of them runs alone
                    groups.extend(alone)
                    continue
                found = [lost_outcome(cell, group[0], lost.status, str(lost))]
            if [(o.repetition, o.seed) for o in found] != [(r, cell.seed(r)) for r in group]:
                raise CellError("a worker sent results of other repetitions or of other seeds")
            outcomes += found
        return outcomes, where or cell_environment(cell)


def work(
    config: dict[str, Any], identity: str, repetitions: Sequence[int]
) -> tuple[list[Outcome], dict[str, Any]]:
    """Run repetitions of a cell and say what they ran on; the body of a worker's task.

    CellError: the worker has loaded other code, data or libraries than the run was planned with.
    """
    try:
        cell = Cell(config)  # anew, so that nothing is taken over from the process that planned
        for module in cell.modules:
            importlib.import_module(module)
        if cell.identity(cell.data_sha256()) != identity:
            raise CellError(
                "code, data or libraries have changed since the run began; start the run again"
            )
        return run_repetitions(cell, repetitions), cell_environment(cell)
    except CellError:
        raise
    except Exception as error:
        raise CellError(describe_error(error)) from None  # as text: it can always be sent


class Ended(NamedTuple):
    """A cell that has come to its end: its record, or the error if it could not be run at all."""

    cell: Cell
    record: Record | None
    error: str | None = None

    @property
    def errors(self) -> list[str]:
        """A line on each repetition that is not done, or on the cell as a whole."""
        return [str(self.error)] if self.record is None else self.record.errors


def run_all(engine: Engine, cells: Sequence[Cell]) -> Generator[Ended | None, None, None]:
    """Run cells in this order, some at once; yield each at its end, and None once a second.

    Cells that another run has locked are put off to the end. OSError: a record cannot be written.
    The engine is stopped at the end.
    """
    waiting = deque(cells)
    at_work: dict[Future[tuple[Record, bool]], Cell] = {}
    with ThreadPoolExecutor(engine.n_workers) as threads:
        try:
            while waiting or at_work:
                while waiting and len(at_work) < engine.n_workers:
                    cell = waiting.popleft()
                    at_work[threads.submit(engine.run, cell, wait=BUSY_SECONDS)] = cell
                ended, _ = wait(at_work, timeout=1.0, return_when=FIRST_COMPLETED)
                if not ended:
                    yield None
                for future in ended:
                    cell = at_work.pop(future)
                    try:
                        yield Ended(cell, future.result()[0])
                    except Timeout:
                        waiting.append(cell)
                    except CellError as error:
                        yield Ended(cell, None, str(error))
        finally:
            engine.stop()


def _start_pool(n_workers: int) -> ProcessPool:
    # Workers are forked from a process that has imported what they need and computed nothing, so
    # that each starts at once, also in place of one that died.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["experiments.running.preload"])
    pool = ProcessPool(n_workers, initializer=_prepare, context=context)
    # Workers inherit what is blocked. Ctrl-C reaches the whole process group, also workers that are
    # still starting; what becomes of them, this process decides.
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        assert pool.active  # starts it
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)
    return pool


def _prepare() -> None:
    """Make a new worker ready, before any time limit counts."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    importlib.import_module("experiments.running.preload")


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _death(exitcode: int) -> str:
    if exitcode >= 0:
        return f"the worker process ended with exit code {exitcode}"
    name = signal.Signals(-exitcode).name
    hint = "; the system may have run out of memory" if name == "SIGKILL" else ""
    return f"the worker process was ended by {name}{hint}"
