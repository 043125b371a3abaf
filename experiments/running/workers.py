"""Jobs in parallel, one a process, so that nothing a job does can end the run.

Each worker is a fresh process that runs one job after another, with one numerical thread. A worker
that dies (out of memory, a crash in compiled code) or exceeds the time limit loses its job and
nothing else: the job is reported as lost, and a new worker takes the place. Workers end by
themselves when the process that started them is gone.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from experiments.threads import limit_threads

J = TypeVar("J")
R = TypeVar("R")

Report = Callable[[Any], None]
"""What a job calls with news of itself, which come out as events of kind 'progress'."""

_STOPPING = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True)
class Event(Generic[J, R]):
    """Something that happened to a job.

    Attributes
    ----------
    kind : {"started", "progress", "done", "failed", "timeout", "tick"}
        "failed" covers an exception and a worker's death. "tick" is of no job: time has passed.
    job : J or None
        None for a tick alone.
    result : R or None
        Given where kind is "done"; where it is "progress", what the job reported.
    error : str or None
        Given where kind is "failed" or "timeout".
    """

    kind: str
    job: J | None = None
    result: R | Any | None = None
    error: str | None = None


@dataclass
class _Worker(Generic[J]):
    process: BaseProcess
    connection: Connection
    job: J | None = None
    number: int = -1  # of the job, in the order in which jobs are started
    limit: float | None = None
    deadline: float | None = None

    def restart_clock(self, limit: float | None) -> None:
        """Count a time limit from now."""
        self.limit = limit
        self.deadline = None if limit is None else time.monotonic() + limit


def _serve(
    connection: Connection,
    function: Callable[[Any, Report], Any],
    prepare: Callable[[], object] | None,
) -> None:
    """Run jobs until the parent closes the connection; the body of a worker process."""
    # Ctrl-C reaches the whole process group; the parent decides what becomes of the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    limit_threads()
    if prepare is not None:
        prepare()

    own = os.getpid()
    number = -1

    def send(kind: str, content: Any) -> None:
        if os.getpid() != own:
            # A child that the job has forked came back from it. One process answers for a job.
            os._exit(1)
        connection.send((number, kind, content))

    def report(news: Any) -> None:
        send("progress", news)

    while True:
        try:
            number, job = connection.recv()
        except (EOFError, OSError):
            return
        try:
            send("started", None)
            answer = ("done", function(job, report))
        except BrokenPipeError:
            return
        except (Exception, SystemExit) as error:
            answer = ("failed", _describe(error))
        try:
            send(*answer)
        except BrokenPipeError:
            return


def _describe(error: BaseException) -> str:
    from experiments.cells.cell import describe_error

    return describe_error(error)


def _end_with_parent() -> None:
    """Wait for the parent's end, then end: nobody is there to take the result."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def run_jobs(
    function: Callable[[J, Report], R],
    jobs: Iterable[J | None],
    *,
    n_workers: int,
    prepare: Callable[[], object] | None = None,
    timeout_seconds: Callable[[J, Any], float | None] | None = None,
    tick_seconds: float = 1.0,
) -> Iterator[Event[J, R]]:
    """Run jobs in worker processes and yield what happens as it happens.

    Parameters
    ----------
    function : callable
        Importable by name, of one job and of a function to report with; its result and its reports
        must be picklable.
    jobs : iterable
        In the order in which they are to be started; asked for the next one when a worker is free.
        None means that there is nothing to start now, but that there may be later.
    n_workers : int
        Processes at work at once.
    prepare : callable or None
        Importable by name; a worker calls it before its first job, to load libraries.
    timeout_seconds : callable or None
        Limit for a job, or None. The clock starts when the worker starts the job, after it has
        loaded its libraries, and again with each report; at the end the worker is killed. Called
        each time, with the job and what it has just reported, None at the start.
    tick_seconds : float
        Longest time without an event.

    Yields
    ------
    event : Event
        Each job is started once, and then done, failed or timed out once; a worker that dies while
        it loads loses its job before it was started. Closing the iterator, or an exception in the
        loop over it, kills the workers.
    """
    context = multiprocessing.get_context("spawn")
    source = iter(jobs)
    numbers = itertools.count()
    exhausted = False
    workers: list[_Worker[J]] = []
    try:
        while not exhausted or any(worker.job is not None for worker in workers):
            # A worker that died between two jobs is replaced before it gets another.
            for worker in [w for w in workers if w.job is None and not w.process.is_alive()]:
                _kill([worker])
                workers.remove(worker)
            while not exhausted and sum(worker.job is not None for worker in workers) < n_workers:
                try:
                    job = next(source)
                except StopIteration:
                    exhausted = True
                    break
                if job is None:
                    break
                idle = next((worker for worker in workers if worker.job is None), None)
                if idle is None:
                    idle = _start(context, function, prepare)
                    workers.append(idle)
                idle.job, idle.number, idle.deadline = job, next(numbers), None
                with contextlib.suppress(OSError):  # A dead worker is noticed below.
                    idle.connection.send((idle.number, job))
            busy = [worker for worker in workers if worker.job is not None]
            if not busy and exhausted:
                return
            deadlines = [w.deadline - time.monotonic() for w in busy if w.deadline is not None]
            wait(
                [c for w in busy for c in (w.connection, w.process.sentinel)],
                max(0.0, min([tick_seconds, *deadlines])),
            )
            happened = False
            for worker in busy:
                event = _event(worker)
                if event is None:
                    continue
                happened = True
                if event.kind in ("started", "progress") and worker.job is not None:
                    worker.restart_clock(
                        None
                        if timeout_seconds is None
                        else timeout_seconds(worker.job, event.result)
                    )
                else:
                    worker.job = None
                    if event.kind in ("timeout", "lost") or not worker.process.is_alive():
                        _kill([worker])
                        workers.remove(worker)
                if event.kind == "lost":
                    event = replace(event, kind="failed")
                yield event
            if not happened:
                yield Event("tick")
    finally:
        _kill(workers)


def _start(
    context: Any,
    function: Callable[[J, Report], Any],
    prepare: Callable[[], object] | None,
) -> _Worker[J]:
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, function, prepare), daemon=True)
    # A child inherits what is blocked. Else Ctrl-C, or the SIGTERM that a scheduler sends to the
    # whole group, would end it before the parent has put away what is done.
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)
    theirs.close()
    return _Worker(process, ours)


def _event(worker: _Worker[J]) -> Event[J, Any] | None:
    """What became of a busy worker's job; None where it is still at work.

    Of the kind "lost" where the worker has failed and must go.
    """
    job = worker.job
    assert job is not None
    # Asked first: a worker may send its last words and end between the two questions.
    alive = worker.process.is_alive()
    if worker.connection.poll():
        try:
            number, kind, content = worker.connection.recv()
        except (EOFError, OSError):
            worker.process.join(timeout=5)
            return Event("lost", job, error=_death(worker.process.exitcode))
        except Exception as error:
            return Event("lost", job, error=f"the worker's message cannot be read: {error!r}")
        if number != worker.number:
            # What another process sends in a worker's place, or too late, is of no job.
            return None
        if kind == "failed":
            return Event("failed", job, error=content)
        return Event(kind, job, result=content)
    if not alive:
        # A child of the worker may keep the pipe open, so that its death need not end it.
        return Event("lost", job, error=_death(worker.process.exitcode))
    if worker.deadline is not None and time.monotonic() >= worker.deadline:
        return Event("timeout", job, error=f"the time limit of {worker.limit:g} s was exceeded")
    return None


def _death(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        name = signal.Signals(-exitcode).name
        hint = "; the system may have run out of memory" if name == "SIGKILL" else ""
        return f"the worker process was ended by {name}{hint}"
    return f"the worker process ended with exit code {exitcode}"


def _kill(workers: list[_Worker[J]]) -> None:
    for worker in workers:
        worker.connection.close()
        worker.process.kill()
    for worker in workers:
        worker.process.join(timeout=5)
