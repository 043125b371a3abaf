"""Times and peak memory of cases that are compared, each in a process of its own.

A case is prepared (data, imports, fitted models) and then run several times. The runs of the cases
of a group are interleaved: one of each, then the next of each. A slow phase of the machine then
slows all of them, and ratios hold. Nothing else runs at the same time.

Processes are forked from a server that has loaded the libraries and computed nothing. Peak memory
is that of the first run: the peak resident size less the resident size when all was prepared.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import multiprocessing
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from joblib import cpu_count
from pebble import ProcessExpired, ProcessPool

Row = dict[str, Any]
# torch's optimisers load torch._dynamo, a second's work, when the first one is made.
_PRELOAD = ["torch._dynamo", "sklearn.svm", "sklearn.dummy", "krda.estimator", "krda._fast",
            "speed.sections"]  # fmt: skip


class NotRun(Exception):
    """A case that cannot be run here; the message is the reason that the table gives."""


@dataclass(frozen=True)
class Prepared:
    """A case that is ready: what is timed, and what its result adds to the row."""

    run: Callable[[], Any]
    describe: Callable[[Any], Mapping[str, Any]] = lambda result: {}


@dataclass(frozen=True)
class Case:
    """What is measured.

    ``prepare(**arguments)`` is a module's function that gives :class:`Prepared` or raises
    :class:`NotRun`. The ratio is taken to the case of the group named ``compared_to``. ``without``
    names what accelerates krda and is switched off: ``krda._fast``, or a module of it.
    """

    name: str
    prepare: Callable[..., Prepared]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    compared_to: str | None = None
    threads: int = 1
    without: str | None = None


@dataclass(frozen=True)
class Limits:
    """Timed runs of a case, the seconds that they may take, and those that one run may take.

    If the first run leaves no time for another, it counts; otherwise it only warms up.
    """

    repetitions: int = 5
    seconds: float = 3.0
    run_seconds: float = 60.0


def measure(cases: Sequence[Case], limits: Limits) -> list[Row]:
    """Measure the cases of a group: one row a case, in order.

    ``status`` is "done", "not run: REASON" or "failed: ERROR". Rows that are done have ``seconds``
    (the median, with ``seconds_min`` and ``seconds_max``), ``cpu_seconds``, ``repetitions``,
    ``rows_per_second`` if the case has a number of rows n, ``peak_mb``, ``ratio`` and
    ``compared_to``, and what the case describes of its result.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOAD)
    workers = {case.name: _Worker(case, limits, context) for case in cases}
    steps: list[Callable[[_Worker], None]] = [_Worker.first_run]
    steps += [_Worker.run_again] * limits.repetitions
    try:
        for step in (*steps, _Worker.finish):
            for worker in workers.values():
                worker.attempt(step)
    finally:
        for worker in workers.values():
            worker.close()
    rows = [worker.row for worker in workers.values()]
    for case, row in zip(cases, rows, strict=True):
        other = workers[case.compared_to].row if case.compared_to else row
        if other is not row and "seconds" in row and "seconds" in other:
            row |= {"ratio": row["seconds"] / other["seconds"], "compared_to": other["case"]}
    return rows


class _Worker:
    """The process of a case, as its parent sees it, and its row."""

    def __init__(self, case: Case, limits: Limits, context: Any) -> None:
        self.case, self.limits = case, limits
        self.row: Row = {"case": case.name}
        self.row |= {k: v for k, v in case.arguments.items() if k in ("d", "n")}
        self.row["threads"] = case.threads
        self._times: list[tuple[float, float]] = []
        self._wanted, self._peak = 0, 0.0
        self._pool = ProcessPool(1, context=context)

    def attempt(self, step: Callable[[_Worker], None]) -> None:
        """Take a step unless an earlier one failed; a failure ends the process."""
        if "status" in self.row:
            return
        try:
            step(self)
        except Exception as error:
            what = "not run" if isinstance(error, NotRun) else f"failed: {type(error).__name__}"
            self.row["status"] = f"{what}: {error}"
            self.close()

    def first_run(self) -> None:
        """Prepare the case and run it once."""
        limit = self.limits.run_seconds
        self._ask(5 * limit + 60, _prepare, self.case)  # loads data and libraries, and may fit
        try:
            first, cpu, self._peak = self._ask(limit, _run)
        except TimeoutError:
            raise NotRun(f"takes more than {limit:g} s") from None
        self._times = [(first, cpu)]
        self._wanted = min(self.limits.repetitions, int(self.limits.seconds / max(first, 1e-9)))

    def run_again(self) -> None:
        """Time a run if there is time for one; the first then does not count."""
        if self._wanted:
            # Generous: a machine that others use must not end a case half way.
            seconds, cpu, _ = self._ask(10 * self.limits.run_seconds, _run)
            self._times.append((seconds, cpu))
            self._wanted -= 1

    def finish(self) -> None:
        """Summarise the times, and describe the result."""
        described = self._ask(5 * self.limits.run_seconds + 60, _describe)
        seconds, cpu = zip(*(self._times[1:] or self._times), strict=True)
        self.row |= {
            "status": "done",
            "seconds": median(seconds),
            "seconds_min": min(seconds),
            "seconds_max": max(seconds),
            "cpu_seconds": median(cpu),
            "repetitions": len(seconds),
        }
        if "n" in self.row:
            self.row["rows_per_second"] = self.row["n"] / self.row["seconds"]
        self.row |= {"peak_mb": self._peak / 1e6, **described}

    def _ask(self, seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in the process; raise what it raises, or TimeoutError."""
        try:
            return self._pool.schedule(function, arguments, timeout=seconds).result()
        except ProcessExpired:
            raise RuntimeError("its process ended") from None

    def close(self) -> None:
        """End the process, whatever it does."""
        self._pool.stop()  # type: ignore[no-untyped-call]
        self._pool.join()


# The state of a case's process.
_prepared: Prepared
_result: Any = None


def _prepare(case: Case) -> None:
    global _prepared
    import torch

    if case.threads > cpu_count():
        raise NotRun(f"{case.threads} threads on {cpu_count()} core")
    torch.set_num_threads(case.threads)
    if case.without is not None:
        switch_off(case.without)
    _prepared = case.prepare(**case.arguments)


def _run() -> tuple[float, float, float]:
    """Give wall time, processor time, and the memory in bytes beyond that of before."""
    global _result
    _result = None  # The result of before must not count as this run's memory.
    with contextlib.suppress(OSError):  # makes the resident size of now the peak, on Linux
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before, begin, cpu_begin = _peak(), time.perf_counter(), time.process_time()
    _result = _prepared.run()
    seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - cpu_begin
    return seconds, cpu_seconds, _peak() - before


def _describe() -> Row:
    return dict(_prepared.describe(_result))


def _peak() -> float:
    return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def switch_off(accelerators: str) -> None:
    """Switch off the accelerators of krda in a module of ``krda._fast``, for this process."""
    from krda._switch import fast_functions

    functions = fast_functions()
    for name, function in tuple(functions.items()):
        if function.__module__.startswith(accelerators):
            del functions[name]


def require(module: str) -> Any:
    """Import an optional library, or say that the case cannot be run without it."""
    if importlib.util.find_spec(module) is None:
        raise NotRun("not installed")
    return importlib.import_module(module)
