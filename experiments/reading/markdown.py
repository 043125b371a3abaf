"""The one writer of Markdown: escaping, tables, lists, and marked parts of documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from experiments.whole_files import write_text

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~#$&])")


def escape(text: str) -> str:
    """Make text mean itself in Markdown, on one line."""
    escaped = _SPECIAL.sub(r"\\\1", " ".join(text.split()))
    # At the head of an item these would open a list of their own.
    escaped = re.sub(r"^([-+])(?= )", r"\\\1", escaped)
    return re.sub(r"^(\d+)([.)])(?= )", r"\1\\\2", escaped)


def grid(head: Sequence[str], rows: Iterable[Sequence[str]], n_text: int = 1) -> str:
    """A table of finished cells whose first ``n_text`` columns are flush left, others right."""
    rules = [":--" if column < n_text else "--:" for column in range(len(head))]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rules, *rows])


def items(lines: Iterable[str]) -> str:
    """A list of plain texts, escaped."""
    return "\n".join(f"- {escape(line)}" for line in lines)


def page(*parts: str) -> str:
    """Parts with blank lines between them; empty ones are left out."""
    return "\n\n".join(part for part in parts if part) + "\n"


def filled(document: str, name: str, text: str) -> str:
    """Put a text between the marks of a name; ValueError unless each is in the document once."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if document.count(begin) != 1 or document.count(end) != 1:
        raise ValueError(f"The document must hold {begin} and {end} once each.")
    head, rest = document.split(begin)
    _, tail = rest.split(end)
    return f"{head}{begin}\n{text}\n{end}{tail}"


def fill(path: Path, name: str, text: str) -> None:
    """Put a text between the marks of a name in a file."""
    write_text(path, filled(path.read_text(encoding="utf-8"), name, text))
