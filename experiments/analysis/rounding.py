"""How numbers are rounded wherever they are read."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

MISSING = "–"
DECIMALS = 8
"""Percentages that agree to so many decimals are equal."""


def number(value: float) -> str:
    """One decimal, halves away from zero, no negative zero; a dash for NaN.

    The value is first rounded to eight decimals, so that 75.85 is the same in whichever order its
    terms were added.
    """
    if value != value:
        return MISSING
    rounded = Decimal(repr(round(float(value), DECIMALS))).quantize(Decimal("0.1"), ROUND_HALF_UP)
    return f"{rounded + 0}"


def signed(value: float) -> str:
    """One decimal with its sign, a true minus sign; a rounded zero has none."""
    text = number(value)
    return f"+{text}" if value > 0 and text != "0.0" else text.replace("-", "−")


def with_ends(value: float, low: float, high: float, *, sign: bool = False) -> str:
    """A value and the ends of its interval in brackets, if it has any."""
    text = signed if sign else number
    return text(value) if low != low else f"{text(value)} [{text(low)}, {text(high)}]"
