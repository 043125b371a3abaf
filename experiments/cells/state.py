"""The state of a cell: what its record says, and whether it is of this code, data and libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from experiments.cells.cell import Cell
from experiments.cells.repetitions import describe_error
from experiments.store.records import Record, RecordError, RecordStore

State = Literal["done", "failed", "stale", "damaged", "missing", "unavailable"]
"""A record is "failed" if some repetition is not done, "stale" if it is of other data, code or
library versions, "unavailable" if the data cannot be loaded to compare."""


class CellState(NamedTuple):
    """A cell's state, its record if there is a valid one, and what is wrong if something is."""

    state: State
    record: Record | None = None
    reason: str | None = None


def cell_state(cell: Cell, store: RecordStore) -> CellState:
    """Read a cell's record and compare it with what is here; nothing is run."""
    try:
        record = store.get(cell.dataset, cell.task, cell.method, cell.config_sha256)
    except RecordError as error:
        return CellState("damaged", reason=str(error))
    found = state_of(cell, record)
    if found.state == "damaged" and record is not None:
        return CellState("damaged", reason=f"{store.path_of(record)}: {found.reason}")
    return found


def state_of(
    cell: Cell, record: Record | None, data_sha256: Callable[[Cell], str] = Cell.data_sha256
) -> CellState:
    """Compare a cell's record, or None, with the data, code and libraries that are here."""
    if record is None:
        return CellState("missing")
    try:
        found_sha256 = data_sha256(cell)
        identity = cell.identity(found_sha256)
    except (Exception, SystemExit) as error:  # as many kinds as there are data sets
        return CellState("unavailable", record, describe_error(error))
    if record.identity != identity:
        return CellState("stale", record)
    for what, agree in (
        ("checksum of the data", record.data_sha256 == found_sha256),
        ("fingerprint of the code", record.code_fingerprint == cell.code),
        ("seeds", all(o.seed == cell.seed(o.repetition) for o in record.outcomes)),
    ):
        if not agree:
            return CellState("damaged", reason=f"{what} and identity contradict each other")
    return CellState("done" if record.complete else "failed", record)
