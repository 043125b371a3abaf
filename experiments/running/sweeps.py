"""What became of the jobs of a Hydra run or multirun, whichever launcher ran them.

Hydra's launchers run jobs in this process, in others, or on other machines, and hand back little of
what happened. So every job leaves a note in the run's own directory, first that it began and then
how it ended, and the process that was started by hand reads the notes when all is over:
``DIRECTORY/.jobs/RUN/NUMBER.json``, with RUN a token that no two runs share.

This module also registers what the configs refer to: ``${run_id:}``, and ``${table_tasks:NAME}``
and ``${table_methods:NAME}``, a table's cells as Hydra sweeps over them.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from threadpoolctl import threadpool_limits

from experiments.store.provenance import threads_in_use
from experiments.threads import limit_threads
from experiments.whole_files import write_text

_NOTES = ".jobs"


@dataclass(frozen=True)
class JobNote:
    """What is known of one job.

    Attributes
    ----------
    number : int
        Hydra's number of the job, from 0.
    overrides : tuple of str
        What sets the job apart, in Hydra's grammar.
    state : {"started", "done", "failed"}
        A job that was killed stays "started".
    cell : str or None
        The cell's label; None where the config stands for none.
    source : {"run", "read"} or None
        Whether the cell was computed now or its record read.
    value : float or None
        What the sweeper was given.
    error : str or None
        What went wrong, in one line.
    threads : int or None
        The most threads that a numerical library in the job's process would use.
    """

    number: int
    overrides: tuple[str, ...]
    state: Literal["started", "done", "failed"] = "started"
    cell: str | None = None
    source: Literal["run", "read"] | None = None
    value: float | None = None
    error: str | None = None
    threads: int | None = None

    @property
    def label(self) -> str:
        """The cell's label, or the overrides where there is none."""
        return self.cell or " ".join(self.overrides) or "the default cell"


def write_note(note: JobNote) -> None:
    """Write or replace the note of the job that Hydra runs in this process.

    Parameters
    ----------
    note : JobNote
    """
    hydra = HydraConfig.get()
    directory = hydra.run.dir if is_single() else hydra.sweep.dir
    notes = _notes_directory(Path(hydra.runtime.cwd, directory), hydra.job.env_set["KRDA_RUN"])
    write_text(notes / f"{note.number}.json", json.dumps(asdict(note), indent=1) + "\n")


def first_note() -> JobNote:
    """Begin the note of the job that Hydra runs in this process."""
    hydra = HydraConfig.get()
    return JobNote(0 if is_single() else hydra.job.num, tuple(hydra.overrides.task))


def is_single() -> bool:
    """Tell whether Hydra runs one job, as against one of a multirun."""
    return HydraConfig.get().mode == RunMode.RUN


def pin_threads() -> int:
    """Limit a job's process to one numerical thread, whatever its launcher has loaded into it.

    Returns
    -------
    threads : int
        The most that a library would use now, as the libraries tell.
    """
    limit_threads()
    # A worker may have loaded a library before this code was imported.
    threadpool_limits(1)
    return threads_in_use()


class RememberRun(Callback):
    """Hydra's callback, in the process started by hand: where the notes of its jobs will lie."""

    directories: ClassVar[list[Path]] = []

    def on_run_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Remember where the one job leaves its note."""
        self._remember(config.hydra.run.dir, config)

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Remember where the jobs leave their notes."""
        self._remember(config.hydra.sweep.dir, config)

    def _remember(self, directory: str, config: DictConfig) -> None:
        run = config.hydra.job.env_set.KRDA_RUN
        self.directories.append(_notes_directory(Path(directory).absolute(), run))


def read_notes() -> list[JobNote]:
    """Read the notes of all jobs that this process had Hydra start.

    Returns
    -------
    notes : list of JobNote
        By number. Jobs that did not begin left none.
    """
    notes = []
    for directory in RememberRun.directories:
        for path in directory.glob("*.json"):
            content = json.loads(path.read_text(encoding="utf-8"))
            notes.append(JobNote(**{**content, "overrides": tuple(content["overrides"])}))
    return sorted(notes, key=lambda note: note.number)


def _notes_directory(directory: Path, run: str) -> Path:
    return directory / _NOTES / run


def _run_id() -> str:
    return f"{os.getpid()}-{secrets.token_hex(4)}"


def _table_tasks(name: str) -> str:
    from experiments.cells.plan import load_table

    return ",".join(load_table(name).tasks)


def _table_methods(name: str) -> str:
    from experiments.cells.plan import load_table

    return ",".join(load_table(name).methods)


# Hydra hands the cached values of the process started by hand on to every job, as with `now`.
OmegaConf.register_new_resolver("run_id", _run_id, use_cache=True, replace=True)
OmegaConf.register_new_resolver("table_tasks", _table_tasks, use_cache=True, replace=True)
OmegaConf.register_new_resolver("table_methods", _table_methods, use_cache=True, replace=True)
