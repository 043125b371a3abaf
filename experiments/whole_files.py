"""Files that are there whole or not at all: one way of writing for all that lies in results.

What is written goes into a hidden file of a name of its own in the same directory, which takes the
file's name when everything is in it. A reader, a second writer or a kill at any moment sees the
file of before or the new one; where two write at once, the last one to finish wins.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

TEMPORARY = ".tmp"
"""Ends the name of a file that is not whole yet."""


@contextmanager
def written_whole(path: Path, *, durable: bool = False) -> Iterator[BinaryIO]:
    """Open a binary file that takes its name only when everything is in it.

    Parameters
    ----------
    path : Path
        Its directory is made.
    durable : bool
        Flush data, name and new directories to disk, so that what was written outlasts a power
        cut. Without it, a power cut may cost a file that was just written.

    Yields
    ------
    file : binary file

    Raises
    ------
    OSError
        The disk is full, the directory not writable, and so on. Then, as with any other exception,
        the file of before is still there, and no temporary one.
    """
    if durable:
        _make_durable_directories(path.parent)
    else:
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
    if durable:
        _sync_directory(path.parent)


@contextmanager
def text_written_whole(path: Path, encoding: str = "utf-8") -> Iterator[TextIO]:
    """Open a text file that takes its name only when everything is in it.

    Parameters
    ----------
    path : Path
        Its directory is made.
    encoding : str

    Yields
    ------
    file : text file
        Ends of lines are written as they are given.

    Raises
    ------
    OSError
        As :func:`written_whole`.
    """
    with written_whole(path) as raw:
        file = io.TextIOWrapper(raw, encoding=encoding, errors="backslashreplace", newline="")
        yield file
        # Leaves the binary file open, to be closed by its own context.
        file.detach()


def write_text(path: Path, text: str, encoding: str = "utf-8") -> None:
    """Write a text as a file, whole.

    Parameters
    ----------
    path : Path
        Its directory is made.
    text : str
        Ends of lines are written as they are; what the encoding does not have, such as a lone
        surrogate, is written as an escape.
    encoding : str

    Raises
    ------
    OSError
        As :func:`written_whole`.
    """
    with written_whole(path) as file:
        file.write(text.encode(encoding, "backslashreplace"))


def remove_old(paths: Iterable[Path], older_than_seconds: float = 3600.0) -> tuple[Path, ...]:
    """Remove those of some files that a killed writer has left behind.

    Parameters
    ----------
    paths : iterable of Path
    older_than_seconds : float
        Younger ones may belong to a writer at work and stay.

    Returns
    -------
    removed : tuple of Path
    """
    limit = time.time() - older_than_seconds
    removed = []
    for path in sorted(paths):
        with contextlib.suppress(OSError):
            if path.lstat().st_mtime <= limit:
                path.unlink()
                removed.append(path)
    return tuple(removed)


def _make_durable_directories(directory: Path) -> None:
    """Make a directory and its parents, each one's entry flushed to disk."""
    if directory.is_dir():
        return
    _make_durable_directories(directory.parent)
    with contextlib.suppress(FileExistsError):  # another process was faster
        directory.mkdir()
    _sync_directory(directory.parent)


def _sync_directory(directory: Path) -> None:
    """Flush a directory's entries; file systems that cannot are left to their own devices."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(descriptor)
