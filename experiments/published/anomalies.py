"""What is odd about the published numbers, each point with its evidence.

The list itself is ``anomalies.yaml``. It serves two ends: a table says which of its published
values should not be taken at face value, and a reader who misses a match finds out why nobody can
hope for one. The tests check every entry and recompute the numbers quoted there from the CSV files.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import yaml

from experiments.published import DATASETS, STAND_INS, published

PATH = Path(__file__).with_name("anomalies.yaml")

_ALL = "all"


@dataclass(frozen=True)
class Anomaly:
    """One oddity of the published tables.

    ``cells`` are those (dataset, task, method) that it concerns; ``general`` says that these are
    whole tables. A fact can be read off the paper, an inference is a conclusion. ``suspect`` cells
    should not be taken for what the method gives. ``numbers`` are those that the text rests on.
    """

    id: str
    datasets: tuple[str, ...]
    cells: frozenset[tuple[str, str, str]]
    kind: Literal["fact", "inference"]
    suspect: bool
    statement: str
    evidence: str
    numbers: Mapping[str, float]
    general: bool

    def concerns(self, dataset: str, task: str, method: str) -> bool:
        """Whether it concerns a published value, or one that is shown beside a stand-in."""
        return (STAND_INS.get(dataset, dataset), task, method) in self.cells


@functools.cache
def anomalies(dataset: str | None = None) -> tuple[Anomaly, ...]:
    """List the known anomalies, of one data set or of all, in the order of the file."""
    entries = yaml.safe_load(PATH.read_text(encoding="utf-8"))
    found = tuple(_anomaly(**entry) for entry in entries)
    if dataset is None:
        return found
    name = STAND_INS.get(dataset, dataset)
    return tuple(anomaly for anomaly in found if name in anomaly.datasets)


def _anomaly(
    *,
    id: str,
    dataset: str,
    cells: list[dict[str, Any]],
    kind: Literal["fact", "inference"],
    suspect: bool,
    statement: str,
    evidence: str,
    numbers: Mapping[str, float] = MappingProxyType({}),
) -> Anomaly:
    """Make an anomaly of an entry of the file, whose head explains the keys."""
    datasets = DATASETS if dataset == _ALL else (dataset,)
    concerned = frozenset(
        (name, task, method)
        for name, chosen in product(datasets, cells)
        for task, method in published(name)
        if chosen["tasks"] == _ALL or task in chosen["tasks"]
        if chosen["methods"] == _ALL or method in chosen["methods"]
    )
    return Anomaly(
        id,
        datasets,
        concerned,
        kind,
        suspect,
        " ".join(statement.split()),
        " ".join(evidence.split()),
        MappingProxyType(dict(numbers)),
        general=all(chosen["methods"] == chosen["tasks"] == _ALL for chosen in cells),
    )
