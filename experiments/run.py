"""Run one cell of the benchmark, or a sweep with Hydra's multirun.

::

    python -m experiments.run dataset=moons dataset.angle=40 method=krda
    python -m experiments.run -m method=krda,ot dataset.angle=10,20,30
    python -m experiments.run --help

A cell that is already complete is read from its record instead of run again, unless
``runtime.force=true``. The value handed to Hydra's sweepers is the mean accuracy.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig

from experiments.threads import limit_threads

limit_threads()

from experiments.cells import Cell, CellState, cell_state, run_cell
from experiments.configuration import CONFIG_DIRECTORY, cell_from_config
from experiments.records import Record, RecordStore
from experiments.statistics import mean_and_interval


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
    width = "" if interval.half_width is None else f" ± {100 * interval.half_width:.1f}"
    single = " ".join(f"{100 * accuracy:.1f}" for accuracy in done)
    counted = "" if len(done) == n else f", {len(done)}/{n} repetitions"
    return f"{name}: {100 * interval.mean:.1f}{width} % ({single}{counted})"


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
    # Of a failed record, the repetitions that were done are taken over.
    record = run_cell(cell, found.record if found.state == "failed" else None)
    store.write(record)
    return record, True


@hydra.main(version_base="1.3", config_path=str(CONFIG_DIRECTORY), config_name="benchmark")
def main(config: DictConfig) -> float | None:
    """Run the cell of a composed config and print it."""
    cell = cell_from_config(config)
    root = Path(hydra.utils.get_original_cwd()) / config.runtime.results
    store = RecordStore(root / "records")
    record, ran = run_or_read(cell, store, force=config.runtime.force)
    path = os.path.relpath(store.path_of(record), hydra.utils.get_original_cwd())
    print(describe(record))
    print(f"  {'written to' if ran else 'read from'} {path}")
    for outcome in record.unfinished:
        print(
            f"  repetition {outcome.repetition} {outcome.status}: {outcome.error}", file=sys.stderr
        )
    if not record.complete:
        # Hydra's launchers stop a sweep at an exception; a failed cell must not stop the others.
        _FAILED.append(cell.label)
    return mean_and_interval(record.accuracies).mean if record.accuracies else None


_FAILED: list[str] = []

if __name__ == "__main__":
    main()
    if _FAILED:
        print(f"{len(_FAILED)} cells failed: {', '.join(_FAILED)}", file=sys.stderr)
        sys.exit(1)
