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
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

Row = dict[str, Any]
LOOPS = "krda._fast.loops"  # what numba compiles
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
    :class:`NotRun`. ``columns`` describe the case in its row. The ratio is taken to the case of
    the group named ``compared_to``. Cases of one ``series`` come in the order of their cost: if
    one exceeds its time limit, the later ones are not tried. ``without`` names what accelerates
    krda and is switched off: ``krda._fast``, or a module of it.
    """

    name: str
    prepare: Callable[..., Prepared]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)
    threads: int = 1
    compared_to: str | None = None
    series: str | None = None
    without: str | None = None
    limit: float = 0.0


@dataclass(frozen=True)
class Limits:
    """Timed runs of a case, the seconds that they may take, and those that one run may take.

    If the first run leaves no time for another, it counts; otherwise it only warms up.
    """

    repetitions: int = 5
    seconds: float = 3.0
    run_seconds: float = 30.0

    def repetitions_after(self, first: float) -> int:
        """Number of timed runs after a first one that took ``first`` seconds."""
        return min(self.repetitions, int(self.seconds / max(first, 1e-9)))


class Measurer:
    """Measures groups of cases one after another, and remembers which series became too slow."""

    def __init__(self, limits: Limits, report: Callable[[str], None] = lambda line: None) -> None:
        self.limits = limits
        self.report = report
        self._too_slow: dict[str, str] = {}
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(_PRELOAD)

    def measure(self, cases: Sequence[Case]) -> list[Row]:
        """Measure the cases of a group: one row a case, in order.

        ``status`` is "done", "not run: REASON" or "failed: ERROR". Rows that are done have
        ``seconds`` (the median, with ``seconds_min`` and ``seconds_max``), ``cpu_seconds``,
        ``repetitions``, ``rows_per_second`` if ``n`` is a column, ``peak_mb``, ``ratio`` and
        ``compared_to``, and what the case describes of its result.
        """
        rows: dict[str, Row] = {}
        running: dict[str, _Worker] = {}
        for case in cases:
            rows[case.name] = {"case": case.name, **case.columns, "threads": case.threads}
            running[case.name] = _Worker(case, self._context)
        try:
            self._each(running, rows, self._first_run)
            for k in range(self.limits.repetitions):
                self._each(running, rows, partial(self._run_again, k))
            self._each(
                running, rows, lambda worker: rows[worker.case.name].update(self._row(worker))
            )
        finally:
            for worker in running.values():
                worker.close()
        for case in cases:
            row, other = rows[case.name], rows.get(case.compared_to or "", {})
            if case.compared_to != case.name and "seconds" in row and "seconds" in other:
                row |= {"ratio": row["seconds"] / other["seconds"], "compared_to": other["case"]}
            self.report(", ".join(f"{k} {v}" for k, v in row.items() if k in _REPORTED))
        return list(rows.values())

    def _each(
        self,
        running: dict[str, _Worker],
        rows: dict[str, Row],
        step: Callable[[_Worker], object],
    ) -> None:
        """Take a step with every case that still runs; one that fails is closed at once."""
        for name, worker in tuple(running.items()):
            try:
                step(worker)
            except Exception as error:
                what = "not run" if isinstance(error, NotRun) else f"failed: {type(error).__name__}"
                rows[name]["status"] = f"{what}: {error}"
                running.pop(name).close()

    def _first_run(self, worker: _Worker) -> None:
        case = worker.case
        if case.series in self._too_slow:
            raise NotRun(self._too_slow[case.series])
        limit = max(self.limits.run_seconds, case.limit)
        worker.ask(5 * limit + 60, _prepare, case)  # loads data and libraries, and may fit
        try:
            first, cpu, worker.peak = worker.ask(limit, _run, True)
        except TimeoutError:
            reason = f"takes more than {limit:g} s"
            if case.series is not None:
                sizes = ", ".join(f"{k} = {v}" for k, v in case.columns.items())
                self._too_slow[case.series] = f"{reason} at {sizes} already"
            raise NotRun(reason) from None
        worker.times = [(first, cpu)]
        worker.wanted = self.limits.repetitions_after(first)

    def _run_again(self, k: int, worker: _Worker) -> None:
        if k < worker.wanted:
            # Generous: a machine that others use must not end a case half way.
            seconds, cpu, _ = worker.ask(10 * self.limits.run_seconds, _run, False)
            worker.times = [*(worker.times if k else []), (seconds, cpu)]

    def _row(self, worker: _Worker) -> Row:
        seconds, cpu = zip(*worker.times, strict=True)
        row: Row = {
            "status": "done",
            "seconds": median(seconds),
            "seconds_min": min(seconds),
            "seconds_max": max(seconds),
            "cpu_seconds": median(cpu),
            "repetitions": len(seconds),
        }
        if "n" in worker.case.columns:
            row["rows_per_second"] = worker.case.columns["n"] / row["seconds"]
        row["peak_mb"] = worker.peak / 1e6
        return row | worker.ask(5 * self.limits.run_seconds + 60, _describe)


_REPORTED = ("case", "d", "n", "status", "seconds", "peak_mb", "ratio")


class _Worker:
    """The process of a case, as its parent sees it."""

    def __init__(self, case: Case, context: Any) -> None:
        self.case = case
        self.times: list[tuple[float, float]] = []
        self.wanted = 0
        self.peak = 0.0
        self._pool = ProcessPoolExecutor(1, context)
        self._pid = self._pool.submit(os.getpid).result()

    def ask(self, seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in the process; raise what it raises, or TimeoutError."""
        try:
            return self._pool.submit(function, *arguments).result(seconds)
        except BrokenProcessPool:
            raise RuntimeError("its process ended") from None

    def close(self) -> None:
        """End the process, whatever it does."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        self._pool.shutdown()


# The state of a case's process.
_prepared: Prepared
_result: Any = None


def _prepare(case: Case) -> None:
    global _prepared
    import torch

    if case.threads > len(available_cores()):
        raise NotRun(f"{case.threads} threads on {len(available_cores())} core")
    torch.set_num_threads(case.threads)
    if case.without is not None:
        switch_off(case.without)
    _prepared = case.prepare(**case.arguments)


def _run(first: bool) -> tuple[float, float, float]:
    """Give wall time, processor time, and for a first run the peak memory in bytes."""
    global _result
    _result = None  # The result of before must not count as this run's memory.
    before = _reset_peak() if first else 0.0
    begin, cpu_begin = time.perf_counter(), time.process_time()
    _result = _prepared.run()
    seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - cpu_begin
    return seconds, cpu_seconds, max(_peak() - before, 0.0)


def _describe() -> Row:
    return dict(_prepared.describe(_result))


def _peak() -> float:
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(size) if sys.platform == "darwin" else 1024.0 * size


def _reset_peak() -> float:
    """Make the resident size of now the peak if the system allows it; give the peak."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _peak()


def switch_off(accelerators: str) -> None:
    """Switch off the accelerators of krda in a module of ``krda._fast``, for this process."""
    from krda._switch import fast_functions

    functions = fast_functions()
    for name, function in tuple(functions.items()):
        if function.__module__.startswith(accelerators):
            del functions[name]


def available_cores() -> set[int]:
    """Numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def require(module: str) -> Any:
    """Import an optional library, or say that the case cannot be run without it."""
    if importlib.util.find_spec(module) is None:
        raise NotRun("not installed")
    return importlib.import_module(module)


def require_memory(needed: float, what: str, limit: float = 6e9) -> None:
    """Refuse a case before it allocates more bytes than the limit."""
    if needed > limit:
        raise NotRun(f"{what} would take {needed / 1e9:.0f} GB, more than {limit / 1e9:.0f} GB")
