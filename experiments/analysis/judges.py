"""The judges that ``claims.yaml`` names: what decides whether a claim holds on one side's numbers.

A judge takes a :class:`~experiments.analysis.sides.Side` and returns whether the claim holds, None
if it is undecided, and the numbers that this rests on; those before the first semicolon stand for
the others in an overview.
"""

from __future__ import annotations

import itertools
import statistics
from typing import Any

import numpy as np
from scipy import stats

from experiments.analysis.cells import KRDA
from experiments.analysis.rounding import DECIMALS, number, signed
from experiments.analysis.sides import Side

Finding = tuple[Any, str]


def most_often_best(side: Side) -> Finding:
    """No rival is best or tied on more tasks than KRDA."""
    counts = side.best_or_tied()
    most, rivals = side.best_rival(counts)
    highest = (side.mean[KRDA] >= side.mean[list(side.rivals)].max(axis=1)).sum()
    return counts[KRDA] >= most, (
        f"KRDA is best or tied on {counts[KRDA]} of {len(side.mean)} tasks, the best other on "
        f"{most} ({rivals}); KRDA has the highest mean on {highest}"
    )


def highest_mean(side: Side) -> Finding:
    """Every rival has a lower mean over the tasks."""
    means = side.over_tasks()
    best, first = side.best_rival(means)
    above = [method for method in side.rivals if means[method] >= means[KRDA]]
    return not above, (
        f"KRDA's mean over the tasks is {number(means[KRDA])}, the best other {number(best)} "
        f"({first})" + (f"; not below it: {side.names(above)}" if above else "")
    )


def small_difference(side: Side, other: str, small: float) -> Finding:
    """The difference of two methods is surely small on most tasks; fails if surely large."""
    n, means = len(side.mean), side.over_tasks()
    gaps = side.mean[other] - side.mean[KRDA]
    half = np.hypot(side.half[KRDA], side.half[other])
    beyond = (gaps.abs() - small).round(DECIMALS)
    n_small, n_large = (beyond + half <= 0).sum(), (beyond - half > 0).sum()
    apart, largest = side.lead()[other].ne(0).sum(), gaps.abs().idxmax()
    holds = True if 2 * n_small > n and 2 * apart < n else None
    return False if 2 * n_large >= n else holds, (
        f"with the columns reversed the difference is surely small on {n_small} of {n} tasks and "
        f"surely large on {n_large}; the intervals are disjoint on {apart}; mean absolute "
        f"difference {number(gaps.abs().mean())} points, largest {signed(gaps[largest])} on "
        f"{largest}; means over the tasks: {number(means[KRDA])} as given, {number(means[other])} "
        "reversed"
    )


def above_each(side: Side, kind: str) -> Finding:
    """KRDA's interval is wholly above on more tasks than wholly below, for each rival of a kind."""
    rivals = [m for m in side.rivals if m == kind or m.startswith(f"{kind}_")]
    lead, means = side.lead()[rivals], side.over_tasks()
    above, below = (lead == 1).sum(), (lead == -1).sum()
    each = " / ".join(
        f"that of {side.labels[m]} ({number(means[m])}) on {above[m]}, wholly below on {below[m]}"
        for m in rivals
    )
    return (above > below).all(), (
        f"of {len(lead)} tasks KRDA's interval (mean {number(means[KRDA])}) is wholly above {each}"
    )


def more_above_than_below(side: Side) -> Finding:
    """KRDA's interval is wholly above the rivals' more often than wholly below."""
    lead = side.lead()[list(side.rivals)].to_numpy()
    above, below = (lead == 1).sum(), (lead == -1).sum()
    return above > below, (
        f"KRDA's interval is wholly above in {above} of {lead.size} comparisons and wholly below "
        f"in {below}"
    )


def similar_and_often_better(side: Side) -> Finding:
    """KRDA is wholly above in most comparisons, and below no rival on half of the tasks."""
    lead = side.lead()[list(side.rivals)]
    worst, rivals = side.best_rival((lead == -1).sum())
    often = 2 * (lead == 1).to_numpy().sum() > lead.size and 2 * worst < len(lead)
    against = f"; it is below most often against {rivals}: on {worst} of {len(lead)} tasks"
    return often, more_above_than_below(side)[1] + (against if worst else "")


def none_above_target(side: Side) -> Finding:
    """No method without target labels has an interval wholly above that of Target only."""
    methods = ["source_only", *side.rivals, KRDA]
    higher = side.mean[methods].gt(side.mean.target_only, axis=0).to_numpy().sum()
    below = side.lead("target_only")[methods] == -1
    found = [f"{side.labels[m]} on {t}" for t, row in below.iterrows() for m in methods if row[m]]
    return not found, (
        f"of {below.size} cells without target labels {len(found)} have an interval wholly above; "
        f"{higher} have a higher mean"
        + (f"; above: {' / '.join(found[:3] + ['...'][: len(found) - 3])}" if found else "")
    )


def source_falls(side: Side) -> Finding:
    """The mean of Source only rises nowhere from one task to the next."""
    means = side.mean.source_only
    steps = itertools.pairwise(means.index)
    rises = [f"{after} above {before}" for before, after in steps if means[after] > means[before]]
    return not rises, (
        f"Source only falls from {number(means.iloc[0])} at {means.index[0]} to "
        f"{number(means.iloc[-1])} at {means.index[-1]}"
        + (f", but rises: {', '.join(rises)}" if rises else "")
    )


def _halves(side: Side) -> tuple[Side, Side]:
    """The smaller and the larger half of the numbers of rows; one in the middle is in neither."""
    n = max(1, len(side.mean) // 2)
    return side.at(slice(n)), side.at(slice(-n, None))


def best_and_narrowest(side: Side) -> Finding:
    """With few rows KRDA is always best or tied, and no rival's interval is narrower."""
    few, _ = _halves(side)
    tied, means = few.best_or_tied()[KRDA], few.over_tasks()
    widths = few.half.mean().round(DECIMALS)
    best, first = few.best_rival(means)
    narrower = [
        f"{side.labels[m]} ± {number(widths[m])} around {number(means[m])}"
        for m in side.rivals
        if widths[m] < widths[KRDA]
    ]
    return tied == len(few.mean) and not narrower, (
        f"with {' or '.join(few.mean.index)} rows a domain KRDA is best or tied at {tied} of "
        f"{len(few.mean)} sizes; mean {number(means[KRDA])}, the best other {number(best)} "
        f"({first}); its interval is ± {number(widths[KRDA])}, narrower: "
        f"{' / '.join(narrower) or 'none of the others'}"
    )


def smallest_span(side: Side) -> Finding:
    """No rival's mean moves by less over the numbers of rows."""
    spans = (side.mean.max() - side.mean.min()).round(DECIMALS)
    less = [f"{side.labels[m]} {number(spans[m])}" for m in side.rivals if spans[m] < spans[KRDA]]
    return not less, (
        f"from {side.mean.index[0]} to {side.mean.index[-1]} rows KRDA's mean moves by "
        f"{number(spans[KRDA])} points; by less: {' / '.join(less) or 'none of the others'}"
    )


def above_with_few_rows(side: Side, level: float) -> Finding:
    """KRDA is wholly above more often with few rows than with many, by an exact sign test."""
    rivals, halves = list(side.rivals), _halves(side)
    few, many = (half.lead()[rivals].to_numpy() == 1 for half in halves)
    alone = int((few & ~many).sum()), int((many & ~few).sum())
    p = stats.binomtest(alone[0], sum(alone)).pvalue if any(alone) else 1.0
    leads = [
        number(half.mean[rivals].rsub(half.mean[KRDA], axis=0).mean(axis=None)) for half in halves
    ]
    rows = [" or ".join(half.mean.index) for half in halves]
    return few.sum() > many.sum() if p < level else None, (
        f"KRDA's interval is wholly above in {few.sum()} of {few.size} comparisons with {rows[0]} "
        f"rows a domain, in {many.sum()} with {rows[1]}; in {alone[0]} with the fewer alone, in "
        f"{alone[1]} with the more alone, p = {p:.2g}; its mean lead over the others is {leads[0]} "
        f"points with the fewer rows, {leads[1]} with the more"
    )


def linear_cost(side: Side, low: float, high: float) -> Finding:
    """Seconds grow with the rows by a slope near 1 on logarithmic axes."""
    rows = [int(n) for n in side.mean.index]
    slopes, each = {}, []
    for step, label in side.labels.items():
        seconds = side.mean[step].tolist()
        slopes[step] = statistics.linear_regression(np.log(rows), np.log(seconds)).slope
        each.append(f"{label}: slope {slopes[step]:.2f}, {seconds[0]:.3g} to {seconds[-1]:.3g} s")
    return low <= slopes["KRDA.transform"] <= high and slopes["KRDA.fit"] <= high, (
        f"{' / '.join(each)}; from {rows[0]:,} to {rows[-1]:,} rows of 27 columns on one thread "
        "(results/benchmarks/scale.csv)"
    )
