"""Which cells the tables need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from experiments.catalogue import read_config
from experiments.cells.cell import Cell
from experiments.cells.configuration import cells_of


@dataclass(frozen=True)
class TablePlan:
    """One table: its cells are all pairs of its tasks and methods.

    ``task_label`` formats a task's name; ``paper`` and ``ours`` name the paper's methods and those
    that it does not have; ``test_rows`` are behind an accuracy, for the verdict's rule; ``aside``
    are tasks that a second mean leaves out, ``aside_why`` says why; ``overrides`` hold for every
    cell, such as a trial protocol.
    """

    name: str
    title: str
    dataset: str
    tasks: tuple[str, ...]
    task_label: str
    paper: tuple[str, ...]
    ours: tuple[str, ...]
    test_rows: int
    aside: tuple[str, ...] = ()
    aside_why: str = ""
    overrides: tuple[str, ...] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        """All methods: the paper's, then ours."""
        return (*self.paper, *self.ours)

    @cached_property
    def cells(self) -> dict[tuple[str, str], Cell]:
        """Cells by (task, method)."""
        cells = cells_of(self.dataset, self.tasks, self.methods, self.overrides)
        return {(cell.task, cell.method): cell for cell in cells}


def load_table(name: str, overrides: Sequence[str] = ()) -> TablePlan:
    """Read ``configs/table/NAME.yaml``; ValueError if there is none."""
    return TablePlan(name=name, overrides=tuple(overrides), **read_config("table", name))
