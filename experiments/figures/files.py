"""Files beside the figures that appear whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def written_whole(path: Path) -> Iterator[TextIO]:
    """Open a text file that takes its name only when everything is in it.

    A kill in the middle leaves the file of before, and a hidden one that the next write replaces.

    Parameters
    ----------
    path : Path
        Its directory is made.

    Yields
    ------
    file : text file
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("w", newline="", encoding="ascii") as file:
        yield file
    temporary.replace(path)
