"""What a command prints, wherever that goes: any encoding, a pipe that closes, a full disk."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

CLOSED, UNWRITABLE = 141, 74
"""Exit statuses: the reader of the output is gone, as after `| head`; it cannot be written."""


class OutputLost(BaseException):
    """Standard output or standard error takes no more. No `except Exception` may hold it up."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error)
        self.error = error


class _Stream:
    """A text stream whose failures are told apart from those of other files.

    In a child of the command's process they are plain errors: a warning that nobody reads must not
    make a fit fail.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._process = os.getpid()

    def write(self, text: str) -> int:
        with self._telling():
            return int(self._stream.write(text))

    def flush(self) -> None:
        with self._telling():
            self._stream.flush()

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if os.getpid() != self._process:
                raise
            raise OutputLost(error) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def run_command(command: Callable[[], int]) -> int:
    """Run the body of a command.

    What the console's encoding does not have is printed as an escape.

    Parameters
    ----------
    command : callable
        Gives the exit status.

    Returns
    -------
    status : int
        The command's, or 141 if the reader of its output is gone, 74 if that cannot be written.
    """
    streams = sys.stdout, sys.stderr
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout, sys.stderr = (_Stream(stream) for stream in streams)
    try:
        status = command()
        sys.stdout.flush()
        sys.stderr.flush()
    except OutputLost as lost:
        status = CLOSED if isinstance(lost.error, BrokenPipeError) else UNWRITABLE
        if status == UNWRITABLE:
            with contextlib.suppress(OSError):
                streams[1].write(f"The output could not be written: {lost.error}\n")
                streams[1].flush()
        # What is still buffered would fail again when the interpreter ends.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in streams:
            with contextlib.suppress(OSError, ValueError):
                os.dup2(nowhere, stream.fileno())
    finally:
        sys.stdout, sys.stderr = streams
    return status
