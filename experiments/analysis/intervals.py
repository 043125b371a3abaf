"""Means of repetitions, their 95 % intervals, and which methods tie with the best."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from experiments.analysis.rounding import DECIMALS

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """A mean and the interval around it; ``half_width`` is NaN for a single value."""

    mean: float
    half_width: float
    n: int

    def widened(self, correction: float) -> float:
        r"""Half-width with the variance (1/n + correction) s² instead of s² / n.

        Nadeau and Bengio (2003): if any two of the n values have the correlation rho, the variance
        of their mean is (1/n + rho / (1 - rho)) s² in expectation. ``correction`` is
        rho / (1 - rho).
        """
        return self.half_width * math.sqrt(1 + self.n * correction)


def mean_and_interval(accuracies: Sequence[float]) -> Interval:
    """Mean and 95 % Student-t interval, t(0.975, n - 1) s / sqrt(n) with divisor n - 1.

    The paper reports "95% confidence intervals" and gives no formula; this one is ours.
    ``docs/statistics.md`` says what it can show of subsamples that share rows, and what it cannot.
    The half-width is exactly 0 if all values are equal. NaN of no values.
    """
    n = len(accuracies)
    if n < 2:
        return Interval(float(accuracies[0]) if n else math.nan, math.nan, n)
    if min(accuracies) == max(accuracies):
        # Rounding in the mean must not make a spread where there is none.
        return Interval(float(accuracies[0]), 0.0, n)
    mean = math.fsum(accuracies) / n
    variance = math.fsum((accuracy - mean) ** 2 for accuracy in accuracies) / (n - 1)
    quantile = float(stdtrit(n - 1, 0.5 + CONFIDENCE / 2))
    return Interval(mean, quantile * math.sqrt(variance / n), n)


def correction_of_splits(share: float) -> float:
    """Nadeau and Bengio's n2 / n1: rows left out of a subsample divided by rows kept."""
    return (1 - share) / share


def correction_of_shared_rows(share: float) -> float:
    """The correction for training rows of which two subsamples share this part; NaN at 1."""
    return share / (1 - share) if share < 1 else math.nan


def over_tasks(accuracies: Iterable[Sequence[float]]) -> Interval:
    """Mean over tasks, with Student's interval over the repetitions' means over the tasks.

    ``accuracies`` are by task, then repetition. ValueError if tasks differ in repetitions.
    """
    return mean_and_interval([math.fsum(row) / len(row) for row in zip(*accuracies, strict=True)])


def ties_with_best(means: ArrayLike, half_widths: ArrayLike) -> NDArray[np.bool_]:
    """Whether each interval overlaps that of the highest mean; touching counts, NaN does not."""
    mean = np.asarray(means, dtype=float)
    half = np.nan_to_num(np.asarray(half_widths, dtype=float))
    best = mean.round(DECIMALS) == np.nanmax(mean, initial=-np.inf).round(DECIMALS)
    gaps = np.abs(mean[:, None] - mean[None, best]) - (half[:, None] + half[None, best])
    tied: NDArray[np.bool_] = (gaps.round(DECIMALS) <= 0).any(axis=1)
    return tied
