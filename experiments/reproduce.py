"""Reproduce tables: plan, run what is missing, render, and say what failed.

::

    python -m experiments.reproduce                        all tables, into reproduction/
    python -m experiments.reproduce --table moons --method krda ot --jobs 4
    python -m experiments.reproduce --status               what is there; runs nothing
    python -m experiments.reproduce --render               tables from records; runs nothing
    python -m experiments.reproduce --protocol smoke       tiny sizes, to see that all works

Records that are complete are not computed again, so an interrupted run goes on where it stopped.
The exit status is 1 if a cell failed, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from experiments.threads import limit_threads

limit_threads()

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from experiments.cells import Cell, cell_state, lost_record, run_cell
from experiments.configuration import cell_from_config, compose_config, config_names
from experiments.figures import moons_figure
from experiments.plan import TablePlan, load_table
from experiments.records import Record, RecordStore, sha256_of
from experiments.render import (
    compare_with_committed,
    render_provenance,
    render_summary,
    render_table,
)
from experiments.workers import run_jobs

COMMITTED = Path("results")


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.reproduce",
        description="Reproduce the paper's tables next to the published numbers.",
    )
    parser.add_argument(
        "--table",
        nargs="+",
        choices=config_names("table"),
        metavar="TABLE",
        help=f"tables to make: {', '.join(config_names('table'))} (default: all)",
    )
    parser.add_argument(
        "--method",
        nargs="+",
        choices=config_names("method"),
        metavar="METHOD",
        help="run only these methods",
    )
    parser.add_argument("--protocol", default="paper", choices=config_names("protocol"))
    parser.add_argument(
        "--results",
        type=Path,
        default=Path("reproduction"),
        help="where records, tables and figures go (default: %(default)s)",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        help="cells run at once, one thread each (default: all cores)",
    )
    parser.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="time limit for a cell (default: none)"
    )
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--status", action="store_true", help="show what is there; run nothing")
    only.add_argument("--render", action="store_true", help="render from records; run nothing")
    parsed = parser.parse_args(arguments)
    if parsed.jobs < 1:
        parser.error(f"--jobs must be at least 1, got {parsed.jobs}")
    return parsed


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
    console = Console(highlight=False, soft_wrap=True)
    store = RecordStore(options.results / "records")
    overrides = () if options.protocol == "paper" else (f"protocol={options.protocol}",)
    tables = [load_table(name, overrides) for name in options.table or config_names("table")]
    if options.status:
        show_status(console, tables, store)
        return 0
    failed: list[tuple[Cell, str]] = []
    if not options.render:
        store.sweep()
        try:
            failed = run_tables(console, tables, store, options)
        except KeyboardInterrupt:
            console.print("Interrupted. What is done is kept; the same command goes on from here.")
            return 130
    written = [p for t in tables for p in render_table(t, store, options.results / "tables")]
    if not options.table:
        # Of all tables together: a part of them would leave out the others' cells.
        written.append(render_provenance(tables, store, options.results / "tables"))
        written += render_summary(tables, store, options.results)
    if any(table.dataset == "moons" for table in tables):
        cell = cell_from_config(
            compose_config(("dataset=moons", "dataset.angle=40", "method=krda", *overrides))
        )
        written += moons_figure(cell, options.results / "figures", compute=not options.render)
    for path in written:
        console.print(f"wrote {path}")
    if not options.render and options.protocol == "paper":
        compare_with_committed(console, tables, store, RecordStore(COMMITTED / "records"))
    print_ledger(console, failed, options)
    return 1 if failed else 0


def run_tables(
    console: Console, tables: Sequence[TablePlan], store: RecordStore, options: argparse.Namespace
) -> list[tuple[Cell, str]]:
    """Run the cells that are not done, in parallel, and return those that failed.

    Parameters
    ----------
    console : rich.console.Console
    tables : sequence of TablePlan
    store : RecordStore
    options : argparse.Namespace
        ``method``, ``jobs`` and ``timeout`` count here.

    Returns
    -------
    failed : list of (Cell, error)
    """
    cells = [
        cell
        for table in tables
        for (_, method), cell in table.cells.items()
        if options.method is None or method in options.method
    ]
    states = [cell_state(cell, store) for cell in cells]
    todo: list[tuple[Cell, Record | None]] = []
    for cell, found in zip(cells, states, strict=True):
        if found.reason:
            console.print(f"[yellow]{found.reason}[/yellow]: computed again")
        if found.state != "done":
            todo.append((cell, found.record if found.state == "failed" else None))
    times = repetition_seconds([store, RecordStore(COMMITTED / "records")])
    estimates = {cell.label: estimate_seconds(cell, times) for cell, _ in todo}
    # Long cells first, so that none of them is left alone at the end; unknown ones before all.
    todo.sort(key=lambda job: -(estimates[job[0].label] or float("inf")))
    minutes = sum(seconds or 0.0 for seconds in estimates.values()) / 60 / options.jobs
    about = f", about {max(minutes, 0.1):.1f} minutes" if minutes else ""
    console.print(
        f"{len(cells)} cells: {len(cells) - len(todo)} done already, {len(todo)} to run on "
        f"{min(options.jobs, max(len(todo), 1))} processes{about}"
    )
    failed: list[tuple[Cell, str]] = []
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        # Where nobody looks, a bar is noise.
        disable=not console.is_terminal,
    )
    running: set[str] = set()
    with progress:
        bar = progress.add_task("cells", total=len(todo))
        events = run_jobs(run_job, todo, n_workers=options.jobs, timeout_seconds=options.timeout)
        for event in events:
            cell = event.job[0]
            if event.kind == "started":
                running.add(cell.label)
            else:
                running.discard(cell.label)
                record = event.result
                if record is None:
                    status = "timeout" if event.kind == "timeout" else "failed"
                    record = lost_record(cell, status, event.error or "unknown")
                store.write(record)
                progress.advance(bar)
                for outcome in record.unfinished:
                    failed.append((cell, f"repetition {outcome.repetition}: {outcome.error}"))
            progress.update(bar, description=", ".join(sorted(running)) or "cells")
    return failed


def run_job(job: tuple[Cell, Record | None]) -> Record:
    """Run one cell in a worker process."""
    cell, previous = job
    return run_cell(cell, previous)


def repetition_seconds(stores: Sequence[RecordStore]) -> dict[tuple[str, str, str], float]:
    """Mean seconds of a repetition in stored records.

    Parameters
    ----------
    stores : sequence of RecordStore

    Returns
    -------
    seconds : dict
        By data set, method and protocol.
    """
    times: dict[tuple[str, str, str], list[float]] = {}
    for store in stores:
        for record in store.scan():
            key = (record.dataset, record.method, sha256_of(record.config["protocol"]))
            for outcome in record.outcomes:
                if outcome.fit_seconds is not None and outcome.predict_seconds is not None:
                    times.setdefault(key, []).append(outcome.fit_seconds + outcome.predict_seconds)
    return {key: sum(values) / len(values) for key, values in times.items()}


def estimate_seconds(cell: Cell, times: dict[tuple[str, str, str], float]) -> float | None:
    """Estimate a cell's seconds; None where no record tells."""
    protocol = cell.config["protocol"]
    one = times.get((cell.dataset, cell.method, sha256_of(protocol)))
    return None if one is None else one * int(protocol["n_repetitions"])


def show_status(console: Console, tables: Sequence[TablePlan], store: RecordStore) -> None:
    """Print for each table how many cells are done, failed, stale, damaged and missing."""
    for table in tables:
        counts = Counter(cell_state(cell, store).state for cell in table.cells.values())
        told = ", ".join(f"{n} {state}" for state, n in sorted(counts.items()))
        console.print(f"{table.name}: {len(table.cells)} cells: {told}")


def print_ledger(
    console: Console, failed: Sequence[tuple[Cell, str]], options: argparse.Namespace
) -> None:
    """Print every failure with the command that runs just its cell again."""
    if not failed:
        return
    console.print(f"\n{len(failed)} repetitions failed:")
    for cell, error in failed:
        console.print(f"  {cell.label}, {error}", markup=False)
        command = [
            "python",
            "-m",
            "experiments.run",
            f"dataset={cell.dataset}",
            f"dataset.task={cell.task}",
            f"method={cell.method}",
            f"runtime.results={options.results}",
        ]
        if options.protocol != "paper":
            command.append(f"protocol={options.protocol}")
        console.print(f"    {shlex.join(command)}", markup=False)


if __name__ == "__main__":
    sys.exit(main())
