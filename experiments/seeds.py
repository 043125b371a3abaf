"""Seeds derived from names, never from order or time."""

from __future__ import annotations

import hashlib


def derive_seed(*names: str | int) -> int:
    """Derive a seed in [0, 2**31) from names; ("a", "bc") and ("ab", "c") give different ones."""
    text = "\x1f".join(str(name) for name in names)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def method_seed(dataset: str, task: str, method: str, repetition: int) -> int:
    """Seed of a method's own randomness, from the names of what it runs on."""
    return derive_seed(dataset, task, "method", method, repetition)
