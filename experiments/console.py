"""What a command prints, wherever that goes: any encoding, a pipe that closes, a full disk."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from typing import Any

CLOSED, UNWRITABLE = 141, 74
"""Exit statuses: the reader of the output is gone, as after `| head`; it cannot be written."""


class OutputLost(BaseException):
    """Standard output or standard error takes no more. No `except Exception` may hold it up."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error)
        self.error = error


class _Stream:
    """A text stream whose failures are told apart from those of other files."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return int(self._stream.write(text))
        except OSError as error:
            raise OutputLost(error) from error

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            raise OutputLost(error) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def run_command(command: Callable[[], int]) -> int:
    """Run the body of a command and give its exit status, or 141 or 74 if its output is lost.

    What the console's encoding does not have is printed as an escape.
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
        with contextlib.suppress(OSError):
            if status == UNWRITABLE:
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
