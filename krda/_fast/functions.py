r"""Elementary functions for compiled loops, free of branches and calls.

So the compiler turns a loop over them into vector instructions. ``erfc`` and the normal quantile
are polynomials, interpolated at import from scipy's functions, after a change of variable that
makes them smooth from the middle to the far tail:

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
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy import special

FloatArray = NDArray[np.float64]
_Function = TypeVar("_Function", bound=Callable[..., Any])

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


def compiled(function: _Function) -> _Function:
    """Compile at the first call, for good: the result is kept in a file.

    Products and sums may be contracted to one operation; nothing else of IEEE arithmetic is given
    up. Divisions by zero give infinity, as in NumPy.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
    try:
        return cast(_Function, numba.njit(cache=True, **options)(function))
    except RuntimeError:  # There is no folder that the result could be kept in.
        return cast(_Function, numba.njit(**options)(function))


@compiled
def exp(x: float) -> float:
    """Exponential of x <= 700; below -700 as at -700, 1e-304."""
    x = -700.0 if x < -700.0 else x
    rounded = x * _LOG2_E + _ROUND
    n = rounded - _ROUND
    r = (x - n * _LOG_2_HIGH) - n * _LOG_2_LOW
    power = _EXP[0]
    for i in range(1, 13):
        power = power * r + _EXP[i]
    exponent = (np.float64(rounded).view(np.int64) << 52) + (1023 << 52)
    return power * np.int64(exponent).view(np.float64)


@compiled
def log(x: float) -> float:
    """Natural logarithm of a positive number that is not denormal."""
    bits = np.float64(x).view(np.int64)
    exponent = float((bits >> 52) - 1023)
    m = np.int64((bits & ((1 << 52) - 1)) | (1023 << 52)).view(np.float64)
    large = m > _SQRT_2
    m = 0.5 * m if large else m
    exponent = exponent + 1.0 if large else exponent
    s = (m - 1.0) / (m + 1.0)
    square = s * s
    series = _LOG[0]
    for i in range(1, 11):
        series = series * square + _LOG[i]
    return exponent * _LOG_2_HIGH + (exponent * _LOG_2_LOW + s * series)


@compiled
def erfc_factor(y: float) -> float:
    """``erfc(y) exp(y^2)`` for y >= 0."""
    above, scale = y + _ERFC_K, 1.0 + 2.0 * y
    inverse = 1.0 / (above * scale)
    t = (y - _ERFC_K) * scale * inverse
    value = _ERFC[0]
    for i in range(1, 21):
        value = value * t + _ERFC[i]
    return value * above * inverse


@compiled
def tail_scale(p: float) -> float:
    """``sqrt(-2 log p)``, over which the normal quantile of p in (0, 1/2] is smooth."""
    return math.sqrt(-2.0 * log(p))


@compiled
def lower_quantile(tail_scale: float) -> float:
    """``Phi^{-1}(p)`` for p in (0, 1/2], nearly; given :func:`tail_scale` of p.

    Both in one loop are more than the compiler turns into vector instructions.
    """
    s = tail_scale - _QUANTILE_START
    t = (s - _QUANTILE_K) / (s + _QUANTILE_K)
    x = (t + 1.0) * (2.0 / (1.0 + _QUANTILE_T)) - 1.0
    value = _QUANTILE[0]
    for i in range(1, 21):
        value = value * x + _QUANTILE[i]
    return value * (s + _QUANTILE_K)


@compiled
def erfc(y: float, bell: float) -> float:
    """``erfc(y)``, given ``exp(-y^2)``."""
    upper = bell * erfc_factor(abs(y))
    return upper if y >= 0.0 else 2.0 - upper
