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
from typing import Any, Literal

import yaml

from experiments.published import DATASETS, STAND_INS, published

PATH = Path(__file__).with_name("anomalies.yaml")


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


def anomalies(dataset: str | None = None) -> tuple[Anomaly, ...]:
    """List the known anomalies, of one data set or of all, in the order of the file."""
    name = STAND_INS.get(str(dataset), dataset)
    return tuple(anomaly for anomaly in _read() if name is None or name in anomaly.datasets)


@functools.cache
def _read() -> tuple[Anomaly, ...]:
    return tuple(map(_anomaly, yaml.safe_load(PATH.read_text(encoding="utf-8"))))


def _anomaly(entry: dict[str, Any]) -> Anomaly:
    """Make an anomaly of an entry of the file, whose head explains the keys."""
    datasets = DATASETS if entry["dataset"] == "all" else (entry["dataset"],)
    return Anomaly(
        id=entry["id"],
        datasets=datasets,
        cells=frozenset(
            (name, task, method)
            for name, chosen in product(datasets, entry["cells"])
            for task, method in published(name)
            if chosen["tasks"] == "all" or task in chosen["tasks"]
            if chosen["methods"] == "all" or method in chosen["methods"]
        ),
        kind=entry["kind"],
        suspect=entry["suspect"],
        statement=" ".join(entry["statement"].split()),
        evidence=" ".join(entry["evidence"].split()),
        numbers=entry.get("numbers", {}),
        general=all(each["methods"] == each["tasks"] == "all" for each in entry["cells"]),
    )
