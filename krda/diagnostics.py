"""Do transported rows look like target rows? Two-sample statistics, by column and of whole rows.

No label is read. The statistics show whether the transport brings the source's distribution onto
the target's. That the classes end up where they belong follows from the assumptions of the method,
and cannot be seen in unlabelled rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.spatial.distance import cdist

from krda.validation import FloatArray, check_rows, column_labels, match_columns

# Rows whose distances to all others are held at once.
_BLOCK_ROWS = 1024


def column_distances(X: ArrayLike, Y: ArrayLike) -> FloatArray:
    """Kolmogorov-Smirnov distances of two samples, column by column.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Such as the source, before or after the transport.
    Y : array-like of shape (m, d)
        Such as the target. Columns of data frames are matched by name; results are in the order
        of ``X``'s.

    Returns
    -------
    distances : ndarray of shape (d,)
        Largest difference of the two distribution functions, in [0, 1].

    Raises
    ------
    ValueError
        Columns that differ in number or names; NaN or infinity.

    Examples
    --------
    >>> column_distances([[0.0], [1.0]], [[2.0], [3.0]])
    array([1.])
    """
    first, second = _check_pair(X, Y)
    pairs = zip(first.T, second.T, strict=True)
    return np.array([stats.ks_2samp(x, y, method="asymp").statistic for x, y in pairs])


def energy_distance(X: ArrayLike, Y: ArrayLike, *, unit: ArrayLike | None = None) -> float:
    """Energy distance of two samples, of all columns together (Szekely and Rizzo 2004).

        2 E|X - Y| - E|X - X'| - E|Y - Y'|

    with independent copies, Euclidean distances, and columns measured in ``unit``.
    Zero, except for the sampling error, if and only if the two distributions are equal: dependence
    between columns counts, unlike in :func:`column_distances`.

    Parameters
    ----------
    X : array-like of shape (n, d)
    Y : array-like of shape (m, d)
        At least two rows each. Columns of data frames are matched by name.
    unit : array-like of shape (d,) or scalar, or None, default=None
        What columns are measured in, in the order of ``X``'s columns; None takes the standard
        deviations of ``Y``'s, and 1 for constant ones.

    Returns
    -------
    distance : float
        Zero on average if the two distributions are equal, so that about half of such samples
        give a negative number: read one as no difference found. Time O((n + m)^2 d), memory
        O(n + m).

    Raises
    ------
    ValueError
        Columns that differ in number or names; NaN or infinity.

    References
    ----------
    G. J. Szekely, M. L. Rizzo (2004). Testing for equal distributions in high dimension. InterStat.

    Examples
    --------
    >>> energy_distance([[0.0], [1.0]], [[2.0], [3.0]], unit=1.0)
    2.0
    """
    first, second = _check_pair(X, Y)
    if unit is None:
        deviations = second.std(axis=0)
        unit = np.where(deviations > 0, deviations, 1.0)
    scale = np.asarray(unit)
    first, second = first / scale, second / scale
    n, m = len(first), len(second)
    between = _sum_of_distances(first, second) / (n * m)
    within = [_sum_of_distances(Z, Z) / (len(Z) * (len(Z) - 1)) for Z in (first, second)]
    return 2 * between - sum(within)


def _sum_of_distances(X: FloatArray, Y: FloatArray) -> float:
    blocks = (cdist(X[i : i + _BLOCK_ROWS], Y).sum() for i in range(0, len(X), _BLOCK_ROWS))
    return float(sum(blocks))


def _check_pair(X: ArrayLike, Y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    first, second = check_rows(X, "X", 2), check_rows(Y, "Y", 2)
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"X and Y must have the same columns, got {first.shape[1]} and {second.shape[1]}."
        )
    labels = column_labels(Y), column_labels(X)
    ordered = match_columns(second, *labels, name="Y", fitted="X")
    return first, second if ordered is None else ordered
