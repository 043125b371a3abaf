"""What a figure is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from experiments.cells.cell import Cell
from experiments.cells.configuration import cell_from_config, compose_config
from experiments.cells.curves import CurvePlan
from experiments.cells.plan import TablePlan
from experiments.store.records import RecordStore

Plan = TypeVar("Plan", TablePlan, CurvePlan)


@dataclass(frozen=True)
class Request:
    """What to draw, from what, and where to.

    Attributes
    ----------
    store : RecordStore
        Of the records that figures are drawn from.
    directory : Path
        Holds the stored rows, and gets the figures.
    compute : bool
        Compute rows that are missing or of an older state; else draw what is stored.
    tables : sequence of TablePlan
        Figures are drawn for these alone; their overrides hold for all cells.
    tell : callable
        Takes a line for the person who asked: what was left out, and why.
    failures : list of str
        Gets a line for each figure that could not be made; the others are made all the same.
    """

    store: RecordStore
    directory: Path
    compute: bool
    tables: Sequence[TablePlan]
    tell: Callable[[str], None] = print
    failures: list[str] = field(default_factory=list)

    @property
    def overrides(self) -> tuple[str, ...]:
        """Hydra overrides of all cells, such as a trial protocol."""
        return self.tables[0].overrides if self.tables else ()

    def shows(self, dataset: str) -> bool:
        """Whether a table of the data set is asked for."""
        return any(table.dataset == dataset for table in self.tables)

    def attempt(self, name: str, make: Callable[[], list[Path]]) -> list[Path]:
        """Make a figure; where it fails, note that, so that it costs no other one.

        A disk that takes no more concerns all figures, and is raised.
        """
        try:
            return make()
        except OSError:
            raise
        except Exception as error:
            self.failures.append(f"{name}: {type(error).__name__}: {error}")
            return []

    def each(
        self, kind: str, plans: Iterable[Plan], make: Callable[[Plan, str], list[Path]]
    ) -> list[Path]:
        """Make the figure ``KIND_NAME`` of each plan, by a function of the plan and that name."""
        return [
            path
            for plan in plans
            for name in [f"{kind}_{plan.name}"]
            for path in self.attempt(name, partial(make, plan, name))
        ]

    def each_table(self, kind: str, make: Callable[[TablePlan, str], list[Path]]) -> list[Path]:
        """Make the figure ``KIND_TABLE`` of each table that is asked for."""
        return self.each(kind, self.tables, make)

    def cell(self, *overrides: str) -> Cell:
        """Make a cell, with the overrides of all cells."""
        return cell_from_config(compose_config((*overrides, *self.overrides)))
