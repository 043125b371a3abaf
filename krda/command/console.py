r"""Text on a terminal: escape sequences are shown, not obeyed, and a lost stream ends nothing."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
from typing import Any

from krda.printing import printable


class Console:
    """Standard output and errors, which may end early: a closed pipe, a full disk.

    Results go to standard output, as text or as JSON, and so do errors as JSON; what is going on
    goes to standard error, unless it is quiet. ``lost`` says whether standard output ended. The
    work goes on: its result is the file.
    """

    def __init__(self, *, quiet: bool = False, json: bool = False) -> None:
        self.lost = False
        self.quiet, self.json = quiet, json
        self._start = time.monotonic()
        self._noted: set[str] = set()
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")

    def result(self, text: str, data: Any) -> None:
        """Print a result: its text, or its data if JSON is asked for."""
        self._say(json.dumps(data, indent=2, allow_nan=False) if self.json else _as_options(text))

    def progress(self, text: str) -> None:
        """Say what begins, and after how many seconds."""
        if not self.quiet:
            _print(f"{time.monotonic() - self._start:6.1f} s  {text}", sys.stderr)

    def note(self, text: str) -> None:
        """Say once something that the user should know of the tables."""
        if not self.quiet and text not in self._noted:
            self._noted.add(text)
            _print(f"note: {_as_options(text)}", sys.stderr)

    def complain(self, text: str) -> None:
        """Print an error."""
        if self.json:
            self._say(json.dumps({"error": _as_options(text)}))
        else:
            _print(f"error: {_as_options(text)}", sys.stderr)

    def _say(self, text: str) -> None:
        if not self.lost and (error := _print(text, sys.stdout)) is not None:
            self.lost = True
            if not isinstance(error, BrokenPipeError):
                _print(f"error: standard output: {error.strerror}", sys.stderr)


def _as_options(text: str) -> str:
    """Call parameters by the options of the command."""
    return re.sub("`(separator|decimal|encoding|drop|categories)`", r"--\1", text)


def _print(text: str, stream: Any) -> OSError | None:
    try:
        print(printable(text, keep="\n"), file=stream, flush=True)
    except OSError as error:
        with contextlib.suppress(OSError):  # to nothing, or the interpreter fails when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None
