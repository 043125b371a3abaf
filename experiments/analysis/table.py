"""A table: its plan, the repetitions of its cells, the cells, and what follows from them."""

from __future__ import annotations

import string
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pandas as pd

from experiments.analysis.cells import REPETITIONS, SHARE, means_of_table, table_cells
from experiments.analysis.verdicts import placebo, worth
from experiments.published import STAND_INS
from experiments.published.anomalies import Anomaly, anomalies

if TYPE_CHECKING:
    from experiments.cells.plan import TablePlan


@dataclass(frozen=True)
class Table:
    """A table: its plan, the repetitions of its cells, and the cells themselves.

    ValueError if simulated data are under a title that does not say so.
    """

    plan: TablePlan
    runs: pd.DataFrame
    repetitions: int = REPETITIONS
    share: float = SHARE

    def __post_init__(self) -> None:
        dataset, title = self.plan.dataset, self.plan.title
        if dataset in STAND_INS and "simulated" not in title.lower():
            raise ValueError(
                f"the title of a table of {dataset!r} must say 'simulated', got {title!r}: its "
                f"rows are not those of {STAND_INS[dataset]}."
            )

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know of all of its numbers."""
        trial = "This is a trial run; its accuracies mean nothing."
        return (trial,) if self.plan.overrides else ()

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row for each method and task."""
        return table_cells(self.plan, self.runs, self.repetitions, self.share)

    @property
    def labels(self) -> dict[str, str]:
        """By method, in the order of the rows."""
        return dict(zip(self.cells.method, self.cells.label, strict=True))

    @property
    def published(self) -> bool:
        """Whether any published value is shown."""
        return bool(self.cells.published_mean.notna().any())

    @cached_property
    def means(self) -> dict[str, pd.DataFrame]:
        """Means over tasks, by what they are called."""
        return means_of_table(self.cells, self.plan.kept_label)

    @cached_property
    def anomalies(self) -> list[tuple[Anomaly, str]]:
        """Those of the published values shown, with letters for suspect ones."""
        shown, letters = set(self.cells.anomalies.explode()), iter(string.ascii_lowercase)
        return [
            (odd, next(letters) if odd.suspect else "")
            for odd in anomalies(self.plan.dataset)
            if odd.general or odd.id in shown
        ]

    @cached_property
    def placebo(self) -> pd.DataFrame:
        """Rows judged by published columns."""
        return placebo(self.cells)

    @cached_property
    def worth(self) -> pd.DataFrame:
        """What 'reproduced' is worth, by published column."""
        return worth(self.placebo)

    def marks(self, ids: Iterable[str]) -> str:
        """Letters of the anomalies that make a published value suspect."""
        return ",".join(mark for odd, mark in self.anomalies if mark and odd.id in ids)
