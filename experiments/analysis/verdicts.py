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
On Amazon both sides score the same test rows; there the last term is for the encoder, which is
trained anew.

**Placebo.** A verdict is worth what it would refuse. :func:`placebo` judges each row of ours by the
published columns of the *other* methods too. If those pass about as often, 'reproduced' says that
accuracies are close, not that the method is the same.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping
from pathlib import Path

import numpy as np
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


def tolerance(cells: pd.DataFrame) -> pd.Series:
    """How far accuracies in percent may differ to count as the same, in points."""
    n, p = cells.test_rows, (cells["mean"] + cells.published_mean) / 200
    share = (n * p + 2) / (n + 4)
    test_variance = 2 * cells.test_share * share * (1 - share) / n * 100**2
    found: pd.Series = np.sqrt(cells.ci95**2 + cells.published_ci95**2 + _NORMAL**2 * test_variance)
    return found


def judge(cells: pd.DataFrame) -> pd.DataFrame:
    """``verdict``, ``difference`` and ``tolerance`` of cells, by the rule at this module's head.

    All values are in percent, NaN if there are none. The first of these that holds decides: nothing
    published; no record of ours; not all repetitions done; other data; a suspect published value;
    the rule.
    """
    difference = cells["mean"] - cells.published_mean
    judged = cells.complete & cells.comparable & ~cells.suspect
    allowed = tolerance(cells).where(judged)
    verdicts = {
        Verdict.NO_PUBLISHED: cells.published_mean.isna(),
        Verdict.MISSING: ~cells.recorded,
        Verdict.INCOMPLETE: ~cells.complete,
        Verdict.NOT_COMPARABLE: ~cells.comparable,
        Verdict.SUSPECT: cells.suspect,
        Verdict.BETTER: difference > allowed,
        Verdict.WORSE: difference < -allowed,
        Verdict.REPRODUCED: allowed <= WIDEST,
    }
    verdict = np.select(list(verdicts.values()), list(map(str, verdicts)), str(Verdict.UNDECIDED))
    found = {"verdict": verdict, "difference": difference, "tolerance": allowed}
    return pd.DataFrame(found, index=cells.index)


def placebo(cells: pd.DataFrame) -> pd.DataFrame:
    """How often each row of a table is reproduced by each published column, its own among them.

    Only rows and columns whose cells are all complete count, and published values that are not
    suspect. Columns of the result: ``published_column``, ``row``, ``cells``, ``reproduced`` and
    ``within_tolerance`` (of any width). Empty on other data than the published.
    """
    usable = (cells.complete & cells.ci95.notna()).groupby(cells.method).transform("all")
    ours = cells.loc[usable, ["method", "task", "mean", "ci95"]].rename(columns={"method": "row"})
    sound = cells[usable & cells.published_mean.notna() & ~cells.suspect & cells.comparable]
    theirs = sound.drop(columns=["mean", "ci95"]).rename(columns={"method": "published_column"})
    pairs = theirs.merge(ours if ours.row.nunique() > 1 else ours[:0], on="task")
    verdict = judge(pairs).verdict
    pairs["cells"] = 1
    pairs["reproduced"] = verdict == Verdict.REPRODUCED
    pairs["within_tolerance"] = verdict.isin([Verdict.REPRODUCED, Verdict.UNDECIDED])
    keys, counts = ["published_column", "row"], ["cells", "reproduced", "within_tolerance"]
    return pairs.groupby(keys, sort=False)[counts].sum().astype(int).reset_index()


def worth(found: pd.DataFrame) -> pd.DataFrame:
    """What 'reproduced' is worth in each published column of a :func:`placebo`, by column.

    Columns: ``cells``, ``own`` (cells that the own row passes), ``others`` (mean over other rows),
    ``most`` (of another row) and ``telling``.
    """
    is_own = found.row == found.published_column
    out = found[is_own].set_index("published_column")[["cells", "reproduced"]]
    out = out.rename(columns={"reproduced": "own"})
    others = found[~is_own].groupby("published_column").reproduced
    out["others"], out["most"] = others.mean(), others.max()
    ahead = 100 * (out.own - out.others) / out.cells
    clear = (ahead.round(8) >= MARGIN) & ((100 * out.others / out.cells).round(8) <= HALF)
    out["telling"] = clear.map({True: "telling", False: "not telling"})
    out.loc[out.own == 0, "telling"] = "nothing reproduced"
    return out
