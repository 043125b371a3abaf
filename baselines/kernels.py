"""Gram matrices for the kernel baselines, and bandwidths that need no labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from krda.validation import FloatArray

KERNELS = ("rbf", "linear")

#: Rows whose pairs give the median distance: 12 million pairs. All pairs of 50,000 rows would take
#: 30 GB.
_MEDIAN_ROWS = 5000


def bandwidth(gamma: Any, rows: FloatArray) -> float:
    r"""Turn the parameter ``gamma`` into a number.

    ``"median"`` is :math:`1 / (2 m^2)` with m the median distance between two different rows, the
    usual choice for kernel two-sample statistics (Gretton et al., JMLR 2012, section 8). Of more
    than 5000 rows, 5000 are compared, drawn with a fixed seed. ``"scale"`` is 1 / (number of
    columns x variance of all values), as in ``sklearn.svm.SVC``. Both follow the scale of the
    features. A number is taken as it is, in 1 / squared units of the features.
    """
    if isinstance(gamma, str):
        compared = rows
        if gamma == "median":
            compared = _some_rows(rows)
            distances = pdist(compared)
            distances = distances[distances > 0]
            squared = 2 * np.median(distances) ** 2 if len(distances) else 0.0
        elif gamma == "scale":
            squared = rows.shape[1] * rows.var()
        else:
            raise ValueError(f"gamma must be 'median', 'scale' or a positive number, got {gamma!r}")
        if not 0 < squared < np.inf and (np.ptp(compared, axis=0) > 0).any():
            raise ValueError(
                f"gamma={gamma!r} needs distances between rows whose squares are numbers in double "
                f"precision, got {squared:g}. Scale the columns, to about 1."
            )
        if not squared > 0:
            drawn = "" if compared is rows else f" drawn out of {len(rows)}"
            raise ValueError(
                f"gamma={gamma!r} needs rows that differ, but all {len(compared)} rows{drawn} are "
                "the same. Check the input, or give gamma as a number."
            )
        return float(1 / squared)
    if not is_number(gamma) or not 0 < gamma < np.inf:
        raise ValueError(f"gamma must be 'median', 'scale' or a positive number, got {gamma!r}")
    return float(gamma)


def _some_rows(rows: FloatArray) -> FloatArray:
    """Draw as many rows as the median rule compares, always the same; all if they are fewer."""
    if len(rows) <= _MEDIAN_ROWS:
        return rows
    drawn = np.random.default_rng(0).choice(len(rows), _MEDIAN_ROWS, replace=False)
    return rows[drawn]


def is_number(value: Any) -> bool:
    """Say whether a parameter is a real number and not a truth value."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def check_kernel(kernel: str) -> None:
    """Raise ValueError if a kernel's name is not known."""
    if kernel not in KERNELS:
        raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, got {kernel!r}.")


def gram(kernel: str, X: FloatArray, Y: FloatArray, gamma: float) -> FloatArray:
    r"""Compute :math:`\exp(-\gamma \lVert x - y \rVert^2)` or :math:`x^\top y` of all pairs."""
    if kernel == "rbf":
        return rbf_kernel(X, Y, gamma=gamma)
    return linear_kernel(X, Y)
