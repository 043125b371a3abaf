"""Everything that is read, as frames: :func:`read_results` makes them from the records once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pandas as pd

from experiments.analysis import comparisons
from experiments.analysis.cells import summarise
from experiments.analysis.claims import check_claims
from experiments.analysis.sides import timed_side
from experiments.analysis.table import Table
from experiments.catalogue import method_label
from experiments.published import has_published, published

if TYPE_CHECKING:
    from experiments.cells.plan import CurvePlan, TablePlan


@dataclass(frozen=True)
class Results:
    """Everything that is read: tables, learning curves, and what is said across them.

    ``curves`` have numbers of rows as tasks. The frames are as in ``results/tables``.
    """

    tables: list[Table]
    curves: Mapping[str, tuple[CurvePlan, pd.DataFrame]]
    comparison: pd.DataFrame
    tests: pd.DataFrame
    placebo: pd.DataFrame
    claims: pd.DataFrame

    @property
    def notes(self) -> list[str]:
        """What holds for all of it, such as that it is a trial run."""
        return list(dict.fromkeys(note for table in self.tables for note in table.notes))


def select(plan: TablePlan | CurvePlan, frame: pd.DataFrame) -> pd.DataFrame:
    """Repetitions of a plan's own cells; of a learning curve, its values take the tasks' place.

    Code, data and library versions are not compared: a table shows what was measured.
    ``python -m experiments.reproduce --status`` says which records are stale.
    """
    wanted = pd.DataFrame(
        [
            (cell.dataset, cell.task, cell.method, cell.config_sha256[:12], str(key))
            for (key, _), cell in plan.cells.items()
        ],
        columns=["dataset", "task", "method", "config", "key"],
    )
    found = frame.merge(wanted, on=["dataset", "task", "method", "config"])
    return found.drop(columns="task").rename(columns={"key": "task"})


def paper_shaped(plan: TablePlan) -> list[TablePlan]:
    """Plans of the paper's two tables of a data set: the methods of each, and none of ours."""
    plans = []
    if has_published(plan.dataset):
        for part, where in {"main": "main table", "appendix": "table in the appendix"}.items():
            printed = {method for _, method in published(plan.dataset, part)}
            title = f"{plan.title}: methods of the paper's {where}"
            methods = tuple(method for method in plan.paper if method in printed)
            name = f"{plan.name}-{part}"
            plans.append(replace(plan, name=name, title=title, paper=methods, ours=(), part=part))
    return [one for one in plans if one.paper]


def table_of(plan: TablePlan, frame: pd.DataFrame) -> Table:
    """The table of a plan."""
    cell = next(iter(plan.cells.values()))  # all have one protocol
    share = float(cell.config["protocol"]["source_fraction"])
    return Table(plan, select(plan, frame), cell.n_repetitions, share)


def curve_cells(plan: CurvePlan, frame: pd.DataFrame) -> pd.DataFrame:
    """Cells of a learning curve, a row for each number of rows and method."""
    repetitions = next(iter(plan.cells.values())).n_repetitions
    keys = [(str(value), method) for value in plan.values for method in plan.methods]
    cells = summarise(select(plan, frame), keys, repetitions)
    return cells.assign(label=cells.method.map(method_label))


def read_results(
    plans: Sequence[TablePlan], curves: Sequence[CurvePlan], frame: pd.DataFrame
) -> Results:
    """Everything that is read of some tables, from the repetitions that are stored."""
    tables = [table_of(plan, frame) for plan in plans]
    drawn = {plan.name: (plan, curve_cells(plan, frame)) for plan in curves}

    def joined(make: Callable[[Table], pd.DataFrame]) -> pd.DataFrame:
        frames = [make(table).assign(table=table.plan.name) for table in tables]
        out = pd.concat([found for found in frames if len(found)] or frames, ignore_index=True)
        return out[["table", *out.columns.drop("table")]]

    return Results(
        tables,
        drawn,
        joined(lambda table: comparisons.compare(table.cells).reset_index(names="method")),
        joined(lambda table: comparisons.omnibus(table.cells)),
        joined(lambda table: table.placebo),
        check_claims(tables, drawn, timed_side()),
    )
