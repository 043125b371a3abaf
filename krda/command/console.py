r"""Text on a terminal: escape sequences are shown, not obeyed, and a lost stream ends nothing."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any


def printable(text: str, *, keep: str = "") -> str:
    r"""Escape the characters that a terminal obeys or hides, except those in ``keep``."""
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape").decode("ascii")
        for c in text
    )


class Console:
    """Standard output and errors, which may end early: a closed pipe, a full disk.

    ``lost`` says whether standard output ended. The work goes on: its result is the file.
    """

    def __init__(self) -> None:
        self.lost = False
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")

    def say(self, text: str = "", end: str = "\n") -> None:
        """Print on standard output, unless it ended."""
        if not self.lost and (error := _print(text, sys.stdout, end)) is not None:
            self.lost = True
            if not isinstance(error, BrokenPipeError):
                self.complain(f"standard output cannot be written: {error.strerror}")

    def complain(self, text: str) -> None:
        """Print an error."""
        _print(f"error: {text}", sys.stderr)


def _print(text: str, stream: Any, end: str = "\n") -> OSError | None:
    try:
        print(printable(text, keep="\n"), end=end, file=stream, flush=True)
    except OSError as error:
        with contextlib.suppress(OSError):  # to nothing, or the interpreter fails when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None
