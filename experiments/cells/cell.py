"""A cell: one data set, one task and one method under one resolved config.

A cell's *config* is everything a person can set that changes its numbers. Its *identity* adds what
cannot be set: the data's checksum, the code and the versions of the numerical libraries. Neither
holds launcher, paths, verbosity or what a method is called in a table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from experiments.seeds import method_seed
from experiments.store.fingerprint import (
    code_fingerprint,
    config_sha256,
    is_own,
    library_versions,
)
from experiments.store.text import canonical_json, sha256_of

# --status must be quick: numerical libraries, and what needs them, are loaded where they are used.
if TYPE_CHECKING:
    from experiments.cells.protocol import Method
    from experiments.datasets.base import Task


@dataclass(frozen=True)
class Cell:
    """One cell.

    ``config`` has ``dataset`` (``name``, ``data``), ``task``, ``method`` (``name``, its class and
    parameters) and ``protocol``, all resolved to plain values. ``timeout_seconds`` limits one
    repetition. ``overrides`` say in Hydra's grammar how the config differs from what the names of
    data set, task and method imply; they are for the label and the command that runs the cell.
    """

    config: dict[str, Any]
    timeout_seconds: float | None = field(default=None, compare=False)
    overrides: tuple[str, ...] = field(default=(), compare=False)

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
        """``moons/40 krda``, and the overrides if there are any."""
        return " ".join((f"{self.dataset}/{self.task}", self.method, *self.overrides))

    @property
    def n_repetitions(self) -> int:
        """How many repetitions make the cell complete."""
        return int(self.config["protocol"]["n_repetitions"])

    @cached_property
    def config_sha256(self) -> str:
        """Checksum of the config; names the record's file."""
        return config_sha256(self.config)

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules of this repository that the numbers depend on, except what these import."""
        targets = [self.config["method"]["_target_"], self.config["dataset"]["data"]["_target_"]]
        targets += [target for target in _targets(self.config) if is_own(target)]
        own = dict.fromkeys(target.rpartition(".")[0] for target in targets)
        return (*own, "experiments.cells.protocol")

    @cached_property
    def code(self) -> str:
        """Fingerprint of the code that the numbers depend on."""
        # The limit on threads counts as code, but not as a dependency on torch: see `libraries`.
        return code_fingerprint((*self.modules, "experiments.threads"))

    @cached_property
    def libraries(self) -> dict[str, str]:
        """Versions of the numerical libraries that the numbers depend on."""
        named = {target.partition(".")[0] for target in _targets(self.config)}
        return library_versions(self.modules, tuple(named))

    def load(self) -> Task:
        """Load or draw the task; a process does it once."""
        return _load(self.dataset, self.task, canonical_json(self.config["dataset"]["data"]))

    def data_sha256(self) -> str:
        """Checksum of the task, which is loaded for it."""
        return self.load().sha256

    def identity(self, data_sha256: str) -> str:
        """Hash of everything that can change the cell's numbers."""
        return sha256_of(
            {
                "config_sha256": self.config_sha256,
                "data_sha256": data_sha256,
                "code_fingerprint": self.code,
                "libraries": self.libraries,
            }
        )

    def seed(self, repetition: int) -> int:
        """Seed of the method in a repetition."""
        return method_seed(self.dataset, self.task, self.method, repetition)

    def make_method(self, seed: int) -> Method:
        """Make the unfitted method, seeded if it takes a seed."""
        from experiments.cells.protocol import make_method

        return make_method(self.config["method"], seed)

    @property
    def trains_together(self) -> bool:
        """Whether the method's class says that several fits are worth training as one program."""
        from hydra.utils import get_object

        try:
            made_by = get_object(str(self.config["method"]["_target_"]))
        except Exception:
            return False  # each repetition will say what is wrong
        return bool(getattr(made_by, "trains_together", False))


def _targets(config: Any) -> Iterator[str]:
    """Yield every class that a config names."""
    if isinstance(config, dict):
        if isinstance(config.get("_target_"), str):
            yield config["_target_"]
        config = list(config.values())
    if isinstance(config, list):
        for value in config:
            yield from _targets(value)


@cache
def _load(dataset: str, name: str, data: str) -> Task:
    """Load a task; ``data``, its data set's config, is text because a cache's key is hashable."""
    from hydra.utils import instantiate

    task: Task = instantiate(json.loads(data), _convert_="all").task(name)
    # Seeds are derived from these names; two names of one task would be two cells.
    if (task.dataset, task.name) != (dataset, name):
        raise ValueError(
            f"Expected the task {dataset}/{name} by its own name, got {task.label}. Name the task "
            "as its data set does, or let both names in the data set's code and config agree."
        )
    return task
