"""Gram matrices for the kernel baselines, and bandwidths that need no labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from krda.adaptation import FloatArray

KERNELS = ("rbf", "linear")

#: Up to so many rows the median distance is that of all pairs; of more, that of so many rows drawn
#: from them, which are 12 million pairs. Beyond, all pairs would take more memory than most
#: computers have: 30 GB for 50,000 rows.
_MEDIAN_ROWS = 5000


def bandwidth(gamma: Any, rows: FloatArray) -> float:
    r"""Turn the parameter ``gamma`` into a number.

    Parameters
    ----------
    gamma : "median", "scale" or positive float
        ``"median"``: :math:`1 / (2 m^2)` with m the median distance between two different rows,
        the usual choice for kernel two-sample statistics (Gretton et al., JMLR 2012, section 8).
        Of more than 5000 rows, the median over 5000 of them, drawn with a fixed seed: the same
        rows have the same bandwidth.
        ``"scale"``: 1 / (number of columns x variance of all values), as in ``sklearn.svm.SVC``.
        Both follow the scale of the features: scaling all columns by c changes no entry of the
        Gram matrix. A float is taken as it is, in 1 / squared units of the features.
    rows : ndarray of shape (n, n_features)
        The rows that the kernel compares, n >= 2.

    Returns
    -------
    gamma : float

    Raises
    ------
    ValueError
        Another word, a number that is not positive and finite, or rows that are all the same,
        where a rule has nothing to go by.
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
    """Draw as many rows as the median rule compares, always the same; all where they are fewer."""
    if len(rows) <= _MEDIAN_ROWS:
        return rows
    drawn = np.random.default_rng(0).choice(len(rows), _MEDIAN_ROWS, replace=False)
    return rows[drawn]


def is_number(value: Any) -> bool:
    """Say whether a parameter is a real number, truth values aside."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def check_kernel(kernel: str) -> None:
    """Raise a ValueError where a kernel's name is not known."""
    if kernel not in KERNELS:
        raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, got {kernel!r}.")


def gram(kernel: str, X: FloatArray, Y: FloatArray, gamma: float) -> FloatArray:
    r"""Compute the matrix of kernel values between two sets of rows.

    Parameters
    ----------
    kernel : {"rbf", "linear"}
        :math:`\exp(-\gamma \lVert x - y \rVert^2)` or :math:`x^\top y`.
    X : ndarray of shape (n, n_features)
    Y : ndarray of shape (m, n_features)
    gamma : float
        Only for "rbf".

    Returns
    -------
    K : ndarray of shape (n, m)
    """
    if kernel == "rbf":
        return rbf_kernel(X, Y, gamma=gamma)
    return linear_kernel(X, Y)
