"""What figures take from the records: a cell's interval, times, and what is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.analysis.statistics import Interval, mean_and_interval
from experiments.cells.cell import Cell
from experiments.cells.plan import TablePlan, method_label
from experiments.reading.figures.request import Request
from experiments.reading.figures.style import save_figure
from experiments.reading.render import stored
from experiments.store.records import RecordStore


@dataclass(frozen=True)
class CellValue:
    """What a figure shows of one cell.

    Attributes
    ----------
    interval : Interval or None
        Accuracy in percent; None where no repetition is done.
    fit_seconds : tuple of float
        Of the repetitions that are done.
    n_done, n_repetitions : int
    recorded : bool
        Whether there is a record.
    """

    interval: Interval | None
    fit_seconds: tuple[float, ...]
    n_done: int
    n_repetitions: int
    recorded: bool

    @property
    def complete(self) -> bool:
        """Whether all repetitions are done."""
        return self.n_done == self.n_repetitions

    @property
    def gap(self) -> str | None:
        """What to write where it is not complete: "missing" or "3/5"; None where it is."""
        if not self.recorded:
            return "missing"
        return None if self.complete else f"{self.n_done}/{self.n_repetitions}"


def cell_value(cell: Cell, store: RecordStore) -> CellValue:
    """Read what a figure shows of a cell.

    Parameters
    ----------
    cell : Cell
    store : RecordStore

    Returns
    -------
    value : CellValue
    """
    record = stored(cell, store)
    wanted = int(cell.config["protocol"]["n_repetitions"])
    if record is None:
        return CellValue(None, (), 0, wanted, recorded=False)
    percent = [100 * accuracy for accuracy in record.accuracies]
    return CellValue(
        interval=mean_and_interval(percent) if percent else None,
        fit_seconds=tuple(
            o.fit_seconds for o in record.outcomes
            if o.status == "done" and o.fit_seconds is not None
        ),
        n_done=len(percent),
        n_repetitions=max(wanted, len(record.outcomes)),
        recorded=True,
    )  # fmt: skip


def cell_values(cells: Mapping[Any, Cell], store: RecordStore) -> dict[Any, CellValue]:
    """Read what a figure shows of several cells, by the same keys."""
    return {key: cell_value(cell, store) for key, cell in cells.items()}


def draw_recorded(
    request: Request,
    name: str,
    cells: Mapping[Any, Cell],
    draw: Callable[[dict[Any, CellValue]], Any],
    records: str = "records",
) -> list[Path]:
    """Draw a figure from the records of some cells; where none has a value, say so instead.

    Parameters
    ----------
    request : Request
    name : str
        Of the figure's files.
    cells : mapping of key to Cell
    draw : callable
        From what is shown of each cell, by the same keys, to a figure.
    records : str
        What is looked for, in words.

    Returns
    -------
    paths : list of Path
        Empty where there is nothing to draw.
    """
    values = cell_values(cells, request.store)
    if all(value.interval is None for value in values.values()):
        request.tell(f"figure {name}: left out, no {records} are stored")
        return []
    return save_figure(draw(values), request.directory / name)


def gaps(
    values: Mapping[tuple[Any, str], CellValue], name: Callable[[Any], str] = str
) -> list[str]:
    """Say in lines for a footnote which cells have no record or lack repetitions.

    Parameters
    ----------
    values : mapping of (task or other key, method) to CellValue
    name : callable
        From a key's first part to what it is called.

    Returns
    -------
    lines : list of str
        At most one for each kind of gap; empty where all is there.
    """
    found: dict[str, dict[str, list[str]]] = {}
    totals: dict[str, int] = {}
    for (key, method), value in values.items():
        totals[method] = totals.get(method, 0) + 1
        if value.gap is not None:
            kind = "No record" if value.gap == "missing" else f"Only {value.gap} repetitions"
            found.setdefault(kind, {}).setdefault(method, []).append(name(key))
    lines = []
    for kind, methods in sorted(found.items()):
        told = [
            method_label(method)
            + (f" ({', '.join(keys)})" if len(keys) <= 6 and len(keys) < totals[method]
               else f" ({len(keys)} of {totals[method]})")
            for method, keys in methods.items()
        ]  # fmt: skip
        lines.append(f"{kind}: {'; '.join(told)}.")
    return lines


def title_of(table: TablePlan) -> str:
    """A table's title, with "simulated" in it where its data are."""
    simulated = table.dataset.endswith("_sim") and "simulated" not in table.title.lower()
    return f"{table.title}, simulated" if simulated else table.title


def task_name(table: TablePlan, task: str) -> str:
    """A task's name as a reader sees it: "40°", "B→D"."""
    return table.task_label.format(task).replace("-", "→")
