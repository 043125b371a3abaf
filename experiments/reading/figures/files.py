"""Numbers beside the figures, as CSV files; computed again only where need be."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from experiments.whole_files import text_written_whole

Found = TypeVar("Found")


def save_numbers(
    path: Path,
    fields: Sequence[str],
    rows: Iterable[Sequence[object]],
    identity: str | None = None,
) -> None:
    """Write a CSV file, whole.

    Parameters
    ----------
    path : Path
    fields : sequence of str
        Names of the columns.
    rows : iterable of sequence
    identity : str or None
        Hash of what the numbers were made by, which stands in the first line; None writes none.
    """
    with text_written_whole(path, "ascii") as file:
        if identity is not None:
            file.write(f"# {identity}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(fields)
        writer.writerows(rows)


def load_numbers(
    path: Path, fields: Sequence[str], *, identified: bool = True
) -> tuple[list[dict[str, str]], str]:
    """Read what :func:`save_numbers` wrote.

    Parameters
    ----------
    path : Path
    fields : sequence of str
    identified : bool
        Whether the first line holds an identity.

    Returns
    -------
    rows : list of dict
        By field.
    identity : str
        Empty without one.

    Raises
    ------
    OSError
        There is no such file, or it cannot be read.
    ValueError
        The file holds other columns, or lines of another length.
    """
    with path.open(newline="", encoding="ascii") as file:
        head = file.readline() if identified else "# "
        reader = csv.reader(file)
        names = next(reader, [])
        rows = list(reader)
    if not head.startswith("# ") or names != list(fields):
        raise ValueError("other columns")
    if any(len(row) != len(fields) for row in rows):
        raise ValueError("a line lacks fields")
    return [dict(zip(fields, row, strict=True)) for row in rows], head[2:].strip()


def useless(path: Path, what: str, reason: object) -> ValueError:
    """The error of a file that does not hold what it should.

    Parameters
    ----------
    path : Path
    what : str
        What it should hold, plural.
    reason : object
        What is wrong with it.

    Returns
    -------
    error : ValueError
    """
    return ValueError(
        f"{path} does not hold {what} ({reason}); delete it and let them be computed again."
    )


def obtain(
    path: Path,
    load: Callable[[Path], tuple[Found, str]],
    identity: Callable[[], str],
    make: Callable[[str], None],
    *,
    compute: bool,
) -> Found | None:
    """Read a stored file, after computing it where that is wanted and needed.

    Parameters
    ----------
    path : Path
    load : callable
        From the path to what the file holds, and the identity that it was stored with.
    identity : callable
        Gives the identity of what is wanted.
    make : callable
        Computes what is wanted and stores it, with the identity that it is given.
    compute : bool
        Compute it unless that of the same identity is stored; else take what is stored, whatever
        it was made by, as tables do.

    Returns
    -------
    found : object or None
        As it is stored, so that every later drawing has the same digits; None where nothing is
        stored and nothing was to be computed.
    """
    if compute:
        wanted = identity()
        try:
            current = load(path)[1] == wanted
        except (OSError, ValueError):
            current = False
        if not current:
            make(wanted)
    return load(path)[0] if path.is_file() else None
