"""What the paper says in words, checked on its own numbers and on ours.

``claims.yaml`` lists the claims; each names one judge of this module. A judge takes a
:class:`Side`, the complete cells of one data set, and returns a verdict, counts in a few words, and
the numbers behind it. A claim that sets KRDA beside other methods is judged twice on ours: among
the paper's methods, and among all rows. On simulated data a verdict is for orientation only.
"""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import yaml
from scipy import stats

from experiments.analysis.cells import KRDA
from experiments.analysis.rounding import DECIMALS, number, signed
from experiments.analysis.sides import COMPETITORS, Side, published_side, side_of
from experiments.analysis.table import Table
from experiments.published import DATASETS, STAND_INS

if TYPE_CHECKING:
    from experiments.cells.curves import CurvePlan

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"
UNCHECKED = "cannot be checked"


@dataclass(frozen=True)
class Claim:
    """Something that the paper says; the keys of ``claims.yaml`` say what each field is."""

    id: str
    quote: str
    where: str
    criterion: str = ""
    datasets: Sequence[str] = DATASETS
    judge: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    needs: Sequence[str] = (*COMPETITORS, KRDA)
    why_not: str = ""
    curve: str = ""
    timed: bool = False

    @property
    def has_rivals(self) -> bool:
        """Whether KRDA is set beside other methods."""
        others = set(COMPETITORS) & set(self.needs)
        return bool(self.judge and others) and KRDA in self.needs


@functools.cache
def claims() -> tuple[Claim, ...]:
    """All claims, in the order of the paper."""
    entries = yaml.safe_load(Path(__file__).with_name("claims.yaml").read_text(encoding="utf-8"))
    found = (Claim(**entry) for entry in entries)
    return tuple(replace(c, criterion=c.criterion.format(**c.settings)) for c in found)


class Finding(NamedTuple):
    """A verdict, the numbers that it rests on, and the same in a few words."""

    verdict: str
    numbers: str
    counts: str = ""


def _holds(holds: object, numbers: str, counts: str = "") -> Finding:
    return Finding(HOLDS if holds else FAILS, numbers, counts)


def _leaders(values: pd.Series) -> tuple[Any, list[str]]:
    """The highest value, and who has it."""
    return values.max(), list(values.index[values == values.max()])


def most_often_best(side: Side) -> Finding:
    """No rival is best or tied on more tasks than KRDA."""
    counts, n = side.best_or_tied(), len(side.tasks)
    most, rivals = _leaders(counts.drop(KRDA))
    means = side.mean.round(DECIMALS)
    highest = (means[KRDA] >= means[list(side.rivals)].max(axis=1)).sum()
    return _holds(
        counts[KRDA] >= most,
        f"KRDA is best or tied on {counts[KRDA]} of {n} tasks (highest mean on {highest}); most "
        f"among the others: {most} ({side.names(rivals)})",
        f"KRDA {counts[KRDA]} of {n}, best other {most} ({side.some(rivals)})",
    )


def highest_mean(side: Side) -> Finding:
    """Every rival has a lower mean over the tasks."""
    means = side.over_tasks()
    own, others = means[KRDA], means[list(side.rivals)]
    best, first = _leaders(others)
    above = list(others.index[others >= own])
    numbers = f"KRDA's mean over the tasks is {number(own)}; "
    if above:
        numbers += f"not below it: {side.names(above)} (best {number(best)})"
    else:
        numbers += f"the best other is {side.names(first)} with {number(best)}"
    counts = f"KRDA {number(own)}, best other {number(best)} ({side.some(first)})"
    return _holds(not above, numbers, counts)


def small_difference(side: Side, other: str, small: float) -> Finding:
    """The difference of two methods is surely small on most tasks; fails if surely large."""
    n = len(side.tasks)
    half = np.hypot(side.half[KRDA].fillna(0), side.half[other].fillna(0))
    beyond = ((side.mean[KRDA] - side.mean[other]).abs() - small).round(DECIMALS)
    n_small, n_large = (beyond + half <= 0).sum(), (beyond - half > 0).sum()
    apart = (side.above(KRDA, other) | side.above(other, KRDA)).sum()
    gaps = (side.mean[other].round(DECIMALS) - side.mean[KRDA].round(DECIMALS)).astype(float)
    largest, means = gaps.abs().idxmax(), side.over_tasks()
    numbers = (
        f"with the columns reversed the difference is surely small on {n_small} of {n} tasks and "
        f"surely large on {n_large}; the intervals are disjoint on {apart}; mean absolute "
        f"difference {number(gaps.abs().mean())} points, largest {signed(gaps[largest])} on "
        f"{largest}; means over the tasks: {number(means[KRDA])} as given, {number(means[other])} "
        "reversed"
    )
    if 2 * n_large >= n:
        return Finding(FAILS, numbers)
    return Finding(HOLDS if 2 * n_small > n and 2 * apart < n else UNDECIDED, numbers)


def above_each(side: Side, kind: str) -> Finding:
    """KRDA's interval is wholly above on more tasks than wholly below, for each rival of a kind."""
    rivals = [m for m in side.rivals if m == kind or m.startswith(f"{kind}_")]
    above, below = (wins.sum() for wins in side.wins(rivals))
    n, means = len(side.tasks), side.over_tasks()
    numbers = "; ".join(
        f"wholly above that of {side.names([m])} on {above[m]} of {n} tasks, wholly below on "
        f"{below[m]} (mean {number(means[m])})"
        for m in rivals
    )
    counts = "; ".join(
        f"above {side.names([m])} in {above[m]}, below in {below[m]} of {n}" for m in rivals
    )
    return _holds(
        (above > below).all(), f"KRDA's interval (mean {number(means[KRDA])}) is {numbers}", counts
    )


def more_above_than_below(side: Side) -> Finding:
    """KRDA's interval is wholly above the rivals' more often than wholly below."""
    above, below = (int(wins.to_numpy().sum()) for wins in side.wins())
    total = len(side.tasks) * len(side.rivals)
    return _holds(
        above > below,
        f"of {total} comparisons KRDA's interval is wholly above in {above}, wholly below in "
        f"{below}, and overlaps in {total - above - below}",
        f"above in {above}, below in {below} of {total}",
    )


def similar_and_often_better(side: Side) -> Finding:
    """KRDA is wholly above in most comparisons, and below no rival on half of the tasks."""
    wins, losses = side.wins()
    above, below, n = int(wins.to_numpy().sum()), losses.sum(), len(side.tasks)
    total = n * len(side.rivals)
    worst, rivals = _leaders(below)
    numbers = f"KRDA's interval is wholly above in {above} of {total} comparisons and wholly below "
    numbers += f"in {below.sum()}"
    if worst:
        numbers += f"; it is below most often against {side.names(rivals)}: on {worst} of {n} tasks"
    counts = f"above in {above}, below in {below.sum()} of {total}"
    return _holds(2 * worst < n and 2 * above > total, numbers, counts)


def none_above_target(side: Side) -> Finding:
    """No method without target labels has an interval wholly above that of Target only."""
    methods = ["source_only", *side.rivals, KRDA]
    means = side.mean.round(DECIMALS)
    higher = means[methods].gt(means.target_only, axis=0).to_numpy().sum()
    clear = pd.DataFrame({method: side.above(method, "target_only") for method in methods})
    found = [f"{side.labels[m]} on {t}" for t, row in clear.iterrows() for m in methods if row[m]]
    n = clear.size
    numbers = f"of {n} cells without target labels {higher} have a higher mean and {len(found)} an "
    numbers += "interval wholly above"
    if found:
        numbers += f" ({' / '.join([*found[:3], *['...'][: len(found) - 3]])})"
    return _holds(not found, numbers, f"{len(found)} of {n} cells above")


def source_falls(side: Side) -> Finding:
    """The mean of Source only rises nowhere from one task to the next."""
    means, tasks = side.mean.source_only.round(DECIMALS), side.tasks
    rises = [f"{b} above {a}" for a, b in itertools.pairwise(tasks) if means[b] > means[a]]
    numbers = (
        f"Source only falls from {number(means.iloc[0])} at {tasks[0]} to {number(means.iloc[-1])} "
        f"at {tasks[-1]}"
    )
    return _holds(not rises, numbers + (f", but rises: {', '.join(rises)}" if rises else ""))


def _halves(side: Side) -> tuple[list[str], list[str]]:
    """The smaller and the larger half of the numbers of rows; one in the middle is in neither."""
    n = max(1, len(side.tasks) // 2)
    return side.tasks[:n], side.tasks[-n:]


def best_and_narrowest(side: Side) -> Finding:
    """With few rows KRDA is always best or tied, and no rival's interval is narrower."""
    few = side.at(_halves(side)[0])
    tied, means = few.best_or_tied()[KRDA], few.over_tasks()
    widths = few.half.fillna(0).mean().round(DECIMALS)
    best, first = _leaders(means[list(side.rivals)])
    narrower = [m for m in side.rivals if widths[m] < widths[KRDA]]
    listed = [f"{side.labels[m]} ± {number(widths[m])} around {number(means[m])}" for m in narrower]
    numbers = (
        f"with {' or '.join(few.tasks)} rows a domain KRDA is best or tied at {tied} of "
        f"{len(few.tasks)} sizes (mean {number(means[KRDA])}, the best other {side.names(first)} "
        f"with {number(best)}); its interval is ± {number(widths[KRDA])}, "
    ) + (f"narrower: {' / '.join(listed)}" if listed else "none of the others is narrower")
    return _holds(tied == len(few.tasks) and not narrower, numbers)


def smallest_span(side: Side) -> Finding:
    """No rival's mean moves by less over the numbers of rows."""
    means = side.mean.round(DECIMALS)
    spans = (means.max() - means.min()).round(DECIMALS)
    stabler = [method for method in side.rivals if spans[method] < spans[KRDA]]
    less = " / ".join(f"{side.labels[m]} {number(spans[m])}" for m in stabler)
    return _holds(
        not stabler,
        f"from {side.tasks[0]} to {side.tasks[-1]} rows KRDA's mean moves by "
        f"{number(spans[KRDA])} points; by less: {less or 'none of the others'}",
    )


def above_with_few_rows(side: Side, level: float) -> Finding:
    """KRDA is wholly above more often with few rows than with many, by an exact sign test."""
    halves = _halves(side)
    few, many = (side.at(half).wins()[0].to_numpy() for half in halves)
    alone = int((few & ~many).sum()), int((many & ~few).sum())
    p = stats.binomtest(alone[0], sum(alone)).pvalue if any(alone) else 1.0
    leads = [
        side.at(half).mean[list(side.rivals)].rsub(side.at(half).mean[KRDA], axis=0).mean().mean()
        for half in halves
    ]
    numbers = (
        f"KRDA's interval is wholly above in {few.sum()} of {few.size} comparisons with "
        f"{' or '.join(halves[0])} rows a domain, in {many.sum()} with {' or '.join(halves[1])}: "
        f"in {alone[0]} with the fewer alone, in {alone[1]} with the more alone, p = {p:.2g}; its "
        f"mean lead over the others is {number(leads[0])} points with the fewer rows, "
        f"{number(leads[1])} with the more"
    )
    return Finding(UNDECIDED, numbers) if p >= level else _holds(few.sum() > many.sum(), numbers)


def linear_cost(side: Side, low: float, high: float) -> Finding:
    """Seconds grow with the rows by a slope near 1 on logarithmic axes."""
    rows = [math.log(int(n)) for n in side.tasks]
    slopes, told = {}, []
    for step, label in side.labels.items():
        seconds = side.mean[step].round(DECIMALS)
        slopes[step] = statistics.linear_regression(rows, [math.log(s) for s in seconds]).slope
        told.append(
            f"{label} {seconds.iloc[0]:.3g} to {seconds.iloc[-1]:.3g} seconds, slope "
            f"{slopes[step]:.2f}"
        )
    return _holds(
        low <= slopes["KRDA.transform"] <= high and slopes["KRDA.fit"] <= high,
        f"from {int(side.tasks[0]):,} to {int(side.tasks[-1]):,} rows of 27 columns on one thread: "
        f"{'; '.join(told)} (results/benchmarks/scale.csv)",
    )


JUDGES: dict[str, Callable[..., Finding]] = {
    judge.__name__: judge
    for judge in (
        most_often_best, highest_mean, small_difference, above_each, more_above_than_below,
        similar_and_often_better, none_above_target, source_falls, best_and_narrowest,
        smallest_span, above_with_few_rows, linear_cost,
    )
}  # fmt: skip


def check_claims(
    tables: Iterable[Table], curves: Mapping[str, tuple[CurvePlan, pd.DataFrame]], times: Side
) -> pd.DataFrame:
    """Check every claim on every data set that it is about, a row for each judgement.

    ``curves`` are learning curves with their cells, by name. Columns: ``claim``, ``title``,
    ``stands_in_for`` (the paper's data set, if ours is simulated), ``judged_on`` ('published',
    'ours' or 'all', which is ours among all rows), ``verdict``, ``counts`` and ``numbers``. In the
    order of the paper.
    """
    by_dataset = {table.plan.dataset: table for table in tables}
    found = []
    for claim in claims():
        for title, real, theirs, ours in _sides(claim, by_dataset, curves, times):
            found += [
                (claim.id, title, real, judged_on, *finding)
                for judged_on, finding in _judgements(claim, theirs, ours)
            ]
    columns = ["claim", "title", "stands_in_for", "judged_on", "verdict", "numbers", "counts"]
    return pd.DataFrame(found, columns=columns)


def _sides(
    claim: Claim,
    tables: Mapping[str, Table],
    curves: Mapping[str, tuple[CurvePlan, pd.DataFrame]],
    times: Side,
) -> Iterator[tuple[str, str, Side | None, Side | None]]:
    """Title, data set that ours stands in for, and both sides, on each data set of a claim."""
    if claim.timed:
        yield "Benchmark: time against rows", "", None, times
    elif claim.curve in curves:
        plan, cells = curves[claim.curve]
        printed = None if claim.why_not else published_side(plan.dataset, plan.task)
        yield plan.title, "", printed, side_of(cells)
    elif claim.curve or not claim.judge:
        yield claim.curve, "", None, None
    else:
        for dataset in claim.datasets:
            ways = [way for way in tables if STAND_INS.get(way, way) == dataset]
            for way in ways:
                ours = side_of(tables[way].cells)
                yield tables[way].title, STAND_INS.get(way, ""), published_side(dataset), ours
            if not ways:
                yield f"{dataset}, no table of ours", "", published_side(dataset), None


def _judgements(
    claim: Claim, theirs: Side | None, ours: Side | None
) -> Iterator[tuple[str, Finding]]:
    no_curve = "there is no learning curve of ours"
    yield "published", _judge(claim, theirs, claim.why_not or no_curve, claim.why_not)
    yield (
        "ours",
        _judge(claim, ours, "there are no numbers of ours" if claim.judge else claim.why_not),
    )
    every = ours.among_all() if ours is not None and claim.has_rivals else None
    if every is not None and set(every.rivals) - set(COMPETITORS):
        finding = _judge(claim, every, "")
        if every.left_out and finding.verdict != UNCHECKED:
            absent = f"; not counted, because not complete: {' / '.join(every.left_out)}"
            finding = finding._replace(numbers=finding.numbers + absent)
        yield "all", finding


def _judge(claim: Claim, side: Side | None, nothing: str, incomplete: str = "") -> Finding:
    """Judge a side; ``nothing`` and ``incomplete`` say why, if it cannot be judged."""
    if side is None or not claim.judge:
        return Finding(UNCHECKED, nothing)
    missing = side.missing(claim.needs)
    if missing:
        return Finding(UNCHECKED, incomplete or f"not complete: {', '.join(missing)}")
    return JUDGES[claim.judge](side, **claim.settings)
