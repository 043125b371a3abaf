"""A cell in a process of its own, whose death harms nothing else.

The process is started as a command: multiprocessing cannot start one from within joblib's workers.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from experiments.cells import Cell
from experiments.records import Record, RecordStore

_ROOT = Path(__file__).resolve().parent.parent
_COMMAND = (sys.executable, "-m", "experiments.isolation")


class LostCellError(RuntimeError):
    """The process of an isolated cell died, raised, or exceeded the time limit."""


def run_isolated(
    cell: Cell, store: RecordStore, *, force: bool = False, timeout_seconds: float | None = None
) -> Record:
    """Run a cell in a process of its own, which writes the record.

    Parameters
    ----------
    cell : Cell
    store : RecordStore
    force : bool
        Run it in any case.
    timeout_seconds : float or None
        Time limit, the start of the process included.

    Returns
    -------
    record : Record

    Raises
    ------
    LostCellError
        The process died, raised, or was killed at the time limit.
    """
    request = {"config": cell.config, "root": str(store.root.absolute()), "force": force}
    try:
        code = subprocess.run(
            _COMMAND, input=json.dumps(request), text=True, cwd=_ROOT, timeout=timeout_seconds
        ).returncode
    except subprocess.TimeoutExpired as error:
        raise LostCellError(f"the time limit of {timeout_seconds:g} s was exceeded") from error
    if code < 0:
        raise LostCellError(f"the cell's process was ended by {signal.Signals(-code).name}")
    record = store.get(cell.dataset, cell.task, cell.method, cell.config_sha256)
    if code or record is None:
        raise LostCellError(f"the cell's process ended with exit code {code}")
    return record


def main() -> None:
    """Run the cell that standard input names; the body of its process."""
    from experiments.sweeps import pin_threads

    pin_threads()
    from experiments.run import run_or_read

    request = json.load(sys.stdin)
    run_or_read(Cell(request["config"]), RecordStore(Path(request["root"])), force=request["force"])


if __name__ == "__main__":
    main()
