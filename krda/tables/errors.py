"""What tables are refused with, and what counts as a missing value in a cell of text.

Messages have parameters in backquotes, such as `drop`; the command calls them by its options.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from krda.printing import printable

#: Cells of text that mean a missing value, stripped and in lower case.
MISSING = frozenset(
    ("", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", "nat", "?", "-", "missing")
)

#: A number as programs write it, in stripped text.
NUMBER = r"(?a)[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"

#: Name of the index of a table whose index says in which line of its file a row begins.
LINE = "line"


class TableError(ValueError):
    """A table that cannot be worked with; the message says what to do."""


def place(index: Any, row: int) -> str:
    """Say where a row of a table is: in which line of the file, if it comes from one."""
    return f"line {index[row]}" if index.name == LINE else f"row {row} (from 0)"


def listed(names: Iterable[object]) -> str:
    """Write the first names of many."""
    texts = [printable(str(name)[:60]) for name in names]
    return ", ".join(texts[:8]) + (f" and {len(texts) - 8} more" if len(texts) > 8 else "")


def shown(cell: object) -> str:
    """Write one cell, in quotes."""
    return f"'{printable(str(cell)[:60])}'"


def similar(names: Iterable[str], known: Iterable[str]) -> str:
    """Ask whether similar names were meant; nothing if there are none."""
    lower = {name.strip().lower(): name for name in known}
    found = [get_close_matches(name.strip().lower(), lower, 1) for name in names]
    meant = dict.fromkeys(lower[match[0]] for match in found if match)
    return f" Did you mean {listed(meant)}?" if meant else ""
