"""Reproduce tables: plan, run what is missing, render, and say what failed.

::

    python -m experiments.reproduce                        all tables, into reproduction/
    python -m experiments.reproduce --table moons --method krda ot --jobs 4
    python -m experiments.reproduce --status               what is there; runs nothing
    python -m experiments.reproduce --check                the same; fails if a record is stale
    python -m experiments.reproduce --status --results results     of the committed results
    python -m experiments.reproduce --render               tables from records; runs nothing
    python -m experiments.reproduce --protocol smoke       tiny sizes, to see that all works

Records that are complete are not computed again, so an interrupted run goes on where it stopped,
and several runs on one directory share the work. The exit status is 1 if a cell failed, nothing
more could be written, a record is damaged (--status) or the check failed; 130 after Ctrl-C; 141 if
the reader of the output is gone, which ends the run; 74 if the output cannot be written. See
docs/runner.md.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.threads import set_thread_variables

set_thread_variables()

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from experiments.cells.cell import Cell, cell_state
from experiments.cells.configuration import config_names
from experiments.cells.curves import CurvePlan, curves_of
from experiments.cells.plan import TablePlan, default_tables, load_table, note_on_hepmass
from experiments.console import OutputLost, run_command
from experiments.datasets.raw import RawDataError
from experiments.directories import (
    COMMITTED_RESULTS,
    DEFAULT_RESULTS,
    check_results,
    nothing_there,
)
from experiments.settings import check_seconds
from experiments.store.records import RecordStore, one_line

# What runs or renders cells loads numerical libraries; --status does without.
if TYPE_CHECKING:
    from experiments.running.runner import Failure, Run

PLAIN_SECONDS = 30.0
"""Time between two lines of progress where there is no terminal."""


class _Console(Console):
    """Rich's console, which leaves a closed pipe to :func:`experiments.console.run_command`."""

    def on_broken_pipe(self) -> None:
        raise OutputLost(BrokenPipeError())


def results_path(text: str) -> Path:
    """Read ``--results`` of a command line."""
    try:
        return check_results("--results", text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.reproduce",
        description="Reproduce the paper's tables next to the published numbers.",
    )
    parser.add_argument(
        "--table",
        nargs="+",
        metavar="TABLE",
        help=f"tables to make: {', '.join(config_names('table'))} (default: all, but of HEPMASS "
        "the real data's where it is on this computer, else that of the simulation)",
    )
    parser.add_argument(
        "--method",
        nargs="+",
        metavar="METHOD",
        help="run, or count, only these methods; spaces or commas between them",
    )
    parser.add_argument("--protocol", default="paper", choices=config_names("protocol"))
    parser.add_argument(
        "--results",
        type=results_path,
        default=DEFAULT_RESULTS,
        help="where records, tables and figures go; the committed ones are in "
        f"{COMMITTED_RESULTS} (default: %(default)s)",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        help="cells run at once, one thread each (default: all cores)",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help="time limit for one repetition of a cell (default: timeout_seconds in the configs)",
    )
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--status", action="store_true", help="show what is there; run nothing")
    only.add_argument(
        "--check",
        action="store_true",
        help="show what is there, and fail if a record is stale, damaged or of data that cannot "
        "be loaded; run nothing",
    )
    only.add_argument("--render", action="store_true", help="render from records; run nothing")
    parsed = parser.parse_args(arguments)
    for group in ("table", "method"):
        try:
            setattr(parsed, group, split_names(getattr(parsed, group), config_names(group)))
        except ValueError as error:
            parser.error(f"argument --{group}: {error}")
    if parsed.jobs < 1:
        parser.error(f"--jobs must be at least 1, got {parsed.jobs}")
    try:
        check_seconds("--timeout", parsed.timeout)
    except ValueError as error:
        parser.error(str(error))
    return parsed


def split_names(given: Sequence[str] | None, known: Sequence[str]) -> list[str] | None:
    """Read names between which stand spaces, as in a shell, or commas, as in Hydra's grammar.

    Parameters
    ----------
    given : sequence of str or None
        The words of the command line; None where the option was not given.
    known : sequence of str
        Names that there are.

    Returns
    -------
    names : list of str or None
        Each once; None for None.

    Raises
    ------
    ValueError
        A name that is none of these, or none at all.
    """
    if given is None:
        return None
    names = list(dict.fromkeys(name for word in given for name in word.split(",") if name))
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        told = ", ".join(map(repr, unknown)) or "no name"
        raise ValueError(f"{told} given; choose from {', '.join(known)}")
    return names


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str or None
        None takes those of the process.

    Returns
    -------
    status : int
        The process's exit status.
    """
    options = parse_arguments(arguments)
    console = _Console(highlight=False, soft_wrap=True)
    store = RecordStore(options.results / "records")
    overrides = () if options.protocol == "paper" else (f"protocol={options.protocol}",)
    names = options.table or default_tables(store.root)
    console.print(f"Results: {options.results}", markup=False)
    note = note_on_hepmass(names)
    if note:
        console.print(note, markup=False)
    if options.status or options.check or options.render:
        absence = nothing_there(options.results)
        if absence:
            console.print(absence, markup=False)
        if absence and options.render:
            return 1
    tables = [load_table(name, overrides) for name in names]
    for method in options.method or ():
        if all(method not in table.methods for table in tables):
            console.print(
                f"{method} is in none of these tables: configs/table/ names their methods. One "
                f"cell of it: python -m experiments.run method={method}",
                markup=False,
            )
    if options.status or options.check:
        current, intact = show_status(
            console, tables, store, options.method, name_stale=options.check
        )
        return int(not current if options.check else not intact)
    failures: list[Failure] = []
    try:
        if not options.render:
            failures = run_tables(console, tables, store, options)
        status = render(console, tables, store, options)
    except KeyboardInterrupt:
        console.print("Interrupted. What is done is kept; the same command goes on from here.")
        return 130
    except RawDataError as error:
        console.print(str(error), markup=False)
        return 1
    except OSError as error:
        console.print(
            f"Stopped, for a file could not be read or written: {error}\n"
            "What is done is kept; once that is mended, the same command goes on from here.",
            markup=False,
        )
        return 1
    print_ledger(console, failures, options)
    return 1 if failures else status


def render(
    console: Console, tables: Sequence[TablePlan], store: RecordStore, options: argparse.Namespace
) -> int:
    """Write tables, figures and report from the records, and say where they are.

    Parameters
    ----------
    console : rich.console.Console
    tables : sequence of TablePlan
    store : RecordStore
    options : argparse.Namespace

    Returns
    -------
    status : int
        1 where a figure could not be made, else 0.
    """
    if not options.render:
        # Figures may fit. Nothing else needs what this loads.
        from experiments.threads import limit_threads

        limit_threads()
    from experiments.reading import render as reading
    from experiments.reading.agreement import compare_with_committed
    from experiments.whole_files import TEMPORARY, remove_old

    def say(line: str) -> None:
        console.print(line, markup=False)

    folders = (options.results, options.results / "tables", options.results / "figures")
    remove_old(path for folder in folders for path in folder.glob(f".*{TEMPORARY}"))
    # Of all tables together: a part of them would leave out the others' cells.
    whole = not options.table
    good = reading.render(tables, options.results, compute=not options.render, whole=whole, say=say)
    if not options.render and options.protocol == "paper":
        compare_with_committed(tables, store, RecordStore(COMMITTED_RESULTS / "records"), say)
    return int(not good)


def run_tables(
    console: Console, tables: Sequence[TablePlan], store: RecordStore, options: argparse.Namespace
) -> list[Failure]:
    """Run the cells that are not done, in parallel, and return what failed.

    Parameters
    ----------
    console : rich.console.Console
    tables : sequence of TablePlan
    store : RecordStore
    options : argparse.Namespace
        ``method``, ``jobs`` and ``timeout`` count here.

    Returns
    -------
    failures : list of Failure
    """
    from experiments.running.estimates import Estimates
    from experiments.running.runner import Run

    store.sweep()
    if any(table.dataset == "hepmass" for table in tables):
        from experiments.datasets.hepmass_prepare import ensure_prepared

        # Once, here, with its progress in sight, not in every worker's first cell.
        ensure_prepared()
    plans: list[TablePlan | CurvePlan] = [*tables, *curves_of(tables)]
    chosen = {plan.name: chosen_cells(plan, options.method) for plan in plans}
    for curve in plans[len(tables) :]:
        if chosen[curve.name]:
            console.print(
                f"With the tables of {curve.dataset} comes the learning curve {curve.name}: "
                f"{len(chosen[curve.name])} more cells.",
                markup=False,
            )
    cells = [cell for found in chosen.values() for cell in found]
    run = Run(
        cells,
        store,
        Estimates([store, RecordStore(COMMITTED_RESULTS / "records")]),
        n_workers=options.jobs,
        timeout_seconds=options.timeout,
    )
    for damaged in run.damaged:
        console.print(f"{damaged}: computed again", markup=False)
    left = run.seconds_left()
    about = f", {_duration(left)}" if left else ""
    console.print(
        f"{run.n_cells} cells: {run.n_before} done already, {run.n_to_run} to run on "
        f"{min(options.jobs, max(run.n_to_run, 1))} processes{about}"
    )
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(),
        console=console,
        # Where nobody looks, a bar is noise; a line now and then says what is to be said.
        disable=not console.is_terminal,
    )
    spoken = time.monotonic()
    with progress:
        bar = progress.add_task("cells", total=run.n_to_run, told=describe(run))
        shown = 0.0
        for _ in run.go():
            now = time.monotonic()
            if console.is_terminal and now - shown >= 0.2:
                names = ", ".join(run.running) or "cells"
                progress.update(bar, completed=run.n_done + run.n_failed,
                                description=escape(names), told=describe(run))  # fmt: skip
                shown = now
            if not console.is_terminal and now - spoken >= PLAIN_SECONDS:
                console.print(f"{time.strftime('%H:%M:%S')} {describe(run)}", markup=False)
                spoken = now
        progress.update(bar, completed=run.n_done + run.n_failed, told=describe(run))
    if run.n_to_run:
        console.print(describe(run))
    if run.apart:
        console.print("Repetitions ran one after another, for training them together failed:")
    for label, error in run.apart.items():
        console.print(f"  {label}: {error}", markup=False)
    return run.failures


def describe(run: Run) -> str:
    """Say in a line how far a run is.

    Parameters
    ----------
    run : Run

    Returns
    -------
    line : str
    """
    told = [f"{run.n_done} of {run.n_to_run} cells done", f"{run.n_failed} failed"]
    if run.running:
        told.append(f"{len(run.running)} running")
    if run.n_elsewhere:
        told.append(f"{run.n_elsewhere} left to another run")
    left = run.seconds_left()
    if left:
        told.append(f"{_duration(left)} left")
    return ", ".join(told)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"about {max(seconds, 1):.0f} seconds"
    return f"about {seconds / 60:.0f} minutes"


def chosen_cells(plan: TablePlan | CurvePlan, methods: Sequence[str] | None) -> list[Cell]:
    """Pick the cells of a plan that are of some methods.

    Parameters
    ----------
    plan : TablePlan or CurvePlan
    methods : sequence of str or None
        None picks all.

    Returns
    -------
    cells : list of Cell
    """
    return [c for (_, m), c in plan.cells.items() if methods is None or m in methods]


def show_status(
    console: Console,
    tables: Sequence[TablePlan],
    store: RecordStore,
    methods: Sequence[str] | None = None,
    *,
    name_stale: bool = False,
) -> tuple[bool, bool]:
    """Print for each table how many cells are in which state, then the files that are not right.

    Parameters
    ----------
    console : rich.console.Console
    tables : sequence of TablePlan
    store : RecordStore
    methods : sequence of str or None
        Count only cells of these.
    name_stale : bool
        Whether stale cells are named, too.

    Returns
    -------
    current : bool
        Whether every record that is there is a valid one, of the data, code and libraries that are
        here.
    intact : bool
        Whether every record that is there is a valid one.
    """
    scan = store.scan()
    n_stale, n_unknown = 0, 0
    damaged = {damage.path: damage.reason for damage in scan.damaged}
    wanted: set[Path] = set()
    plans: list[TablePlan | CurvePlan] = [*tables, *curves_of(tables)]
    for plan in plans:
        counts: Counter[str] = Counter()
        reasons: Counter[str] = Counter()
        for cell in plan.cells.values():
            wanted.add(store.path(cell.dataset, cell.task, cell.method, cell.config_sha256))
        chosen = chosen_cells(plan, methods)
        if not chosen:
            continue
        for cell in chosen:
            found = cell_state(cell, store, read=scan.at, data_sha256=Cell.remembered_data_sha256)
            counts[found.state] += 1
            if found.state == "damaged":
                damaged.setdefault(
                    store.path(cell.dataset, cell.task, cell.method, cell.config_sha256),
                    str(found.reason),
                )
            if found.state == "unavailable":
                reasons[str(found.reason)] += 1
            if found.state == "stale":
                n_stale += 1
                if name_stale:
                    console.print(f"stale: {cell.label}", markup=False)
        told = ", ".join(f"{n} {state}" for state, n in sorted(counts.items()))
        console.print(f"{plan.name}: {len(chosen)} cells: {told}")
        n_unknown += counts["unavailable"]
        for reason, n in reasons.items():
            console.print(f"  {n} of unavailable data: {reason}", markup=False)
    for path, reason in damaged.items():
        console.print(one_line(f"damaged: {path}: {reason}"), markup=False)
    for path in scan.foreign:
        console.print(one_line(f"foreign: {path}: no record; it is not read"), markup=False)
    others = sum(store.path_of(record) not in wanted for record in scan)
    if others:
        console.print(f"{others} records of other cells than these tables have")
    if n_stale:
        console.print(
            f"Stale: {n_stale} of the cells above; what is rendered of them is not of this code."
        )
    return not (n_stale or n_unknown or damaged), not damaged


def print_ledger(
    console: Console, failures: Sequence[Failure], options: argparse.Namespace
) -> None:
    """Print every failure with the command that runs just its cell again.

    Parameters
    ----------
    console : rich.console.Console
    failures : sequence of Failure
    options : argparse.Namespace
    """
    if not failures:
        return
    by_cell: dict[str, list[Failure]] = {}
    for failure in failures:
        by_cell.setdefault(failure.cell.label, []).append(failure)
    n = sum(failure.repetition is not None for failure in failures)
    console.print(f"\n{len(by_cell)} cells failed, {n} repetitions failed:")
    for label, found in by_cell.items():
        for failure in found:
            which = "" if failure.repetition is None else f", repetition {failure.repetition}"
            kind = "" if failure.status == "failed" else f"{failure.status}: "
            console.print(f"  {label}{which}: {kind}{failure.error}", markup=False)
        command = rerun_command(found[0].cell, options.results, options.protocol)
        console.print(f"    {command}", markup=False)


def rerun_command(cell: Cell, results: Path, protocol: str, overrides: Sequence[str] = ()) -> str:
    """Command that runs just one cell.

    Parameters
    ----------
    cell : Cell
    results : Path
        Directory that holds ``records``.
    protocol : str
        Config name.
    overrides : sequence of str
        Of the config, in Hydra's grammar.

    Returns
    -------
    command : str
        For a shell.
    """
    command = [
        "python",
        "-m",
        "experiments.run",
        f"dataset={cell.dataset}",
        f"dataset.task={hydra_value(cell.task)}",
        f"method={cell.method}",
        *cell.overrides,
        f"runtime.results={hydra_value(str(results))}",
    ]
    if protocol != "paper":
        command.append(f"protocol={protocol}")
    command += overrides
    return shlex.join(command)


def hydra_value(text: str) -> str:
    """Write a text as a value in Hydra's grammar, in quotes unless it is a plain word."""
    # Numbers that their own text would not come back from, such as 1e5, count as plain no more.
    if re.fullmatch(r"[A-Za-z/.][A-Za-z0-9/._-]*|0|[1-9][0-9]*", text, re.ASCII) and (
        text.lower() not in ("true", "false", "null", "nan", "inf")
    ):
        return text
    # Backslashes count where quotes, interpolations or the end follow.
    text = re.sub(r"(\\*)\$\{", lambda found: f"{found[1]}{found[1]}\\${{", text)
    text = re.sub(r"(\\*)('|$)", lambda found: 2 * found[1] + ("\\'" if found[2] else ""), text)
    return f"'{text}'"


def _terminate(number: int, frame: object) -> None:
    """Take SIGTERM, as schedulers send it before they kill, for Ctrl-C."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _terminate)
    sys.exit(run_command(main))
