"""Fit a map of source rows to the target, and the class shares of the target with it.

If the target holds the classes in other shares than the source, a map between all source rows and
all target rows mixes the classes up; and the shares cannot be read off rows that were moved. Both
are found together, by turns: weight the source's classes, fit the map, choose the shares that
make the energy distance of the mapped rows to the target least.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from krda.alignment.energy import ClassDistances
from krda.alignment.maps import (
    AffineMap,
    power,
    quantile_map,
    shrunk_covariance,
    shrunk_gaussian_map,
    standardizing_map,
    uniform,
)
from krda.alignment.rotation import RotationProblem, chance, closest_rotation
from krda.alignment.shares import class_weights
from krda.validation import FloatArray

Kind = Literal["none", "standardize", "quantiles", "linear", "affine"]

#: Weight c of the penalty on rotations, and that of the penalty on other shares.
ROTATION_PENALTY, SHARES_PENALTY = 0.5, 0.1

_TURNS, _CHANGE = 15, 2e-3  # how often shares and map are found by turns, and when to stop
_FEW_CLASSES = 4  # up to which a start favours each class
_KEPT = 0.02  # weight that the source's own shares keep, so that no class is lost


class Fitted(NamedTuple):
    """A map, the class shares that the source was weighted by, and what is left to the target.

    ``residuals`` are energy distances of the mapped and weighted source to the target: of all
    columns, and along the directions that separate the classes. ``rotation`` and ``penalty`` are
    those of an affine map.
    """

    map: Callable[[FloatArray], FloatArray]
    shares: FloatArray
    residuals: tuple[float, float] = (np.nan, np.nan)
    rotation: FloatArray | None = None
    penalty: float = 0.0


def comparable_units(Xs: FloatArray, Xt: FloatArray) -> FloatArray:
    """Standard deviations of the columns of both domains together; 1 for constant columns."""
    rows = np.vstack([Xs, Xt])
    return np.where(np.ptp(rows, axis=0) > 0, rows.std(axis=0), 1.0)


def map_in_units(
    map_: Callable[[FloatArray], FloatArray], X: FloatArray, scale: FloatArray
) -> FloatArray:
    """Map rows by a map of columns divided by ``scale``; rows that stay keep every bit."""
    return X if map_ is _as_it_is else map_(X / scale) * scale


def fit_map(
    kind: Kind, Xs: FloatArray, codes: NDArray[Any], Xt: FloatArray, shares: FloatArray,
    *, near: FloatArray | None = None, rotation: FloatArray | None = None,
    rotation_penalty: float = ROTATION_PENALTY,
) -> Fitted:  # fmt: skip
    """Fit a map of one kind to a source whose classes have these shares.

    The rotation of an affine map is given, or looked for everywhere, or ``near`` another one.
    """
    weights = class_weights(codes, shares)
    if kind == "none":
        return Fitted(_as_it_is, shares)
    if kind == "standardize":
        return Fitted(standardizing_map(Xs, Xt, weights), shares)
    if kind == "quantiles":
        return Fitted(quantile_map(Xs, Xt, weights), shares)
    if kind == "linear":
        return Fitted(shrunk_gaussian_map(Xs, Xt, weights), shares)
    source_mean, S = shrunk_covariance(Xs, weights)
    target_mean, T = shrunk_covariance(Xt, uniform(len(Xt)))
    whiten, colour = power(S, -0.5), power(T, 0.5)
    penalty = 0.0
    if rotation is None:
        strength = rotation_penalty * float(weights @ weights + 1 / len(Xt))
        target = (Xt - target_mean) @ power(T, -0.5)
        problem = RotationProblem((Xs - source_mean) @ whiten, weights, target, strength)
        rotation = closest_rotation(problem, near)
        penalty = problem.moved(rotation)
    found = AffineMap(whiten @ rotation @ colour, source_mean, target_mean)
    return Fitted(found, shares, rotation=rotation, penalty=penalty)


def _as_it_is(X: FloatArray) -> FloatArray:
    return X


def fit_alone(
    kind: Kind, Xs: FloatArray, codes: NDArray[Any], Xt: FloatArray, shares: FloatArray
) -> Fitted:
    """Fit a map with given shares, and say what is left to the target."""
    fitted = fit_map(kind, Xs, codes, Xt, shares)
    return with_residuals(fitted, Xs, codes, Xt)


def with_residuals(fitted: Fitted, Xs: FloatArray, codes: NDArray[Any], Xt: FloatArray) -> Fitted:
    """Say what is left to the target."""
    mapped = fitted.map(Xs)
    directions = discriminants(mapped, codes)
    views = (mapped, Xt), (mapped @ directions, Xt @ directions)
    full, between = (ClassDistances.of(S, codes, T).energy(fitted.shares) for S, T in views)
    return fitted._replace(residuals=(full, between))


def discriminants(X: FloatArray, codes: NDArray[Any]) -> FloatArray:
    """Directions (d, n_classes) that separate the classes, as Fisher's linear discriminants do.

    The covariance within the classes is shrunk to its diagonal; along each direction it is one.
    """
    means = np.array([X[codes == label].mean(axis=0) for label in range(codes.max() + 1)])
    _, within = shrunk_covariance(X - means[codes], uniform(len(X)))
    contrasts = (means - means.mean(axis=0)).T
    directions = power(within, -1) @ contrasts
    spread = np.sqrt(np.einsum("ij,ij->j", directions, contrasts))
    return directions / np.where(spread > 0, spread, 1)


def fit_jointly(
    kind: Kind, Xs: FloatArray, codes: NDArray[Any], Xt: FloatArray,
    own: FloatArray, *, start: FloatArray | None = None, turns: int = _TURNS,
    near: FloatArray | None = None, rotation_penalty: float = ROTATION_PENALTY,
) -> Fitted:  # fmt: skip
    """Find the class shares of the target together with a map of one kind.

    Unless one is given, starts are ``own``, the source's shares r, and with few classes those that
    favour one of them. Each start leads to a result. The one of the least sum of residual and
    penalties is taken, or one that is as good up to chance and turns the rows less, as in
    :mod:`krda.alignment.rotation`. The penalty on shares s is
    ``SHARES_PENALTY (1/n_s + 1/n_t) E|y - y'| sum (s - r)^2 / r``.
    """
    starts = [own if start is None else start]
    if kind == "none":  # rows stay, so that distances do not depend on the shares
        turns = 1
    elif start is None and len(own) <= _FEW_CLASSES:
        starts += [0.5 * own + 0.5 * one for one in np.eye(len(own))]
    within = float(pdist(Xt).mean())
    by_chance = chance(len(Xs), len(Xt), within)
    strength = SHARES_PENALTY * by_chance
    ends: list[tuple[float, Fitted]] = []
    for shares in starts:
        rotation = near
        for _ in range(turns):
            fitted = fit_map(
                kind, Xs, codes, Xt, shares, near=rotation, rotation_penalty=rotation_penalty
            )
            rotation = fitted.rotation
            distances = ClassDistances.of(fitted.map(Xs), codes, Xt, within)
            found = distances.best_shares(strength / own)
            found, before = (1 - _KEPT) * found + _KEPT * own, shares
            shares = found
            if np.abs(found - before).max() < _CHANGE:
                break
        fitted = fit_map(
            kind, Xs, codes, Xt, shares, near=rotation, rotation_penalty=rotation_penalty
        )
        residual = ClassDistances.of(fitted.map(Xs), codes, Xt, within).energy(shares)
        penalties = fitted.penalty + strength * float(((shares - own) ** 2 / own).sum())
        ends.append((residual + penalties, fitted))
    least = min(objective for objective, _ in ends)
    close = [end for end in ends if end[0] <= least + by_chance]
    turn = min(fitted.penalty for _, fitted in close) + 0.1 * by_chance
    _, best = min((end for end in close if end[1].penalty <= turn), key=lambda end: end[0])
    return with_residuals(best, Xs, codes, Xt)
