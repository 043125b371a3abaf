"""Made-up records for tests."""

from __future__ import annotations

from experiments.cells.cell import Cell
from experiments.store.records import Outcome, Record, RecordError, RecordStore
from experiments.store.text import sha256_of

NO_ACCURACY = {"accuracy": None, "balanced_accuracy": None}


def make_outcome(repetition, value):
    """A number is the accuracy of a repetition that is done, a text the status and error else."""
    if isinstance(value, str):
        status, _, error = value.partition(": ")
        return Outcome(repetition, 100 + repetition, status, None, None, 0.1, None, error)
    return Outcome(repetition, 100 + repetition, "done", value, value, 0.1, 0.1, None)


def make_record(dataset, task, method, *values, config=0):
    """A record with these outcomes."""
    return Record(
        dataset=dataset,
        task=task,
        method=method,
        identity="1d" * 32,
        config_sha256=sha256_of({"config": config}),
        config={"config": config},
        data_sha256="da" * 32,
        code_fingerprint="c0de" * 16,
        outcomes=tuple(make_outcome(i, value) for i, value in enumerate(values)),
        environment={},
    )


def stored(cell: Cell, store: RecordStore) -> Record | None:
    """The record of a cell's config; None if there is none or it is damaged."""
    try:
        return store.get(cell.dataset, cell.task, cell.method, cell.config_sha256)
    except RecordError:
        return None
