"""The kernels of KMM and TCA, and a bandwidth that needs no labels."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from krda.validation import FloatArray, require_number

Kernel = Callable[[FloatArray, FloatArray], FloatArray]

#: Rows whose pairs give the median distance: 12 million pairs. All pairs of 50,000 rows would take
#: 30 GB.
_MEDIAN_ROWS = 5000


def make_kernel(kernel: str, gamma: Any, rows: FloatArray) -> tuple[Kernel, float]:
    r"""Return a function of two tables that gives the kernel of all pairs, and the bandwidth used.

    ``kernel`` is "linear", :math:`x^\top y`, or "rbf", :math:`\exp(-\gamma \lVert x - y \rVert^2)`.
    ``gamma`` is "median", see :func:`median_bandwidth`, or a number.
    """
    if kernel == "linear":
        return linear_kernel, math.nan
    if kernel != "rbf":
        raise ValueError(f"kernel must be 'rbf' or 'linear', got {kernel!r}.")
    if gamma == "median":
        gamma = median_bandwidth(rows)
    require_number("gamma ('median' or a number)", gamma, positive=True)
    return partial(rbf_kernel, gamma=float(gamma)), float(gamma)


def median_bandwidth(rows: FloatArray) -> float:
    r"""Compute :math:`1 / (2 m^2)` with m the median distance between two different rows.

    That is the usual choice for kernel two-sample statistics (Gretton et al., JMLR 2012, section
    8). Of more than 5000 rows, 5000 are compared, drawn with a fixed seed.
    """
    if len(rows) > _MEDIAN_ROWS:
        rows = rows[np.random.default_rng(0).choice(len(rows), _MEDIAN_ROWS, replace=False)]
    distances = pdist(rows)
    distances = distances[distances > 0]
    squared = 2 * np.median(distances) ** 2 if len(distances) else 0.0
    if not 0 < squared < np.inf:
        raise ValueError(
            "gamma='median' needs rows that differ, by distances whose squares are numbers in "
            f"double precision, got {squared:g}. Check the input, scale the columns to about 1, or "
            "give gamma as a number."
        )
    return float(1 / squared)
