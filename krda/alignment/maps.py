r"""Maps of source rows to the target that look at no order of the columns, in closed form.

Each function takes source rows and target rows and gives a map, which holds for other source rows
too. If it takes weights of the source rows, of sum one, then means, variances, ranks and
covariances of the source are weighted by them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd

from krda.validation import FloatArray


@dataclass(frozen=True)
class AffineMap:
    """The map of a row x to (x - source_mean) @ matrix + target_mean."""

    matrix: FloatArray
    source_mean: FloatArray
    target_mean: FloatArray

    def __call__(self, X: FloatArray) -> FloatArray:
        """Map rows."""
        return (X - self.source_mean) @ self.matrix + self.target_mean


@dataclass(frozen=True)
class ColumnMap:
    """A rising map of each column: straight lines between ``values`` and their ``images``."""

    values: list[FloatArray]
    images: list[FloatArray]

    def __call__(self, X: FloatArray) -> FloatArray:
        """Map rows; beyond the outermost values the map is constant."""
        columns = zip(X.T, self.values, self.images, strict=True)
        return np.column_stack([np.interp(x, values, images) for x, values, images in columns])


def uniform(n: int) -> FloatArray:
    """Equal weights of n rows."""
    return np.full(n, 1 / n)


def standardizing_map(Xs: FloatArray, Xt: FloatArray, weights: FloatArray) -> AffineMap:
    """Give each column the target's mean and standard deviation.

    A column that is constant in the source goes to the target's mean.
    """
    source_mean, source = _moments(Xs, weights)
    target_mean, target = _moments(Xt, uniform(len(Xt)))
    scale = np.divide(target, source, out=np.zeros_like(source), where=source > 0)
    return AffineMap(np.diag(scale), source_mean, target_mean)


def quantile_map(Xs: FloatArray, Xt: FloatArray, weights: FloatArray) -> ColumnMap:
    """Give each column the target's distribution: one-dimensional optimal transport.

    A source value goes to its rank u in its source column and on to the target column's quantile
    at u. With equal weights, the i-th smallest of n values is at u = (i - 1/2) / n in both domains,
    with straight lines in between. Equal values share the mean of their ranks and stay equal.
    """
    target_ranks = (np.arange(len(Xt)) + 0.5) / len(Xt)
    all_values, images = [], []
    for source, target in zip(Xs.T, Xt.T, strict=True):
        values, place = np.unique(source, return_inverse=True)
        mass = np.bincount(place, weights)
        ranks = np.cumsum(mass) - mass / 2
        all_values.append(values)
        images.append(np.interp(ranks, target_ranks, np.sort(target)))
    return ColumnMap(all_values, images)


def gaussian_map(Xs: FloatArray, Xt: FloatArray) -> AffineMap:
    r"""Find the optimal map between the Gaussians of two samples' means and covariances.

    With covariances S and T of full rank the matrix is
    :math:`S^{-1/2} (S^{1/2} T S^{1/2})^{1/2} S^{-1/2}` (Knott and Smith 1984). Written by the roots
    of S and T, no inverse of a product is needed, and inverses are taken on the directions in
    which the source varies: constant or collinear columns, or more columns than rows, give the
    conditional mean of the optimal plan. The moved source then has the target's mean, and the
    target's covariance on the span of the source's directions; everywhere, if the target varies in
    no more directions.
    """
    source_mean, source, deviations, axes = _principal_axes(Xs)
    target_mean, target, target_deviations, _ = _principal_axes(Xt)
    # Of B = T^(1/2) S^(1/2), in the source's axes, the orthogonal factor of the polar form.
    left, lengths, right = svd(target @ axes.T * deviations, full_matrices=False)
    full = len(deviations) == len(target_deviations) == Xs.shape[1]
    kept = np.full(len(lengths), True) if full else _above_rounding(lengths, target.shape)
    factor = left[:, kept] @ right[kept]
    matrix = (axes.T / deviations) @ factor.T @ target
    spreads = np.linalg.norm(source @ matrix, axis=0), np.linalg.norm(target, axis=0)
    if full and not np.allclose(*spreads, rtol=1e-6, atol=0):
        raise FloatingPointError(
            "The scales of the columns are too far apart for linear optimal transport in double "
            f"precision: standard deviations from {Xs.std(axis=0).min():.3g} to "
            f"{Xs.std(axis=0).max():.3g} in the source. Choose units of similar scale, or divide "
            "the columns of both domains by the same numbers."
        )
    return AffineMap(matrix, source_mean, target_mean)


def _principal_axes(X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the mean, centred rows over the root of their number, and deviations along axes."""
    # About the first row, so that a constant column is zero, not a rounding error.
    centred = X - X[0]
    offset = centred.mean(axis=0)
    centred = (centred - offset) / math.sqrt(len(X))
    _, deviations, axes = svd(centred, full_matrices=False)
    kept = _above_rounding(deviations, centred.shape)
    return X[0] + offset, centred, deviations[kept], axes[kept]


def _above_rounding(singular_values: FloatArray, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    tolerance = max(shape) * np.finfo(np.float64).eps * singular_values.max(initial=0.0)
    return singular_values > tolerance


def shrunk_gaussian_map(Xs: FloatArray, Xt: FloatArray, weights: FloatArray) -> AffineMap:
    """As :func:`gaussian_map`, between covariances that are shrunk to their diagonals.

    With few rows for many columns the correlations count less, in the limit nothing: the map goes
    from :func:`gaussian_map` to :func:`standardizing_map`.
    """
    source_mean, S = shrunk_covariance(Xs, weights)
    target_mean, T = shrunk_covariance(Xt, uniform(len(Xt)))
    root, inverse = power(S, 0.5), power(S, -0.5)
    return AffineMap(inverse @ power(root @ T @ root, 0.5) @ inverse, source_mean, target_mean)


def shrunk_covariance(X: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Estimate mean and covariance; shrink the correlations to zero as the noise in them asks for.

    The share of shrinkage is Ledoit and Wolf's (2004) for correlations, with weighted rows.
    """
    mean, deviations = _moments(X, weights)
    Z = (X - mean) / np.where(deviations > 0, deviations, 1)
    correlations = (Z * weights[:, np.newaxis]).T @ Z
    squares = Z**2
    noise = (squares * (weights**2)[:, np.newaxis]).T @ squares
    noise -= (weights @ weights) * correlations**2
    off = ~np.eye(X.shape[1], dtype=bool)
    signal = (correlations[off] ** 2).sum()
    if signal > 0:
        correlations[off] *= 1 - min(1.0, noise[off].sum() / signal)
    return mean, deviations[:, np.newaxis] * correlations * deviations


def power(covariance: FloatArray, exponent: float) -> FloatArray:
    """Symmetric power of a covariance; directions without variance stay without."""
    values, axes = np.linalg.eigh(covariance)
    kept = values > len(values) * np.finfo(np.float64).eps * max(values[-1], 0.0)
    return (axes[:, kept] * values[kept] ** exponent) @ axes[:, kept].T


def _moments(X: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted mean and standard deviation of each column; exact zeros for constant columns."""
    mean = weights @ X
    deviations = np.sqrt(weights @ (X - mean) ** 2)
    return mean, np.where(np.ptp(X, axis=0) > 0, deviations, 0.0)
