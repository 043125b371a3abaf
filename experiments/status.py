"""What a directory of results holds, compared with the code, data and libraries that are here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.cells.cell import Cell
from experiments.cells.state import CellState, state_of
from experiments.console import say
from experiments.store.records import RecordStore
from experiments.store.text import one_line

if TYPE_CHECKING:
    from experiments.cells.plan import CurvePlan, TablePlan


def chosen_cells(plan: TablePlan | CurvePlan, methods: Sequence[str] | None) -> list[Cell]:
    """Pick the cells of a plan that are of some methods, or all."""
    return [c for (_, m), c in plan.cells.items() if methods is None or m in methods]


def show_status(
    plans: Sequence[TablePlan | CurvePlan],
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
    total: Counter[str] = Counter()
    for plan in plans:
        counts: Counter[str] = Counter()
        notes: Counter[str] = Counter()
        for cell in chosen_cells(plan, methods):
            path = store.path(cell.dataset, cell.task, cell.method, cell.config_sha256)
            record = records.get(path)
            # A record's own checksum stands for that of the data, unless they are to be loaded.
            trusted = (lambda _, r=record: r.data_sha256,) if record and not check else ()
            found = CellState("damaged") if path in damaged else state_of(cell, record, *trusted)
            counts[found.state] += 1
            if found.state == "damaged":
                damaged.setdefault(path, str(found.reason))
            elif found.state == "unavailable":
                notes[f"unavailable data: {found.reason}"] += 1
            elif found.state == "stale" and check:
                notes[f"stale: {cell.label}"] += 1
        if counts:
            states = ", ".join(f"{n} {state}" for state, n in sorted(counts.items()))
            say(f"{plan.name}: {counts.total()} cells: {states}")
        for note, n in notes.items():
            print(f"  {n} {note}")
        total += counts
    for path, reason in damaged.items():
        print(one_line(f"damaged: {path}: {reason}"))
    if total["stale"]:
        say(
            f"Stale: {total['stale']} of the cells above; what is rendered of them is not of this "
            "code."
        )
    return int(bool(damaged or (check and total["stale"] + total["unavailable"])))
