r"""Compiled loops over mixtures: used where numba is installed, not needed otherwise.

:mod:`krda.mixture` says what is computed, and does it with torch, one operation on many rows after
another; most of that time goes into moving arrays. Here everything that is to be done with a tile
of rows is done while they are in the processor's nearest cache, without Python's lock, so that
threads do not wait for each other. Results agree with torch's to rounding; the tests hold both
against the paper's bisection. (Probabilities that are denormal numbers are left to torch.)

All functions take mixtures as arrays of shape (N, n), a component's rows side by side, in float64.
The loops over the rows of a tile are free of branches and calls, so that the compiler turns each
into vector instructions. For the same reason ``exp``, ``log``, ``erfc`` and the normal quantile are
polynomials here. Those of ``erfc`` and of the quantile are interpolated at import from scipy's
functions, after a change of variable that makes them smooth from the middle to the far tail:

- ``(1 + 2 y) exp(y^2) erfc(y)`` over ``(y - k) / (y + k)`` (Shepherd and Laframboise 1981), to
  5e-15;
- ``Phi^{-1}(p) / (s + k)`` with ``s = sqrt(-2 log p) - sqrt(2 log 2)`` over ``(s - k) / (s + k)``,
  to 1e-9: it only says where to start.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy import special

#: Whether numba may compile; ``NUMBA_DISABLE_JIT``, for debuggers and coverage, says no.
ENABLED = not bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]

FloatArray = NDArray[np.float64]
_Function = TypeVar("_Function", bound=Callable[..., Any])

# Rows of a tile: their numbers, 5 for each component and 15 more, fit into a first-level cache.
_TILE = 64
# Rows of a tile of those that need more steps than most: the slowest holds up the others.
_HARD_TILE = 16
# Steps on all rows, then on those that are still open, before their start is chosen with more care.
_FIRST_STEPS = 3
_SECOND_STEPS = 3
# As in krda.mixture, which says why they stand here again, as do the steps: beyond so many
# sigma sqrt 2 a component counts as if it lay there, and a search of so many steps is a bug.
_FARTHEST = 20.0
# Log F is nearly right where it is off by less than this, up to a factor of 2/sqrt(pi).
_NEARLY = 0.1
_MAX_STEPS = 2200

_EPS = float(np.finfo(np.float64).eps)
_TINY = float(np.finfo(np.float64).tiny)
_LAST_STEP = 0.4 * _EPS ** (1.0 / 3.0)
_SQRT_HALF = math.sqrt(0.5)
_TWO_BY_SQRT_PI = 2.0 / math.sqrt(math.pi)

# Added to a number below 2^51 this rounds it to an integer, which the last bits then hold.
_ROUND = 1.5 * 2.0**52
_LOG2_E = 1.0 / math.log(2.0)
# log 2 in two parts, the first with so few digits that its product with an exponent is exact.
_LOG_2_HIGH = float(np.round(math.log(2.0) * 2.0**32) / 2.0**32)
_LOG_2_LOW = float(Decimal("0.69314718055994530941723212145817657") - Decimal(_LOG_2_HIGH))
_SQRT_2 = math.sqrt(2.0)


def _polynomial(function: Callable[[FloatArray], FloatArray], degree: int) -> FloatArray:
    """Interpolate on [-1, 1]: the coefficients, the highest first."""
    points = chebyshev.chebpts1(degree + 1)
    coefficients = chebyshev.cheb2poly(chebyshev.chebfit(points, function(points), degree))
    # A copy, as the compiler makes constants of contiguous arrays alone.
    return np.array(coefficients[::-1], dtype=np.float64)


_ERFC_K = 3.75


def _scaled_erfc(t: FloatArray) -> FloatArray:
    y = _ERFC_K * (1.0 + t) / (1.0 - t)
    return (1.0 + 2.0 * y) * special.erfcx(y)


_QUANTILE_K = 6.0
_QUANTILE_START = math.sqrt(2.0 * math.log(2.0))
# Down to probabilities of 1e-308.
_QUANTILE_END = 38.0 - _QUANTILE_START
_QUANTILE_T = (_QUANTILE_END - _QUANTILE_K) / (_QUANTILE_END + _QUANTILE_K)


def _scaled_quantile(x: FloatArray) -> FloatArray:
    t = 0.5 * (1.0 + _QUANTILE_T) * (1.0 + x) - 1.0
    s = _QUANTILE_K * (1.0 + t) / (1.0 - t)
    return special.ndtri_exp(-0.5 * (s + _QUANTILE_START) ** 2) / (s + _QUANTILE_K)


_ERFC = _polynomial(_scaled_erfc, 20)
_QUANTILE = _polynomial(_scaled_quantile, 20)
_EXP = np.array([1.0 / math.factorial(i) for i in range(12, -1, -1)])
_LOG = np.array([2.0 / (2 * i + 1) for i in range(10, -1, -1)])


def _compiled(function: _Function) -> _Function:
    """Compile at the first call, for good: the result is kept in a file.

    Products and sums may be contracted to one operation; nothing else of IEEE arithmetic is given
    up. Divisions by zero give infinity, as in NumPy.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
    try:
        compiled: Any = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # There is no folder that the result could be kept in.
        compiled = numba.njit(**options)(function)
    return cast(_Function, compiled)


def _instruction(generate: Any) -> Any:
    """Make a function of a single instruction of the processor."""
    return intrinsic(generate)


@_instruction
def _bits(typing_context: Any, x: Any) -> Any:
    """The 64 bits of a number as an integer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


@_instruction
def _from_bits(typing_context: Any, bits: Any) -> Any:
    """The number with these bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


@_compiled
def _exp(x: float) -> float:
    """Exponential of x <= 700; below -700 as at -700, 1e-304."""
    x = -700.0 if x < -700.0 else x
    rounded = x * _LOG2_E + _ROUND
    n = rounded - _ROUND
    r = (x - n * _LOG_2_HIGH) - n * _LOG_2_LOW
    power = _EXP[0]
    for i in range(1, 13):
        power = power * r + _EXP[i]
    return power * _from_bits((_bits(rounded) << 52) + (1023 << 52))


@_compiled
def _log(x: float) -> float:
    """Natural logarithm of a positive number that is not denormal."""
    bits = _bits(x)
    exponent = float((bits >> 52) - 1023)
    m = _from_bits((bits & ((1 << 52) - 1)) | (1023 << 52))
    large = m > _SQRT_2
    m = 0.5 * m if large else m
    exponent = exponent + 1.0 if large else exponent
    s = (m - 1.0) / (m + 1.0)
    square = s * s
    series = _LOG[0]
    for i in range(1, 11):
        series = series * square + _LOG[i]
    return exponent * _LOG_2_HIGH + (exponent * _LOG_2_LOW + s * series)


@_compiled
def _erfc_factor(y: float) -> float:
    """``erfc(y) exp(y^2)`` for y >= 0."""
    above, scale = y + _ERFC_K, 1.0 + 2.0 * y
    inverse = 1.0 / (above * scale)
    t = (y - _ERFC_K) * scale * inverse
    value = _ERFC[0]
    for i in range(1, 21):
        value = value * t + _ERFC[i]
    return value * above * inverse


@_compiled
def _tail_scale(p: float) -> float:
    """``sqrt(-2 log p)``, over which the normal quantile of p in (0, 1/2] is smooth."""
    return math.sqrt(-2.0 * _log(p))


@_compiled
def _lower_quantile(tail_scale: float) -> float:
    """``Phi^{-1}(p)`` for p in (0, 1/2], nearly; given :func:`_tail_scale` of p.

    Both in one loop are more than the compiler turns into vector instructions.
    """
    s = tail_scale - _QUANTILE_START
    t = (s - _QUANTILE_K) / (s + _QUANTILE_K)
    x = (t + 1.0) * (2.0 / (1.0 + _QUANTILE_T)) - 1.0
    value = _QUANTILE[0]
    for i in range(1, 21):
        value = value * x + _QUANTILE[i]
    return value * (s + _QUANTILE_K)


@_compiled
def _normal_quantile(p: float) -> float:
    """``Phi^{-1}(p)`` for p in (0, 1), nearly."""
    lower = p if p < 0.5 else 1.0 - p
    z = _lower_quantile(_tail_scale(lower if lower > _TINY else _TINY))
    return z if p < 0.5 else -z


@_compiled
def _erfc(y: float, bell: float) -> float:
    """``erfc(y)``, given ``exp(-y^2)``."""
    upper = bell * _erfc_factor(abs(y))
    return upper if y >= 0.0 else 2.0 - upper


@_compiled
def next_state(
    a: FloatArray, x: FloatArray, column: FloatArray, positive: bool, h: FloatArray
) -> None:
    """Carry RNADE's state over a coordinate (paper, eq. 2), and find where relu lets it through.

    Parameters
    ----------
    a : ndarray of shape (H, n)
        ``a^i``; becomes ``a^{i+1} = a^i + x^i W_{.,i}``.
    x : ndarray of shape (n,)
        ``x^i``.
    column : ndarray of shape (H,)
        ``W_{.,i}``.
    positive : bool
        Whether ``C^{i+1}`` is.
    h : ndarray of shape (H, n)
        Becomes ``relu(C^{i+1} a^{i+1}) / C^{i+1}``: the positive part of ``a^{i+1}``, or its
        negative part where ``C^{i+1}`` is negative.
    """
    for j in range(len(column)):
        state, hidden, w = a[j], h[j], column[j]
        # Written so that NaN is kept.
        if positive:
            for r in range(len(x)):
                state[r] += w * x[r]
                hidden[r] = 0.0 if state[r] < 0.0 else state[r]
        else:
            for r in range(len(x)):
                state[r] += w * x[r]
                hidden[r] = 0.0 if state[r] > 0.0 else state[r]


@_compiled
def activate(heads: FloatArray, variance_floor: float, largest: float) -> None:
    """Turn raw outputs of the linear layers into mixtures (paper, eqs. 4-6), in place.

    Parameters
    ----------
    heads : ndarray of shape (3, N, n)
        Logits of the weights, means, log-variances; becomes weights, means, standard deviations.
    variance_floor : float
        Added to every variance.
    largest : float
        Log-variances beyond this, up or down, count as this.
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
                row[r] = _exp(row[r] - top[r])
                total[r] += row[r]
        for k in range(n_components):
            row, other = logits[k, first : first + m], log_variances[k, first : first + m]
            for r in range(m):
                row[r] /= total[r]
                v = other[r]
                v = largest if v > largest else v
                v = -largest if v < -largest else v
                other[r] = math.sqrt(_exp(v) + variance_floor)


@_compiled
def cdf(
    x: FloatArray, weights: FloatArray, means: FloatArray, stds: FloatArray, out: FloatArray
) -> None:
    """Distribution function of each row's mixture: :func:`krda.mixture.cdf`.

    Parameters
    ----------
    x : ndarray of shape (n,)
    weights, means, stds : ndarray of shape (N, n)
    out : ndarray of shape (n,)
        Filled with F(x).
    """
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
                u[r] += 0.5 * weight[r] * _erfc(y, _exp(-y * y))
        for r in range(m):
            u[r] = 1.0 if u[r] > 1.0 else u[r]


# A tile's numbers for each component: what is known of it, mirrored into the lower half.
_WEIGHT, _MEAN, _STD, _RATE, _SLOPE = range(5)
# And for each row. SIGN is -1 where it was mirrored; TWICE_CDF, DENSITY and CURVATURE are 2 F,
# sqrt(pi) f and sqrt(pi) f' / 2 at Z; OPEN is 0 where Z is the root.
(_SIGN, _P, _SCORE, _STEEPEST, _Z, _LOW, _HIGH, _LAST, _LAST_BUT_ONE, _OPEN) = range(10)
(_TWICE_CDF, _DENSITY, _CURVATURE, _NEWTON, _STEP) = range(10, 15)
_N_ROW_NUMBERS = 15

_FROM_NORMAL, _FROM_RESULT, _FROM_COMPONENTS = range(3)


@_compiled
def _load(
    tile: FloatArray,
    row: FloatArray,
    lanes: NDArray[np.int64],
    u: FloatArray,
    weights: FloatArray,
    means: FloatArray,
    stds: FloatArray,
    least_std: float,
) -> int:
    """Gather the rows of a tile, mirrored; return a row whose mixture is none, or -1."""
    n_components, width = means.shape[0], len(lanes)
    for r in range(width):
        value = u[lanes[r]]
        mirrored = value > 0.5
        row[_SIGN, r] = -1.0 if mirrored else 1.0
        row[_P, r] = 1.0 - value if mirrored else value
        row[_STEEPEST, r] = 0.0
        row[_OPEN, r] = 0.0
    for k in range(n_components):
        for r in range(width):
            tile[_WEIGHT, k, r] = weights[k, lanes[r]]
            tile[_MEAN, k, r] = means[k, lanes[r]] * row[_SIGN, r]
            tile[_STD, k, r] = stds[k, lanes[r]]
        for r in range(width):
            std = tile[_STD, k, r]
            rate = _SQRT_HALF / std
            tile[_RATE, k, r] = rate
            tile[_SLOPE, k, r] = tile[_WEIGHT, k, r] * rate
            row[_STEEPEST, r] = rate if rate > row[_STEEPEST, r] else row[_STEEPEST, r]
            # NaN where anything is not finite; positive where std is too small.
            finite = 0.0 * tile[_WEIGHT, k, r] + 0.0 * tile[_MEAN, k, r] + 0.0 * std
            row[_OPEN, r] += finite if std >= least_std else 1.0
    for r in range(width):
        if row[_OPEN, r] != 0.0:
            return lanes[r]
    row[_OPEN] = 1.0
    return -1


@_compiled
def _bracket_and_start(tile: FloatArray, row: FloatArray) -> None:
    """Bracket the root by the components' quantiles; start as if the mixture were Gaussian."""
    n_components, width = tile.shape[1:]
    p, low, high, score = row[_P], row[_LOW], row[_HIGH], row[_SCORE]
    mean, variance = row[_TWICE_CDF], row[_DENSITY]
    low[:], high[:], mean[:], variance[:] = np.inf, -np.inf, 0.0, 0.0
    for r in range(width):
        score[r] = _tail_scale(p[r])
    for r in range(width):
        score[r] = _lower_quantile(score[r])
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


@_compiled
def _evaluate(tile: FloatArray, row: FloatArray) -> None:
    """Sum over components at Z: see krda.mixture._LowerHalf.steps."""
    n_components, width = tile.shape[1:]
    z, twice_cdf = row[_Z], row[_TWICE_CDF]
    density, curvature = row[_DENSITY], row[_CURVATURE]
    twice_cdf[:] = 0.0
    density[:] = 0.0
    curvature[:] = 0.0
    for k in range(n_components):
        weight, mean, rate, slope = (
            tile[_WEIGHT, k],
            tile[_MEAN, k],
            tile[_RATE, k],
            tile[_SLOPE, k],
        )
        for r in range(width):
            y = (mean[r] - z[r]) * rate[r]
            y = _FARTHEST if y > _FARTHEST else y
            y = -_FARTHEST if y < -_FARTHEST else y
            bell = _exp(-y * y)
            twice_cdf[r] += weight[r] * _erfc(y, bell)
            bell *= slope[r]
            density[r] += bell
            curvature[r] += bell * (y * rate[r])


@_compiled
def _advance(row: FloatArray) -> bool:
    """Take a guarded step from Z; say whether a row is still open."""
    width = row.shape[1]
    p, steepest, z, low, high = row[_P], row[_STEEPEST], row[_Z], row[_LOW], row[_HIGH]
    last, last_but_one, open_rows = row[_LAST], row[_LAST_BUT_ONE], row[_OPEN]
    twice_cdf, density, curvature = row[_TWICE_CDF], row[_DENSITY], row[_CURVATURE]
    newton, step = row[_NEWTON], row[_STEP]
    for r in range(width):
        # Newton's and Halley's step on log F - log p.
        g1 = _TWO_BY_SQRT_PI * density[r] / twice_cdf[r]
        newton[r] = _log(2.0 * p[r] / twice_cdf[r]) / g1
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
        # See krda.mixture._LowerHalf.settles.
        settled = inside & near & (abs(newton[r]) * steepest[r] < _LAST_STEP)
        z[r] = new if (open_rows[r] > 0.0) & (inside | (not exact)) else z[r]
        open_rows[r] = 0.0 if exact | pinned | settled else open_rows[r]
        step[r] = moved
    last_but_one[:] = last
    last[:] = step
    return open_rows.max() > 0.0


@_compiled
def _start_between_components(tile: FloatArray, row: FloatArray, scratch: FloatArray) -> None:
    """Narrow the bracket to two components' means, and start in it.

    See krda.mixture._LowerHalf.localise, which does the same.
    """
    n_components, width = tile.shape[1:]
    left, right, cdf_left, cdf_right = scratch[0], scratch[1], scratch[2], scratch[3]
    lower, upper, at_mean, bound = scratch[4], scratch[5], scratch[6], scratch[7]
    low, high, p, score = row[_LOW], row[_HIGH], row[_P], row[_SCORE]
    left[:], right[:], cdf_left[:], cdf_right[:] = -np.inf, np.inf, 0.0, 1.0
    lower[:], upper[:] = -np.inf, np.inf
    for k in range(n_components):
        mean, weight, std = tile[_MEAN, k], tile[_WEIGHT, k], tile[_STD, k]
        at_mean[:] = 0.0
        for j in range(n_components):
            other, other_weight, rate = tile[_MEAN, j], tile[_WEIGHT, j], tile[_RATE, j]
            for r in range(width):
                y = (other[r] - mean[r]) * rate[r]
                y = _FARTHEST if y > _FARTHEST else y
                y = -_FARTHEST if y < -_FARTHEST else y
                at_mean[r] += 0.5 * other_weight[r] * _erfc(y, _exp(-y * y))
        # F rises: the means nearest to the root from both sides have the nearest F, too.
        for r in range(width):
            below = at_mean[r] < p[r]
            left[r] = mean[r] if below & (mean[r] > left[r]) else left[r]
            cdf_left[r] = at_mean[r] if below & (at_mean[r] > cdf_left[r]) else cdf_left[r]
        for r in range(width):
            above = at_mean[r] >= p[r]
            right[r] = mean[r] if above & (mean[r] < right[r]) else right[r]
            cdf_right[r] = at_mean[r] if above & (at_mean[r] < cdf_right[r]) else cdf_right[r]
        # F rises from mu_k by at least what component k gives it.
        for r in range(width):
            within = (p[r] - at_mean[r]) / (weight[r] if weight[r] > _TINY else _TINY) + 0.5
            inside = (within > 0.0) & (within < 1.0)
            bound[r] = mean[r] + std[r] * _normal_quantile(within) if inside else np.nan
        for r in range(width):  # NaN compares false
            lower[r] = bound[r] if (at_mean[r] >= p[r]) & (bound[r] > lower[r]) else lower[r]
            upper[r] = bound[r] if (at_mean[r] < p[r]) & (bound[r] < upper[r]) else upper[r]
    for r in range(width):
        # The secant's root on the scale of the normal quantile of F.
        z_left = _normal_quantile(cdf_left[r] if cdf_left[r] > _TINY else _TINY)
        z_right = _normal_quantile(cdf_right[r] if cdf_right[r] < 1.0 - _EPS else 1.0 - _EPS)
        z = left[r] + (right[r] - left[r]) * (score[r] - z_left) / (z_right - z_left)
        low[r] = left[r] if left[r] > low[r] else low[r]
        high[r] = right[r] if right[r] < high[r] else high[r]
        # With components on one side alone, z is infinite or NaN.
        z = z if (z > low[r]) & (z < high[r]) else 0.5 * low[r] + 0.5 * high[r]
        # Where components hardly overlap, the bound that one of them sets is the root.
        has_lower, has_upper = lower[r] > low[r], upper[r] < high[r]
        z = lower[r] if has_lower & ((not has_upper) | (z < lower[r])) else z
        z = upper[r] if has_upper & ((not has_lower) | (z > upper[r])) else z
        z = low[r] if z < low[r] else z
        row[_Z, r] = high[r] if z > high[r] else z
        row[_LAST, r] = row[_LAST_BUT_ONE, r] = high[r] - low[r]


@_compiled
def _solve(
    u: FloatArray,
    weights: FloatArray,
    means: FloatArray,
    stds: FloatArray,
    out: FloatArray,
    rows: NDArray[np.int64],
    n_rows: int,
    start: int,
    n_steps: int,
    width: int,
    least_std: float,
) -> tuple[int, int]:
    """Take at most some steps for the first rows of a list, which is left with those still open.

    Returns how many these are, and a row whose mixture is none, or -1.
    """
    n_components = means.shape[0]
    tile, row = np.empty((5, n_components, width)), np.empty((_N_ROW_NUMBERS, width))
    scratch, lanes = np.empty((8, width)), np.empty(width, np.int64)
    n_open = 0
    for first in range(0, n_rows, width):
        m = min(width, n_rows - first)
        for r in range(width):
            # The last tile is filled up with its last row.
            lanes[r] = rows[first + min(r, m - 1)]
        bad = _load(tile, row, lanes, u, weights, means, stds, least_std)
        if bad >= 0:
            return 0, bad
        _bracket_and_start(tile, row)
        if start == _FROM_RESULT:
            for r in range(width):
                row[_Z, r] = out[lanes[r]] * row[_SIGN, r]
        elif start == _FROM_COMPONENTS:
            _start_between_components(tile, row, scratch)
        for _ in range(n_steps):
            _evaluate(tile, row)
            if not _advance(row):
                break
        for r in range(m):
            out[lanes[r]] = row[_Z, r] * row[_SIGN, r]
            if row[_OPEN, r] > 0.0:
                rows[n_open] = lanes[r]
                n_open += 1
    return n_open, -1


@_compiled
def quantile(
    u: FloatArray,
    weights: FloatArray,
    means: FloatArray,
    stds: FloatArray,
    out: FloatArray,
    least_std: float,
) -> tuple[int, int]:
    """Quantile of each row's mixture: the method "newton" of :func:`krda.mixture.quantile`.

    Parameters
    ----------
    u : ndarray of shape (n,)
        In the open interval (0, 1).
    weights, means, stds : ndarray of shape (N, n)
    out : ndarray of shape (n,)
        Filled with the roots of F(z) = u.
    least_std : float
        Standard deviations below it are refused.

    Returns
    -------
    n_open : int
        Rows that were not solved: 0, unless there is a bug.
    bad : int
        A row whose mixture holds NaN, infinity or too small a standard deviation; -1 if none does.
    """
    rows = np.arange(len(u))
    n_open, bad = _solve(
        u, weights, means, stds, out, rows, len(u), _FROM_NORMAL, _FIRST_STEPS, _TILE, least_std
    )
    n_open, _ = _solve(
        u, weights, means, stds, out, rows, n_open, _FROM_RESULT, _SECOND_STEPS, _TILE, least_std
    )
    n_open, _ = _solve(
        u,
        weights,
        means,
        stds,
        out,
        rows,
        n_open,
        _FROM_COMPONENTS,
        _MAX_STEPS,
        _HARD_TILE,
        least_std,
    )
    return n_open, bad
