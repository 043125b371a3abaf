"""What a directory of results holds, compared with the code, data and libraries that are here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from experiments.cells.cell import Cell
from experiments.cells.curves import CurvePlan, curves_of
from experiments.cells.plan import TablePlan
from experiments.cells.state import CellState, state_of
from experiments.store.records import Record, RecordStore
from experiments.store.text import one_line

Plan = TablePlan | CurvePlan


def chosen_cells(plan: Plan, methods: Sequence[str] | None) -> list[Cell]:
    """Pick the cells of a plan that are of some methods, or all."""
    return [c for (_, m), c in plan.cells.items() if methods is None or m in methods]


def show_status(
    console: Console,
    tables: Sequence[TablePlan],
    store: RecordStore,
    methods: Sequence[str] | None = None,
    *,
    check: bool = False,
) -> int:
    """Print how many cells of each plan are in which state, then the files that are not right.

    With ``check``, the data are loaded and compared as well. The exit status is 1 if a record is
    damaged or, with ``check``, if one is stale or of data that cannot be loaded.
    """
    scan = store.scan()
    records = {store.path_of(record): record for record in scan}
    damaged = {damage.path: damage.reason for damage in scan.damaged}
    plans: list[Plan] = [*tables, *curves_of(tables)]
    total: Counter[str] = Counter()
    for plan in plans:
        counts: Counter[str] = Counter()
        reasons: Counter[str] = Counter()
        chosen = chosen_cells(plan, methods)
        for cell in chosen:
            path = _path(store, cell)
            found = CellState("damaged")
            if path not in damaged:
                found = _state(cell, records.get(path), check)
            counts[found.state] += 1
            if found.state == "damaged":
                damaged.setdefault(path, str(found.reason))
            if found.state == "unavailable":
                reasons[str(found.reason)] += 1
            if found.state == "stale" and check:
                console.print(f"stale: {cell.label}")
        if chosen:
            states = ", ".join(f"{n} {state}" for state, n in sorted(counts.items()))
            console.print(f"{plan.name}: {len(chosen)} cells: {states}")
        for reason, n in reasons.items():
            console.print(f"  {n} of unavailable data: {reason}")
        total += counts
    for path, reason in damaged.items():
        console.print(one_line(f"damaged: {path}: {reason}"))
    others = set(records) - {_path(store, cell) for plan in plans for cell in plan.cells.values()}
    if others:
        console.print(f"{len(others)} records of other cells than these tables have")
    if total["stale"]:
        console.print(
            f"Stale: {total['stale']} of the cells above; what is rendered of them is not of this "
            "code."
        )
    outdated = check and total["stale"] + total["unavailable"]
    return int(bool(damaged or outdated))


def _state(cell: Cell, record: Record | None, check: bool) -> CellState:
    """Compare a record with what is here: with the data too if they are to be loaded for it."""
    if record is None or check:
        return state_of(cell, record)
    return state_of(cell, record, lambda _: record.data_sha256)


def _path(store: RecordStore, cell: Cell) -> Path:
    return store.path(cell.dataset, cell.task, cell.method, cell.config_sha256)
