"""Files that are there whole or not at all: one way of writing for everything in results.

Content goes into a hidden temporary file in the same directory, which is renamed when complete. A
reader, a second writer or a kill at any moment sees the old file or the new one. If two write at
once, the last one to finish wins. A killed writer leaves its temporary file, which nothing reads.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

TEMPORARY = ".tmp"
"""Ends the name of a file that is not whole yet."""


@contextmanager
def written_whole(path: Path, *, durable: bool = False) -> Iterator[BinaryIO]:
    """Open a binary file that takes its name only when everything is in it.

    ``durable`` flushes it to disk before it is renamed, so that a power cut leaves no empty file.
    After OSError (full disk, no permission) the old file is there, and no temporary one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(8)}{TEMPORARY}")
    try:
        with temporary.open("xb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def write_text(path: Path, text: str, encoding: str = "utf-8") -> None:
    """Write a text as a file, whole; what the encoding lacks is written as an escape."""
    with written_whole(path) as file:
        file.write(text.encode(encoding, "backslashreplace"))
