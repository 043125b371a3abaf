"""Times and peak memory of cases that stand side by side, each in a process of its own.

A case is prepared (data, imports, fitted models) and then run several times. The repetitions of the
cases of a group are interleaved: one of each, then the next of each. What slows the machine for a
while slows all of them, and ratios hold. Nothing else runs at the same time.

A process is forked from a server that has loaded the libraries and has computed nothing, so that
no case inherits another's memory. Peak memory is that of the first run: the peak resident size less
the resident size when everything is prepared. On Linux the peak is reset before that; elsewhere, a
preparation that took more than the run hides it.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

MEGABYTE = 1e6
# torch's optimisers load torch._dynamo, a second's work, when the first one is made.
_PRELOAD = [
    "torch._dynamo",
    "sklearn.svm",
    "sklearn.dummy",
    "krda",
    "experiments.datasets.moons",
    "experiments.cells.protocol",
    "benchmarks.sections",
]


class CaseError(Exception):
    """A case that raised; the message holds what."""


class NotRun(Exception):
    """A case that cannot be run here; the message says why, for the table."""


@dataclass(frozen=True)
class Prepared:
    """A case that is ready.

    Attributes
    ----------
    run : callable
        What is timed. Each call does the same work.
    describe : callable
        From the result of a run to further columns of the row; not timed.
    """

    run: Callable[[], Any]
    describe: Callable[[Any], Mapping[str, Any]] = lambda result: {}


@dataclass(frozen=True)
class Case:
    """What is measured.

    Attributes
    ----------
    name : str
        Label of the row.
    prepare : callable
        A module's function, called with ``arguments`` in the case's process; gives
        :class:`Prepared` or raises :class:`NotRun`.
    arguments : mapping
    columns : mapping
        Columns that describe the case: sizes and the like.
    threads : int
    compared_to : str or None
        Name of the case of the same group that the ratio is taken to.
    series : str or None
        Cases of one series come in the order of their cost: when one exceeds the time limit, the
        later ones are not tried.
    run_seconds : float or None
        Its own limit in place of that of :class:`Limits`, where it is longer.
    """

    name: str
    prepare: Callable[..., Prepared]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)
    threads: int = 1
    compared_to: str | None = None
    series: str | None = None
    run_seconds: float | None = None


@dataclass(frozen=True)
class Limits:
    """How long to measure.

    Attributes
    ----------
    repetitions : int
        At most so many timed runs of a case.
    seconds : float
        For the repetitions of a case. Where the first run leaves no time for another, it is the
        one that counts; otherwise it only warms up.
    run_seconds : float
        A run that takes longer is ended, and the case recorded as not run.
    """

    repetitions: int = 5
    seconds: float = 8.0
    run_seconds: float = 60.0

    def repetitions_after(self, first: float) -> int:
        """Timed repetitions of a case whose first run took so many seconds; 0: none but that."""
        return min(self.repetitions, int(self.seconds / max(first, 1e-9)))


Row = dict[str, Any]


class Measurer:
    """Measures groups of cases one after another, and remembers which series became too slow.

    Parameters
    ----------
    limits : Limits
    tell : callable
        Given a line for each row.
    """

    def __init__(self, limits: Limits, tell: Callable[[str], None] = lambda line: None) -> None:
        self.limits = limits
        self.tell = tell
        self._too_slow: dict[str, str] = {}
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(_PRELOAD)

    def measure(self, cases: Sequence[Case]) -> list[Row]:
        """Measure the cases of a group, interleaved.

        Parameters
        ----------
        cases : sequence of Case
            Names differ.

        Returns
        -------
        rows : list of dict
            One a case, in order: ``case``, its columns, ``threads``, ``seconds`` (median),
            ``seconds_min``, ``seconds_max``, ``cpu_seconds`` (processor time, median),
            ``repetitions``, ``peak_mb``, ``ratio``, ``compared_to``, what the case describes of its
            result, and ``status``: "done", "not run: ..." with the reason, or "failed: ..." with
            the error. Where ``n`` is a column, ``rows_per_second``, too.
        """
        running: dict[str, _Process] = {}
        rows: dict[str, Row] = {
            case.name: {"case": case.name, **case.columns, "threads": case.threads}
            for case in cases
        }
        try:
            for case in cases:
                try:
                    running[case.name] = self._first_run(case)
                except NotRun as reason:
                    rows[case.name]["status"] = f"not run: {reason}"
                except CaseError as error:
                    rows[case.name]["status"] = f"failed: {error}"
            failures = self._repeat(running)
            for name, process in running.items():
                try:
                    rows[name] |= self._finished(process)
                except CaseError as error:
                    failures[name] = str(error)
            for name, told in failures.items():
                rows[name]["status"] = f"failed: {told}"
        finally:
            for process in running.values():
                process.close()
        for case in cases:
            row = rows[case.name]
            other = rows.get(case.compared_to or "", {}).get("seconds")
            if other and "seconds" in row and case.compared_to != case.name:
                row["ratio"] = row["seconds"] / other
                row["compared_to"] = case.compared_to
            self.tell(_line(row))
        return list(rows.values())

    def _first_run(self, case: Case) -> _Process:
        earlier = self._too_slow.get(case.series or "")
        if earlier is not None:
            raise NotRun(earlier)
        process = _Process(self._context, case)
        limit = max(self.limits.run_seconds, case.run_seconds or 0.0)
        try:
            # Preparing may load data, import libraries and fit: it gets more time.
            process.ask(None, 5 * limit + 60)
            process.first, process.first_cpu, process.peak = process.ask("first", limit)
        except TimeoutError:
            process.close()
            reason = f"takes more than {limit:g} s"
            if case.series is not None:
                sizes = ", ".join(f"{k} = {v}" for k, v in case.columns.items())
                self._too_slow[case.series] = f"{reason} at {sizes} already"
            raise NotRun(reason) from None
        except BaseException:
            process.close()
            raise
        return process

    def _repeat(self, running: dict[str, _Process]) -> dict[str, str]:
        """Run the cases again in turn; those that fail are ended, left out, and told with why."""
        failures = {}
        wanted = {n: self.limits.repetitions_after(p.first) for n, p in running.items()}
        for k in range(max(wanted.values(), default=0)):
            for name, process in tuple(running.items()):
                if k < wanted[name]:
                    try:
                        # Generous: a machine that others use must not end a case half way.
                        answer = process.ask_on("again", 10 * self.limits.run_seconds)
                    except CaseError as error:
                        failures[name] = str(error)
                        # At once: one that hangs would slow the others.
                        running.pop(name).close()
                        continue
                    seconds, cpu_seconds, _ = answer
                    process.seconds.append(seconds)
                    process.cpu_seconds.append(cpu_seconds)
        return failures

    def _finished(self, process: _Process) -> Row:
        seconds = process.seconds or [process.first]
        typical = median(seconds)
        row: Row = {
            "seconds": typical,
            "seconds_min": min(seconds),
            "seconds_max": max(seconds),
            "cpu_seconds": median(process.cpu_seconds or [process.first_cpu]),
            "repetitions": len(seconds),
            "peak_mb": process.peak / MEGABYTE,
        }
        n = process.case.columns.get("n")
        if n:
            row["rows_per_second"] = n / typical
        described = process.ask_on("describe", 5 * self.limits.run_seconds + 60)
        return row | dict(described) | {"status": "done"}


class _Process:
    """The parent's end of a case's process."""

    def __init__(self, context: Any, case: Case) -> None:
        self.case = case
        self.seconds: list[float] = []
        self.cpu_seconds: list[float] = []
        self.first = self.first_cpu = self.peak = 0.0
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, case), daemon=True)
        self._process.start()
        theirs.close()

    def ask(self, request: str | None, seconds: float) -> Any:
        """Send a request, unless it is None, and wait for the answer."""
        try:
            if request is not None:
                self._ours.send(request)
            if not self._ours.poll(seconds):
                raise TimeoutError
            kind, answer = self._ours.recv()
        except (EOFError, OSError) as error:
            if isinstance(error, TimeoutError):
                raise
            self._process.join(10)
            raise NotRun(f"its process ended (exit code {self._process.exitcode})") from None
        if kind == "not run":
            raise NotRun(answer)
        if kind == "error":
            raise CaseError(answer)
        return answer

    def ask_on(self, request: str, seconds: float) -> Any:
        """Ask a case that has run once: whatever keeps it from answering now is its failure."""
        try:
            return self.ask(request, seconds)
        except NotRun as reason:
            raise CaseError(str(reason)) from None
        except TimeoutError:
            what = "a run after the first" if request == "again" else "describing the result"
            raise CaseError(f"{what} takes more than {seconds:g} s") from None

    def close(self) -> None:
        """End the process."""
        self._ours.close()
        self._process.kill()
        self._process.join()
        self._process.close()


def _serve(connection: Connection, case: Case) -> None:
    """Prepare a case and run it on request; the body of its process."""
    try:
        _set_threads(case.threads)
        prepared = case.prepare(**case.arguments)
        connection.send(("answer", None))
        result = None
        while True:
            request = connection.recv()
            if request == "describe":
                connection.send(("answer", dict(prepared.describe(result))))
                continue
            result = None  # The result of before must not count as this run's memory.
            before = _reset_peak() if request == "first" else 0.0
            begin, cpu_begin = time.perf_counter(), time.process_time()
            result = prepared.run()
            seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - cpu_begin
            connection.send(("answer", (seconds, cpu_seconds, max(_peak() - before, 0.0))))
    except EOFError:
        return
    except (NotRun, MemoryError) as reason:
        connection.send(("not run", str(reason) or "out of memory"))
    except Exception as error:
        connection.send(("error", f"{type(error).__name__}: {error}"))


def _set_threads(threads: int) -> None:
    import torch

    if threads > len(available_cores()):
        raise NotRun(f"{threads} threads on {len(available_cores())} core")
    torch.set_num_threads(threads)


def available_cores() -> set[int]:
    """Numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def _peak() -> float:
    """Peak resident size of this process in bytes."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(size) if sys.platform == "darwin" else 1024.0 * size


def _reset_peak() -> float:
    """Make the resident size of now the peak, where the system lets us; give the peak."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _peak()


def require(module: str) -> Any:
    """Import an optional library, or say that the case cannot be run without it."""
    if importlib.util.find_spec(module) is None:
        raise NotRun("not installed")
    return importlib.import_module(module)


def require_memory(needed: float, what: str, limit: float = 6e9) -> None:
    """Refuse a case before it allocates too much.

    Parameters
    ----------
    needed : float
        Bytes.
    what : str
        What takes them.
    limit : float
        Bytes that a case may take.
    """
    if needed > limit:
        raise NotRun(f"{what} would take {needed / 1e9:.0f} GB, more than {limit / 1e9:.0f} GB")


def _line(row: Row) -> str:
    sizes = ", ".join(f"{k}={row[k]}" for k in ("d", "n", "kind") if k in row)
    name = f"{row['case']} ({sizes}, threads={row['threads']})"
    if row["status"] != "done":
        return f"{name}: {row['status']}"
    ratio = f", {row['ratio']:.2f} x {row['compared_to']}" if "ratio" in row else ""
    return f"{name}: {row['seconds']:.4g} s, {row['peak_mb']:.0f} MB{ratio}"
