"""What is odd about the published numbers, each point with its evidence.

The list itself is ``anomalies.yaml``. It serves two ends: a table says which of its published
values should not be taken at face value, and a reader who misses a match finds out why nobody can
hope for one. Numbers quoted there are recomputed from the CSV files by the tests.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import yaml

from experiments.published import DATASETS, STAND_INS, published

PATH = Path(__file__).with_name("anomalies.yaml")

_KEYS = {"id", "dataset", "cells", "kind", "suspect", "statement", "evidence"}
_OPTIONAL = {"numbers"}
_ALL = "all"


class AnomalyError(ValueError):
    """An entry of the list that is not what it must be."""


@dataclass(frozen=True)
class Anomaly:
    """One oddity of the published tables.

    Attributes
    ----------
    id : str
        Short name, lower case with hyphens.
    datasets : tuple of str
    cells : frozenset of (dataset, task, method)
        What it concerns.
    kind : {'fact', 'inference'}
        Whether the statement can be read off the paper, or is a conclusion from it.
    suspect : bool
        Whether the cells' values should not be taken for what the method gives.
    statement, evidence : str
    numbers : mapping of str to float
        Those that the text rests on, for recomputation.
    general : bool
        Whether it concerns whole tables rather than certain cells.
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
        """Whether it concerns the published value of a cell.

        Parameters
        ----------
        dataset : str
            A stand-in counts as the data set whose values are shown beside it.
        task, method : str

        Returns
        -------
        concerns : bool
        """
        return (STAND_INS.get(dataset, dataset), task, method) in self.cells


@functools.cache
def anomalies(dataset: str | None = None) -> tuple[Anomaly, ...]:
    """List the known anomalies, of one data set or of all.

    Parameters
    ----------
    dataset : str or None
        A data set that the paper has no table of has none.

    Returns
    -------
    anomalies : tuple of Anomaly
        In the order of the file.

    Raises
    ------
    AnomalyError
        The file was damaged.
    """
    found = load_anomalies(PATH)
    if dataset is None:
        return found
    name = STAND_INS.get(dataset, dataset)
    return tuple(anomaly for anomaly in found if name in anomaly.datasets)


def load_anomalies(path: Path) -> tuple[Anomaly, ...]:
    """Read a list of anomalies and check it against the published cells.

    Parameters
    ----------
    path : Path
        YAML; see the head of ``anomalies.yaml`` for the keys.

    Returns
    -------
    anomalies : tuple of Anomaly

    Raises
    ------
    AnomalyError
        Missing or unknown keys, values of another type, an id that stands twice, or cells that the
        paper does not have.
    """
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise AnomalyError(f"{path.name} is not YAML: {error}") from error
    if not isinstance(entries, list):
        raise AnomalyError(f"{path.name} must be a list, got {type(entries).__name__}")
    found: list[Anomaly] = []
    for number, entry in enumerate(entries, start=1):
        anomaly = _parse(entry, f"{path.name}, entry {number}")
        if anomaly.id in {other.id for other in found}:
            raise AnomalyError(f"{path.name}, entry {number}: id {anomaly.id!r} stands twice")
        found.append(anomaly)
    return tuple(found)


def _parse(entry: Any, where: str) -> Anomaly:
    if not isinstance(entry, dict):
        raise AnomalyError(f"{where}: expected a mapping, got {entry!r}")
    where = f"{where} ({entry.get('id')})"
    missing, unknown = _KEYS - set(entry), set(entry) - _KEYS - _OPTIONAL
    if missing or unknown:
        raise AnomalyError(f"{where}: lacks {sorted(missing)}, has unknown {sorted(unknown)}")
    for key in ("id", "statement", "evidence"):
        if not isinstance(entry[key], str) or not entry[key].strip():
            raise AnomalyError(f"{where}: {key} must be a text, got {entry[key]!r}")
    if re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry["id"]) is None:
        raise AnomalyError(f"{where}: id must be lower-case words joined by hyphens")
    if entry["kind"] not in ("fact", "inference"):
        raise AnomalyError(f"{where}: kind must be fact or inference, got {entry['kind']!r}")
    if not isinstance(entry["suspect"], bool):
        raise AnomalyError(f"{where}: suspect must be true or false, got {entry['suspect']!r}")
    numbers = entry.get("numbers", {})
    if not isinstance(numbers, dict) or not all(
        isinstance(key, str) and isinstance(value, int | float) for key, value in numbers.items()
    ):
        raise AnomalyError(f"{where}: numbers must map names to numbers, got {numbers!r}")
    if entry["dataset"] != _ALL and entry["dataset"] not in DATASETS:
        raise AnomalyError(
            f"{where}: dataset must be {_ALL} or one of {DATASETS}, got {entry['dataset']!r}"
        )
    datasets = DATASETS if entry["dataset"] == _ALL else (entry["dataset"],)
    selections = _selections(entry["cells"], where)
    cells = frozenset(
        cell
        for dataset in datasets
        for methods, tasks in selections
        for cell in _cells(dataset, methods, tasks, where)
    )
    return Anomaly(
        entry["id"],
        datasets,
        cells,
        entry["kind"],
        entry["suspect"],
        " ".join(entry["statement"].split()),
        " ".join(entry["evidence"].split()),
        MappingProxyType(dict(numbers)),
        general=all(methods == tasks == _ALL for methods, tasks in selections),
    )


def _selections(cells: Any, where: str) -> list[tuple[Any, Any]]:
    """Check the form of ``cells``: a list of mappings with ``methods`` and ``tasks``."""
    if not isinstance(cells, list) or not cells:
        raise AnomalyError(f"{where}: cells must be a list that is not empty, got {cells!r}")
    for cell in cells:
        if not isinstance(cell, dict) or set(cell) != {"methods", "tasks"}:
            raise AnomalyError(f"{where}: each of cells needs methods and tasks, got {cell!r}")
        for value in cell.values():
            names = isinstance(value, list) and value and all(isinstance(v, str) for v in value)
            if value != _ALL and not names:
                raise AnomalyError(f"{where}: expected {_ALL} or a list of names, got {value!r}")
    return [(cell["methods"], cell["tasks"]) for cell in cells]


def _cells(dataset: str, methods: Any, tasks: Any, where: str) -> frozenset[tuple[str, str, str]]:
    """All published cells of the product of methods and tasks; a name that is in none is wrong."""
    known = published(dataset)
    for kind, position, names in (("task", 0, tasks), ("method", 1, methods)):
        strangers = set() if names == _ALL else set(names) - {key[position] for key in known}
        if strangers:
            raise AnomalyError(f"{where}: {dataset} has no {kind} {sorted(strangers)}")
    return frozenset(
        (dataset, task, method)
        for task, method in known
        if (tasks == _ALL or task in tasks) and (methods == _ALL or method in methods)
    )
