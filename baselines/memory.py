"""Refuse tables whose matrices cannot be held, before any long work."""

from __future__ import annotations

import os


def check_memory(method: str, n_numbers: int) -> None:
    """Raise MemoryError if float64 matrices of so many numbers exceed the machine's memory."""
    if not hasattr(os, "sysconf"):  # Windows
        return
    needed, limit = 8 * n_numbers, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > limit:
        raise MemoryError(
            f"{method} holds matrices of training rows by training rows: {needed / 1e9:,.1f} GB, "
            f"expected at most the {limit / 1e9:,.1f} GB of this machine. Draw subsamples of the "
            "rows, or take a method whose memory is linear in them: KRDA, SubspaceAlignment, or "
            "LinearOT."
        )
