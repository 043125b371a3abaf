"""Markdown that programs write: tables, and the parts of documents that stand between marks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(lines: Iterable[Sequence[str]]) -> str:
    """Write a table.

    Parameters
    ----------
    lines : iterable of sequence of str
        The cells of each line; the second line says how columns are aligned.

    Returns
    -------
    text : str
    """
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def between(document: str, begin: str, end: str, text: str) -> str:
    """Put a text between two marks of a document, in place of what stands there.

    Parameters
    ----------
    document, begin, end, text : str

    Returns
    -------
    document : str

    Raises
    ------
    ValueError
        The marks are not there, once each.
    """
    if document.count(begin) != 1 or document.count(end) != 1:
        raise ValueError(f"The document must hold {begin} and {end} once each.")
    head, rest = document.split(begin)
    _, tail = rest.split(end)
    return f"{head}{begin}\n{text}\n{end}{tail}"
