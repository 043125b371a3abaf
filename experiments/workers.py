"""Cells in parallel, one a process, so that nothing a cell does can end the run.

Each worker is a fresh process that runs one cell after another, with one numerical thread. A
worker that dies (out of memory, a crash in compiled code) or exceeds the time limit loses its cell
and nothing else: the cell is reported as lost, and a new worker takes the place.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from experiments.threads import limit_threads

J = TypeVar("J")
R = TypeVar("R")


@dataclass(frozen=True)
class Event(Generic[J, R]):
    """Something that happened to a job.

    Attributes
    ----------
    kind : {"started", "done", "failed", "timeout"}
        "failed" covers an exception and a worker's death.
    job : J
    result : R or None
        Given where kind is "done".
    error : str or None
        Given where kind is "failed" or "timeout".
    """

    kind: str
    job: J
    result: R | None = None
    error: str | None = None


@dataclass
class _Worker(Generic[J]):
    process: BaseProcess
    connection: Connection
    job: J | None = None
    deadline: float | None = None


def _serve(connection: Connection, function: Callable[[Any], Any]) -> None:
    """Run jobs until the parent closes the connection; the body of a worker process."""
    # Ctrl-C reaches the whole process group; the parent decides what becomes of the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_threads()
    while True:
        try:
            job = connection.recv()
        except EOFError:
            return
        try:
            answer: tuple[Any, str | None] = (function(job), None)
        except Exception as error:
            answer = (None, f"{type(error).__name__}: {error}")
        try:
            connection.send(answer)
        except BrokenPipeError:
            return


def run_jobs(
    function: Callable[[J], R],
    jobs: Sequence[J],
    *,
    n_workers: int,
    timeout_seconds: float | None = None,
) -> Iterator[Event[J, R]]:
    """Run jobs in worker processes and yield what happens as it happens.

    Parameters
    ----------
    function : callable
        Importable by name, of one job; its result must be picklable.
    jobs : sequence
        In the order in which they are to be started.
    n_workers : int
        Processes at work at once.
    timeout_seconds : float or None
        Limit for each job; its worker is killed when it is exceeded.

    Yields
    ------
    event : Event
        Each job is started once, and then done, failed or timed out once. Closing the iterator,
        or an exception in the loop over it, kills the workers.
    """
    context = multiprocessing.get_context("spawn")

    def start() -> _Worker[J]:
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, function), daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, ours)

    waiting = deque(jobs)
    workers: list[_Worker[J]] = []
    try:
        while waiting or any(worker.job is not None for worker in workers):
            # A worker that died between two jobs is replaced before it gets another.
            for worker in [w for w in workers if w.job is None and not w.process.is_alive()]:
                _kill(worker)
                workers.remove(worker)
            while waiting and len(workers) < n_workers:
                workers.append(start())
            for worker in workers:
                if worker.job is None and waiting:
                    worker.job = waiting.popleft()
                    worker.deadline = (
                        None if timeout_seconds is None else time.monotonic() + timeout_seconds
                    )
                    with contextlib.suppress(OSError):  # A dead worker is noticed below.
                        worker.connection.send(worker.job)
                    yield Event("started", worker.job)
            busy = [worker for worker in workers if worker.job is not None]
            deadlines = [w.deadline for w in busy if w.deadline is not None]
            ready = wait(
                [worker.connection for worker in busy],
                None if not deadlines else max(0.0, min(deadlines) - time.monotonic()),
            )
            for worker in busy:
                event = _event(worker, worker.connection in ready)
                if event is None:
                    continue
                worker.job = None
                if event.kind == "timeout" or not worker.process.is_alive():
                    _kill(worker)
                    workers.remove(worker)
                yield event
    finally:
        for worker in workers:
            _kill(worker)


def _event(worker: _Worker[J], ready: bool) -> Event[J, Any] | None:
    """What became of a busy worker's job; None where it is still at work."""
    job = worker.job
    assert job is not None
    if ready:
        try:
            result, error = worker.connection.recv()
        except (EOFError, OSError):
            worker.process.join(timeout=5)
            return Event("failed", job, error=_death(worker.process.exitcode))
        if error is not None:
            return Event("failed", job, error=error)
        return Event("done", job, result=result)
    if worker.deadline is not None and time.monotonic() >= worker.deadline:
        return Event("timeout", job, error="the time limit was exceeded and the worker killed")
    return None


def _death(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        name = signal.Signals(-exitcode).name
        hint = "; the system may have run out of memory" if name == "SIGKILL" else ""
        return f"the worker process was ended by {name}{hint}"
    return f"the worker process ended with exit code {exitcode}"


def _kill(worker: _Worker[Any]) -> None:
    worker.connection.close()
    worker.process.kill()
    worker.process.join(timeout=5)
