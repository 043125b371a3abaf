r"""When a number of ours counts as a reproduction of the published one.

The two numbers come from different draws of data, for the paper's draws were never published, so
equality is not to be hoped for; and two intervals that overlap prove little when one of them is
forty points wide. The rule, for cells that have all repetitions and a published value that is not
suspect:

.. math:: \text{tolerance} = \sqrt{h^2 + h_p^2 + 1.96^2 \cdot \frac{2\, r\, p (1 - p)}{m}}

with h and h_p the half-widths of our interval and of the published one, which stand for the choice
of subsamples and for the seeds, and the last term for the test rows: each side scored m of its own.
Accuracies on independent rows have the binomial variance p(1-p)/m, and r is 1. p is the mean of
both accuracies, drawn towards 1/2 by two successes and two failures (Agresti and Coull, 1998), so
that the term does not vanish at 0 and 100.

On moons r is measured. scikit-learn puts the test rows of every draw at the same positions and
draws their noise alone, so that accuracies vary less between draws than independent rows would make
them: :func:`measured_shares` gives r for each method and angle.

- |difference| > tolerance: **better** or **worse**, by the sign of ours minus published;
- |difference| <= tolerance: **reproduced**, unless the tolerance is above 10 points: then agreement
  says nothing and the cell is **undecided**.

What the rule leaves out is what another draw of *training* rows does, which neither interval
holds; on tasks where that matters (Source only on the moons at 40 degrees) a faithful reproduction
can come out as better or worse. And the rule knows nothing of other methods: where these lie closer
together than the tolerance, the row of another method is 'reproduced' as well, and the verdict
tells that accuracies are alike, not that the method is the same. How often that happens is counted
beside each table (:mod:`experiments.reading.tables.placebo`).

Where both sides score the same test rows (Amazon), the last term stands in for the encoder, which
is trained anew and which neither interval holds either.
"""

from __future__ import annotations

import csv
import enum
import math
from pathlib import Path
from typing import NamedTuple

from experiments.analysis.statistics import Interval

WIDEST = 10.0
"""Percentage points; with a larger tolerance, agreement says nothing."""

TEST_ROWS = Path(__file__).resolve().parents[2] / "results" / "draws" / "test_rows.csv"
"""Variance of accuracies on moons over the test rows, by ``python -m studies.moons_test_rows``."""

_NORMAL = 1.959963984540054  # 97.5 % quantile of the standard normal


class Verdict(enum.Enum):
    """What a cell of ours says of the published one; the values are what tables print."""

    REPRODUCED = "reproduced"
    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"
    SUSPECT = "published value suspect"
    NOT_COMPARABLE = "other data"
    NO_PUBLISHED = "no published value"
    INCOMPLETE = "incomplete"
    MISSING = "missing"


class Judgement(NamedTuple):
    """A verdict and the numbers behind it.

    Attributes
    ----------
    verdict : Verdict
    difference : float or None
        Ours minus published, percentage points; None without both.
    tolerance : float or None
        Percentage points; None where the rule was not applied.
    """

    verdict: Verdict
    difference: float | None
    tolerance: float | None


def measured_shares(dataset: str, path: Path = TEST_ROWS) -> dict[tuple[str, str], float]:
    """Variance over test rows as a share of the binomial variance, where it was measured.

    Parameters
    ----------
    dataset : str
    path : Path
        What ``python -m studies.moons_test_rows`` wrote; without it nothing was measured.

    Returns
    -------
    shares : dict of (task, method) to float
        At most 1: rows at fixed positions vary no more than independent ones. Also 1 where no row
        was ever wrong, or every one: nothing tells, and the binomial variance is the larger one.
    """
    if not path.is_file():
        return {}
    shares = {}
    with path.open(newline="", encoding="ascii") as file:
        for row in csv.DictReader(file):
            if row["dataset"] != dataset:
                continue
            accuracy, variance = float(row["accuracy"]), float(row["variance"])
            binomial = accuracy * (100 - accuracy) / int(row["test_rows"])
            share = min(variance / binomial, 1.0) if binomial > 0 else 1.0
            shares[row["task"], row["method"]] = share
    return shares


def tolerance(
    ours: float,
    half_width: float,
    published: float,
    published_half_width: float,
    test_rows: int,
    test_share: float = 1.0,
) -> float:
    """How far the two may lie apart to count as the same.

    Parameters
    ----------
    ours, half_width, published, published_half_width : float
        Percent.
    test_rows : int
        Test rows m behind either accuracy.
    test_share : float, default=1.0
        Variance over the test rows as a share r of the binomial one.

    Returns
    -------
    tolerance : float
        Percentage points.
    """
    share = (test_rows * (ours + published) / 200 + 2) / (test_rows + 4)
    test_variance = 2 * test_share * share * (1 - share) / test_rows * 100**2
    return math.sqrt(half_width**2 + published_half_width**2 + _NORMAL**2 * test_variance)


def judge(
    ours: Interval | None,
    published: tuple[float, float] | None,
    *,
    recorded: bool = True,
    complete: bool = True,
    comparable: bool = True,
    suspect: bool = False,
    test_rows: int,
    test_share: float = 1.0,
) -> Judgement:
    """Compare a cell of ours with the published one by the rule at the head of this module.

    The first of these that holds decides: nothing published; no record of ours; not all repetitions
    done; other data; a suspect published value; the rule. A suspect value is never counted as
    reproduced, even where ours agrees with it.

    Parameters
    ----------
    ours : Interval or None
        Percent; None where no repetition is done.
    published : (float, float) or None
        Mean and half-width, percent.
    recorded : bool
        Whether the cell was run at all.
    complete : bool
        Whether all its repetitions are done.
    comparable : bool
        False where ours comes from other data than the published one, such as a simulation.
    suspect : bool
        Whether an anomaly speaks against taking the published value at face value.
    test_rows : int
        Test rows behind either accuracy.
    test_share : float, default=1.0
        As for :func:`tolerance`.

    Returns
    -------
    judgement : Judgement
    """
    if published is None:
        return Judgement(Verdict.NO_PUBLISHED, None, None)
    if ours is None:
        verdict = Verdict.INCOMPLETE if recorded else Verdict.MISSING
        return Judgement(verdict, None, None)
    difference = ours.mean - published[0]
    if not complete:
        return Judgement(Verdict.INCOMPLETE, difference, None)
    if not comparable:
        return Judgement(Verdict.NOT_COMPARABLE, difference, None)
    if suspect:
        return Judgement(Verdict.SUSPECT, difference, None)
    if ours.half_width is None:  # a protocol of one repetition
        return Judgement(Verdict.UNDECIDED, difference, None)
    allowed = tolerance(ours.mean, ours.half_width, *published, test_rows, test_share)
    if abs(difference) > allowed:
        verdict = Verdict.BETTER if difference > 0 else Verdict.WORSE
    else:
        verdict = Verdict.REPRODUCED if allowed <= WIDEST else Verdict.UNDECIDED
    return Judgement(verdict, difference, allowed)
