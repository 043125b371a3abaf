"""What is odd about the published numbers, each point with its evidence.

The list itself is ``anomalies.yaml``. It serves two ends: a table says which of its published
values should not be taken at face value, and a reader who misses a match finds out why nobody can
hope for one. The tests check every entry and recompute the numbers quoted there from the CSV files.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Literal

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
    dataset: str
    cells: frozenset[tuple[str, str, str]]
    kind: Literal["fact", "inference"]
    suspect: bool
    statement: str
    evidence: str
    general: bool
    numbers: Mapping[str, float] = field(default_factory=dict)

    def concerns(self, dataset: str, task: str, method: str) -> bool:
        """Whether it concerns a published value, or one that is shown beside a stand-in."""
        return (STAND_INS.get(dataset, dataset), task, method) in self.cells


def anomalies(dataset: str | None = None) -> tuple[Anomaly, ...]:
    """List the known anomalies, of one data set or of all, in the order of the file."""
    name = STAND_INS.get(str(dataset), dataset)
    return tuple(odd for odd in _read() if name is None or name in {cell[0] for cell in odd.cells})


@functools.cache
def _read() -> tuple[Anomaly, ...]:
    """Read the file, whose head explains the keys."""
    found = []
    for entry in yaml.safe_load(PATH.read_text(encoding="utf-8")):
        datasets = DATASETS if entry["dataset"] == "all" else (entry["dataset"],)
        chosen = entry.pop("cells")
        cells = frozenset(
            (name, task, method)
            for name, each in product(datasets, chosen)
            for task, method in published(name)
            if each["tasks"] == "all" or task in each["tasks"]
            if each["methods"] == "all" or method in each["methods"]
        )
        general = all(each["methods"] == each["tasks"] == "all" for each in chosen)
        found.append(Anomaly(**entry, cells=cells, general=general))
    return tuple(found)
