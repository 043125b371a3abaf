"""The two sides of a claim: complete cells of one data set, the paper's or ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.analysis.cells import KRDA, REFERENCES
from experiments.analysis.intervals import ties_with_best
from experiments.analysis.rounding import DECIMALS
from experiments.catalogue import method_label
from experiments.published import METHODS, published

COMPETITORS = tuple(name for name in METHODS.values() if name not in (*REFERENCES, KRDA))
TIMES = Path(__file__).resolve().parents[2] / "results" / "benchmarks" / "scale.csv"
"""Seconds by number of rows, as ``make bench`` measured them."""
TIMED_ROWS = ("10000", "100000", "1000000")
TABLE_ROWS = "300"
"""Training rows of either domain in the paper's table of the moons."""


@dataclass(frozen=True)
class Side:
    """Complete cells of one data set: ``mean`` and ``half`` (widths), tasks in rows, NaN if none.

    ``rivals`` are the methods that KRDA is set beside; ``left_out`` are the labels of rows that
    would be rivals too, if their cells were complete.
    """

    mean: pd.DataFrame
    half: pd.DataFrame
    labels: Mapping[str, str]
    rivals: Sequence[str] = COMPETITORS
    left_out: Sequence[str] = ()

    def at(self, tasks: slice) -> Side:
        """The same on some tasks."""
        return replace(self, mean=self.mean[tasks], half=self.half[tasks])

    def among_all(self) -> Side:
        """The same with every complete row as a rival."""
        others = [name for name in self.labels if name not in (*REFERENCES, KRDA)]
        complete = [name for name in others if not self.missing([name])]
        return replace(self, rivals=complete, left_out=self.missing(others))

    def missing(self, methods: Iterable[str]) -> list[str]:
        """Labels of the methods that lack a complete cell."""
        return [
            self.labels.get(method, method)
            for method in methods
            if method not in self.mean or self.mean[method].isna().any()
        ]

    def over_tasks(self) -> pd.Series:
        """Mean over the tasks, by method; rounded, so that equal means are equal."""
        means: pd.Series = self.mean.mean().round(DECIMALS)
        return means

    def lead(self, method: str = KRDA) -> pd.DataFrame:
        """1 where a method's interval is wholly above that of another one, -1 if below, else 0."""
        low, high = self.mean - self.half, self.mean + self.half
        above = high.sub(low[method], axis=0).round(DECIMALS) < 0
        below = low.sub(high[method], axis=0).round(DECIMALS) > 0
        return above.astype(int) - below.astype(int)

    def best_or_tied(self) -> pd.Series:
        """On how many tasks each rival and KRDA ties with the best mean among them."""
        methods = [*self.rivals, KRDA]
        mean, half = self.mean[methods].to_numpy(), self.half[methods].to_numpy()
        tied = [ties_with_best(*row) for row in zip(mean, half, strict=True)]
        return pd.Series(np.sum(tied, axis=0), index=methods)

    def best_rival(self, values: pd.Series) -> tuple[Any, str]:
        """The highest value of a rival, and who has it."""
        others = values[list(self.rivals)]
        return others.max(), self.names(others.index[others == others.max()])

    def names(self, methods: Iterable[str]) -> str:
        """Labels; they may hold commas."""
        return " / ".join(self.labels[method] for method in methods)


def side_of(cells: pd.DataFrame) -> Side:
    """Our complete cells: a frame with ``task``, ``method``, ``label``, ``mean`` and ``ci95``."""
    tasks = cells.task.unique()
    complete = cells[cells.complete].fillna({"ci95": 0})
    mean, half = (
        complete.pivot(index="task", columns="method", values=values).reindex(tasks)
        for values in ("mean", "ci95")
    )
    return Side(mean.round(DECIMALS), half, dict(zip(cells.method, cells.label, strict=True)))


def published_side(dataset: str, task: str | None = None) -> Side:
    """The paper's numbers of a data set; of one task with ``task``, at the rows of its table."""
    cells = pd.DataFrame(
        [(*key, cell.mean, cell.ci95) for key, cell in published(dataset).items()],
        columns=["task", "method", "mean", "ci95"],
    ).assign(complete=True)
    if task is not None:
        cells = cells[cells.task == task].assign(task=TABLE_ROWS)
    return side_of(cells.assign(label=cells.method.map(method_label)))


def timed_side(path: Path = TIMES) -> Side:
    """Seconds by number of rows from a speed benchmark; what it lacks is missing."""
    labels = {"KRDA.fit": "fit", "KRDA.transform": "transform"}
    mean = pd.DataFrame(index=list(TIMED_ROWS), columns=list(labels), dtype=float)
    if path.is_file():
        done = "status == 'done' and threads == 1 and d == 27"
        rows = pd.read_csv(path, dtype={"n": str}).query(done)
        mean = rows.pivot_table("seconds", "n", "case", aggfunc="last").reindex_like(mean)
    return Side(mean, 0 * mean, labels)
