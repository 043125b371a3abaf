"""What became of the jobs of a Hydra run or multirun, whichever launcher ran them.

Hydra's launchers run jobs in this process, in others, or on other machines, and return little of
what happened. So every job leaves a note in the run's own directory, ``DIRECTORY/.jobs/RUN``, first
that it began and then how it ended. The process that was started by hand reads them at the end.

This module also registers what the configs refer to: ``${run_id:}``, and ``${table_tasks:NAME}``
and ``${table_methods:NAME}``, a table's cells as Hydra sweeps over them.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from experiments.cells.plan import load_table
from experiments.whole_files import write_text


@dataclass
class JobNote:
    """What is known of one job; ``state`` is "started", then "run", "read" or "failed"."""

    number: int
    overrides: list[str]
    state: str = "started"
    cell: str | None = None
    error: str | None = None

    @classmethod
    def first(cls) -> JobNote:
        """Begin the note of the job that Hydra runs in this process."""
        hydra = HydraConfig.get()
        return cls(0 if is_single() else hydra.job.num, list(hydra.overrides.task))

    def write(self) -> None:
        """Write or replace it."""
        hydra = HydraConfig.get()
        path = _directory(Path(hydra.runtime.cwd), hydra) / f"{self.number}.json"
        write_text(path, json.dumps(asdict(self), indent=1) + "\n")


def is_single() -> bool:
    """Whether Hydra runs one job, as opposed to one of a multirun."""
    return HydraConfig.get().mode == RunMode.RUN


def _directory(cwd: Path, hydra: Any) -> Path:
    base = hydra.run.dir if hydra.mode == RunMode.RUN else hydra.sweep.dir
    return cwd / base / ".jobs" / hydra.job.env_set["KRDA_RUN"]


class RememberRun(Callback):
    """Hydra's callback in the process started by hand: where its jobs leave their notes."""

    directories: ClassVar[list[Path]] = []

    def on_run_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Remember where the one job leaves its note."""
        self.directories.append(_directory(Path.cwd(), config.hydra))

    on_multirun_start = on_run_start


def read_notes() -> list[JobNote]:
    """Notes of all jobs that this process had Hydra start; jobs that did not begin left none."""
    paths = [path for directory in RememberRun.directories for path in directory.glob("*.json")]
    notes = [JobNote(**json.loads(path.read_text(encoding="utf-8"))) for path in paths]
    return sorted(notes, key=lambda note: note.number)


def ledger(notes: list[JobNote]) -> list[str]:
    """Lines on the jobs that failed or were lost, each with the command that runs it alone."""
    failed = [note for note in notes if note.state not in ("run", "read")]
    lost = "began and left no result: it was killed, or is still at work"
    if len(notes) == 1:  # its command is the one that was typed
        return [f"{note.cell or 'The job failed'}: {note.error or lost}" for note in failed]
    lines = [f"{len(failed)} of {len(notes)} jobs failed:"] if failed else []
    for note in failed:
        lines.append(f"  {note.cell or ' '.join(note.overrides)}: {note.error or lost}")
        lines.append(f"    python -m experiments.run {shlex.join(note.overrides)}".rstrip())
    return lines


# Hydra hands the cached values of the process started by hand on to every job, as with `now`.
_RESOLVERS: dict[str, Callable[..., str]] = {
    "run_id": lambda: f"{os.getpid()}-{secrets.token_hex(4)}",
    "table_tasks": lambda name: ",".join(load_table(name).tasks),
    "table_methods": lambda name: ",".join(load_table(name).methods),
}
for _name, _resolver in _RESOLVERS.items():
    OmegaConf.register_new_resolver(_name, _resolver, use_cache=True, replace=True)
