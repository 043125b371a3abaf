"""Run one cell of the benchmark, or a sweep with Hydra's multirun.

::

    python -m experiments.run dataset=moons dataset.angle=40 method=krda
    python -m experiments.run -m method=krda,ot dataset.angle=10,20,30
    python -m experiments.run -m +sweep=moons hydra/launcher=joblib
    python -m experiments.run --help

A cell that is already complete is read from its record instead of run again, unless
``runtime.force=true``. A job that fails stops no other; those that failed are listed at the end,
and the exit status is 1. docs/cluster.md has the launchers.

Hydra's sweepers are given the mean accuracy or, with ``runtime.objective=held_out_nll``, the mean
held-out NLL, which needs no target label. A job that failed gives None.
"""

from __future__ import annotations

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

from experiments.cells import Cell, CellState, cell_state, run_cell
from experiments.configuration import CONFIG_DIRECTORY, cell_from_config
from experiments.isolation import run_isolated
from experiments.objectives import check_objective, held_out_nll
from experiments.records import Record, RecordStore
from experiments.statistics import mean_and_interval
from experiments.sweeps import JobNote, first_note, is_single, pin_threads, read_notes, write_note
from experiments.tables.wording import number


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


def run_or_read(cell: Cell, store: RecordStore, *, force: bool = False) -> tuple[Record, bool]:
    """Give a cell's record, running the cell only where it has to.

    Parameters
    ----------
    cell : Cell
    store : RecordStore
    force : bool
        Run it in any case.

    Returns
    -------
    record : Record
    ran : bool
        Whether it was run now.
    """
    found = CellState("missing") if force else cell_state(cell, store)
    if found.state == "done" and found.record is not None:
        return found.record, False
    # Repetitions that were done are taken over; a kill costs the one at work alone.
    record = run_cell(cell, found.resumable, checkpoint=store.write)
    path = store.write(record)
    if store.read(path) != record:
        print(f"{path}: an earlier record with more finished repetitions stays", file=sys.stderr)
    return record, True


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
        check_objective(config.runtime.objective)
        cell = cell_from_config(config)
        note = replace(note, cell=cell.label)
        write_note(note)
        if config.runtime.objective == "held_out_nll":
            note = _tune(cell, note)
        else:
            note = _measure(cell, config, note)
    except Exception as error:
        note = replace(note, state="failed", error=f"{type(error).__name__}: {error}")
        write_note(note)
        if is_single():
            raise
        # A sweep goes on: some launchers and sweepers end it where a job raises.
        print(f"{note.label}: {note.error}", file=sys.stderr)
        trace = Path(HydraConfig.get().runtime.output_dir, "traceback.txt")
        trace.write_text(traceback.format_exc(), encoding="utf-8")
        return None
    write_note(note)
    return note.value


def _measure(cell: Cell, config: DictConfig, note: JobNote) -> JobNote:
    """Run or read the cell, for its accuracy."""
    runtime, cwd = config.runtime, hydra.utils.get_original_cwd()
    store = RecordStore(Path(cwd) / runtime.results / "records")
    record, ran = None, True
    if runtime.isolate or runtime.timeout_seconds is not None:
        found = CellState("missing") if runtime.force else cell_state(cell, store)
        if found.state != "done":
            # What it raises says more than a process's exit code.
            cell.load()
            record = run_isolated(
                cell, store, force=runtime.force, timeout_seconds=runtime.timeout_seconds
            )
    if record is None:
        record, ran = run_or_read(cell, store, force=runtime.force)
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


def _tune(cell: Cell, note: JobNote) -> JobNote:
    """Fit the cell's densities, for their held-out NLL; no record is written."""
    values = held_out_nll(cell)
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

    sys.exit(imported_command_line())
