"""Compiled loops over mixtures, by numba.

Everything that is to be done with a tile of rows is done while they are in the processor's nearest
cache, without Python's lock. :mod:`krda.density.mixture` and :mod:`krda.density.rnade` say what is
computed. (Probabilities that are denormal numbers are left to the plain code.)

All functions take mixtures as arrays of shape (N, n), a component's rows side by side, in float64.
The loops over the rows of a tile are free of branches, for vector instructions.
"""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

from krda._fast.functions import compiled, erfc, exp, log, lower_quantile, tail_scale

#: Checksum of functions.py, held to it by a test: numba compiles these loops anew if their own file
#: changes, and not if that one does.
FUNCTIONS_SHA256 = "25cb2559ef4015e720376d0ff7ebe26809a035c781c6ec885571fd1e93524d42"

#: Whether numba may compile; ``NUMBA_DISABLE_JIT``, for debuggers and coverage, says no.
ENABLED = not bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]

FloatArray = NDArray[np.float64]

# Rows of a tile: their numbers, 5 for each component and 15 more, fit into a first-level cache.
_TILE = 64
# A bisection gains one bit a step: no search in double precision takes this many.
_MAX_STEPS = 2200
# Beyond this many sigma sqrt 2 a component counts as if it were there: its share of F, below
# 1e-170, would soon underflow.
_FARTHEST = 20.0
# Log F is nearly right where it is off by less than this, up to a factor of 2/sqrt(pi).
_NEARLY = 0.1

_EPS = float(np.finfo(np.float64).eps)
_LAST_STEP = 0.4 * _EPS ** (1.0 / 3.0)
_SQRT_HALF = math.sqrt(0.5)
_TWO_BY_SQRT_PI = 2.0 / math.sqrt(math.pi)


@compiled
def activate(heads: FloatArray, variance_floor: float, largest: float) -> None:
    """Turn the raw outputs (3, N, n) of the linear layers into mixtures, in place (eqs. 4-6).

    They are logits of the weights, means and log-variances; the latter are clipped to +-largest.
    """
    logits, log_variances = heads[0], heads[2]
    n_components, n = logits.shape
    top, total = np.empty(_TILE), np.empty(_TILE)
    for first in range(0, n, _TILE):
        m = min(_TILE, n - first)
        top[:] = -np.inf
        total[:] = 0.0
        for k in range(n_components):
            row = logits[k, first : first + m]
            for r in range(m):
                # NaN is kept.
                top[r] = top[r] if row[r] <= top[r] else row[r]
        for k in range(n_components):
            row = logits[k, first : first + m]
            for r in range(m):
                row[r] = exp(row[r] - top[r])
                total[r] += row[r]
        for k in range(n_components):
            row, other = logits[k, first : first + m], log_variances[k, first : first + m]
            for r in range(m):
                row[r] /= total[r]
                v = other[r]
                v = largest if v > largest else v
                v = -largest if v < -largest else v
                other[r] = math.sqrt(exp(v) + variance_floor)


@compiled
def cdf(
    x: FloatArray, weights: FloatArray, means: FloatArray, stds: FloatArray, out: FloatArray
) -> None:
    """Fill out (n,) with the distribution functions at x (n,)."""
    n_components, n = means.shape
    for first in range(0, n, _TILE):
        m = min(_TILE, n - first)
        at, u = x[first : first + m], out[first : first + m]
        u[:] = 0.0
        for k in range(n_components):
            weight, mean = weights[k, first : first + m], means[k, first : first + m]
            std = stds[k, first : first + m]
            for r in range(m):
                y = (mean[r] - at[r]) / std[r] * _SQRT_HALF
                # So far out F is 0 or 1, to 1e-300; NaN is kept.
                y = 26.0 if y > 26.0 else y
                y = -26.0 if y < -26.0 else y
                u[r] += 0.5 * weight[r] * erfc(y, exp(-y * y))
        for r in range(m):
            u[r] = 1.0 if u[r] > 1.0 else u[r]


# A tile's numbers for each component: what is known of it, mirrored into the lower half.
_WEIGHT, _MEAN, _STD, _RATE, _SLOPE = range(5)
# And for each row. SIGN is -1 where it was mirrored; TWICE_CDF, DENSITY and CURVATURE are 2 F,
# sqrt(pi) f and sqrt(pi) f' / 2 at Z; OPEN is 0 where Z is the root.
(_SIGN, _P, _SCORE, _STEEPEST, _Z, _LOW, _HIGH, _LAST, _LAST_BUT_ONE, _OPEN) = range(10)
(_TWICE_CDF, _DENSITY, _CURVATURE, _NEWTON, _STEP) = range(10, 15)
_N_ROW_NUMBERS = 15


@compiled
def _load(
    tile: FloatArray,
    row: FloatArray,
    first: int,
    u: FloatArray,
    weights: FloatArray,
    means: FloatArray,
    stds: FloatArray,
    least_std: float,
) -> bool:
    """Fill a tile with the rows from the first on, mirrored; say whether all mixtures are valid.

    The last tile is filled up with its last row.
    """
    n_components, n = means.shape
    for r in range(_TILE):
        value = u[min(first + r, n - 1)]
        mirrored = value > 0.5
        row[_SIGN, r] = -1.0 if mirrored else 1.0
        row[_P, r] = 1.0 - value if mirrored else value
    row[_STEEPEST] = 0.0
    row[_OPEN] = 0.0
    for k in range(n_components):
        for r in range(_TILE):
            at = min(first + r, n - 1)
            tile[_WEIGHT, k, r] = weights[k, at]
            tile[_MEAN, k, r] = means[k, at] * row[_SIGN, r]
            tile[_STD, k, r] = stds[k, at]
        for r in range(_TILE):
            std = tile[_STD, k, r]
            rate = _SQRT_HALF / std
            tile[_RATE, k, r] = rate
            tile[_SLOPE, k, r] = tile[_WEIGHT, k, r] * rate
            row[_STEEPEST, r] = rate if rate > row[_STEEPEST, r] else row[_STEEPEST, r]
            # NaN where anything is not finite; positive where std is too small.
            finite = 0.0 * tile[_WEIGHT, k, r] + 0.0 * tile[_MEAN, k, r] + 0.0 * std
            row[_OPEN, r] += finite if std >= least_std else 1.0
    valid = (row[_OPEN] == 0.0).all()
    row[_OPEN] = 1.0
    return valid


@compiled
def _bracket_and_start(tile: FloatArray, row: FloatArray) -> None:
    """Bracket the root by the components' quantiles; start as if the mixture were Gaussian."""
    n_components, width = tile.shape[1:]
    p, low, high, score = row[_P], row[_LOW], row[_HIGH], row[_SCORE]
    mean, variance = row[_TWICE_CDF], row[_DENSITY]
    low[:], high[:], mean[:], variance[:] = np.inf, -np.inf, 0.0, 0.0
    for r in range(width):
        score[r] = tail_scale(p[r])
    for r in range(width):
        score[r] = lower_quantile(score[r])
    for k in range(n_components):
        weight, at, std = tile[_WEIGHT, k], tile[_MEAN, k], tile[_STD, k]
        for r in range(width):
            quantile = at[r] + std[r] * score[r]
            # The score is good to 1e-9; the bracket has to hold the root.
            margin = 1e-7 * std[r]
            low[r] = quantile - margin if quantile - margin < low[r] else low[r]
            high[r] = quantile + margin if quantile + margin > high[r] else high[r]
            mean[r] += weight[r] * at[r]
    for k in range(n_components):
        weight, at, std = tile[_WEIGHT, k], tile[_MEAN, k], tile[_STD, k]
        for r in range(width):
            off = at[r] - mean[r]
            variance[r] += weight[r] * (std[r] * std[r] + off * off)
    z, last, last_but_one = row[_Z], row[_LAST], row[_LAST_BUT_ONE]
    for r in range(width):
        start = mean[r] + math.sqrt(variance[r]) * score[r]
        start = low[r] if start < low[r] else start
        z[r] = high[r] if start > high[r] else start
    for r in range(width):
        last[r] = high[r] - low[r]
        last_but_one[r] = last[r]


@compiled
def _evaluate(tile: FloatArray, row: FloatArray) -> None:
    """Sum over components at Z.

    With y = (mu - z) / (sigma sqrt 2) and rate = 1 / (sigma sqrt 2) they are 2 F = sum w erfc(y),
    sqrt(pi) f = sum w rate exp(-y^2) and sqrt(pi) f' / 2 = sum w rate exp(-y^2) rate y.
    """
    n_components, width = tile.shape[1:]
    z, twice_cdf = row[_Z], row[_TWICE_CDF]
    density, curvature = row[_DENSITY], row[_CURVATURE]
    twice_cdf[:] = 0.0
    density[:] = 0.0
    curvature[:] = 0.0
    for k in range(n_components):
        weight, mean = tile[_WEIGHT, k], tile[_MEAN, k]
        rate, slope = tile[_RATE, k], tile[_SLOPE, k]
        for r in range(width):
            y = (mean[r] - z[r]) * rate[r]
            y = _FARTHEST if y > _FARTHEST else y
            y = -_FARTHEST if y < -_FARTHEST else y
            bell = exp(-y * y)
            twice_cdf[r] += weight[r] * erfc(y, bell)
            bell *= slope[r]
            density[r] += bell
            curvature[r] += bell * (y * rate[r])


@compiled
def _advance(row: FloatArray) -> bool:
    """Take a guarded step from Z; say whether a row is still open.

    For g = log F - log p, g' = f / F and g'' / g' = f' / f - f / F: Newton's step is -g / g',
    Halley's that step divided by 1 + step g'' / (2 g').
    """
    width = row.shape[1]
    p, steepest, z, low, high = row[_P], row[_STEEPEST], row[_Z], row[_LOW], row[_HIGH]
    last, last_but_one, open_rows = row[_LAST], row[_LAST_BUT_ONE], row[_OPEN]
    twice_cdf, density, curvature = row[_TWICE_CDF], row[_DENSITY], row[_CURVATURE]
    newton, step = row[_NEWTON], row[_STEP]
    for r in range(width):
        # Newton's and Halley's step on log F - log p.
        g1 = _TWO_BY_SQRT_PI * density[r] / twice_cdf[r]
        newton[r] = log(2.0 * p[r] / twice_cdf[r]) / g1
        bend = curvature[r] / density[r] - 0.5 * g1
        denominator = 1.0 + newton[r] * bend
        # Where the curvature asks for more than twice Newton's step, the parabola is no guide.
        step[r] = newton[r] / (denominator if denominator > 0.5 else 0.5)
    for r in range(width):
        below = twice_cdf[r] < 2.0 * p[r]
        low[r] = z[r] if below else low[r]
        high[r] = high[r] if below else z[r]
    for r in range(width):
        new, middle = z[r] + step[r], 0.5 * low[r] + 0.5 * high[r]
        # A NaN compares false and gives way to the bisection.
        inside = (new > low[r]) & (new < high[r]) & (abs(step[r]) <= 0.5 * last_but_one[r])
        new = new if inside else middle
        moved = abs(new - z[r])
        # No better than rounding: of F, or of z. Newton's step tells how far the root is only
        # where log F is nearly right: on a component narrower than the spacing of floating-point
        # numbers it is short wherever the root may be.
        residual, ulp = abs(twice_cdf[r] - 2.0 * p[r]), _EPS * abs(z[r])
        near = abs(newton[r]) * density[r] < _NEARLY * twice_cdf[r]
        exact = (residual <= 8.0 * _EPS * p[r]) | (near & (abs(newton[r]) <= ulp))
        # Halley's step is also short where the curvature is large, far from any root.
        small = near & (abs(newton[r]) <= 2.0 * ulp)
        stuck = (moved <= 2.0 * ulp) & ((not inside) | small)
        pinned = stuck | (middle <= low[r]) | (middle >= high[r])
        # The error that Halley's step leaves is of third order: (step / sigma)^3 of the narrowest
        # component, over which no component bends more. Newton's step is asked, since Halley's is
        # also short where the curvature is large.
        settled = inside & near & (abs(newton[r]) * steepest[r] < _LAST_STEP)
        z[r] = new if (open_rows[r] > 0.0) & (inside | (not exact)) else z[r]
        open_rows[r] = 0.0 if exact | pinned | settled else open_rows[r]
        step[r] = moved
    last_but_one[:] = last
    last[:] = step
    return open_rows.max() > 0.0


@compiled
def quantile(
    u: FloatArray,
    weights: FloatArray,
    means: FloatArray,
    stds: FloatArray,
    out: FloatArray,
    least_std: float,
) -> bool:
    """Fill out (n,) with the roots of F(z) = u, u (n,) in (0, 1); say whether all were found.

    There are none for mixtures that hold NaN, infinity or a standard deviation below the least one.
    """
    n_components, n = means.shape
    tile, row = np.empty((5, n_components, _TILE)), np.empty((_N_ROW_NUMBERS, _TILE))
    for first in range(0, n, _TILE):
        if not _load(tile, row, first, u, weights, means, stds, least_std):
            return False
        _bracket_and_start(tile, row)
        n_steps = 0
        _evaluate(tile, row)
        while _advance(row):
            n_steps += 1
            if n_steps == _MAX_STEPS:
                return False
            _evaluate(tile, row)
        for r in range(min(_TILE, n - first)):
            out[first + r] = row[_Z, r] * row[_SIGN, r]
    return True
