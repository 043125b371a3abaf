"""Comparisons across a table's tasks: aggregates, ranks, paired tests against KRDA.

Everything comes from the cells of a table (:mod:`experiments.analysis.cells`). A method counts if
all of its cells are complete; Target only does not, for it learns from target labels. Means of a
task are rounded to eight decimals of a percent, so that equal accuracies tie. Tasks share domains,
so they are no independent sample, and few tasks bound the p-values from below: see
``docs/statistics.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
import scikit_posthocs
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests

from experiments.analysis.cells import KRDA, mean
from experiments.analysis.intervals import CONFIDENCE
from experiments.analysis.rounding import DECIMALS

FloatArray = NDArray[np.float64]

ALPHA = 0.05
N_BOOTSTRAP = 5000
SEED = 20211002
"""Of the bootstrap; a fixed one makes the results repeat."""


def compared(cells: pd.DataFrame) -> list[str]:
    """Methods whose cells are all complete, in the order of the table, without Target only."""
    complete = cells.groupby("method", sort=False).complete.all()
    return [method for method, ok in complete.items() if ok and method != "target_only"]


def left_out(cells: pd.DataFrame) -> dict[str, str]:
    """Why methods are not compared, by label: the first cell that is not complete."""
    reasons = {}
    lacking = cells[~cells.complete & (cells.method != "target_only")]
    for label, own in lacking.groupby("label", sort=False):
        first = own.iloc[0]
        more = f" and {len(own) - 1} other tasks are not complete" if len(own) > 1 else ""
        reasons[str(label)] = (
            f"{first.task_label} has {first.n_done} of {first.n_repetitions} repetitions{more}"
        )
    return reasons


def task_means(cells: pd.DataFrame, column: str = "mean") -> pd.DataFrame:
    """Means of the compared methods, tasks in rows; rounded, so that equal accuracies are equal."""
    wide = cells.pivot(index="task", columns="method", values=column)
    return wide.loc[cells.task.unique(), compared(cells)].round(DECIMALS)


def compare(cells: pd.DataFrame) -> pd.DataFrame:
    """Aggregates, ranks and paired tests, a row for each compared method.

    The columns are those of ``results/tables/comparison.csv`` after ``table``; NaN if a value does
    not exist, such as KRDA minus itself.
    """
    methods = compared(cells)
    if not methods:
        return pd.DataFrame()
    means = task_means(cells)
    own = cells.drop_duplicates("method").set_index("method").loc[methods]
    by_method = cells.groupby("method", sort=False).accuracies
    values = np.array([by_method.get_group(m).tolist() for m in methods], dtype=float)
    out = aggregate(values, methods)
    out.insert(0, "in_paper", own.in_paper)
    paper = own.index[own.in_paper]
    printed = _printed(cells)
    out["rank_paper"] = average_ranks(means[paper])
    out["rank_all"] = average_ranks(means)
    out["rank_published"] = None if printed is None else average_ranks(printed)
    out = out.join(paired_tests(means))
    deviations = cells.assign(gap=cells.difference.abs()).dropna(subset="gap")
    out["mean_absolute_deviation"] = deviations.groupby("method").gap.agg(mean)
    kept = ~cells.drop_duplicates("task").aside.to_numpy()
    columns = ["kept_mean", "kept_low", "kept_high"]
    out[columns] = math.nan
    if 0 < kept.sum() < len(kept):
        fewer = aggregate(values[:, kept], methods)
        out[columns] = fewer[["mean", "mean_low", "mean_high"]]
    counts = dict.fromkeys(["krda_wins", "ties", "krda_losses"], "Int64")
    return out.astype({"rank_published": float, **counts})


def _printed(cells: pd.DataFrame) -> pd.DataFrame | None:
    """The paper's means of its compared methods; None unless it prints all of them."""
    printed = cells[cells.in_paper & cells.method.isin(compared(cells))]
    if printed.empty or printed.published_mean.isna().any():
        return None
    return task_means(printed, "published_mean")


def families(cells: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Whose numbers, which methods, and means, tasks in rows, for the rank tests."""
    means = task_means(cells)
    paper = cells.method[cells.in_paper].unique()
    inside = means[[method for method in means if method in paper]]
    if len(inside.columns):
        yield "ours", "paper", inside
    if len(means.columns):
        yield "ours", "all", means
    printed = _printed(cells)
    if printed is not None:
        yield "published", "paper", printed


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
    two tasks, or if all methods tie. ValueError if a mean is not finite.
    """
    n_tasks, n_methods = means.shape
    if not np.isfinite(means.to_numpy()).all():
        raise ValueError(f"expected finite means of {n_tasks} tasks, got missing ones.")
    found = {"n_tasks": n_tasks, "n_methods": n_methods}
    if n_methods < 3 or n_tasks < 2 or not (means.nunique(axis=1) > 1).any():
        return found | {"friedman": math.nan, "p": math.nan, "critical_difference": math.nan}
    friedman = stats.friedmanchisquare(*means.to_numpy().T)
    quantile = float(stats.studentized_range.ppf(1 - ALPHA, n_methods, np.inf))
    return found | {
        "friedman": float(friedman.statistic),
        "p": float(friedman.pvalue),
        "critical_difference": quantile * math.sqrt(n_methods * (n_methods + 1) / (12 * n_tasks)),
    }


def nemenyi(means: pd.DataFrame) -> pd.DataFrame:
    """Nemenyi's p-values, methods in rows and columns; empty if :func:`rank_tests` gives none."""
    if math.isnan(rank_tests(means)["p"]):
        return pd.DataFrame()
    p = scikit_posthocs.posthoc_nemenyi_friedman(means.to_numpy())
    return pd.DataFrame(p.to_numpy(dtype=float), means.columns, means.columns)


def omnibus(cells: pd.DataFrame) -> pd.DataFrame:
    """:func:`rank_tests` of each family: ``comparison-tests.csv`` after ``table``."""
    found = [
        {"numbers": numbers, "family": family, **rank_tests(means)}
        for numbers, family, means in families(cells)
    ]
    return pd.DataFrame(found)


def pairs(cells: pd.DataFrame) -> pd.DataFrame:
    """Nemenyi's p-value of each pair of methods: ``comparison-pairs.csv`` after ``table``."""
    found = []
    for numbers, family, means in families(cells):
        p = nemenyi(means)
        for i, second in enumerate(p.columns):
            for first in p.columns[:i]:
                found.append((numbers, family, first, second, p.loc[second, first]))
    return pd.DataFrame(found, columns=["numbers", "family", "first", "second", "nemenyi_p"])


def rank_correlation(comparison: pd.DataFrame) -> float:
    """Spearman's correlation of the paper's methods' average ranks, ours and printed."""
    ranks = comparison[["rank_paper", "rank_published"]].dropna()
    if (ranks.nunique() < 2).any():
        return math.nan
    return float(stats.spearmanr(ranks.rank_paper, ranks.rank_published).statistic)


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
    tests = [signed_rank_test(gaps[method].to_numpy()) for method in gaps]
    out = pd.DataFrame(
        {
            "krda_wins": (gaps > 0).sum(),
            "ties": (gaps == 0).sum(),
            "krda_losses": (gaps < 0).sum(),
            "median_difference": gaps.median(),
            "wilcoxon": [statistic for statistic, _ in tests],
            "p": [p for _, p in tests],
        }
    )
    out["p_holm"] = multipletests(out.p, method="holm")[1]
    out["smallest_p"] = [signed_rank_test(gaps[m].abs().to_numpy())[1] for m in gaps]
    return out


def signed_rank_test(difference: FloatArray) -> tuple[float, float]:
    """Wilcoxon's statistic and two-sided p with the exact null distribution, also with ties.

    Ranks of the absolute differences share their mean if they tie, and those of zeros are split
    between both signs. Under the null hypothesis each sign is a fair coin, so the distribution of
    the positive ranks' sum is a product of polynomials, one factor a task; doubled ranks are whole
    numbers, which serve as exponents. scipy is exact with ties only for few tasks. p is 1 if all
    differences are zero.
    """
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
    section 4): repetitions are resampled with replacement within each task, and the 2.5 % and
    97.5 % percentiles of the aggregate are its interval. All methods use the same resampled
    repetitions, so that differences keep their pairing.

    Resampling n values gives the variance of the mean with divisor n, not n - 1, so the
    percentiles' distances from the estimate are multiplied by sqrt(n / (n - 1)). For the mean this
    makes the variance unbiased; for the interquartile mean it is an approximation.
    """
    _, n_tasks, n_repetitions = values.shape
    shape = (n_bootstrap, n_tasks, n_repetitions)
    drawn = np.random.default_rng(SEED).integers(n_repetitions, size=shape)
    widening = math.sqrt(n_repetitions / max(n_repetitions - 1, 1))
    tails = [50 * (1 - CONFIDENCE), 50 * (1 + CONFIDENCE)]

    def estimate(value: float, samples: FloatArray) -> list[float]:
        low, high = value + widening * (np.percentile(samples, tails) - value)
        return [value, low, high] if n_repetitions > 1 else [value, math.nan, math.nan]

    flat = values.reshape(len(methods), -1)
    resampled = {
        method: own[np.arange(n_tasks)[:, None], drawn].reshape(n_bootstrap, -1)
        for method, own in zip(methods, values, strict=True)
    }
    iqm = dict(zip(methods, interquartile_mean(flat), strict=True))
    iqms = {method: interquartile_mean(samples) for method, samples in resampled.items()}
    rows = []
    for method, own in zip(methods, flat, strict=True):
        row = estimate(float(own.mean()), resampled[method].mean(axis=-1))
        row += estimate(float(iqm[method]), iqms[method])
        if KRDA in iqm and method != KRDA:
            row += estimate(float(iqm[KRDA] - iqm[method]), iqms[KRDA] - iqms[method])
        rows.append(row + [math.nan] * (9 - len(row)))
    columns = ["mean", "mean_low", "mean_high", "iqm", "iqm_low", "iqm_high", "krda_minus_iqm",
               "krda_minus_low", "krda_minus_high"]  # fmt: skip
    return pd.DataFrame(rows, index=pd.Index(methods, name="method"), columns=columns)
