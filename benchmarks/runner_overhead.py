"""Measure what the runner costs beyond the methods' own time, and how soon --status answers.

::

    python -m benchmarks.runner_overhead                     2,000 trivial cells, one worker
    python -m benchmarks.runner_overhead --cells 500 --jobs 2

A trivial cell is 'Source only' on moons at one of many angles, at the sizes of the smoke protocol:
milliseconds of fitting. Overhead is the run's wall time, from the first look at the store to the
last record, times the workers, less the seconds of fitting and predicting that the records hold,
for each cell. It covers planning, drawing data, checksums, claims, messages and writing to disk.
Set against one worker, it counts what the runner's own process does, too.

On a machine that others use, wall times mean little; the processor time, of all processes and with
the methods' own, is an upper bound that does not depend on them.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from experiments.threads import limit_threads

limit_threads()

from experiments.cells.configuration import cells_of  # noqa: E402
from experiments.cells.state import cell_state  # noqa: E402
from experiments.directories import DEFAULT_RESULTS  # noqa: E402
from experiments.running.engine import Engine, run_all  # noqa: E402
from experiments.store.records import RecordStore  # noqa: E402


def processor_seconds() -> float:
    """Processor time of this process and of those it has started that have ended."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, kinds))


def measure_overhead(n_cells: int, n_workers: int) -> None:
    """Run trivial cells, and run them again when they are done; print both."""
    angles = [f"{k * 90 / n_cells:g}" for k in range(n_cells)]
    with tempfile.TemporaryDirectory() as directory:
        store = RecordStore(Path(directory) / "records")
        begin, used = time.perf_counter(), processor_seconds()
        cells = cells_of("moons", angles, ["source_only"], ["protocol=smoke"])
        planned = time.perf_counter() - begin
        first = None
        for ended in run_all(Engine(store, n_workers=n_workers), cells):
            if first is None and ended is not None:
                first = time.perf_counter() - begin
        wall = time.perf_counter() - begin
        busy = processor_seconds() - used
        assert first is not None
        assert len(store.scan()) == n_cells
        outcomes = [outcome for record in store.scan() for outcome in record.outcomes]
        own = sum((o.fit_seconds or 0.0) + (o.predict_seconds or 0.0) for o in outcomes)
        start = first - planned
        overhead = ((wall - start) * n_workers - own) / n_cells
        print(
            f"{n_cells} cells of {len(outcomes) // n_cells} repetitions, {n_workers} workers: "
            f"{wall:.1f} s\n"
            f"  planning {planned:.1f} s, start of the first worker {start:.1f} s\n"
            f"  the methods' own time {1000 * own / n_cells:.1f} ms a cell\n"
            f"  overhead {1000 * overhead:.1f} ms a cell, start of the worker aside\n"
            f"  processor time of all processes, with planning, the worker's start and the "
            f"methods' own: {1000 * busy / n_cells:.1f} ms a cell"
        )
        begin = time.perf_counter()
        assert all(cell_state(cell, store).state == "done" for cell in cells)
        print(f"  a second run finds all done after {time.perf_counter() - begin:.1f} s")


def measure_status(results: Path) -> None:
    """Ask for the status of a directory of results."""
    command = [sys.executable, "-m", "experiments.reproduce", "--status", "--results", str(results)]
    begin, used = time.perf_counter(), processor_seconds()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.perf_counter() - begin
    busy = processor_seconds() - used
    assert done.returncode == 0, done.stderr
    print(f"--status: {seconds:.2f} s ({busy:.2f} s of processor time)")
    print("  " + "\n  ".join(done.stdout.splitlines()[:4]))


def main() -> None:
    """Measure both and print."""
    parser = argparse.ArgumentParser(description="Measure what the runner costs.")
    parser.add_argument("--cells", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=Path, default=DEFAULT_RESULTS)
    options = parser.parse_args()
    measure_status(options.results)
    measure_overhead(options.cells, options.jobs)


if __name__ == "__main__":
    main()
