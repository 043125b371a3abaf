"""Comparisons across a data set's tasks: ranks, paired tests, robust aggregates.

Everything is computed from the complete cells of a table, the means of a task rounded to eight
decimals of a percent, so that equal accuracies tie. What such numbers can and cannot show is told
in ``docs/statistics.md``; the two points to keep in mind are that tasks share domains, so they are
no independent sample, and that a handful of tasks bounds the p-values from below.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
import scikit_posthocs
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests

from experiments.analysis.statistics import CONFIDENCE
from experiments.published import PublishedCell
from experiments.reading.glossary import methods_glossary
from experiments.reading.tables.markdown import escape, markdown_table
from experiments.reading.tables.model import Table
from experiments.reading.tables.wording import number, signed

FloatArray = NDArray[np.float64]
Family = Literal["paper", "all"]

KRDA = "krda"
ALPHA = 0.05
N_BOOTSTRAP = 5000
SEED = 20211002
"""Of the bootstrap; any number would do, a fixed one makes the bytes repeat."""

WARNING = (
    "The tasks of a data set share their domains, so that they are no independent sample, and "
    "every test below takes them for one: its p-values are too small by an amount that these data "
    "cannot tell."
)
READING = (
    "Target only is left out: it learns from target labels. Source only competes.",
    "mean: of all accuracies over tasks and repetitions, in percent; IQM: of their middle half. In "
    "brackets the ends of the 95 % percentile interval of a bootstrap that resamples repetitions "
    f"within tasks ({N_BOOTSTRAP} times, fixed seed; Agarwal et al., 2021), widened by √(n/(n−1)) "
    "for n repetitions: resampling takes s² with divisor n. For the mean that is exact in "
    "variance, for the IQM approximate.",
    "mean, 10° to 80° (moons): without 90°, where a symmetry decides (docs/statistics.md).",
    "KRDA minus (IQM): KRDA's IQM minus the row's, with its interval from the same resamples. It "
    "is no difference of the means, and where two methods are close it can have the other sign.",
    "Rank: mean over the tasks, 1 is best, ties share their mean; among the paper's methods, among "
    "all rows, and by the paper's printed means.",
    "KRDA's wins/ties/losses and the Wilcoxon signed-rank test are over the tasks' means, "
    "two-sided; p by Holm is over all methods of the table. The smallest p is what winning or "
    "losing every task that is no tie would give.",
)
"""How to read a comparison, plain text."""

_DECIMALS = 8


@dataclass(frozen=True)
class Scores:
    """Accuracies of the methods that can be compared.

    Attributes
    ----------
    tasks, methods : tuple of str
    values : ndarray of shape (n_tasks, n_methods, n_repetitions)
        Percent.
    left_out : tuple of (method, reason)
        Methods with a cell that is not complete.
    """

    tasks: tuple[str, ...]
    methods: tuple[str, ...]
    values: FloatArray
    left_out: tuple[tuple[str, str], ...]

    @property
    def means(self) -> FloatArray:
        """Shape (n_tasks, n_methods); rounded, so that equal accuracies are equal."""
        means: FloatArray = self.values.mean(axis=2).round(_DECIMALS)
        return means


@dataclass(frozen=True)
class RankComparison:
    """Average ranks over tasks, with Friedman's and Nemenyi's tests.

    Attributes
    ----------
    family : {'paper', 'all'}
        The paper's methods, or those and ours.
    methods : tuple of str
    n_tasks : int
    average_ranks : tuple of float
        Rank 1 is the highest accuracy; ties share the mean of their ranks.
    friedman_statistic, friedman_p : float or None
        Chi-square approximation, corrected for ties; None with fewer than three methods or two
        tasks, or where all methods tie on all tasks.
    critical_difference : float or None
        Average ranks further apart differ by Nemenyi's test at level 0.05.
    nemenyi_p : ndarray of shape (n_methods, n_methods) or None
    """

    family: Family
    methods: tuple[str, ...]
    n_tasks: int
    average_ranks: tuple[float, ...]
    friedman_statistic: float | None
    friedman_p: float | None
    critical_difference: float | None
    nemenyi_p: FloatArray | None

    def rank(self, method: str) -> float | None:
        """Average rank of a method; None where it is not among those compared."""
        ranks = dict(zip(self.methods, self.average_ranks, strict=True))
        return ranks.get(method)


@dataclass(frozen=True)
class PairedTest:
    """KRDA against one method, over the tasks.

    Attributes
    ----------
    method : str
    wins, ties, losses : int
        Tasks on which KRDA's mean is higher, equal, lower.
    median_difference : float
        KRDA minus the method, percentage points.
    statistic, p : float
        Wilcoxon's signed ranks, two-sided; zero differences share their ranks between both signs.
    p_holm : float
        Adjusted over all methods of the table.
    smallest_p : float
        What this test would give if KRDA won on every task that is no tie, by as much.
    """

    method: str
    wins: int
    ties: int
    losses: int
    median_difference: float
    statistic: float
    p: float
    p_holm: float
    smallest_p: float


@dataclass(frozen=True)
class Estimate:
    """A number and its bootstrap interval; the ends are None where one repetition gives none."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Aggregate:
    """A method over all tasks and repetitions, percent.

    Attributes
    ----------
    method : str
    mean, iqm : Estimate
        Mean and interquartile mean.
    krda_minus : Estimate
        Interquartile mean of KRDA minus that of the method, percentage points, with an interval
        from the same resampled repetitions: these are paired, for they share their training rows.
    """

    method: str
    mean: Estimate
    iqm: Estimate
    krda_minus: Estimate | None


@dataclass(frozen=True)
class Comparison:
    """All that is said of a data set across its tasks; data alone, to be rendered anywhere.

    Attributes
    ----------
    name, title : str
        Of the table.
    stands_in_for : str or None
        The data set that the published values belong to, where it is another one.
    labels : mapping of method to str
    scores : Scores
    ranks : tuple of RankComparison
        Of ours: the paper's methods, then all.
    published_ranks : RankComparison or None
        Of the published means, the paper's methods.
    rank_correlation : float or None
        Spearman's, between the average ranks of the paper's methods, ours and published.
    paired : tuple of PairedTest
        Empty where KRDA itself is not complete.
    aggregates : tuple of Aggregate
    kept_label : str
        What the mean without the tasks that stand aside is called; empty if none does.
    kept : mapping of method to Estimate
        That mean.
    absolute_deviation : mapping of method to float
        Mean absolute difference of ours and published over the tasks, of complete methods.
    notes : tuple of str
    """

    name: str
    title: str
    stands_in_for: str | None
    labels: Mapping[str, str]
    scores: Scores
    ranks: tuple[RankComparison, ...]
    published_ranks: RankComparison | None
    rank_correlation: float | None
    paired: tuple[PairedTest, ...]
    aggregates: tuple[Aggregate, ...]
    kept_label: str
    kept: Mapping[str, Estimate]
    absolute_deviation: Mapping[str, float]
    notes: tuple[str, ...]


def collect(table: Table) -> Scores:
    """Take the methods of a table that are complete on every task, Target only aside.

    Source only competes: it uses no target label.

    Parameters
    ----------
    table : Table

    Returns
    -------
    scores : Scores
    """
    spec = table.spec
    methods, left_out, values = [], [], []
    for method in spec.rows:
        if method.name == "target_only":
            continue
        cells = [table.cells[task.name, method.name] for task in spec.tasks]
        bad = [
            f"{task.label} has {cell.n_done} of {cell.n_repetitions} repetitions"
            for task, cell in zip(spec.tasks, cells, strict=True)
            if cell.n_done != spec.repetitions or not cell.complete
        ]
        if bad:
            more = f" and {len(bad) - 1} other tasks alike" if len(bad) > 1 else ""
            left_out.append((method.name, bad[0] + more))
        else:
            methods.append(method.name)
            values.append([cell.accuracies for cell in cells])
    shape = (len(methods), len(spec.tasks), spec.repetitions)
    array = np.array(values, dtype=np.float64).reshape(shape).swapaxes(0, 1)
    return Scores(tuple(t.name for t in spec.tasks), tuple(methods), array, tuple(left_out))


def compare_ranks(means: FloatArray, methods: Sequence[str], family: Family) -> RankComparison:
    r"""Rank methods on each task, average, and test.

    Friedman (1937) asks whether the average ranks differ at all; Nemenyi (1963) which pairs do: two
    methods differ at level 0.05 where their average ranks lie further apart than

    .. math:: CD = q_{0.95,\, k,\, \infty} \sqrt{\frac{k (k + 1)}{12\, n}}

    with the quantile of the studentized range, k methods and n tasks (Demsar, 2006, section 3.2.2,
    whose q_alpha is this quantile over the square root of 2).

    Parameters
    ----------
    means : ndarray of shape (n_tasks, n_methods)
    methods : sequence of str
    family : {'paper', 'all'}

    Returns
    -------
    comparison : RankComparison

    Raises
    ------
    ValueError
        Another number of columns than of methods, or a value that is not finite.
    """
    n_tasks, n_methods = means.shape
    if n_methods != len(methods) or not np.isfinite(means).all():
        raise ValueError(
            f"expected finite means of shape (n_tasks, {len(methods)}), got shape {means.shape}."
        )
    ranks = stats.rankdata(-means, axis=1)
    average = tuple(float(rank) for rank in ranks.mean(axis=0))
    spread = bool((ranks != ranks[:, :1]).any())
    if n_methods < 3 or n_tasks < 2 or not spread:
        return RankComparison(family, tuple(methods), n_tasks, average, None, None, None, None)
    friedman = stats.friedmanchisquare(*means.T)
    quantile = float(stats.studentized_range.ppf(1 - ALPHA, n_methods, np.inf))
    difference = quantile * math.sqrt(n_methods * (n_methods + 1) / (12 * n_tasks))
    nemenyi = scikit_posthocs.posthoc_nemenyi_friedman(means).to_numpy(dtype=np.float64)
    return RankComparison(
        family,
        tuple(methods),
        n_tasks,
        average,
        float(friedman.statistic),
        float(friedman.pvalue),
        difference,
        nemenyi,
    )


def paired_tests(means: FloatArray, methods: Sequence[str]) -> tuple[PairedTest, ...]:
    """Wilcoxon's signed-rank test of KRDA against each other method, p-values by Holm.

    Zero differences are split between both signs (Demsar, 2006, section 3.1.3); the null
    distribution is exact, see :func:`signed_rank_test`.

    Parameters
    ----------
    means : ndarray of shape (n_tasks, n_methods)
        Percent.
    methods : sequence of str

    Returns
    -------
    tests : tuple of PairedTest
        In the order of the methods; empty where KRDA is not among them.
    """
    others = [(i, method) for i, method in enumerate(methods) if method != KRDA]
    if KRDA not in methods or not others:
        return ()
    own = means[:, list(methods).index(KRDA)]
    differences = [(own - means[:, i]).round(_DECIMALS) for i, _ in others]
    raw = [signed_rank_test(difference) for difference in differences]
    adjusted = multipletests([p for _, p in raw], method="holm")[1]
    return tuple(
        PairedTest(
            method,
            int((difference > 0).sum()),
            int((difference == 0).sum()),
            int((difference < 0).sum()),
            float(np.median(difference)),
            statistic,
            p,
            float(p_holm),
            signed_rank_test(np.abs(difference))[1],
        )
        for (_, method), difference, (statistic, p), p_holm in zip(
            others, differences, raw, adjusted, strict=True
        )
    )


def signed_rank_test(difference: FloatArray) -> tuple[float, float]:
    """Wilcoxon's signed-rank test with the exact null distribution, ties and zeros or not.

    Ranks of the absolute differences share their mean where they tie, and those of zeros are split
    between both signs. Under the null hypothesis each sign is a fair coin, so the distribution of
    the positive ranks' sum is a product of polynomials, one factor a task, however the ranks tie;
    doubled ranks are whole numbers, which serve as exponents. scipy has the exact distribution
    without ties, enumerates all signs for few tasks with ties, and takes the normal one for more.

    Parameters
    ----------
    difference : ndarray of shape (n_tasks,)

    Returns
    -------
    statistic : float
        The smaller one of the sums of positive and of negative ranks.
    p : float
        Two-sided; 1 where all differences are zero, for equal methods are no evidence of anything.
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
    """Mean of the middle half along the last axis.

    A quarter of the values, rounded down, is cut off at either end (scipy's trimmed mean).

    Parameters
    ----------
    values : ndarray of shape (..., n)

    Returns
    -------
    means : ndarray of shape (...)
    """
    return np.asarray(stats.trim_mean(values, 0.25, axis=-1), dtype=np.float64)


def aggregate(scores: Scores, n_bootstrap: int = N_BOOTSTRAP) -> tuple[Aggregate, ...]:
    """Interquartile means over tasks and repetitions, with stratified bootstrap intervals.

    Agarwal et al. (2021, section 4): repetitions are resampled with replacement within each task,
    tasks are kept, and the 2.5 % and 97.5 % percentiles of the aggregate are its interval. All
    methods use the same resampled repetitions, so that differences keep their pairing.

    Resampling n values gives the variance of the mean with divisor n, not n - 1: over five
    repetitions its intervals are too narrow by a factor of 0.89. So the percentiles' distances from
    the estimate are multiplied by sqrt(n / (n - 1)). For the mean this makes the variance unbiased;
    for the interquartile mean, whose variance is no multiple of s^2, it is an approximation.

    Parameters
    ----------
    scores : Scores
    n_bootstrap : int

    Returns
    -------
    aggregates : tuple of Aggregate
        In the order of the methods.
    """
    n_tasks, _, n_repetitions = scores.values.shape
    rng = np.random.default_rng(SEED)
    drawn = rng.integers(n_repetitions, size=(n_bootstrap, n_tasks, n_repetitions))
    tails = [50 * (1 - CONFIDENCE), 50 * (1 + CONFIDENCE)]
    widening = math.sqrt(n_repetitions / max(n_repetitions - 1, 1))

    def estimate(value: float, samples: FloatArray) -> Estimate:
        if n_repetitions < 2:
            return Estimate(value, None, None)
        low, high = value + widening * (np.percentile(samples, tails) - value)
        return Estimate(value, float(low), float(high))

    def both(values: FloatArray) -> tuple[tuple[float, FloatArray], tuple[float, FloatArray]]:
        resampled = values[np.arange(n_tasks)[:, None], drawn].reshape(n_bootstrap, -1)
        flat = values.reshape(-1)
        return (
            (float(flat.mean()), resampled.mean(axis=-1)),
            (float(interquartile_mean(flat)), interquartile_mean(resampled)),
        )

    found = {m: both(scores.values[:, i, :]) for i, m in enumerate(scores.methods)}
    krda = found.get(KRDA)
    return tuple(
        Aggregate(
            method,
            estimate(*mean),
            estimate(*iqm),
            None
            if krda is None or method == KRDA
            else estimate(krda[1][0] - iqm[0], krda[1][1] - iqm[1]),
        )
        for method, (mean, iqm) in found.items()
    )


def compare(name: str, table: Table, values: Mapping[tuple[str, str], PublishedCell]) -> Comparison:
    """Compare the methods of a wide table across its tasks.

    Parameters
    ----------
    name : str
        Of the table.
    table : Table
    values : mapping of (task, method) to PublishedCell
        Published values; empty where there are none.

    Returns
    -------
    comparison : Comparison
    """
    scores = collect(table)
    in_paper = [m.name for m in table.spec.rows if not m.ours and m.name in scores.methods]
    columns = [scores.methods.index(method) for method in in_paper]
    ranks = (
        compare_ranks(scores.means[:, columns], in_paper, "paper"),
        compare_ranks(scores.means, scores.methods, "all"),
    )
    printed, correlation = None, None
    if in_paper and all((t, m) in values for t in scores.tasks for m in in_paper):
        means = np.array([[values[t, m].mean for m in in_paper] for t in scores.tasks])
        printed = compare_ranks(means, in_paper, "paper")
        if len(set(printed.average_ranks)) > 1 and len(set(ranks[0].average_ranks)) > 1:
            found = stats.spearmanr(ranks[0].average_ranks, printed.average_ranks)
            correlation = float(found.statistic)
    deviations = {
        method: table.summaries[method].absolute.value
        for method in scores.methods
        if table.summaries[method].absolute.value is not None
    }
    return Comparison(
        name,
        table.spec.title,
        table.stands_in_for,
        {method.name: method.label for method in table.spec.rows},
        scores,
        ranks,
        printed,
        correlation,
        paired_tests(scores.means, scores.methods),
        aggregate(scores),
        table.spec.kept_label if table.spec.kept else "",
        _kept_means(scores, [task.name for task in table.spec.kept]),
        {m: value for m, value in deviations.items() if value is not None},
        table.spec.notes,
    )


def _kept_means(scores: Scores, tasks: Sequence[str]) -> dict[str, Estimate]:
    if not tasks or not scores.methods:
        return {}
    place = [scores.tasks.index(task) for task in tasks]
    fewer = replace(scores, tasks=tuple(tasks), values=scores.values[place])
    return {found.method: found.mean for found in aggregate(fewer)}


_METHOD_COLUMNS = (
    "table", "method", "in_paper", "mean", "mean_low", "mean_high", "iqm", "iqm_low", "iqm_high",
    "krda_minus_iqm", "krda_minus_low", "krda_minus_high", "rank_paper", "rank_all",
    "rank_published", "krda_wins", "ties", "krda_losses", "median_difference", "wilcoxon", "p",
    "p_holm", "smallest_p", "mean_absolute_deviation", "kept_mean",
    "kept_low", "kept_high",
)  # fmt: skip


def comparison_csv(comparisons: Sequence[Comparison]) -> str:
    """One line a table and method: aggregates, ranks, paired test against KRDA.

    Parameters
    ----------
    comparisons : sequence of Comparison

    Returns
    -------
    text : str
        Eight digits; a field without a value is empty.
    """
    rows: list[Sequence[object]] = [_METHOD_COLUMNS]
    for comparison in comparisons:
        tests = {test.method: test for test in comparison.paired}
        paper, everything = comparison.ranks
        printed = comparison.published_ranks
        for found in comparison.aggregates:
            name = found.method
            test = tests.get(name)
            minus = found.krda_minus
            kept = comparison.kept.get(name)
            rows.append(
                (
                    comparison.name, name, str(name in paper.methods).lower(),
                    found.mean.value, found.mean.low, found.mean.high,
                    found.iqm.value, found.iqm.low, found.iqm.high,
                    *((minus.value, minus.low, minus.high) if minus else (None,) * 3),
                    paper.rank(name), everything.rank(name),
                    printed.rank(name) if printed else None,
                    *(
                        (test.wins, test.ties, test.losses, test.median_difference, test.statistic,
                         test.p, test.p_holm, test.smallest_p)
                        if test else (None,) * 8
                    ),
                    comparison.absolute_deviation.get(name),
                    *((kept.value, kept.low, kept.high) if kept else (None,) * 3),
                )
            )  # fmt: skip
    return _csv(rows)


def omnibus_csv(comparisons: Sequence[Comparison]) -> str:
    """One line a table and family: Friedman's test and the critical difference.

    Parameters
    ----------
    comparisons : sequence of Comparison

    Returns
    -------
    text : str
    """
    rows: list[Sequence[object]] = [
        ("table", "numbers", "family", "n_tasks", "n_methods", "friedman", "p",
         "critical_difference")
    ]  # fmt: skip
    for comparison in comparisons:
        for who, found in _families(comparison):
            rows.append(
                (
                    comparison.name, who, found.family, found.n_tasks, len(found.methods),
                    found.friedman_statistic, found.friedman_p, found.critical_difference,
                )
            )  # fmt: skip
    return _csv(rows)


def pairs_csv(comparisons: Sequence[Comparison]) -> str:
    """One line a pair of methods of a family: Nemenyi's p-value.

    Parameters
    ----------
    comparisons : sequence of Comparison

    Returns
    -------
    text : str
    """
    rows: list[Sequence[object]] = [("table", "numbers", "family", "first", "second", "nemenyi_p")]
    for comparison in comparisons:
        for who, found in _families(comparison):
            if found.nemenyi_p is None:
                continue
            for i, first in enumerate(found.methods):
                for j, second in enumerate(found.methods[:i]):
                    p = float(found.nemenyi_p[i, j])
                    rows.append((comparison.name, who, found.family, second, first, p))
    return _csv(rows)


def comparison_markdown(comparisons: Sequence[Comparison]) -> str:
    """Write the comparisons for a reader.

    Parameters
    ----------
    comparisons : sequence of Comparison

    Returns
    -------
    text : str
    """
    methods = dict.fromkeys(method for found in comparisons for method in found.scores.methods)
    glossary = methods_glossary(methods)
    parts = [
        "# Comparisons across tasks",
        "Rendered from the records. What these numbers can and cannot show is told in "
        f"[docs/statistics.md](../../docs/statistics.md). {WARNING}",
        "\n".join(f"- {line}" for line in (*READING, escape(glossary)) if line),
    ]
    for comparison in comparisons:
        parts += _section(comparison)
    return "\n\n".join(parts) + "\n"


def _section(comparison: Comparison) -> list[str]:
    parts = [f"## {escape(comparison.title)}", *map(escape, remarks(comparison))]
    if not comparison.scores.methods:
        return parts
    head, rows = method_rows(comparison)
    # Only labels may hold what Markdown takes for its own.
    parts.append(markdown_table(head, [[escape(row[0]), *row[1:]] for row in rows], 1))
    parts.append("\n".join(f"- {escape(line)}" for line in rank_tests(comparison)))
    return parts


def remarks(comparison: Comparison) -> list[str]:
    """What a reader must know before the numbers: simulated rows, notes, what is left out.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    sentences : list of str
        Plain text.
    """
    told = []
    if comparison.stands_in_for is not None:
        told.append(
            f"The rows are simulated: ranks of the paper's values for {comparison.stands_in_for} "
            "are shown for orientation."
        )
    told += comparison.notes
    labels = comparison.labels
    if comparison.scores.left_out:
        out = "; ".join(f"{labels[m]}: {reason}" for m, reason in comparison.scores.left_out)
        told.append(f"Left out because a cell is not complete: {out}.")
    return told


def method_rows(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Aggregates, ranks and paired tests, one row a method.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    head : list of str
    rows : list of list of str
        Plain text, the method's label first; a dash where there is no value.
    """
    labels = comparison.labels
    paper, everything = comparison.ranks
    printed = comparison.published_ranks
    tests = {test.method: test for test in comparison.paired}
    rows = []
    for found in comparison.aggregates:
        test = tests.get(found.method)
        printed_rank = printed.rank(found.method) if printed else None
        kept = comparison.kept.get(found.method)
        rows.append(
            [
                labels[found.method],
                _estimate(found.mean),
                *([] if kept is None else [_estimate(kept)]),
                _estimate(found.iqm),
                "–" if found.krda_minus is None else _estimate(found.krda_minus, sign=True),
                _rank(paper.rank(found.method)),
                _rank(everything.rank(found.method)),
                _rank(printed_rank),
                *(
                    ("–",) * 5
                    if test is None
                    else (
                        f"{test.wins}/{test.ties}/{test.losses}",
                        signed(test.median_difference),
                        _p(test.p),
                        _p(test.p_holm),
                        _p(test.smallest_p),
                    )
                ),
            ]
        )
    head = [
        "Method", "mean", *([comparison.kept_label] if comparison.kept else []), "IQM",
        "KRDA minus (IQM)", "rank", "rank of all", "rank in the paper",
        "KRDA's wins/ties/losses", "median difference", "p", "p by Holm", "smallest p",
    ]  # fmt: skip
    return head, rows


def rank_tests(comparison: Comparison) -> list[str]:
    """Friedman's and Nemenyi's tests and the correlation of ranks, a sentence or two each.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    items : list of str
        Plain text.
    """
    items = []
    for who, ranks in _families(comparison):
        family = "the paper's methods" if ranks.family == "paper" else "all rows"
        whose = "the paper's printed means" if who == "published" else "ours"
        if ranks.critical_difference is None or ranks.friedman_p is None:
            items.append(f"{whose}, {family}: too few methods or tasks for Friedman's test.")
            continue
        items.append(
            f"{whose}, {family}: Friedman χ²({len(ranks.methods) - 1}) = "
            f"{ranks.friedman_statistic:.1f} over {ranks.n_tasks} tasks, "
            f"p = {_p(ranks.friedman_p)}; Nemenyi's critical difference at 0.05: "
            f"{ranks.critical_difference:.2f} ranks. {_unlike_krda(ranks, comparison.labels)}"
        )
    if comparison.rank_correlation is not None:
        items.append(
            "Spearman's correlation of the paper's methods' average ranks, ours and printed: "
            f"{comparison.rank_correlation:.2f}."
        )
    return items


def _unlike_krda(found: RankComparison, labels: Mapping[str, str]) -> str:
    """Which methods differ from KRDA by Nemenyi's test."""
    if found.nemenyi_p is None or KRDA not in found.methods:
        return ""
    own = found.methods.index(KRDA)
    rank = found.average_ranks[own]
    sides: dict[str, list[str]] = {"below": [], "above": []}
    for i, method in enumerate(found.methods):
        if found.nemenyi_p[own, i] < ALPHA and i != own:
            sides["below" if found.average_ranks[i] > rank else "above"].append(labels[method])
    told = [
        f"ranked {side} KRDA: {' / '.join(methods)}" for side, methods in sides.items() if methods
    ]
    return f"Beyond it: {'; '.join(told)}." if told else "No method differs from KRDA beyond it."


def _families(comparison: Comparison) -> list[tuple[str, RankComparison]]:
    found = [("ours", ranks) for ranks in comparison.ranks if ranks.methods]
    if comparison.published_ranks is not None:
        found.append(("published", comparison.published_ranks))
    return found


def nemenyi_frame(ranks: RankComparison) -> pd.DataFrame:
    """Nemenyi's p-values with whole numbers for names, whose order no hash seed changes.

    Raises
    ------
    ValueError
        The comparison has none.
    """
    if ranks.nemenyi_p is None:
        raise ValueError("a critical-difference diagram needs three methods and two tasks.")
    return pd.DataFrame(ranks.nemenyi_p)


def _estimate(estimate: Estimate, *, sign: bool = False) -> str:
    text = signed if sign else number
    if estimate.low is None or estimate.high is None:
        return text(estimate.value)
    return f"{text(estimate.value)} [{text(estimate.low)}, {text(estimate.high)}]"


def _rank(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else f"{value:.0e}"


def _digits(value: object) -> object:
    # Eight digits: the last ones of a float may depend on the processor.
    return repr(float(f"{value:.8g}") + 0.0) if isinstance(value, float) else value


def _csv(rows: Sequence[Sequence[object]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for row in rows:
        writer.writerow("" if v is None else _digits(v) for v in row)
    return buffer.getvalue()
