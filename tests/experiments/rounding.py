"""How accuracies are printed, by integers alone."""

from __future__ import annotations


def one_decimal(value: float) -> str:
    """One decimal; a value within 1e-8 of a half goes away from zero."""
    tenths = (abs(round(value * 10**8)) + 5 * 10**6) // 10**7
    return f"{'-' if value < 0 and tenths else ''}{tenths // 10}.{tenths % 10}"
