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

import yaml

from experiments.threads import limit_threads, set_thread_variables

set_thread_variables()

from experiments.analysis.agreement import agreement, environment_difference
from experiments.analysis.intervals import mean_and_interval
from experiments.catalogue import config_names
from experiments.cells.configuration import cell_from_config, compose_config
from experiments.cells.repetitions import run_cell
from experiments.cells.state import CellState, cell_state
from experiments.commands import command_parser, rerun_command
from experiments.console import run_command
from experiments.directories import nothing_there
from experiments.published import STAND_INS, has_published, published
from experiments.store.records import Record, RecordStore


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and give its exit status."""
    options = parse_arguments(arguments)
    dataset, _, task = options.task.partition("/")
    names = (f"dataset={dataset}", f"dataset.task={task}", f"method={options.method}")
    config = compose_config((*names, f"protocol={options.protocol}", *options.overrides))
    cell = cell_from_config(config)
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
    parser.add_argument("method", choices=config_names("method"), metavar="METHOD")
    overrides = "of the config, in Hydra's grammar"
    parser.add_argument("overrides", nargs="*", metavar="OVERRIDE", help=overrides)
    verify = "run the cell again and say how it differs"
    parser.add_argument("--verify", action="store_true", help=verify)
    parsed = parser.parse_intermixed_args(arguments)
    dataset, _, task = parsed.task.partition("/")
    known = config_names("dataset")
    if dataset not in known or not task:
        parser.error(
            f"expected DATASET/TASK with a data set out of {', '.join(known)}, got {parsed.task!r}"
        )
    return parsed


def explain(record: Record, found: CellState, path: Path) -> list[str]:
    """Say everything that a record holds."""
    notes = {
        "stale": "of other code, data or library versions than those that are here",
        "unavailable": f"its data cannot be loaded, so nothing was compared: {found.reason}",
    }
    mean = "no mean"
    if record.accuracies:
        interval = mean_and_interval([100 * a for a in record.accuracies])
        width = interval.half_width
        mean = f"mean {interval.mean:.2f} %"
        mean += "" if width is None else f" ± {width:.2f} (95 % interval)"
    return [
        f"{record.dataset}/{record.task} {record.method}: {found.state}",
        *([notes[found.state]] if found.state in notes else []),
        str(path),
        f"{mean}, {len(record.accuracies)} of {len(record.outcomes)} repetitions",
        _published_line(record),
        "",
        yaml.safe_dump(asdict(record), sort_keys=False, allow_unicode=True),
    ]


def compare(stored: Record, fresh: Record) -> list[str]:
    """Say how a record differs from a fresh run of its cell, apart from times and machines."""
    differences = [
        f"{name} differs: stored {getattr(stored, name)}, now {getattr(fresh, name)}"
        for name in ("data_sha256", "code_fingerprint", "identity")
        if getattr(stored, name) != getattr(fresh, name)
    ]
    numbers = [
        f"repetition {old.repetition}, {name} differs: "
        f"stored {getattr(old, name)!r}, now {getattr(new, name)!r}"
        for old, new in zip(stored.outcomes, fresh.outcomes, strict=True)
        for name in ("seed", "status", "accuracy")
        if getattr(old, name) != getattr(new, name)
    ]
    found = agreement(stored, fresh)
    if found is not None and not found.identical:
        where = "beyond" if found.beyond else "within"
        numbers.append(
            f"The mean differs by {found.points:+.2f} points, {where} its interval of "
            f"± {found.half_width:.2f} points."
        )
    if differences and not numbers:
        numbers = ["Seeds and accuracies of the repetitions are identical nevertheless."]
    return differences + numbers


def _published_line(record: Record) -> str:
    known = published(record.dataset) if has_published(record.dataset) else {}
    cell = known.get((record.task, record.method))
    if cell is None:
        return "published: the paper has no such cell"
    other = STAND_INS.get(record.dataset)
    aside = "" if other is None else f", for {other}, which is other data"
    return f"published: {cell.mean:g} ± {cell.ci95:g} %{aside}"


if __name__ == "__main__":
    sys.exit(run_command(main))
