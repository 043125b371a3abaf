"""Which cells the tables and the learning curves need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from experiments.catalogue import check_name, config_names, read_config
from experiments.cells.cell import Cell
from experiments.cells.configuration import cells_of

TRIAL, N_TRIED = "protocol=smoke", 2
"""A trial run takes so many tasks of a table, and values of a curve, to see that all works."""


@dataclass(frozen=True)
class TablePlan:
    """One table: its cells are all pairs of its tasks and methods.

    ``task_label`` formats a task's name; ``paper`` and ``ours`` name the paper's methods and those
    that it does not have; ``test_rows`` are behind an accuracy, for the verdict's rule; ``aside``
    are tasks that a second mean, called ``kept_label``, leaves out, ``aside_why`` says why;
    ``overrides`` hold for every cell, such as a trial protocol; ``part`` is "main" or "appendix" if
    it is one of the paper's two tables of a data set.
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
    kept_label: str = "mean of the others"
    aside_why: str = ""
    overrides: tuple[str, ...] = ()
    part: str | None = None

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
    """Read ``configs/table/NAME.yaml``; ValueError if there is none or it is wrong."""
    content = read_config("table", name)
    try:
        plan = TablePlan(name=name, overrides=tuple(overrides), **content)
        for method in plan.methods:
            check_name("method", method)
    except (TypeError, ValueError) as error:
        raise ValueError(f"configs/table/{name}.yaml: {error}") from None
    return replace(plan, tasks=plan.tasks[:N_TRIED]) if TRIAL in overrides else plan


@dataclass(frozen=True)
class CurvePlan:
    """One learning curve: its cells are all pairs of its values and methods.

    ``vary`` names the keys of the config that are set to each of the ``values``.
    """

    name: str
    title: str
    dataset: str
    task: str
    vary: tuple[str, ...]
    values: tuple[int, ...]
    label: str
    methods: tuple[str, ...]
    overrides: tuple[str, ...] = ()

    @cached_property
    def cells(self) -> dict[tuple[int, str], Cell]:
        """Cells by (value, method)."""
        cells = {}
        for value in self.values:
            varied = tuple(f"{key}={value}" for key in self.vary)
            for cell in cells_of(
                self.dataset, [self.task], self.methods, (*self.overrides, *varied)
            ):
                cells[value, cell.method] = replace(cell, overrides=varied)
        return cells


def load_curve(name: str, overrides: Sequence[str] = ()) -> CurvePlan:
    """Read ``configs/curve/NAME.yaml``; ValueError if there is none."""
    plan = CurvePlan(name=name, overrides=tuple(overrides), **read_config("curve", name))
    return replace(plan, values=plan.values[:N_TRIED]) if TRIAL in overrides else plan


def curves_of(tables: Sequence[TablePlan]) -> list[CurvePlan]:
    """Learning curves of the tables' data sets, with the tables' overrides."""
    overrides = tables[0].overrides if tables else ()
    datasets = {table.dataset for table in tables}
    curves = [load_curve(name, overrides) for name in config_names("curve")]
    return [curve for curve in curves if curve.dataset in datasets]
