"""Classes of the source rows: their shares, weights that give them others, a part of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from krda.validation import FloatArray

#: Rows of each domain that are looked at where every row is compared with every other.
MAX_ROWS = 400


def some_rows(n: int) -> NDArray[np.intp]:
    """Numbers of evenly spaced rows, :data:`MAX_ROWS` at most."""
    return np.linspace(0, n - 1, min(n, MAX_ROWS)).astype(np.intp)


def some_of_each(codes: NDArray[Any]) -> NDArray[np.intp]:
    """Numbers of rows, about :data:`MAX_ROWS` at most, evenly spaced within each class.

    A class keeps three rows at least, if it has them.
    """
    by_class = np.argsort(codes, kind="stable")
    first = np.searchsorted(codes[by_class], np.arange(codes.max() + 1))
    few = np.concatenate([rows[:3] for rows in np.split(by_class, first[1:])])
    return np.unique(np.concatenate([by_class[some_rows(len(codes))], few]))


def source_shares(codes: NDArray[Any]) -> FloatArray:
    """Shares of the classes 0, 1, ... among the rows."""
    return np.bincount(codes) / len(codes)


def class_weights(codes: NDArray[Any], shares: FloatArray) -> FloatArray:
    """Weights of sum one that give the classes these shares, equal within a class."""
    weights = (shares / np.maximum(np.bincount(codes, minlength=len(shares)), 1))[codes]
    return weights / weights.sum()
