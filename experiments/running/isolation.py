"""A part of a job in a process of its own, whose death harms nothing else.

A launcher may run many jobs in one process, and submitit takes the death of one for that of all. So
what a job computes is computed in a child of its process. The child is forked: it shares what is
loaded already, and costs milliseconds.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

R = TypeVar("R")

_STOPPING = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


class LostCellError(RuntimeError):
    """The process of an isolated cell died or exceeded the time limit."""


def isolated(function: Callable[[], R], timeout_seconds: float | None = None) -> R:
    """Call a function in a child process and give what it returns.

    Parameters
    ----------
    function : callable
        What it returns or raises must be picklable. Files that it writes are there afterwards.
    timeout_seconds : float or None
        Time limit.

    Returns
    -------
    result : object

    Raises
    ------
    LostCellError
        The process died, or was killed at the time limit.
    Exception
        What the function raised, with its traceback as a note.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    # Not a pipe: children of the child may outlive it and would keep a pipe open.
    with tempfile.TemporaryFile() as answer:
        pid = os.fork()
        if pid == 0:
            _answer(function, answer, parent)
        try:
            code = _wait(pid, timeout_seconds)
        except BaseException:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            raise
        answer.seek(0)
        content = answer.read()
    if code < 0:
        raise LostCellError(f"the cell's process was ended by {signal.Signals(-code).name}")
    if not content:
        raise LostCellError(f"the cell's process ended with exit code {code}")
    result: R
    result, error = pickle.loads(content)
    if error is not None:
        raise error
    return result


def _answer(function: Callable[[], Any], answer: Any, parent: int) -> NoReturn:
    """Call the function and write down what came of it; the body of the child."""
    status = 1
    try:
        for number in _STOPPING:
            # A launcher's handlers are not meant for its children.
            signal.signal(number, signal.SIG_DFL)
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
        try:
            content = pickle.dumps((function(), None))
        except (Exception, SystemExit) as error:
            error.add_note(traceback.format_exc())
            try:
                content = pickle.dumps((None, error))
                pickle.loads(content)
            except Exception:
                from experiments.cells.cell import describe_error

                content = pickle.dumps((None, LostCellError(describe_error(error))))
        answer.write(content)
        answer.flush()
        sys.stdout.flush()
        sys.stderr.flush()
        status = 0
    finally:
        # Without the parent's clean-up: its files and plugins are not ours.
        os._exit(status)


def _end_with(parent: int) -> None:
    """End when the parent is gone."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _wait(pid: int, timeout_seconds: float | None) -> int:
    """Wait for a child; give its exit code, or minus the signal that ended it."""
    end = None if timeout_seconds is None else time.monotonic() + timeout_seconds
    while True:
        try:
            done, status = os.waitpid(pid, 0 if end is None else os.WNOHANG)
        except ChildProcessError:
            return 0  # The launcher has children waited for elsewhere; the answer tells.
        if done:
            return os.waitstatus_to_exitcode(status)
        if end is not None and time.monotonic() >= end:
            raise LostCellError(f"the time limit of {timeout_seconds:g} s was exceeded")
        time.sleep(0.02)
