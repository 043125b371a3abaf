"""From a cell to its record: run repetitions in this process, and record what fails."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.cells.cell import Cell
from experiments.store.records import Outcome, Record, Status
from experiments.store.text import ERROR_LENGTH, one_line

_ROOT = Path(__file__).resolve().parents[2]


def run_cell(cell: Cell) -> Record:
    """Run all repetitions of a cell in this process."""
    outcomes = run_repetitions(cell, range(cell.n_repetitions))
    return record_of(cell, cell.data_sha256(), outcomes, cell_environment(cell))


def run_repetitions(cell: Cell, repetitions: Sequence[int]) -> list[Outcome]:
    """Run some repetitions: as one program if the method offers it, else one after another.

    Both ways give the same accuracies. If a common training fails as a whole, each repetition runs
    alone.
    """
    from experiments.cells.protocol import Protocol, draw_repetition, measure, measure_together

    protocol = Protocol(**cell.config["protocol"])
    task = cell.load()
    seeds = [cell.seed(r) for r in repetitions]
    drawn = [draw_repetition(task, r, protocol) for r in repetitions]
    measured: Sequence[Any] = [None] * len(seeds)
    if len(seeds) > 1 and cell.trains_together:
        try:
            measured = measure_together(cell.make_method, drawn, seeds)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whose it is, a common training cannot say
            why = describe_error(error)
            print(f"{cell.label}: each repetition is trained alone, {why}", file=sys.stderr)
    outcomes = []
    for repetition, seed, data, result in zip(repetitions, seeds, drawn, measured, strict=True):
        try:
            if isinstance(result, BaseException):
                raise result
            found = result or measure(cell.make_method, data, seed)
            outcomes.append(Outcome(repetition, seed, "done", **vars(found), error=None))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a call of sys.exit included
            # What methods raise if numbers went out of range, as opposed to a bug.
            status: Status = "diverged" if isinstance(error, FloatingPointError) else "failed"
            outcomes.append(lost_outcome(cell, repetition, status, describe_error(error)))
    return outcomes


def lost_outcome(cell: Cell, repetition: int, status: Status, error: str) -> Outcome:
    """Outcome of a repetition that gave no accuracy."""
    return Outcome(repetition, cell.seed(repetition), status, None, None, None, None, error)


def cell_environment(cell: Cell) -> dict[str, Any]:
    """What this process runs on; asked after a fit, the libraries that it loaded report threads."""
    from experiments.store.provenance import environment

    return {**environment(), "libraries": cell.libraries}


def record_of(
    cell: Cell, data_sha256: str, outcomes: Sequence[Outcome], environment: dict[str, Any]
) -> Record:
    """Put a cell's outcomes and provenance together."""
    return Record(
        dataset=cell.dataset,
        task=cell.task,
        method=cell.method,
        identity=cell.identity(data_sha256),
        config_sha256=cell.config_sha256,
        config=cell.config,
        data_sha256=data_sha256,
        code_fingerprint=cell.code,
        outcomes=tuple(outcomes),
        environment=environment,
    )


def describe_error(error: BaseException) -> str:
    """One printable line: what was raised, and where in this repository, without absolute paths."""
    calls = [(Path(f.filename), f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    own = [(p, n) for p, n in calls if p.is_relative_to(_ROOT) and ".venv" not in p.parts]
    where = f" [{own[-1][0].relative_to(_ROOT)}:{own[-1][1]}]" if own else ""
    return one_line(f"{type(error).__name__}: {error}", ERROR_LENGTH - len(where)) + where
