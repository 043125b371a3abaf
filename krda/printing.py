"""Text that a terminal shows as it is."""

from __future__ import annotations


def printable(text: str, *, keep: str = "") -> str:
    r"""Escape the characters that a terminal obeys or hides, except those in ``keep``."""
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape").decode("ascii")
        for c in text
    )
