"""A cell: one data set, one task, one method under one resolved config, and its run.

A cell's *config* is everything a person can set that changes its numbers; its *identity* adds what
cannot be set: the data's checksum, the code, the versions of the numerical libraries. Neither
holds launcher, paths or verbosity.
"""

from __future__ import annotations

import os
import platform
import subprocess
import traceback
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

from hydra.errors import InstantiationException
from hydra.utils import instantiate

from experiments.datasets.base import Dataset, Task
from experiments.fingerprint import code_fingerprint, library_versions
from experiments.methods import make_method
from experiments.protocol import (
    Method,
    Protocol,
    draw_repetition,
    measure,
    method_seed,
)
from experiments.records import Outcome, Record, RecordError, RecordStore, sha256_of
from krda import __version__
from krda.training import DivergenceError

_ROOT = Path(__file__).resolve().parent.parent

# What methods raise where numbers went out of range, as against a wrong parameter or a bug.
_DIVERGED = (DivergenceError, FloatingPointError)


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes
    ----------
    config : dict
        ``dataset`` (``name``, ``data``), ``task``, ``method`` (``name``, its class and
        parameters) and ``protocol``, all resolved to plain values.
    """

    config: dict[str, Any]

    @property
    def dataset(self) -> str:
        """Config name of the data set."""
        return str(self.config["dataset"]["name"])

    @property
    def task(self) -> str:
        """Name of the task, such as "40" or "B-D"."""
        return str(self.config["task"])

    @property
    def method(self) -> str:
        """Config name of the method."""
        return str(self.config["method"]["name"])

    @property
    def label(self) -> str:
        """``moons/40 krda``."""
        return f"{self.dataset}/{self.task} {self.method}"

    @cached_property
    def config_sha256(self) -> str:
        """Checksum of the config; names the record's file."""
        return sha256_of(self.config)

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules of this repository that the numbers depend on, but for what these import."""
        targets = (self.config["method"]["_target_"], self.config["dataset"]["data"]["_target_"])
        own = (target.rpartition(".")[0] for target in targets)
        return (*own, "experiments.protocol", "experiments.methods")

    @cached_property
    def code(self) -> str:
        """Fingerprint of the code that the numbers depend on."""
        # That the limit on threads is told to torch makes no cell depend on torch's version, so
        # this module counts as code but is not asked for libraries.
        return code_fingerprint((*self.modules, "experiments.threads"))

    @cached_property
    def libraries(self) -> dict[str, str]:
        """Versions of the numerical libraries that the numbers depend on."""
        return library_versions(self.modules)

    def load(self) -> Task:
        """Load or draw the task."""
        return _task(self.dataset, self.task, _Frozen(self.config["dataset"]["data"]))

    def identity(self, data_sha256: str) -> str:
        """Hash of everything that can change the cell's numbers.

        Parameters
        ----------
        data_sha256 : str
            The task's checksum.

        Returns
        -------
        identity : str
        """
        return sha256_of(
            {
                "config": self.config,
                "data_sha256": data_sha256,
                "code_fingerprint": self.code,
                "libraries": self.libraries,
            }
        )

    def make_method(self, seed: int) -> Method:
        """Make the unfitted method, seeded if it takes a seed."""
        return make_method(self.config["method"], seed)


class _Frozen(dict[str, Any]):
    """A dict that can be a cache's key: equal contents, equal hash."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(sha256_of(self))


@cache
def _dataset(name: str, data: _Frozen) -> Dataset:
    del name
    dataset: Dataset = instantiate(dict(data), _convert_="all")
    return dataset


@cache
def _task(name: str, task: str, data: _Frozen) -> Task:
    return _dataset(name, data).task(task)


@dataclass(frozen=True)
class CellState:
    """Where a cell stands.

    Attributes
    ----------
    state : {"done", "failed", "stale", "damaged", "missing"}
        "failed": some repetition is not done. "stale": the record is of other data, code or
        library versions. "damaged": the file is no valid record.
    record : Record or None
        The record where it is valid, stale or not.
    reason : str or None
        What is wrong with a damaged file.
    """

    state: Literal["done", "failed", "stale", "damaged", "missing"]
    record: Record | None = None
    reason: str | None = None


def cell_state(cell: Cell, store: RecordStore) -> CellState:
    """Look up where a cell stands, without running anything.

    Parameters
    ----------
    cell : Cell
    store : RecordStore

    Returns
    -------
    state : CellState
    """
    try:
        record = store.get(cell.dataset, cell.task, cell.method, cell.config_sha256)
    except RecordError as error:
        return CellState("damaged", reason=str(error))
    if record is None:
        return CellState("missing")
    if record.identity != cell.identity(cell.load().sha256):
        return CellState("stale", record)
    return CellState("done" if record.complete else "failed", record)


def run_cell(cell: Cell, previous: Record | None = None) -> Record:
    """Run a cell's repetitions; what fails is recorded, and the others go on.

    Parameters
    ----------
    cell : Cell
    previous : Record or None
        A record of the same identity; its finished repetitions are taken over.

    Returns
    -------
    record : Record
    """
    task = cell.load()
    protocol: Protocol = instantiate(cell.config["protocol"])
    kept = {o.repetition: o for o in previous.outcomes if o.status == "done"} if previous else {}
    outcomes = tuple(
        kept[r] if r in kept else _run_repetition(cell, task, protocol, r)
        for r in range(protocol.n_repetitions)
    )
    return make_record(cell, task.sha256, outcomes)


def _run_repetition(cell: Cell, task: Task, protocol: Protocol, repetition: int) -> Outcome:
    seed = method_seed(task, cell.method, repetition)
    try:
        data = draw_repetition(task, repetition, protocol)
        measurement = measure(cell.make_method, data, seed)
    except Exception as error:
        return Outcome(
            repetition=repetition,
            seed=seed,
            status="diverged" if isinstance(error, _DIVERGED) else "failed",
            accuracy=None,
            fit_seconds=None,
            predict_seconds=None,
            error=_describe(error),
        )
    return Outcome(
        repetition=repetition,
        seed=seed,
        status="done",
        accuracy=measurement.accuracy,
        fit_seconds=measurement.fit_seconds,
        predict_seconds=measurement.predict_seconds,
        error=None,
    )


def _describe(error: Exception) -> str:
    """One line: what was raised, and where in this repository, without absolute paths."""
    frames = traceback.extract_tb(error.__traceback__)
    calls = [(Path(frame.filename), frame.lineno) for frame in frames]
    own = [(p, n) for p, n in calls if p.is_relative_to(_ROOT) and ".venv" not in p.parts]
    where = f" [{own[-1][0].relative_to(_ROOT)}:{own[-1][1]}]" if own else ""
    # Hydra wraps what a constructor raises.
    wrapped = isinstance(error, InstantiationException) and error.__cause__ is not None
    cause = error.__cause__ if wrapped else error
    return f"{type(cause).__name__}: {cause}{where}"


def lost_record(cell: Cell, status: str, error: str) -> Record:
    """Record of a cell whose worker was lost: no repetition came back.

    Parameters
    ----------
    cell : Cell
    status : {"failed", "timeout"}
    error : str

    Returns
    -------
    record : Record
    """
    task = cell.load()
    outcomes = tuple(
        Outcome(
            repetition=r,
            seed=method_seed(task, cell.method, r),
            status=status,  # type: ignore[arg-type]
            accuracy=None,
            fit_seconds=None,
            predict_seconds=None,
            error=error,
        )
        for r in range(int(cell.config["protocol"]["n_repetitions"]))
    )
    return make_record(cell, task.sha256, outcomes)


def make_record(cell: Cell, data_sha256: str, outcomes: tuple[Outcome, ...]) -> Record:
    """Put a cell's outcomes and provenance together.

    Parameters
    ----------
    cell : Cell
    data_sha256 : str
    outcomes : tuple of Outcome

    Returns
    -------
    record : Record
    """
    return Record(
        dataset=cell.dataset,
        task=cell.task,
        method=cell.method,
        identity=cell.identity(data_sha256),
        config_sha256=cell.config_sha256,
        config=cell.config,
        data_sha256=data_sha256,
        code_fingerprint=cell.code,
        outcomes=outcomes,
        environment={**environment(), "libraries": cell.libraries},
    )


@cache
def _environment() -> dict[str, Any]:
    return {
        "krda": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "threads": 1,
        **_revision(),
    }


def environment() -> dict[str, Any]:
    """Describe what a cell runs on: versions, processor, threads, revision."""
    return dict(_environment())


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _revision() -> dict[str, Any]:
    """Git revision and whether tracked code is as committed; None outside a checkout."""

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(_ROOT), *arguments], capture_output=True, text=True, timeout=10
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    # Results change while a run writes them; that is not a change of what produces them.
    changes = git("status", "--porcelain", "--untracked-files=no", "--", ":!results")
    return {
        "git_revision": git("rev-parse", "HEAD"),
        "git_clean": None if changes is None else changes == "",
    }
