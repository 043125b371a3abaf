"""Print all that is known of one cell, or run it again and compare.

::

    python -m experiments.explain moons/40 krda
    python -m experiments.explain moons/40 krda method.n_components=3 --results elsewhere
    python -m experiments.explain amazon/B-D ot --results results --verify

Records are those of ``reproduction``; ``--results results`` takes the committed ones.
``--verify`` changes no record. The exit status is 1 if it finds a difference, 2 if there is no
record to explain or the command is wrong, 141 if the reader of the output is gone, 74 if the output
cannot be written.
"""

# The threads of numerical libraries are limited before any is imported.
# ruff: noqa: E402
from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.threads import limit_threads, set_thread_variables

set_thread_variables()

import yaml
from hydra.errors import HydraException

from experiments.analysis.agreement import environment_difference
from experiments.catalogue import check_name
from experiments.cells.configuration import cell_from_config, compose_config
from experiments.cells.repetitions import run_cell
from experiments.cells.state import CellState, cell_state
from experiments.commands import (
    check_complete,
    command_parser,
    describe,
    nothing_there,
    rerun_command,
)
from experiments.console import run_command
from experiments.store.records import Record, RecordStore


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and give its exit status."""
    options = parse_arguments(arguments)
    dataset, _, task = options.task.partition("/")
    names = (f"dataset={dataset}", f"dataset.task={task}", f"method={options.method}")
    protocol = () if options.protocol == "paper" else (f"protocol={options.protocol}",)
    try:
        config = compose_config((*names, *protocol, *options.overrides))
        check_complete(config)
        cell = cell_from_config(config)
    except (HydraException, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    command = rerun_command(cell, options.results, options.protocol, options.overrides)
    print(f"Results: {options.results}")
    store = RecordStore(options.results / "records")
    found = cell_state(cell, store)
    path = store.path(cell.dataset, cell.task, cell.method, cell.config_sha256)
    if found.record is None:
        reason = found.reason or nothing_there(options.results) or f"no record at {path}"
        print(f"{cell.label}: {reason}\nTo run it: {command}", file=sys.stderr)
        return 2
    print("\n".join(explain(found.record, found, path)))
    print(f"\nThe command that runs just it:\n  {command}")
    if not options.verify:
        return 0
    limit_threads()
    print("\nRunning it again ...", flush=True)
    fresh = run_cell(cell)
    differences = compare(found.record, fresh)
    identical = "Identical: data, code, seeds and accuracies to the last digit."
    print("\n".join(differences) or identical)
    other = environment_difference(found.record.environment, fresh.environment)
    if other:
        print(f"The environments differ (stored / now): {other}.")
    return int(bool(differences))


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = command_parser("explain", __doc__, "directory that holds the records")
    parser.add_argument("task", metavar="DATASET/TASK", help="such as moons/40 or amazon/B-D")
    parser.add_argument("method", metavar="METHOD")
    overrides = "of the config, in Hydra's grammar"
    parser.add_argument("overrides", nargs="*", metavar="OVERRIDE", help=overrides)
    verify = "run the cell again and say how it differs"
    parser.add_argument("--verify", action="store_true", help=verify)
    parsed = parser.parse_intermixed_args(arguments)
    dataset, _, task = parsed.task.partition("/")
    try:
        check_name("dataset", dataset)
        check_name("method", parsed.method)
    except ValueError as error:
        parser.error(str(error))
    if not task:
        parser.error(f"expected DATASET/TASK, such as moons/40, got {parsed.task!r}")
    return parsed


def explain(record: Record, found: CellState, path: Path) -> list[str]:
    """Say everything that a record holds."""
    notes = {
        "stale": "of other code, data or library versions than those that are here",
        "unavailable": f"its data cannot be loaded, so nothing was compared: {found.reason}",
    }
    return [
        f"{record.dataset}/{record.task} {record.method}: {found.state}",
        *([notes[found.state]] if found.state in notes else []),
        str(path),
        describe(record),
        "",
        yaml.safe_dump(asdict(record), sort_keys=False, allow_unicode=True),
    ]


def compare(stored: Record, fresh: Record) -> list[str]:
    """Say how a record differs from a fresh run of its cell, apart from times and machines."""
    compared: list[tuple[str, Any, Any, tuple[str, ...]]] = [
        ("", stored, fresh, ("data_sha256", "code_fingerprint", "identity"))
    ]
    for old, new in zip(stored.outcomes, fresh.outcomes, strict=True):
        what = f"repetition {old.repetition}, "
        compared.append((what, old, new, ("seed", "status", "accuracy")))
    return [
        f"{what}{name} differs: stored {getattr(old, name)!r}, now {getattr(new, name)!r}"
        for what, old, new, names in compared
        for name in names
        if getattr(old, name) != getattr(new, name)
    ]


if __name__ == "__main__":
    sys.exit(run_command(main))
