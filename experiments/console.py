"""What a command prints, wherever that goes: any encoding, a pipe that closes, a full disk."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

CLOSED, UNWRITABLE = 141, 74
"""Exit statuses: the reader of the output is gone, as after `| head`; it cannot be written."""


COLOURS = {
    r"\b[1-9]\d* (done|reproduced)\b": "green",
    r"\b[1-9]\d* (cells )?(failed|damaged)\b": "red",
    r"\b[1-9]\d* (stale|missing|unavailable)\b": "yellow",
}
"""Of words in a line, on a terminal and unless NO_COLOR is set."""


class OutputLost(BaseException):
    """Standard output or standard error takes no more. No `except Exception` may hold it up."""


class _Stream:
    """A text stream whose failures are distinguished from those of other files."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._stream, name)
        if name not in ("write", "flush"):
            return found

        def guarded(*arguments: Any) -> Any:
            try:
                return found(*arguments)
            except OSError as error:
                raise OutputLost(error) from error

        return guarded


def say(line: str) -> None:
    """Print a line, in which states have their colours."""
    from rich.console import Console
    from rich.text import Text

    text = Text(line)
    for words, colour in COLOURS.items():
        text.highlight_regex(words, colour)
    Console().print(text, soft_wrap=True)


@contextlib.contextmanager
def narrate() -> Iterator[Callable[[str], None]]:
    """Say what is being done, in a line that is replaced; nothing if there is no terminal."""
    from rich.console import Console

    with Console().status("loading") as status:
        yield status.update


def run_command(command: Callable[[], int]) -> int:
    """Run the body of a command and give its exit status, or 141 or 74 if its output is lost.

    What the console's encoding does not have is printed as an escape.
    """
    streams = sys.stdout, sys.stderr
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace", line_buffering=True)
    sys.stdout, sys.stderr = (_Stream(stream) for stream in streams)
    try:
        status = command()
        sys.stdout.flush()
        sys.stderr.flush()
    except OutputLost as lost:
        status = CLOSED if isinstance(lost.args[0], BrokenPipeError) else UNWRITABLE
        with contextlib.suppress(OSError):
            if status == UNWRITABLE:
                print(f"The output could not be written: {lost}", file=streams[1], flush=True)
        # What is still buffered would fail again when the interpreter ends.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in streams:
            with contextlib.suppress(OSError, ValueError):
                os.dup2(nowhere, stream.fileno())
    finally:
        sys.stdout, sys.stderr = streams
    return status
