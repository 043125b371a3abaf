"""Means and confidence intervals of a cell's repetitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from scipy.special import stdtrit

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """A mean and the interval around it.

    Attributes
    ----------
    mean : float
        In the units of the values.
    half_width : float or None
        Half of the interval's width; None where one value alone tells nothing of the spread.
    n : int
        Number of values.
    """

    mean: float
    half_width: float | None
    n: int

    def widened(self, correction: float) -> float | None:
        r"""Half-width with the variance (1/n + correction) s² in the place of s² / n.

        Nadeau and Bengio (2003): where two of the n values have the correlation rho, s²
        underestimates their variance and the mean does not gain by 1/n; the variance of the mean
        is (1/n + rho / (1 - rho)) s² in expectation.

        Parameters
        ----------
        correction : float
            rho / (1 - rho), at least 0; see :func:`correction_of_splits` and
            :func:`correction_of_shared_rows`.

        Returns
        -------
        half_width : float or None
            None if the interval has none, or with an infinite correction.
        """
        if self.half_width is None or math.isinf(correction):
            return None
        return self.half_width * math.sqrt(1 + self.n * correction)

    @property
    def low(self) -> float:
        """Lower end; the mean itself where there is no width."""
        return self.mean - (self.half_width or 0.0)

    @property
    def high(self) -> float:
        """Upper end; the mean itself where there is no width."""
        return self.mean + (self.half_width or 0.0)


def mean_and_interval(accuracies: Sequence[float]) -> Interval:
    r"""Mean and 95 % Student-t interval.

    .. math:: \bar a \pm t_{0.975,\, n-1} \frac{s}{\sqrt n}, \qquad
              s^2 = \frac{1}{n-1} \sum_{i=1}^{n} (a_i - \bar a)^2

    With n = 5 that is the mean +- 1.242 s.

    The paper reports "the average accuracy of the five experiments as well as 95% confidence
    intervals" (section 6, "Metric and cross validation") and gives no formula; this is ours.

    What it can show: how far the accuracy moves when the method is trained on another 90 % of the
    *same* rows and from another seed. Methods whose intervals lie far apart differ on this data.

    What it cannot show: how far the accuracy would move on *new* data. Any two of the subsamples
    share about 81 % of all rows, nine tenths of their own, and the test rows are the same for all
    five. So the five values are not independent draws, and a new draw of source, target and
    test rows moves the accuracy by more, often by several times more, than the interval says. Its
    coverage of the accuracy over new data is below 95 % by an amount that five such values cannot
    tell.

    Parameters
    ----------
    accuracies : sequence of float, length n >= 1
        In any unit; mean and half-width come in the same.

    Returns
    -------
    interval : Interval
        ``half_width`` is None for n = 1, and exactly 0 where all values are equal.

    Raises
    ------
    ValueError
        No values, or one that is not finite.

    Examples
    --------
    >>> mean_and_interval([0.5, 0.6, 0.7]).mean
    0.6
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
    """Nadeau and Bengio's n2 / n1: rows left out of a subsample to rows kept.

    Theirs is for random splits whose left-out rows are the test rows, and takes rho for the share
    of all rows that is tested. Here the left-out rows are not tested: every repetition is scored on
    the same test rows.

    Parameters
    ----------
    share : float
        Of the rows that each repetition draws, in (0, 1].

    Returns
    -------
    correction : float
    """
    return (1 - share) / share


def correction_of_shared_rows(share: float) -> float:
    """The same formula for what is random here, the training rows: n1 / n2.

    Two subsamples have this share of their rows in common, so that the means of rows in them, drawn
    anew from the population, have the correlation ``share``. Exact for a statistic that is a mean
    over training rows; too wide for a method whose own seed moves it, too narrow in that the test
    rows, which all repetitions share, never move.

    Parameters
    ----------
    share : float
        In (0, 1); at 1 all repetitions are the same rows, and nothing tells.

    Returns
    -------
    correction : float
        Infinite at 1.
    """
    return share / (1 - share) if share < 1 else math.inf


def over_tasks(accuracies: Sequence[Sequence[float]]) -> Interval:
    """Mean over tasks, with Student's interval over the repetitions.

    Parameters
    ----------
    accuracies : sequence of sequence of float
        By task, then repetition; equally many of each.

    Returns
    -------
    interval : Interval
        Of the repetitions' means over the tasks. It shows what that of one cell shows, other
        subsamples and seeds, not another draw of data and not other tasks.

    Raises
    ------
    ValueError
        No tasks, or other numbers of repetitions.
    """
    return mean_and_interval([math.fsum(row) / len(row) for row in zip(*accuracies, strict=True)])


def overlap(first: Interval, second: Interval) -> bool:
    """Whether two intervals share a point; touching counts.

    Parameters
    ----------
    first, second : Interval
        In the same unit.

    Returns
    -------
    overlap : bool
    """
    return first.low <= second.high and second.low <= first.high
