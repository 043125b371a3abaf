"""Carried rows that land where no target row ever was: found, and told."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: A carried value is far out where it lies beyond the target's range by more than this many widths
#: of the range. Fitted tails reach beyond the range in good fits too: over all tasks and
#: repetitions of the benchmark's KRDA (205 fits of 3 data sets) training rows by 2.8 widths at
#: most, source rows kept out of the fit by 3.4. What goes wrong does not stop there: rows that no
#: density describes end up at 1e2 to 1e13 widths.
FAR_WIDTHS = 10.0

# What is looked at is where rows land, not where they come from. A source row far out is mostly
# carried to the edge of the target, for quantiles are clipped; while a training row, inside all
# ranges of the source, can be carried to 1e12 widths, where an odd value of one column makes the
# network extrapolate the next. Only the outcome tells the two apart. (One such row is in the
# benchmark: columns reversed, simulated HEPMASS from 1500 to 500 GeV, third repetition.)


def column_ranges(X: FloatArray) -> FloatArray:
    """Find the least and the largest value of each column.

    Parameters
    ----------
    X : ndarray of shape (n, d)

    Returns
    -------
    ranges : ndarray of shape (2, d)
    """
    return np.array([X.min(axis=0), X.max(axis=0)])


def describe_far_rows(
    carried: FloatArray,
    target_range: FloatArray,
    order: NDArray[np.intp],
    *,
    training: bool,
    names: Sequence[object] | None = None,
) -> str | None:
    """Say which rows were carried far outside the target rows of the fit, and what to do.

    Parameters
    ----------
    carried : ndarray of shape (n, d)
        Finite.
    target_range : ndarray of shape (2, d)
        Of the target rows of the fit, see :func:`column_ranges`.
    order : ndarray of int
        The columns that were carried, in the order they were.
    training : bool
        Whether these are rows of the fit or others, for the advice.
    names : sequence of object, or None
        What the columns are called; None calls them by their numbers.

    Returns
    -------
    message : str or None
        None unless a value lies beyond its column's range by more than ``FAR_WIDTHS`` widths of
        the range.
    """
    low, high = target_range
    with np.errstate(over="ignore"):  # to infinity, which nothing is beyond
        reach = FAR_WIDTHS * (high - low)
        least, largest = low - reach, high + reach
    # Mostly nothing is far: two passes over the rows then, and no further array of their size.
    outside = (carried.min(axis=0) < least) | (carried.max(axis=0) > largest)
    columns = order[outside[order]]
    if not len(columns):
        return None
    far = (carried[:, columns] < least[columns]) | (carried[:, columns] > largest[columns])
    row, column = int(far[:, 0].argmax()), int(columns[0])
    called = columns.tolist() if names is None else [names[j] for j in columns]
    advice = (
        "The classifier is trained on them, and a few such rows can spoil it. Look at them; of "
        "columns with heavy tails clip the values or take a logarithm, in both domains, or leave "
        "these rows out, and fit again."
        if training
        else "Such places mean nothing. Look at these rows; clip them to the range of the source "
        "rows of the fit, leave them out, or fit with rows like them."
    )
    return (
        f"{int(far.any(axis=1).sum())} of {len(carried)} rows were carried far outside the target "
        f"rows of the fit: expected within {FAR_WIDTHS:g} widths of each column's range there, got "
        f"beyond in columns {called} (in the order they are carried, each depending on "
        f"those before; first row {row}: column {called[0]} at {carried[row, column]:.3g}, target "
        f"rows within {low[column]:.3g} to {high[column]:.3g}). {advice}"
    )
