"""Comparisons across a table's tasks: aggregates, ranks, paired tests against KRDA.

Everything comes from the cells of a table (:mod:`experiments.analysis.cells`). A method counts if
all of its cells are complete; Target only does not, for it learns from target labels. Means of a
task are rounded to eight decimals of a percent, so that equal accuracies tie. Tasks share domains,
so they are no independent sample, and few tasks bound the p-values from below: see
``docs/statistics.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from experiments.analysis.cells import KRDA
from experiments.analysis.intervals import CONFIDENCE
from experiments.analysis.rounding import DECIMALS

FloatArray = NDArray[np.float64]

ALPHA = 0.05
N_BOOTSTRAP = 5000
SEED = 20211002
"""Of the bootstrap; a fixed one makes the results repeat."""
ENDS = ("", "_low", "_high")


def compared(cells: pd.DataFrame) -> list[str]:
    """Methods whose cells are all complete, in the order of the table, without Target only."""
    complete = cells.groupby("method", sort=False).complete.all()
    return [method for method, ok in complete.items() if ok and method != "target_only"]


def left_out(cells: pd.DataFrame) -> dict[str, str]:
    """Why methods are not compared, by label: how many of their cells are complete."""
    complete = cells[cells.method != "target_only"].groupby("label", sort=False).complete
    return {
        str(label): f"{own.sum()} of {len(own)} tasks are complete"
        for label, own in complete
        if not own.all()
    }


def task_means(cells: pd.DataFrame, column: str = "mean") -> pd.DataFrame:
    """Means of the compared methods, tasks in rows; rounded, so that equal accuracies are equal."""
    wide = cells.pivot(index="task", columns="method", values=column)
    return wide.loc[cells.task.unique(), compared(cells)].round(DECIMALS)


def families(cells: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Whose numbers, which methods, and means, tasks in rows, for the rank tests."""
    paper = cells[cells.in_paper]
    printed = task_means(paper, "published_mean")
    found = [("ours", "paper", task_means(paper)), ("ours", "all", task_means(cells))]
    if not printed.isna().any(axis=None):
        found.append(("published", "paper", printed))
    return (family for family in found if len(family[2].columns))


def compare(cells: pd.DataFrame) -> pd.DataFrame:
    """Aggregates, ranks and paired tests, a row for each compared method.

    The columns are those of ``results/tables/comparison.csv`` after ``table``; NaN if a value does
    not exist, such as KRDA minus itself.
    """
    if not (methods := compared(cells)):
        return pd.DataFrame()
    first = cells.drop_duplicates("task")
    wide = cells.pivot(index="method", columns="task", values="accuracies")
    values = np.array(wide.loc[methods, first.task].to_numpy().tolist(), dtype=float)
    out = aggregate(values, methods)
    out.insert(0, "in_paper", cells.groupby("method").in_paper.first())
    out[["rank_paper", "rank_all", "rank_published"]] = math.nan
    for numbers, family, means in families(cells):
        out[f"rank_{family if numbers == 'ours' else numbers}"] = average_ranks(means)
    out = out.join(paired_tests(task_means(cells)))
    out["mean_absolute_deviation"] = cells.difference.abs().groupby(cells.method).mean()
    return out.astype(dict.fromkeys(["krda_wins", "ties", "krda_losses"], "Int64"))


def average_ranks(means: pd.DataFrame) -> pd.Series:
    """Mean rank over the tasks; rank 1 is the highest accuracy, ties share the mean."""
    return means.rank(axis=1, ascending=False).mean()


def rank_tests(means: pd.DataFrame) -> dict[str, float]:
    r"""Friedman's test, and Nemenyi's critical difference at level 0.05.

    Friedman (1937) asks if the average ranks differ at all; by Nemenyi (1963) two methods differ if
    their average ranks are further apart than

    .. math:: CD = q_{0.95,\, k,\, \infty} \sqrt{\frac{k (k + 1)}{12\, n}}

    with the quantile of the studentized range, k methods and n tasks (Demsar, 2006, section 3.2.2,
    whose q_alpha is this quantile over the square root of 2). NaN with fewer than three methods or
    two tasks, or if all methods tie.
    """
    n_tasks, n_methods = means.shape
    names = "friedman", "p", "critical_difference"
    found = {"n_tasks": n_tasks, "n_methods": n_methods, **dict.fromkeys(names, math.nan)}
    if n_methods > 2 and n_tasks > 1 and (means.nunique(axis=1) > 1).any():
        friedman, p = stats.friedmanchisquare(*means.to_numpy().T)
        quantile = stats.studentized_range.ppf(1 - ALPHA, n_methods, np.inf)
        difference = quantile * math.sqrt(n_methods * (n_methods + 1) / (12 * n_tasks))
        found |= dict(zip(names, map(float, (friedman, p, difference)), strict=True))
    return found


def omnibus(cells: pd.DataFrame) -> pd.DataFrame:
    """:func:`rank_tests` of each family: ``comparison-tests.csv`` after ``table``."""
    return pd.DataFrame(
        {"numbers": numbers, "family": family, **rank_tests(means)}
        for numbers, family, means in families(cells)
    )


def rank_correlation(comparison: pd.DataFrame) -> float:
    """Spearman's correlation of the paper's methods' average ranks, ours and printed."""
    return float(comparison.rank_paper.corr(comparison.rank_published, method="spearman"))


def paired_tests(means: pd.DataFrame) -> pd.DataFrame:
    """Wilcoxon's signed-rank test of KRDA against each other method, p-values by Holm.

    ``krda_wins``, ``ties`` and ``krda_losses`` count tasks; ``smallest_p`` is what the test would
    give if KRDA won every task that is no tie. Zero differences are split between both signs
    (Demsar, 2006, section 3.1.3). Empty columns if KRDA is not compared.
    """
    columns = ["krda_wins", "ties", "krda_losses", "median_difference", "wilcoxon", "p", "p_holm",
               "smallest_p"]  # fmt: skip
    if KRDA not in means or len(means.columns) < 2:
        return pd.DataFrame(columns=columns, dtype=float)
    gaps = means.drop(columns=KRDA).rsub(means[KRDA], axis=0).round(DECIMALS)
    tests, extreme = (
        pd.DataFrame({method: signed_rank_test(own) for method, own in frame.items()}).T
        for frame in (gaps, gaps.abs())
    )
    found = [(gaps > 0).sum(), (gaps == 0).sum(), (gaps < 0).sum(), gaps.median(), tests[0],
             tests[1], holm(tests[1]), extreme[1]]  # fmt: skip
    return pd.DataFrame(dict(zip(columns, found, strict=True)))


def holm(p: pd.Series) -> pd.Series:
    """P-values that Holm (1979) adjusts for their number."""
    ordered = p.sort_values()
    return (ordered * np.arange(len(p), 0, -1)).cummax().clip(upper=1.0)[p.index]


def signed_rank_test(difference: ArrayLike) -> tuple[float, float]:
    """Wilcoxon's statistic and two-sided p with the exact null distribution, also with ties.

    Ranks of the absolute differences share their mean if they tie, and those of zeros are split
    between both signs. Under the null hypothesis each sign is a fair coin, so the distribution of
    the positive ranks' sum is a product of polynomials, one factor a task; doubled ranks are whole
    numbers, which serve as exponents. scipy is exact with ties only for few tasks. p is 1 if all
    differences are zero.
    """
    difference = np.asarray(difference)
    doubled = np.rint(2 * stats.rankdata(np.abs(difference))).astype(int)
    positive, negative = (int(doubled[sign * difference > 0].sum()) for sign in (1, -1))
    zeros = int(doubled[difference == 0].sum()) / 2
    chances = np.ones(1)
    for rank in doubled[difference != 0]:
        chances = np.convolve(chances, np.bincount([0, rank])) / 2
    smaller = min(positive, negative)
    return (smaller + zeros) / 2, min(1.0, 2 * float(chances[: smaller + 1].sum()))


def interquartile_mean(values: FloatArray) -> FloatArray:
    """Mean of the middle half along the last axis; a quarter, rounded down, is cut at each end."""
    return np.asarray(stats.trim_mean(values, 0.25, axis=-1), dtype=float)


def aggregate(
    values: FloatArray, methods: list[str], n_bootstrap: int = N_BOOTSTRAP
) -> pd.DataFrame:
    """Mean, interquartile mean and KRDA minus it, with stratified bootstrap intervals, by method.

    ``values`` are accuracies of shape (n_methods, n_tasks, n_repetitions). Agarwal et al. (2021,
    section 4) resample repetitions with replacement within each task; all methods use the same
    resamples, so that differences keep their pairing. Distances of the percentiles from the
    estimate are multiplied by sqrt(n / (n - 1)), since resampling n values has the divisor n.
    """
    n_methods, n_tasks, n_repetitions = values.shape
    size = n_bootstrap, n_tasks, n_repetitions
    drawn = np.random.default_rng(SEED).integers(n_repetitions, size=size)
    tasks = np.arange(n_tasks)[:, None]

    def estimate(statistic: Callable[[FloatArray], Any]) -> tuple[FloatArray, FloatArray]:
        resampled = [statistic(own[tasks, drawn].reshape(n_bootstrap, -1)) for own in values]
        return statistic(values.reshape(n_methods, -1)), np.array(resampled)

    iqm, iqms = estimate(interquartile_mean)
    found = {"mean": estimate(lambda rows: rows.mean(axis=-1)), "iqm": (iqm, iqms)}
    if KRDA in methods:
        krda = methods.index(KRDA)
        found["krda_minus"] = iqm[krda] - iqm, iqms[krda] - iqms
    widening = math.sqrt(n_repetitions / (n_repetitions - 1)) if n_repetitions > 1 else math.nan
    tails = [50 * (1 - CONFIDENCE), 50 * (1 + CONFIDENCE)]
    columns = [f"{name}{end}" for name in ("mean", "iqm", "krda_minus") for end in ENDS]
    out = pd.DataFrame(math.nan, pd.Index(methods, name="method"), columns)
    for name, (value, samples) in found.items():
        ends = value + widening * (np.percentile(samples, tails, axis=-1) - value)
        out[[f"{name}{end}" for end in ENDS]] = np.column_stack([value, *ends])
    out.loc[out.index == KRDA, columns[6:]] = math.nan
    return out.rename(columns={"krda_minus": "krda_minus_iqm"})
