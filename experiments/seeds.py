"""Seeds derived from names, never from order or time."""

from __future__ import annotations

import hashlib


def derive_seed(*names: str | int) -> int:
    """Derive a seed from the names of what it is for.

    Parameters
    ----------
    *names : str or int
        Such as data set, task, repetition, method. ("a", "bc") and ("ab", "c") differ.

    Returns
    -------
    seed : int
        In [0, 2**31), the range that NumPy's legacy generators, scikit-learn and torch all take.
    """
    text = "\x1f".join(str(name) for name in names)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def method_seed_of(dataset: str, task: str, method: str, repetition: int) -> int:
    """Derive the seed of a method's own randomness from the names of what it runs on."""
    return derive_seed(dataset, task, "method", method, repetition)
