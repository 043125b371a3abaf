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
    """A mean and the interval around it; ``half_width`` is None for a single value."""

    mean: float
    half_width: float | None
    n: int

    def widened(self, correction: float) -> float | None:
        r"""Half-width with the variance (1/n + correction) s² instead of s² / n.

        Nadeau and Bengio (2003): if any two of the n values have the correlation rho, the variance
        of their mean is (1/n + rho / (1 - rho)) s² in expectation. ``correction`` is
        rho / (1 - rho). None without a half-width, or if the correction is infinite.
        """
        if self.half_width is None or math.isinf(correction):
            return None
        return self.half_width * math.sqrt(1 + self.n * correction)


def mean_and_interval(accuracies: Sequence[float]) -> Interval:
    r"""Mean and 95 % Student-t interval.

    .. math:: \bar a \pm t_{0.975,\, n-1} \frac{s}{\sqrt n}, \qquad
              s^2 = \frac{1}{n-1} \sum_{i=1}^{n} (a_i - \bar a)^2

    With n = 5 that is the mean +- 1.242 s. The paper reports "the average accuracy of the five
    experiments as well as 95% confidence intervals" (section 6, "Metric and cross validation") and
    gives no formula; this one is ours.

    What it can show: how far the accuracy moves if the method is trained on another 90 % of the
    *same* rows and from another seed. Methods whose intervals are far apart differ on this data.

    What it cannot show: how far the accuracy would move on *new* data. Two subsamples share nine
    tenths of their rows and all five share the test rows, so the five values are not independent.
    New data moves the accuracy by more, often several times more, than the interval says; its
    coverage of the accuracy over new data is below 95 % by an unknown amount.

    The half-width is exactly 0 if all values are equal. ValueError if one is not finite, or there
    are none.
    """
    n = len(accuracies)
    if n == 0:
        raise ValueError("mean_and_interval needs at least one accuracy, got none.")
    if not all(math.isfinite(accuracy) for accuracy in accuracies):
        raise ValueError(f"accuracies must be finite, got {list(accuracies)}.")
    if min(accuracies) == max(accuracies):
        # Rounding in the mean must not make a spread where there is none.
        return Interval(float(accuracies[0]), None if n == 1 else 0.0, n)
    mean = math.fsum(accuracies) / n
    variance = math.fsum((accuracy - mean) ** 2 for accuracy in accuracies) / (n - 1)
    quantile = float(stdtrit(n - 1, 0.5 + CONFIDENCE / 2))
    return Interval(mean, quantile * math.sqrt(variance / n), n)


def correction_of_splits(share: float) -> float:
    """Nadeau and Bengio's n2 / n1: rows left out of a subsample divided by rows kept.

    Meant for random splits that are tested on the rows left out; here the test rows are fixed.
    """
    return (1 - share) / share


def correction_of_shared_rows(share: float) -> float:
    """The same formula for the training rows, which are what is random here; infinite at 1.

    Two subsamples share this part of their rows, so the means of their rows, drawn anew from the
    population, have the correlation ``share``. Exact for a mean over training rows; too wide for a
    method that depends on its own seed, too narrow in that the test rows never change.
    """
    return share / (1 - share) if share < 1 else math.inf


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
