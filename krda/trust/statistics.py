"""The statistics of the check of a fit, and the bounds beyond which they speak against it.

No bound was chosen by accuracies on a target. :mod:`krda.trust.check` computes the numbers,
:mod:`krda.trust.report` puts them into words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from krda.parameters import Domain

#: Share of checks in which a density as good as a Gaussian is called worse, at most. The two
#: domains share it (Bonferroni); the rest is Student's one-sided test.
WORSE_LEVEL = 0.05

#: Nats a row that a density must lose, too: with thousands of rows the test finds next to nothing.
#: For Gaussian rows the excess estimates a Kullback-Leibler divergence, and one of e moves no
#: probability by more than sqrt(e / 2) (Pinsker's inequality): by 0.1 here.
WORSE_NATS = 0.02

#: One-sided error rate: each end of an interval misses the true value in about 5 % of checks.
DIFFERENCE_LEVEL = 0.05

#: The transported source is still far if more than this share of the energy distance is left, and
#: more than noise. Its square root is a metric, proportional to a small shift: a quarter is half of
#: the way. The bound is no multiple of the noise, which falls with the number of rows, while a
#: fitted density never becomes exact.
SHARE_LEFT = 0.25

#: Share of their predictions in which refits may differ. If two classifiers disagree on a share q
#: of the rows, one is wrong on q / 2 of them or more: here, five points of accuracy.
DISAGREEMENT = 0.1

#: Parts of each table; every fit leaves one out and is judged by it. Fewer parts cost fewer fits,
#: but these see too little: of rotated moons of 270 rows, fits to all rows leave 0.01 of an energy
#: distance of 0.1, fits to four fifths the same, to halves 0.03. More leave too few rows to judge.
N_PARTS = 5

#: Rows of each table below which nothing is left out: a handful shows nothing.
MIN_ROWS = 10 * N_PARTS


@dataclass(frozen=True)
class DensityCheck:
    """How well densities describe a domain's rows that were left out of their fits.

    Such fits see four fifths of the rows and are worse than the model's own, the more so the more
    they have to learn: the comparison errs in favour of the Gaussian. NaN if nothing was compared.
    """

    domain: Domain
    n_held_out: int = 0  # rows that fits were judged by
    nll: float = math.nan  # their mean negative log-likelihood, nats a row in the input's units
    gaussian_nll: float = math.nan  # the same for a Gaussian fitted to the same rows
    excess: float = math.nan  # mean difference over rows, averaged over splits first
    excess_error: float = math.nan  # its standard error

    @property
    def worse(self) -> bool:
        """Whether the Gaussian describes the rows better, beyond chance and a trifle."""
        if self.n_held_out < 2:
            return False
        quantile = float(stats.t.ppf(1 - WORSE_LEVEL / 2, self.n_held_out - 1))
        # Written so that an infinite excess, which has no error, counts.
        return not self.excess <= max(quantile * self.excess_error, WORSE_NATS)


Interval = tuple[float, float]


def mean_interval(values: ArrayLike) -> Interval:
    """Bound a mean over the fits of all splits, each end with the error rate ``DIFFERENCE_LEVEL``.

    Student's bounds of numbers of shape (n_splits, N_PARTS). The error comes from how the fits of
    one split differ. They are judged by other rows, have other seeds and share most of their rows,
    which is allowed for after Nadeau and Bengio (2003, Inference for the generalization error,
    Machine Learning 52). Splits share all rows: the mean of several is taken to be no better than
    that of one, which errs on the safe side.
    """
    splits = np.reshape(values, (-1, N_PARTS))
    mean, variance = float(splits.mean()), float(splits.var(axis=1, ddof=1).mean())
    judged_over_seen = 1 / (N_PARTS - 1)
    error = math.sqrt(variance * (1 / N_PARTS + judged_over_seen))
    degrees = (N_PARTS - 1) * len(splits)
    width = float(stats.t.ppf(1 - DIFFERENCE_LEVEL, degrees)) * error
    return mean - width, mean + width


@dataclass(frozen=True)
class TransportCheck:
    """How far the source is from the target, by energy distance of whole rows.

    Every distance is a mean over fits, between fifths of the two tables that the fit did not see.
    Such fits see fewer rows than the model's own: the numbers err against KRDA. Columns are
    measured in the target's standard deviations. Estimates have no bias, so that they are below
    zero now and then. NaN if nothing was compared.
    """

    before: float = math.nan  # of the source as it is
    after: float = math.nan  # of the transported source
    standardized: float = math.nan  # of the source with the target's mean and deviation by column
    change: Interval = (math.nan, math.nan)  # of after - before
    lead: Interval = (math.nan, math.nan)  # of standardized - after
    noise: float = math.nan  # such a mean is below it in 95 of 100 cases without a difference
    # Kolmogorov-Smirnov distances before and after of the columns left furthest, furthest first.
    columns: dict[str, tuple[float, float]] = field(default_factory=dict)
    column_noise: float = math.nan  # the same for the largest of all columns' distances
    n_fits: int = 0
    failures: tuple[str, ...] = ()  # what fits raised; their splits do not count

    @property
    def shifted(self) -> bool:
        """Whether the source as it is differs from the target by more than noise."""
        return self.before > self.noise

    @property
    def further(self) -> bool:
        """Whether the transport takes the source further from the target, beyond noise."""
        return self.after > self.noise and self.change[0] > 0

    @property
    def nearer(self) -> bool:
        """Whether the source is nearer to the target after the transport, beyond the interval."""
        return self.change[1] < 0

    @property
    def far(self) -> bool:
        """Whether less than half of the way to the target is gone, and noise is not all of it."""
        return self.after > self.noise and self.after > SHARE_LEFT * self.before

    @property
    def spoilt(self) -> dict[str, tuple[float, float]]:
        """The columns that the transport takes away from the target, beyond noise."""
        columns = self.columns.items()
        return {name: (b, a) for name, (b, a) in columns if a > max(b, self.column_noise)}

    @property
    def standardizing_suffices(self) -> bool:
        """Whether nothing shows that KRDA brings the source nearer than standardising does.

        KRDA assumes more, so the burden of proof is on it: it must come within the noise while
        standardising does not, or be nearer beyond the interval.
        """
        shown = self.after <= self.noise or self.lead[0] > 0
        return self.standardized <= max(self.noise, self.after) or not shown


@dataclass(frozen=True)
class RefitCheck:
    """How the predictions change if an arbitrary choice does."""

    disagreement: tuple[float, ...]  # for each refit, the share of rows with another prediction
    failures: tuple[str, ...] = ()  # what refits raised
    # For each target row, the share of refits with the same prediction; none without refits.
    agreement: tuple[float, ...] = field(default=(), repr=False)

    @property
    def mean(self) -> float:
        """Mean disagreement; NaN without refits."""
        return float(np.mean(self.disagreement)) if self.disagreement else math.nan


def order_beyond_seeds(seeds: RefitCheck, orders: RefitCheck) -> float:
    """Bound from below what the order of the columns changes beyond what any other fit does.

    Student's one-sided bound of the difference of the means at ``DIFFERENCE_LEVEL``, with a common
    variance; NaN if there are too few refits for one.
    """
    groups = [np.array(check.disagreement) for check in (seeds, orders)]
    degrees = sum(map(len, groups)) - 2
    if degrees < 1 or not all(map(len, groups)):
        return math.nan
    variance = sum(float(((g - g.mean()) ** 2).sum()) for g in groups) / degrees
    error = math.sqrt(variance * sum(1 / len(g) for g in groups))
    return orders.mean - seeds.mean - float(stats.t.ppf(1 - DIFFERENCE_LEVEL, degrees)) * error
