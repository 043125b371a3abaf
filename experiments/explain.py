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
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.threads import limit_threads, set_thread_variables

set_thread_variables()

from experiments.analysis.agreement import agreement, environment_difference
from experiments.analysis.intervals import mean_and_interval
from experiments.catalogue import config_names
from experiments.cells.cell import Cell
from experiments.cells.configuration import cell_from_config, compose_config
from experiments.cells.repetitions import run_cell
from experiments.cells.state import CellState, cell_state
from experiments.commands import rerun_command, results_path
from experiments.console import run_command
from experiments.directories import COMMITTED_RESULTS, DEFAULT_RESULTS, nothing_there
from experiments.published import STAND_INS, has_published, published
from experiments.store.records import Outcome, Record, RecordStore


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and give its exit status."""
    options = parse_arguments(arguments)
    dataset, _, task = options.task.partition("/")
    overrides = (
        f"dataset={dataset}",
        f"dataset.task={task}",
        f"method={options.method}",
        f"protocol={options.protocol}",
        *options.overrides,
    )
    cell = cell_from_config(compose_config(overrides))
    print(f"Results: {options.results}")
    store = RecordStore(options.results / "records")
    found = cell_state(cell, store)
    path = store.path(cell.dataset, cell.task, cell.method, cell.config_sha256)
    if found.record is None:
        reason = found.reason or nothing_there(options.results) or f"no record at {path}"
        print(f"{cell.label}: {reason}", file=sys.stderr)
        print(f"To run it: {_command(cell, options)}", file=sys.stderr)
        return 2
    print("\n".join(explain(found.record, found, path)))
    print(f"\nThe command that runs just it:\n  {_command(cell, options)}")
    if not options.verify:
        return 0
    limit_threads()
    print("\nRunning it again ...", flush=True)
    fresh = run_cell(cell)
    differences = compare(found.record, fresh)
    print(
        "\n".join(differences) or "Identical: data, code, seeds and accuracies to the last digit."
    )
    other = environment_difference(found.record.environment, fresh.environment)
    if other:
        print(f"The environments differ (stored / now): {other}.")
    return 1 if differences else 0


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.explain",
        description="Print all that is known of one cell, or run it again and compare.",
    )
    parser.add_argument("task", metavar="DATASET/TASK", help="such as moons/40 or amazon/B-D")
    parser.add_argument("method", choices=config_names("method"), metavar="METHOD")
    parser.add_argument(
        "overrides", nargs="*", metavar="OVERRIDE", help="of the config, in Hydra's grammar"
    )
    parser.add_argument("--protocol", default="paper", choices=config_names("protocol"))
    parser.add_argument(
        "--results",
        type=results_path,
        default=DEFAULT_RESULTS,
        help="directory that holds the records; the committed ones are in "
        f"{COMMITTED_RESULTS} (default: %(default)s)",
    )
    parser.add_argument(
        "--verify", action="store_true", help="run the cell again and say how it differs"
    )
    parsed = parser.parse_intermixed_args(arguments)
    dataset, slash, task = parsed.task.partition("/")
    if dataset not in config_names("dataset") or not slash or not task:
        parser.error(
            f"expected DATASET/TASK with a data set out of {', '.join(config_names('dataset'))}, "
            f"got {parsed.task!r}"
        )
    return parsed


def explain(record: Record, found: CellState, path: Path) -> list[str]:
    """Say everything that a record holds."""
    lines = [f"{record.dataset}/{record.task} {record.method}: {found.state}", f"  {path}", ""]
    if found.state == "stale":
        lines[1:1] = ["  of other code, data or library versions than those that are here"]
    if found.state == "unavailable":
        lines[1:1] = [f"  its data cannot be loaded, so nothing was compared: {found.reason}"]
    lines += [_outcome_line(outcome) for outcome in record.outcomes]
    n = len(record.outcomes)
    if record.accuracies:
        mean, half_width, done = mean_and_interval([100 * a for a in record.accuracies])
        width = "" if half_width is None else f" ± {half_width:.2f} (95 % interval)"
        lines.append(f"  mean {mean:.2f} %{width}, {done} of {n} repetitions")
    else:
        lines.append(f"  no mean: 0 of {n} repetitions are done")
    lines += [_published_line(record), ""]
    lines += ["config", *_indented(record.config), ""]
    for environment in _distinct(record.environments):
        of = [o.repetition for o, where in zip(record.outcomes, record.environments, strict=True)
              if where == environment]  # fmt: skip
        lines += [f"environment of repetitions {', '.join(map(str, of))}"]
        lines += [*_indented(environment), ""]
    lines += [
        f"identity          {record.identity}",
        f"config sha256     {record.config_sha256}",
        f"data sha256       {record.data_sha256}",
        f"code fingerprint  {record.code_fingerprint}",
    ]
    return lines


def compare(stored: Record, fresh: Record) -> list[str]:
    """Say how a record differs from a fresh run of its cell, apart from times and machines.

    Of the mean it is said whether it differs beyond its interval or in digits only.
    """
    names = ("data_sha256", "code_fingerprint", "config_sha256")
    differences = [
        f"{name} differs: stored {getattr(stored, name)}, now {getattr(fresh, name)}"
        for name in names
        if getattr(stored, name) != getattr(fresh, name)
    ]
    if stored.environment.get("libraries", {}) != fresh.environment.get("libraries", {}):
        differences.append("the versions of libraries differ")
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


def _distinct(values: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [value for i, value in enumerate(values) if value not in values[:i]]


def _outcome_line(outcome: Outcome) -> str:
    seed = f"seed {outcome.seed}"
    if outcome.accuracy is None:
        return f"  repetition {outcome.repetition}  {outcome.status}: {outcome.error}, {seed}"
    return (
        f"  repetition {outcome.repetition}  {100 * outcome.accuracy:.2f} %  "
        f"({outcome.accuracy!r}), {seed}, fit {outcome.fit_seconds:.3f} s, "
        f"predict {outcome.predict_seconds:.3f} s"
    )


def _published_line(record: Record) -> str:
    if not has_published(record.dataset):
        return "  published: the paper has no such data set"
    cell = published(record.dataset).get((record.task, record.method))
    if cell is None:
        return "  published: the paper has no such cell"
    other = STAND_INS.get(record.dataset)
    aside = "" if other is None else f", for {other}, which is other data"
    return f"  published: {cell.mean:g} ± {cell.ci95:g} %{aside}"


def _indented(value: object) -> list[str]:
    return [f"  {line}" for line in json.dumps(value, indent=2, sort_keys=True).splitlines()]


def _command(cell: Cell, options: argparse.Namespace) -> str:
    return rerun_command(cell, options.results, options.protocol, options.overrides)


if __name__ == "__main__":
    sys.exit(run_command(main))
