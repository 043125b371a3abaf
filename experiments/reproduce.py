"""Reproduce tables: plan, run what is missing, render, and say what failed.

::

    python -m experiments.reproduce                        all tables, into reproduction/
    python -m experiments.reproduce --table moons --method krda ot --jobs 4
    python -m experiments.reproduce --status               what is there; runs nothing
    python -m experiments.reproduce --check                the same; fails if a record is stale
    python -m experiments.reproduce --status --results results     of the committed results
    python -m experiments.reproduce --render               tables from records; runs nothing
    python -m experiments.reproduce --protocol smoke       tiny sizes, to see that everything works

Records that are complete are not computed again, so an interrupted run continues where it stopped,
and several runs on one directory share the work. The exit status is 1 if a cell or a figure failed,
nothing more could be written, raw data or all records (--render) are missing, a record is damaged
(--status) or the check failed; 2 for a wrong command line; 130 after Ctrl-C; 141 if the reader of
the output is gone, which ends the run; 74 if the output cannot be written. See docs/runner.md.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.threads import set_thread_variables

set_thread_variables()

from experiments.catalogue import config_names
from experiments.cells.plan import CurvePlan, TablePlan, curves_of, load_table
from experiments.cells.state import cell_state
from experiments.commands import (
    COMMITTED_RESULTS,
    command_parser,
    nothing_there,
    rerun_command,
    split_names,
)
from experiments.console import narrate, run_command, say
from experiments.datasets.raw import RawDataError
from experiments.settings import check_seconds, check_whole
from experiments.status import chosen_cells, show_status
from experiments.store.records import RecordStore

# What runs or renders cells loads numerical libraries; --status does without.
if TYPE_CHECKING:
    from experiments.running.engine import Ended


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = command_parser("reproduce", __doc__, "where records, tables and figures go")
    add = parser.add_argument
    tables = (
        f"tables to make: {', '.join(config_names('table'))} (default: all, but of HEPMASS the "
        "real data's if it is on this computer, else that of the simulation)"
    )
    methods = "run, or count, only these methods; spaces or commas between them"
    seconds = "time limit for one repetition (default: timeout_seconds in the configs)"
    jobs = "cells run at once, one thread each (default: all cores)"
    add("--table", nargs="+", metavar="TABLE", help=tables)
    add("--method", nargs="+", metavar="METHOD", help=methods)
    add("--jobs", type=int, default=os.cpu_count() or 1, help=jobs)
    add("--timeout", type=float, metavar="SECONDS", help=seconds)
    only = parser.add_mutually_exclusive_group()
    for name, what in (
        ("--status", "show what is there"),
        ("--check", "show what is there, and fail if a record is stale, damaged or of lost data"),
        ("--render", "render from records"),
    ):
        only.add_argument(name, action="store_true", help=f"{what}; run nothing")
    parsed = parser.parse_args(arguments)
    try:
        for group in ("table", "method"):
            setattr(parsed, group, split_names(getattr(parsed, group), group))
        check_seconds("--timeout", parsed.timeout)
        check_whole("--jobs", parsed.jobs)
    except ValueError as error:
        parser.error(str(error))
    return parsed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and give its exit status."""
    options = parse_arguments(arguments)
    store = RecordStore(options.results / "records")
    overrides = () if options.protocol == "paper" else (f"protocol={options.protocol}",)
    names = options.table or default_tables(store.root)
    print(f"Results: {options.results}")
    if "hepmass_sim" in names:
        print("Table hepmass_sim is SIMULATED; docs/hepmass.md says how to get the real data.")
    absence = nothing_there(options.results)
    if absence and (options.status or options.check or options.render):
        print(absence)
        if options.render:
            return 1
    try:
        tables = [load_table(name, overrides) for name in names]
    except ValueError as error:
        print(error)
        return 2
    plans: list[TablePlan | CurvePlan] = [*tables, *curves_of(tables)]
    rows = {method for plan in plans for method in plan.methods}
    if strange := [name for name in options.method or () if name not in rows]:
        print(
            f"No row of {', '.join(names)}: {', '.join(strange)}. Add it to `ours` in "
            f"configs/table/{names[0]}.yaml, or run single cells with experiments.run."
        )
        return 2
    if options.status or options.check:
        return show_status(plans, store, options.method, check=options.check)
    failures: list[Ended] = []
    try:
        if not options.render:
            failures = run_plans(plans, store, options)
        status = render(tables, options)
    except KeyboardInterrupt:
        print("Interrupted. What is done is kept. The same command continues from here.")
        return 130
    except RawDataError as error:
        print(str(error))
        return 1
    except OSError as error:
        print(
            f"Stopped: a file could not be read or written: {error}\n"
            "What is done is kept. Once this is fixed, the same command continues from here."
        )
        return 1
    print_ledger(failures, options)
    return 1 if failures else status


def default_tables(records: Path) -> tuple[str, ...]:
    """Tables that are made if none is asked for.

    Of HEPMASS the real data's if it is on this computer, else that of the simulation, and in any
    case one of which there are records already.
    """
    from experiments.datasets import hepmass

    other = "hepmass_sim" if hepmass.available() else "hepmass"
    return tuple(
        name for name in config_names("table") if name != other or (records / name).is_dir()
    )


def run_plans(
    plans: Sequence[TablePlan | CurvePlan], store: RecordStore, options: argparse.Namespace
) -> list[Ended]:
    """Run the cells that are not done, in parallel, and return those that failed."""
    from experiments.running.engine import Engine, run_all
    from experiments.running.progress import RunProgress, estimates, seconds_of

    if any(plan.dataset == "hepmass" for plan in plans):
        from experiments.datasets.hepmass import ensure_prepared

        ensure_prepared()  # once, with its progress in sight, not in every worker's first cell
    with narrate():
        by_plan = {plan.name: chosen_cells(plan, options.method) for plan in plans}
        cells = [cell for own in by_plan.values() for cell in own]
        states = [(cell, cell_state(cell, store)) for cell in cells]
        todo = [cell for cell, found in states if found.state != "done"]
        seconds = estimates([options.results, COMMITTED_RESULTS]) if todo else {}
    for _, found in states:
        if found.state == "damaged":
            say(f"{found.reason}: computed again")
    # Long cells first, so that none of them is left alone at the end; unknown ones before all.
    todo.sort(key=lambda cell: -seconds_of(cell, seconds))
    progress = RunProgress(todo, seconds, options.jobs)
    parts = ", ".join(f"{name} {len(own)}" for name, own in by_plan.items() if own)
    done, jobs = len(cells) - len(todo), min(options.jobs, max(len(todo), 1))
    say(
        f"{len(cells)} cells ({parts}): {done} done already, {len(todo)} to run on "
        f"{jobs} processes{progress.left(', ')}"
    )
    failures: list[Ended] = []
    engine = Engine(store, n_workers=options.jobs, timeout_seconds=options.timeout)
    with progress.bar, closing(run_all(engine, todo)) as events:
        for ended in events:
            progress.show(ended)
            if ended is not None and ended.errors:
                failures.append(ended)
    return failures


def render(tables: Sequence[TablePlan], options: argparse.Namespace) -> int:
    """Write tables, figures and report from the records; 1 if a figure could not be made."""
    if not options.render:
        # Nothing else needs what this loads.
        from experiments.threads import limit_threads

        limit_threads()
    with narrate():
        from experiments.analysis.cells import KRDA
        from experiments.reading import render as reading
        from experiments.reading.results import paper_shaped, read_results, table_of
        from experiments.reading.screen import show_results
        from experiments.store.frame import to_frame, write_all_csv

        # Of all tables together: a part of them would leave out the others' cells.
        whole = not options.table
        frame = to_frame(options.results)
        if options.method and not whole:
            tables = [_shortened(plan, {*options.method, *frame.method}) for plan in tables]
        results = read_results(tables, curves_of(tables), frame)
        parts = [table_of(part, frame) for plan in tables for part in paper_shaped(plan)]
        reading.render_tables([*results.tables, *parts], options.results / "tables")
        write_all_csv(frame, options.results)
    show_results(results.tables, options.method)
    fitted = True
    with narrate() as narrated:
        if not options.render and (options.method is None or KRDA in options.method):
            from experiments import fits

            fitted = fits.update(tables, options.results / "figures", narrated)
        drawn = reading.render(results, options.results, narrated, whole=whole)
    name = "report.html" if whole else f"tables/{tables[0].name}.md"
    print(f"Open {options.results / name}, which explains words and marks")
    committed = options.results.resolve() == COMMITTED_RESULTS.resolve()
    if not (options.render or committed) and options.protocol == "paper":
        from experiments.analysis.agreement import agreement_lines, records_by_cell

        both = (records_by_cell(results) for results in (COMMITTED_RESULTS, options.results))
        print(
            "Beside the committed results, all cells that both directories have:",
            *agreement_lines(*both),
            sep="\n  ",
        )
    return int(not (fitted and drawn))


def _shortened(plan: TablePlan, methods: set[str]) -> TablePlan:
    """Leave out the methods that were neither asked for nor run."""
    paper, ours = (tuple(m for m in own if m in methods) for own in (plan.paper, plan.ours))
    return replace(plan, paper=paper, ours=ours)


def print_ledger(failures: Sequence[Ended], options: argparse.Namespace) -> None:
    """Print every failure, and for each cell the command that runs just it again."""
    if failures:
        say(f"\n{len(failures)} cells failed:")
    for ended in failures:
        for error in ended.errors:
            print(f"  {ended.cell.label}, {error}")
        print(f"    {rerun_command(ended.cell, options.results, options.protocol)}")


def _terminate(number: int, frame: object) -> None:
    """Treat SIGTERM, as schedulers send it before they kill, as Ctrl-C."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _terminate)
    sys.exit(run_command(main))
