"""Run one cell of the benchmark, or a sweep with Hydra's multirun.

::

    python -m experiments.run dataset=moons dataset.angle=40 method=krda
    python -m experiments.run -m method=krda,ot dataset.angle=10,20,30
    python -m experiments.run -m +sweep=moons hydra/launcher=joblib
    python -m experiments.run --help

A cell that is already complete is read from its record instead of run again, unless
``runtime.force=true``. Fits run in worker processes, so a job that fails or crashes stops no other;
those that failed are listed at the end, and the exit status is 1. It is 130 after Ctrl-C, 141 if
the reader of the output is gone, 74 if the output cannot be written. docs/cluster.md has the
launchers.

Hydra's sweepers are given the mean accuracy or, with ``runtime.objective=held_out_nll``, the mean
held-out NLL, which needs no target label. A job that failed gives None.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Sequence
from functools import cache
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from experiments.threads import set_thread_variables

set_thread_variables()

from experiments.catalogue import CONFIG_DIRECTORY, check_name, unknown
from experiments.cells.cell import Cell
from experiments.cells.configuration import cell_from_config, compose_config
from experiments.cells.repetitions import describe_error
from experiments.commands import check_complete, check_results, describe
from experiments.console import narrate, run_command
from experiments.running.engine import CellError, Engine
from experiments.running.jobs import JobNote, is_single, ledger, read_notes
from experiments.settings import check_seconds
from experiments.store.records import RecordStore
from experiments.whole_files import write_text


def job(config: DictConfig) -> float | None:
    """Run the job of a composed config; give its objective to a sweeper, None if it failed."""
    note = JobNote.first()
    note.write()  # until it is replaced, it tells of a job that was killed
    value = None
    try:
        check_complete(config)
        check_runtime(config.runtime)
        cell = cell_from_config(config)
        note.cell = cell.label
        if config.runtime.objective == "held_out_nll":
            value = _tune(cell, config.runtime, note)
        else:
            value = _measure(cell, config.runtime, note)
    except (Exception, SystemExit) as error:
        # Of a wrong config, as of a cell that cannot be run, the words say all.
        said = isinstance(error, CellError) or (isinstance(error, ValueError) and not note.cell)
        note.state, note.error = "failed", str(error) if said else describe_error(error)
        # A sweep goes on: some launchers and sweepers end it if a job raises.
        if not is_single():
            print(f"{' '.join(note.overrides)}: {note.error}", file=sys.stderr)
        trace = Path(HydraConfig.get().runtime.output_dir, "traceback.txt")
        write_text(trace, traceback.format_exc())
    note.write()
    return value


def check_runtime(runtime: DictConfig) -> None:
    """Raise ValueError unless a cell can be run as the config says."""
    if runtime.objective not in ("accuracy", "held_out_nll"):
        raise ValueError(
            f"runtime.objective must be one of accuracy, held_out_nll, got {runtime.objective!r}."
        )
    check_results("runtime.results", runtime.results)
    check_seconds("runtime.timeout_seconds", runtime.timeout_seconds)
    if not isinstance(runtime.force, bool):
        raise ValueError(f"runtime.force must be true or false, got {runtime.force!r}.")


@cache
def _engine(records: Path, timeout_seconds: float | None) -> Engine:
    """One for all jobs that a launcher runs in this process, so that its worker starts once."""
    engine = Engine(RecordStore(records), timeout_seconds=timeout_seconds)
    # A launcher's process waits for its children when it ends, before anything of `atexit`.
    Finalize(None, engine.stop, exitpriority=10)
    return engine


def _measure(cell: Cell, runtime: DictConfig, note: JobNote) -> float | None:
    """Run or read the cell, print its result, and give its mean accuracy."""
    cwd = Path(hydra.utils.get_original_cwd())
    engine = _engine(cwd / runtime.results / "records", runtime.timeout_seconds)
    with narrate() as narrated:
        narrated(f"loading, then running {cell.label}")
        record, ran = engine.run(cell, force=runtime.force)
    note.state = "run" if ran else "read"
    settings = "" if is_single() else f"  [{' '.join(note.overrides)}]"
    print(f"{describe(record)}{settings}")
    path = os.path.relpath(engine.store.path_of(record), cwd)
    print(f"  {'written to' if ran else 'read from'} {path}")
    for error in record.errors[1:] if is_single() else record.errors:  # the first ends the output
        print(f"  {error}", file=sys.stderr)
    if record.errors:
        note.state, note.error = "failed", record.errors[0]
        return None  # the mean of the others would favour settings that often fail
    return sum(record.accuracies) / len(record.accuracies)


def _tune(cell: Cell, runtime: DictConfig, note: JobNote) -> float:
    """Fit the cell's densities, for their held-out NLL; no record is written."""
    from experiments.cells.objectives import held_out_nll

    engine = _engine(Path(runtime.results) / "records", runtime.timeout_seconds)
    seconds = engine.time_limit(cell, cell.n_repetitions)
    values = engine.call(held_out_nll, cell, timeout_seconds=seconds)
    mean = sum(values) / len(values)
    single = " ".join(f"{value:.4f}" for value in values)
    print(f"{cell.label}: held-out NLL {mean:.4f} ({single}); no record is written")
    note.state = "run"
    return mean


_hydra = hydra.main(version_base="1.3", config_path=str(CONFIG_DIRECTORY), config_name="benchmark")
main = _hydra(job)


# What an override without a point may begin with.
_TOP = ("hydra", *(path.name for path in CONFIG_DIRECTORY.iterdir() if path.is_dir()))


def check_overrides(arguments: Sequence[str]) -> None:
    """ValueError for a data set, method or setting that is not there, with the one that is meant.

    Hydra would list all names, and advise to append a misspelt setting.
    """
    text, groups = "\n".join(arguments), []
    for group, names in re.findall(r"(?m)^(dataset|method)=([\w,]+)$", text):
        for name in names.split(","):
            check_name(group, name)
        groups.append(f"{group}={names.partition(',')[0]}")
    keys = re.findall(r"(?m)^((?:dataset|method|protocol|runtime)(?:\.\w+)+)=", text)
    # Hydra's hint for a key without its group leads to a setting that nothing reads.
    bare = [key for key in re.findall(r"(?m)^\+?(\w+)=", text) if key not in _TOP]
    known = _settings(OmegaConf.to_container(compose_config(groups))) if keys or bare else []
    for key in (*bare, *keys):
        pairs = [pair for name in known for pair in ((key, name), (name, key))]
        if not any(f"{longer}.".startswith(f"{shorter}.") for longer, shorter in pairs):
            raise ValueError(unknown("setting", key, known))


def _settings(config: Any, before: str = "") -> list[str]:
    """Names of all values, those of a group with its name before them."""
    found: list[str] = []
    for name, value in config.items():
        inner = isinstance(value, dict) and value
        found += _settings(value, f"{before}{name}.") if inner else [before + name]
    return found


def command_line() -> int:
    """Run the command line, then report what failed, whichever launcher ran it."""
    status = 0
    try:
        check_overrides(sys.argv[1:])
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    try:
        main()
    except KeyboardInterrupt:
        word = "Interrupted. What is done is kept. The same command continues from here."
        print(word, file=sys.stderr)
        status = 130
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    notes = read_notes()
    if len(notes) > 1:
        run, read = ([note.state for note in notes].count(state) for state in ("run", "read"))
        lost = len(notes) - run - read
        print(f"{len(notes)} jobs: {run} run, {read} read from records, {lost} failed")
    lines = ledger(notes) if status != 130 else []  # else it said so
    if lines:
        print("\n".join(lines), file=sys.stderr)
    return status or int(bool(lines))


if __name__ == "__main__":
    # Launchers send the job to their workers by name, so it must be that of the imported module,
    # not that of `__main__`; the workers then import it, and limit their threads first.
    from experiments.run import command_line as imported_command_line

    sys.exit(run_command(imported_command_line))
