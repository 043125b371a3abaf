"""Run one cell of the benchmark, or a sweep with Hydra's multirun.

::

    python -m experiments.run dataset=moons dataset.angle=40 method=krda
    python -m experiments.run -m method=krda,ot dataset.angle=10,20,30
    python -m experiments.run -m +sweep=moons hydra/launcher=joblib
    python -m experiments.run --help

A cell that is already complete is read from its record instead of run again, unless
``runtime.force=true``. A cell is run in a child of its job's process, so a job that fails, exits
or crashes stops no other; those that failed are listed at the end, and the exit status is 1. It is
130 after Ctrl-C, 141 if the reader of the output is gone, 74 if the output cannot be written.
docs/cluster.md has the launchers.

Hydra's sweepers are given the mean accuracy or, with ``runtime.objective=held_out_nll``, the mean
held-out NLL, which needs no target label. A job that failed gives None.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shlex
import sys
import traceback
from dataclasses import replace
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from experiments.threads import limit_threads

limit_threads()

from experiments.analysis.intervals import mean_and_interval
from experiments.analysis.rounding import number
from experiments.cells.cell import Cell, CellState, cell_state, describe_error, run_cell
from experiments.cells.configuration import CONFIG_DIRECTORY, cell_from_config
from experiments.cells.objectives import check_objective, held_out_nll
from experiments.console import run_command
from experiments.directories import check_results
from experiments.running.isolation import isolated
from experiments.running.sweeps import (
    JobNote,
    first_note,
    is_single,
    pin_threads,
    read_notes,
    write_note,
)
from experiments.settings import check_seconds
from experiments.store.records import Record, RecordStore
from experiments.whole_files import write_text


def describe(record: Record) -> str:
    """One line for a person: the mean, its interval and the single accuracies.

    Parameters
    ----------
    record : Record

    Returns
    -------
    line : str
    """
    name = f"{record.dataset}/{record.task} {record.method}"
    done, n = record.accuracies, len(record.outcomes)
    if not done:
        return f"{name}: no repetition done of {n}"
    interval = mean_and_interval(done)
    width = "" if interval.half_width is None else f" ± {number(100 * interval.half_width)}"
    single = " ".join(number(100 * accuracy) for accuracy in done)
    counted = "" if len(done) == n else f", {len(done)}/{n} repetitions"
    return f"{name}: {number(100 * interval.mean)}{width} % ({single}{counted})"


def run(cell: Cell, store: RecordStore, found: CellState) -> Record:
    """Run a cell, and write its record after each repetition.

    Parameters
    ----------
    cell : Cell
    store : RecordStore
    found : CellState
        Repetitions that were done are taken over; a kill costs the one at work alone.

    Returns
    -------
    record : Record
    """
    record = run_cell(cell, found.resumable, checkpoint=store.write)
    path = store.write(record)
    if store.read(path) != record:
        print(f"{path}: an earlier record with more finished repetitions stays", file=sys.stderr)
    return record


def load_libraries(cell: Cell) -> None:
    """Import what a cell needs. Its repetitions tell what cannot be imported."""
    for module in cell.modules:
        with contextlib.suppress(Exception):
            importlib.import_module(module)


def check_runtime(runtime: DictConfig) -> None:
    """Raise ValueError unless a cell can be run as the config says."""
    check_objective(runtime.objective)
    check_results("runtime.results", runtime.results)
    check_seconds("runtime.timeout_seconds", runtime.timeout_seconds)
    if not isinstance(runtime.force, bool):
        raise ValueError(f"runtime.force must be true or false, got {runtime.force!r}.")


def job(config: DictConfig) -> float | None:
    """Run the job of a composed config, print its result and leave a note of it.

    Parameters
    ----------
    config : DictConfig

    Returns
    -------
    value : float or None
        The objective, for a sweeper; None where the job failed.
    """
    note = replace(first_note(), threads=pin_threads())
    # Until it is replaced, it tells of a job that was killed.
    write_note(note)
    try:
        check_runtime(config.runtime)
        cell = cell_from_config(config)
        note = replace(note, cell=cell.label)
        write_note(note)
        if config.runtime.objective == "held_out_nll":
            note = _tune(cell, config, note)
        else:
            note = _measure(cell, config, note)
    except (Exception, SystemExit) as error:
        note = replace(note, state="failed", error=describe_error(error))
        write_note(note)
        if is_single():
            raise
        # A sweep goes on: some launchers and sweepers end it where a job raises.
        print(f"{note.label}: {note.error}", file=sys.stderr)
        trace = Path(HydraConfig.get().runtime.output_dir, "traceback.txt")
        write_text(trace, traceback.format_exc())
        return None
    write_note(note)
    return note.value


def _measure(cell: Cell, config: DictConfig, note: JobNote) -> JobNote:
    """Run or read the cell, for its accuracy."""
    runtime, cwd = config.runtime, hydra.utils.get_original_cwd()
    store = RecordStore(Path(cwd) / runtime.results / "records")
    found = CellState("missing") if runtime.force else cell_state(cell, store)
    ran = found.record is None or found.state != "done"
    if found.record is None or ran:
        # What all jobs of this process need is loaded once, here; what raises says so here, too.
        cell.load()
        load_libraries(cell)
        record = isolated(lambda: run(cell, store, found), runtime.timeout_seconds)
    else:
        record = found.record
    print(describe(record))
    print(f"  {'written to' if ran else 'read from'} {os.path.relpath(store.path_of(record), cwd)}")
    errors = [f"repetition {o.repetition} {o.status}: {o.error}" for o in record.unfinished]
    for error in errors:
        print(f"  {error}", file=sys.stderr)
    return replace(
        note,
        state="failed" if errors else "done",
        source="run" if ran else "read",
        # The mean of the repetitions that went well would favour settings that often fail.
        value=None if errors else mean_and_interval(record.accuracies).mean,
        error=errors[0] if errors else None,
    )


def _tune(cell: Cell, config: DictConfig, note: JobNote) -> JobNote:
    """Fit the cell's densities, for their held-out NLL; no record is written."""
    values = isolated(lambda: held_out_nll(cell), config.runtime.timeout_seconds)
    mean = sum(values) / len(values)
    single = " ".join(f"{value:.4f}" for value in values)
    print(f"{cell.label}: held-out NLL {mean:.4f} ({single}); no record is written")
    return replace(note, state="done", source="run", value=mean)


main = hydra.main(version_base="1.3", config_path=str(CONFIG_DIRECTORY), config_name="benchmark")(
    job
)


def command_line() -> int:
    """Run the command line, then tell what failed, whichever launcher ran it.

    Returns
    -------
    status : int
        The process's exit status: 1 if a job failed, 130 after Ctrl-C.
    """
    status = 0
    try:
        main()
    except KeyboardInterrupt:
        print(
            "Interrupted. What is done is kept; the same command goes on from here.",
            file=sys.stderr,
        )
        status = 130
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except Exception:
        # Hydra lets it through where HYDRA_FULL_ERROR is set.
        traceback.print_exc()
        status = 1
    notes = read_notes()
    if len(notes) > 1:
        print(summarize(notes))
    lines = ledger(notes)
    if lines:
        print("\n".join(lines), file=sys.stderr)
    return status or int(bool(lines))


def summarize(notes: list[JobNote]) -> str:
    """One line that counts the jobs of a sweep.

    Parameters
    ----------
    notes : list of JobNote

    Returns
    -------
    line : str
    """
    done = [note.source for note in notes if note.state == "done"]
    failed = len(notes) - len(done)
    return (
        f"{len(notes)} jobs: {done.count('run')} run, {done.count('read')} read from records, "
        f"{failed} failed"
    )


def ledger(notes: list[JobNote]) -> list[str]:
    """List the jobs that failed or were lost, each with the command that runs it alone.

    Parameters
    ----------
    notes : list of JobNote

    Returns
    -------
    lines : list of str
        Empty where all went well.
    """
    failed = [note for note in notes if note.state != "done"]
    if not failed:
        return []
    lines = [f"{len(failed)} of {len(notes)} jobs failed:"]
    for note in failed:
        error = note.error or "began and left no result: it was killed, or is still at work"
        lines.append(f"  {note.label}: {error}")
        lines.append(f"    python -m experiments.run {shlex.join(note.overrides)}".rstrip())
    return lines


if __name__ == "__main__":
    # Launchers send the job to their workers by name, so it must be that of the imported module,
    # not that of `__main__`; the workers then import it, and limit their threads first.
    from experiments.run import command_line as imported_command_line

    sys.exit(run_command(imported_command_line))
