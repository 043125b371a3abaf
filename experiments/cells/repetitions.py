"""From a cell to its record: run repetitions in this process, and record what fails."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.cells.cell import Cell
from experiments.store.records import Outcome, Record, Status
from experiments.store.text import ERROR_LENGTH, one_line

_ROOT = Path(__file__).resolve().parents[2]

TOGETHER_ERROR = "together_error"
"""Key of an outcome's environment: why its cell's repetitions were not trained as one program."""


def run_cell(cell: Cell, previous: Record | None = None) -> Record:
    """Run a cell in this process; finished repetitions of a record of its identity are kept."""
    outcomes = kept_outcomes(previous)
    todo = [r for r in range(cell.n_repetitions) if r not in outcomes]
    outcomes |= {outcome.repetition: outcome for outcome in run_repetitions(cell, todo)}
    return record_of(cell, cell.data_sha256(), outcomes)


def kept_outcomes(previous: Record | None) -> dict[int, Outcome]:
    """Finished repetitions of an earlier record by their number, each with its environment."""
    if previous is None:
        return {}
    return {
        outcome.repetition: replace(outcome, environment=environment)
        for outcome, environment in zip(previous.outcomes, previous.environments, strict=True)
        if outcome.status == "done"
    }


def run_repetitions(
    cell: Cell, repetitions: Sequence[int], *, together: bool = True
) -> Iterator[Outcome]:
    """Run some repetitions: as one program if the method offers it, else one after another.

    Both ways give the same accuracies. If a common training fails as a whole, each repetition runs
    alone, and ``together_error`` in its environment says why.
    """
    from experiments.cells.protocol import Protocol, draw_repetition, measure, measure_together
    from experiments.store.provenance import environment

    protocol = Protocol(**cell.config["protocol"])
    task = cell.load()
    seeds = {repetition: cell.seed(repetition) for repetition in repetitions}
    drawn = {r: draw_repetition(task, r, protocol) for r in repetitions}
    note: dict[str, str] = {}
    measured: Any = {}
    if together and len(repetitions) > 1 and cell.trains_together:
        try:
            found = measure_together(cell.make_method, list(drawn.values()), list(seeds.values()))
            measured = dict(zip(seeds, found, strict=True))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whose it is, a common training cannot say
            note = {TOGETHER_ERROR: describe_error(error)}
    for repetition, seed in seeds.items():
        try:
            result = measured.get(repetition)
            if result is None:
                result = measure(cell.make_method, drawn[repetition], seed)
            if isinstance(result, BaseException):
                raise result
            outcome = Outcome(repetition, seed, "done", **vars(result), error=None)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a call of sys.exit included
            # What methods raise if numbers went out of range, as opposed to a bug.
            diverged = isinstance(error, FloatingPointError)
            status: Status = "diverged" if diverged else "failed"
            outcome = lost_outcome(cell, repetition, status, describe_error(error))
        # Read afterwards: by then the libraries are loaded that report their threads.
        where = {**environment(), "libraries": cell.libraries, **note}
        yield replace(outcome, environment=where)


def lost_outcome(cell: Cell, repetition: int, status: Status, error: str) -> Outcome:
    """Outcome of a repetition that gave no accuracy."""
    return Outcome(repetition, cell.seed(repetition), status, None, None, None, error)


def record_of(cell: Cell, data_sha256: str, outcomes: dict[int, Outcome]) -> Record:
    """Put a cell's outcomes and provenance together; the last environment is the record's own."""
    from experiments.store.provenance import environment

    own = [outcome.environment for outcome in outcomes.values() if outcome.environment]
    common = own[-1] if own else {**environment(), "libraries": cell.libraries}
    return Record(
        dataset=cell.dataset,
        task=cell.task,
        method=cell.method,
        identity=cell.identity(data_sha256),
        config_sha256=cell.config_sha256,
        config=cell.config,
        data_sha256=data_sha256,
        code_fingerprint=cell.code,
        outcomes=tuple(
            replace(outcome, environment=None) if outcome.environment == common else outcome
            for outcome in outcomes.values()
        ),
        environment=common,
    )


def describe_error(error: BaseException) -> str:
    """One printable line: what was raised, and where in this repository, without absolute paths."""
    frames = traceback.extract_tb(error.__traceback__)
    calls = [(Path(frame.filename), frame.lineno) for frame in frames]
    own = [(p, n) for p, n in calls if p.is_relative_to(_ROOT) and ".venv" not in p.parts]
    where = f" [{own[-1][0].relative_to(_ROOT)}:{own[-1][1]}]" if own else ""
    if type(error).__name__ == "InstantiationException" and error.__cause__ is not None:
        error = error.__cause__  # Hydra wraps what a constructor raises
    try:
        text = str(error)
    except Exception:
        text = "(an error whose text cannot be made)"
    if isinstance(error, SystemExit):
        text = f"the process was asked to exit ({text})"
    return one_line(f"{type(error).__name__}: {text}", ERROR_LENGTH - len(where)) + where
