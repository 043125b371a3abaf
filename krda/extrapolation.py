"""Transported rows far outside all target rows of the fit: found and described.

Only the outcome shows them. A source row far out is mostly transported to the edge of the target,
since quantiles are clipped, while a training row inside all ranges of the source can be transported
to 1e12 widths, if an odd value of one column makes the network extrapolate the next. (One such row
is in the benchmark: columns reversed, simulated HEPMASS from 1500 to 500 GeV, third repetition.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from krda.validation import FloatArray

#: A transported value is far out if it is beyond the target's range by more than this many widths
#: of the range. Fitted tails reach beyond the range in good fits, too: over all tasks and
#: repetitions of the benchmark's KRDA (205 fits of 3 data sets) training rows by 2.8 widths at
#: most, source rows kept out of the fit by 3.4. What goes wrong does not stop there: rows that no
#: density describes end up at 1e2 to 1e13 widths.
FAR_WIDTHS = 10.0


def column_ranges(X: FloatArray) -> FloatArray:
    """Give the smallest and the largest value of each column, as an array of shape (2, d)."""
    return np.array([X.min(axis=0), X.max(axis=0)])


def describe_far_rows(
    transported: FloatArray,
    target_range: FloatArray,
    order: NDArray[np.intp],
    *,
    training: bool,
    names: Sequence[object] | None = None,
) -> str | None:
    """Say which rows (n, d) were transported far outside the target rows of the fit, if any.

    The answer is None if no row was. Far is beyond the column's range, of shape (2, d), by more
    than ``FAR_WIDTHS`` widths. Only the columns in ``order`` were transported. The advice depends
    on whether these are rows of the fit.
    """
    low, high = target_range
    with np.errstate(over="ignore"):  # to infinity, which nothing is beyond
        reach = FAR_WIDTHS * (high - low)
        least, largest = low - reach, high + reach
    # Mostly nothing is far: two passes over the rows then, and no further array of their size.
    outside = (transported.min(axis=0) < least) | (transported.max(axis=0) > largest)
    columns = order[outside[order]]
    if not len(columns):
        return None
    values = transported[:, columns]
    far = (values < least[columns]) | (values > largest[columns])
    row, column = int(far[:, 0].argmax()), int(columns[0])
    called = columns.tolist() if names is None else [names[j] for j in columns]
    advice = (
        "The classifier is trained on them, and a few such rows can spoil it. Look at them; clip "
        "columns with heavy tails or take their logarithm, in both domains, or leave these rows "
        "out, and fit again."
        if training
        else "Such places mean nothing. Look at these rows; clip them to the range of the source "
        "rows of the fit, leave them out, or fit with rows like them."
    )
    return (
        f"{int(far.any(axis=1).sum())} of {len(values)} rows were transported far outside the "
        f"target rows of the fit: expected within {FAR_WIDTHS:g} widths of each column's range, "
        f"got beyond in columns {called} (in the order of the transport, each depends on those "
        f"before; first row {row}: column {called[0]} at {values[row, 0]:.3g}, target rows within "
        f"{low[column]:.3g} to {high[column]:.3g}). {advice}"
    )
