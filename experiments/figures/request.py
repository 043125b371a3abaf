"""What a figure is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.cells import Cell
from experiments.configuration import cell_from_config, compose_config
from experiments.plan import TablePlan
from experiments.records import RecordStore


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
    """

    store: RecordStore
    directory: Path
    compute: bool
    tables: Sequence[TablePlan]
    tell: Callable[[str], None] = print

    @property
    def overrides(self) -> tuple[str, ...]:
        """Hydra overrides of all cells, such as a trial protocol."""
        return self.tables[0].overrides if self.tables else ()

    def shows(self, dataset: str) -> bool:
        """Whether a table of the data set is asked for."""
        return any(table.dataset == dataset for table in self.tables)

    def cell(self, *overrides: str) -> Cell:
        """Make a cell, with the overrides of all cells."""
        return cell_from_config(compose_config((*overrides, *self.overrides)))
