r"""When a number of ours counts as a reproduction of the published one.

The two numbers come from different draws of data, because the paper's draws were never published,
so they cannot be equal; and two intervals that overlap prove little if one of them is forty points
wide. The rule, for cells that have all repetitions and a published value that is not suspect:

.. math:: \text{tolerance} = \sqrt{h^2 + h_p^2 + 1.96^2 \cdot \frac{2\, r\, p (1 - p)}{m}}

h and h_p are the half-widths of our interval and of the published one, for the choice of subsamples
and for the seeds. The last term is for the test rows: each side scored m of its own. Accuracies on
independent rows have the binomial variance p(1-p)/m, and r is 1. p is the mean of both accuracies,
drawn towards 1/2 by two successes and two failures (Agresti and Coull, 1998), so that the term does
not vanish at 0 and 100. On moons r is measured, see :func:`measured_shares`: scikit-learn puts the
test rows of every draw at the same positions, so accuracies vary less than on independent rows.

- abs(difference) > tolerance: **better** or **worse**, by the sign of ours minus published;
- else **reproduced**, unless the tolerance is above 10 points: then agreement says nothing, and the
  cell is **undecided**.

The rule leaves out another draw of *training* rows, which neither interval covers; if that matters
(Source only on the moons at 40 degrees), a faithful reproduction can come out as better or worse.
On Amazon both sides score the same test rows; there the last term stands for the encoder, which is
trained anew.

**Placebo.** A verdict is worth what it would refuse. :func:`placebo` judges each row of ours by the
published columns of the *other* methods too. If those pass about as often, 'reproduced' says that
accuracies are close, not that the method is the same.
"""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

WIDEST = 10.0
"""Percentage points; with a larger tolerance, agreement says nothing."""

MARGIN = 10.0
"""Percentage points by which a column's own row must pass more often than the others' mean."""

HALF = 50.0
"""Percent of cells; if the other rows pass more often in the mean, passing says nothing."""

TEST_ROWS = Path(__file__).resolve().parents[2] / "results" / "draws" / "test_rows.csv"
"""Variance of accuracies on moons over the test rows, by ``studies/draws.py``."""

_NORMAL = 1.959963984540054  # 97.5 % quantile of the standard normal


class Verdict(enum.StrEnum):
    """What a cell of ours says of the published one."""

    REPRODUCED = "reproduced"
    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"
    SUSPECT = "published value suspect"
    NOT_COMPARABLE = "other data"
    NO_PUBLISHED = "no published value"
    INCOMPLETE = "incomplete"
    MISSING = "missing"


@functools.cache
def measured_shares(dataset: str, path: Path = TEST_ROWS) -> Mapping[tuple[str, str], float]:
    """Variance over test rows as a share of the binomial one, by (task, method), if measured.

    At most 1: rows at fixed positions vary no more than independent ones. Also 1 if no row was ever
    wrong, or every one.
    """
    if not path.is_file():
        return {}
    rows = pd.read_csv(path, dtype={"task": str}).query("dataset == @dataset")
    binomial = rows.accuracy * (100 - rows.accuracy) / rows.test_rows
    shares = (rows.variance / binomial.where(binomial > 0)).fillna(1.0).clip(upper=1.0)
    return dict(zip(zip(rows.task, rows.method, strict=True), shares, strict=True))


def tolerance(
    ours: float,
    half_width: float,
    published: float,
    published_half_width: float,
    test_rows: int,
    test_share: float = 1.0,
) -> float:
    """How far two accuracies in percent may differ to count as the same, in points."""
    share = (test_rows * (ours + published) / 200 + 2) / (test_rows + 4)
    test_variance = 2 * test_share * share * (1 - share) / test_rows * 100**2
    return math.sqrt(half_width**2 + published_half_width**2 + _NORMAL**2 * test_variance)


def judge(cell: Any) -> tuple[Verdict, float, float]:
    """Verdict, difference and tolerance of a table's cell, by the rule at the head of this module.

    All values are in percent, NaN if there are none. The first of these that holds decides: nothing
    published; no record of ours; not all repetitions done; other data; a suspect published value;
    the rule.
    """
    nothing = math.nan
    if math.isnan(cell.published_mean):
        return Verdict.NO_PUBLISHED, nothing, nothing
    if math.isnan(cell.mean):
        return Verdict.INCOMPLETE if cell.recorded else Verdict.MISSING, nothing, nothing
    difference = cell.mean - cell.published_mean
    if not cell.complete:
        return Verdict.INCOMPLETE, difference, nothing
    if not cell.comparable:
        return Verdict.NOT_COMPARABLE, difference, nothing
    if cell.suspect:
        return Verdict.SUSPECT, difference, nothing
    if math.isnan(cell.ci95):  # a protocol of one repetition
        return Verdict.UNDECIDED, difference, nothing
    published = cell.published_mean, cell.published_ci95
    allowed = tolerance(cell.mean, cell.ci95, *published, cell.test_rows, cell.test_share)
    if abs(difference) > allowed:
        return Verdict.BETTER if difference > 0 else Verdict.WORSE, difference, allowed
    return Verdict.REPRODUCED if allowed <= WIDEST else Verdict.UNDECIDED, difference, allowed


def placebo(cells: pd.DataFrame) -> pd.DataFrame:
    """How often each row of a table is reproduced by each published column, its own among them.

    Only rows and columns whose cells are all complete count, and published values that are not
    suspect. Columns of the result: ``published_column``, ``row``, ``cells``, ``reproduced`` and
    ``within_tolerance`` (of any width). Empty on other data than the published.
    """
    found = []
    usable = (cells.complete & cells.ci95.notna()).groupby(cells.method, sort=False).all()
    rows = list(usable.index[usable])
    ours = {(c.method, c.task): {"mean": c.mean, "ci95": c.ci95} for c in cells.itertuples()}
    sound = cells[cells.published_mean.notna() & ~cells.suspect & cells.comparable]
    for column in rows if len(rows) > 1 else []:
        theirs = list(sound[sound.method == column].itertuples())
        others = [row for row in rows if row != column]
        for row in [column, *others] if theirs else []:
            verdicts = [judge(cell._replace(**ours[row, cell.task]))[0] for cell in theirs]
            reproduced = verdicts.count(Verdict.REPRODUCED)
            within = reproduced + verdicts.count(Verdict.UNDECIDED)
            found.append((column, row, len(theirs), reproduced, within))
    columns = ["published_column", "row", "cells", "reproduced", "within_tolerance"]
    return pd.DataFrame(found, columns=columns)


def worth(found: pd.DataFrame) -> pd.DataFrame:
    """What 'reproduced' is worth in each published column of a :func:`placebo`, by column.

    Columns: ``cells``, ``own`` and ``own_within`` (cells that the own row passes), ``others`` and
    ``others_within`` (mean over other rows), ``most`` (of another row), ``which`` (rows with the
    most) and ``telling``.
    """
    own = found[found.row == found.published_column].set_index("published_column")
    grouped = found[found.row != found.published_column].groupby("published_column", sort=False)
    out = pd.DataFrame(
        {
            "cells": own.cells,
            "own": own.reproduced,
            "own_within": own.within_tolerance,
            "others": grouped.reproduced.mean(),
            "others_within": grouped.within_tolerance.mean(),
            "most": grouped.reproduced.max(),
        }
    ).reindex(own.index)
    out["which"] = [
        tuple(group.row[group.reproduced == group.reproduced.max()]) for _, group in grouped
    ]
    ahead = 100 * (out.own - out.others) / out.cells
    clear = (ahead.round(8) >= MARGIN) & ((100 * out.others / out.cells).round(8) <= HALF)
    out["telling"] = clear.map({True: "telling", False: "not telling"})
    out.loc[out.own == 0, "telling"] = "nothing reproduced"
    return out
