"""Times and peak memory of cases that are compared, each in a process of its own.

A case is prepared (data, imports, fitted models) and then run several times. The runs of the cases
of a group are interleaved: one of each, then the next of each. A slow phase of the machine then
slows all of them, and ratios hold. Nothing else runs at the same time.

Processes are forked from a server that has loaded the libraries and computed nothing. Peak memory
is that of the first run: the peak resident size less the resident size when all was prepared.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from joblib import cpu_count
from pebble import ProcessExpired, ProcessPool

Row = dict[str, Any]
# torch's optimisers load torch._dynamo, a second's work, when the first one is made.
_PRELOAD = ["torch._dynamo", "sklearn.svm", "sklearn.dummy", "krda.estimator", "krda._fast",
            "speed.cases"]  # fmt: skip


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
    pools = {case.name: ProcessPool(1, context=context) for case in cases}
    running = {case.name: _steps(case, limits, pools[case.name]) for case in cases}
    rows: dict[str, Row] = {
        case.name: {"case": case.name}
        | {name: case.arguments[name] for name in ("d", "n") if name in case.arguments}
        | {"threads": case.threads}
        for case in cases
    }
    try:
        while running:
            for name, steps in tuple(running.items()):
                try:
                    rows[name] |= next(steps)
                except StopIteration:
                    del running[name]
                except Exception as error:
                    rows[name]["status"] = _reason(error)
                    del running[name]
                    _end(pools[name])
    finally:
        for pool in pools.values():
            _end(pool)
    for case in cases:
        row, other = rows[case.name], rows[case.compared_to or case.name]
        if other is not row and "seconds" in row and "seconds" in other:
            row |= {"ratio": row["seconds"] / other["seconds"], "compared_to": other["case"]}
    return list(rows.values())


def _steps(case: Case, limits: Limits, pool: ProcessPool) -> Iterator[Row]:
    """Prepare a case and run it several times, other cases in between; give its columns at last."""

    def ask(seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return pool.schedule(function, arguments, timeout=seconds).result()
        except ProcessExpired:
            raise RuntimeError("its process ended") from None

    limit = limits.run_seconds
    ask(5 * limit + 60, _prepare, case)  # loads data and libraries, and may fit
    try:
        first, cpu, peak = ask(limit, _run)
    except TimeoutError:
        raise NotRun(f"takes more than {limit:g} s") from None
    yield {}
    # The first run counts only if there is no time for another.
    times = []
    for _ in range(min(limits.repetitions, int(limits.seconds / max(first, 1e-9)))):
        # Generous: a machine that others use must not end a case half way.
        times.append(ask(10 * limit, _run)[:2])
        yield {}
    seconds, cpus = zip(*(times or [(first, cpu)]), strict=True)
    described = ask(5 * limit + 60, _describe)
    found: Row = {
        "status": "done",
        "seconds": median(seconds),
        "seconds_min": min(seconds),
        "seconds_max": max(seconds),
        "cpu_seconds": median(cpus),
        "repetitions": len(seconds),
    }
    if "n" in case.arguments:
        found["rows_per_second"] = case.arguments["n"] / found["seconds"]
    yield found | {"peak_mb": peak / 1e6, **described}


def _reason(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"not run: not installed ({error.name})"
    kind = "not run" if isinstance(error, NotRun) else f"failed: {type(error).__name__}"
    return f"{kind}: {error}"


def _end(pool: ProcessPool) -> None:
    """End a process, whatever it does."""
    pool.stop()  # type: ignore[no-untyped-call]
    pool.join()


# The state of a case's process.
_prepared: Prepared
_result: Any = None


def _prepare(case: Case) -> None:
    global _prepared
    import torch

    from krda._switch import fast_functions

    if case.threads > cpu_count():
        raise NotRun(f"{case.threads} threads on {cpu_count()} core")
    torch.set_num_threads(case.threads)
    functions = fast_functions()
    for name, function in tuple(functions.items()):
        if case.without is not None and function.__module__.startswith(case.without):
            del functions[name]
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
