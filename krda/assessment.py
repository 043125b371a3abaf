"""What the check of a fitted KRDA found, when it speaks against the fit, and how it is told.

:func:`krda.trust.assess` makes an :class:`Assessment`; the bounds of its warnings stand here.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from krda.fitting import Domain
from krda.notices import printable

# None of the bounds below was chosen by accuracies on a target.

#: Share of checks in which a density as good as a Gaussian is called worse, at most. The two
#: domains share it (Bonferroni); the rest is Student's one-sided test.
WORSE_LEVEL = 0.05

#: A density is called worse only where a row costs so many nats more, too: with thousands of rows
#: the test finds next to nothing. Where the rows are Gaussian the excess estimates a
#: Kullback-Leibler divergence, and one of e moves no probability by more than sqrt(e / 2)
#: (Pinsker's inequality): by 0.1 here.
WORSE_NATS = 0.02

#: What a difference of distances is taken for lies beyond one end of its interval in so many of
#: 100 checks at most, if it is not so.
DIFFERENCE_LEVEL = 0.05

#: The transported source counts as still far if more than this share of the energy distance is
#: left, and more than noise. The distance's square root is a metric, and for a small shift in
#: proportion to it: a quarter is half of the way. The bound is no multiple of the noise: that
#: falls with the rows, while a fitted density never becomes exact.
SHARE_LEFT = 0.25

#: Two refits that differ in more than this share of their predictions: of two classifiers that
#: disagree on a share q of the rows, one is wrong on q / 2 of them at least. A tenth means that an
#: arbitrary choice may cost five points of accuracy or more.
DISAGREEMENT = 0.1

#: Parts that tables are split into: each is left out of one fit, which is judged by it. Fewer parts
#: cost fewer fits, but these see too little: of rotated moons of 270 rows, fits to all rows leave
#: 0.01 of an energy distance of 0.1, fits to four fifths the same, to two thirds 0.02, to halves
#: 0.03. More parts leave too few rows to judge by.
N_PARTS = 5

#: Rows of each table without which nothing is left out: a handful tells nothing.
MIN_ROWS = 10 * N_PARTS

# Classes that a report shows at most.
_N_CLASSES = 5

#: Why no fits were judged by rows left out, if none were.
LeftOut = Literal["", "no refits", "too few rows", "failed fits"]


@dataclass(frozen=True)
class DensityCheck:
    """How well densities describe a domain's rows that were left out of their fits.

    These rows neither trained the densities nor stopped their training. A fit without a fifth of
    the rows is worse than the model's own, and the more so the more it has to learn: the
    comparison errs in favour of the Gaussian.

    Attributes
    ----------
    domain : {"source", "target"}
    n_held_out : int
        Rows that fits were judged by, each by one fit of every split; 0 where none were, and NaN
        in all that follows.
    nll : float
        Their mean negative log-likelihood, nats a row in the input's units.
    gaussian_nll : float
        The same of a Gaussian fitted to the same rows as the density.
    excess, excess_error : float
        Mean difference, model minus Gaussian, and its standard error: of the fits made here, over
        rows, whose differences were averaged over the splits first.
    """

    domain: Domain
    n_held_out: int
    nll: float
    gaussian_nll: float
    excess: float
    excess_error: float

    @property
    def worse(self) -> bool:
        """Whether the Gaussian describes the rows better, by more than chance and a trifle."""
        if self.n_held_out < 2:
            return False
        quantile = float(stats.t.ppf(1 - WORSE_LEVEL / 2, self.n_held_out - 1))
        # So written that an excess without bound, which has no error, counts.
        return not self.excess <= max(quantile * self.excess_error, WORSE_NATS)


@dataclass(frozen=True)
class Difference:
    """A mean over the fits of all splits, with its error.

    Attributes
    ----------
    mean : float
    error : float
        Its standard error, from how the fits of one split differ: they are judged by other rows,
        have other seeds, and share most of the rows that they see, which is allowed for as Nadeau
        and Bengio (2003) do. Splits share all their rows: the mean of several is taken to be no
        better than that of one, which errs on the safe side.
    n_splits : int

    References
    ----------
    C. Nadeau, Y. Bengio (2003). Inference for the generalization error. Machine Learning 52.
    """

    mean: float
    error: float
    n_splits: int

    @classmethod
    def of(cls, values: ArrayLike) -> Difference:
        """Summarise numbers of shape (n_splits, N_PARTS), one for each fit."""
        splits = np.asarray(values, dtype=np.float64).reshape(-1, N_PARTS)
        if not len(splits):
            return cls(math.nan, math.nan, 0)
        variance = float(splits.var(axis=1, ddof=1).mean())
        # Rows judged by over rows seen is 1 / (N_PARTS - 1).
        error = math.sqrt(variance * (1 / N_PARTS + 1 / (N_PARTS - 1)))
        return cls(float(splits.mean()), error, len(splits))

    @property
    def interval(self) -> tuple[float, float]:
        """Student's bounds, each of which errs in ``DIFFERENCE_LEVEL`` of all cases, about."""
        if not self.n_splits:
            return math.nan, math.nan
        degrees = (N_PARTS - 1) * self.n_splits
        width = float(stats.t.ppf(1 - DIFFERENCE_LEVEL, degrees)) * self.error
        return self.mean - width, self.mean + width


@dataclass(frozen=True)
class ColumnGap:
    """A column's Kolmogorov-Smirnov distance to the target's.

    Attributes
    ----------
    name : str
    before, after : float
        Of the source as it is, and transported; in [0, 1]. Means over fits.
    """

    name: str
    before: float
    after: float


@dataclass(frozen=True)
class TransportCheck:
    """How far the source is from the target, by energy distance of whole rows.

    Every distance is between fifths of the two tables that were left out of a fit, and of the
    means and deviations: a mean over such fits. These see fewer rows and are worse than the
    model's own, so that the numbers err against KRDA.

    Attributes
    ----------
    before, after : float
        Of the source as it is, and as KRDA carries it. Columns in the target's standard
        deviations. Without bias, therefore now and then a little below zero.
    standardized : float
        Of the source after each column was brought to the target's mean and standard deviation,
        which needs no density.
    change, lead : Difference
        ``after - before``, and ``standardized - after``.
    noise : float
        What such a mean stays below in 95 of 100 cases if there is no difference; from random
        parts of the target.
    columns : tuple of ColumnGap
        The columns that are left furthest from the target's, furthest first.
    column_noise : float
        What the largest Kolmogorov-Smirnov distance of all columns stays below in 95 of 100 pairs
        of fifths from one distribution (asymptotically, by Bonferroni's bound).
    left_out : str
        Why nothing was compared; then all numbers are NaN.
    n_tried : int
        Fits that were tried.
    failures : tuple of str
        What fits raised that failed; their splits do not count.
    """

    before: float
    after: float
    standardized: float
    change: Difference
    lead: Difference
    noise: float
    columns: tuple[ColumnGap, ...]
    column_noise: float
    left_out: LeftOut = ""
    n_tried: int = 0
    failures: tuple[str, ...] = ()

    @property
    def n_fits(self) -> int:
        """How many fits the numbers are means of."""
        return N_PARTS * self.change.n_splits

    @property
    def shifted(self) -> bool:
        """Whether the source as it is differs from the target by more than noise."""
        return self.before > self.noise

    @property
    def further(self) -> bool:
        """Whether the transport takes the source further from the target, beyond noise."""
        return self.after > self.noise and self.change.interval[0] > 0

    @property
    def far(self) -> bool:
        """Whether less than half of the way to the target is gone, and noise is not all of it."""
        return self.after > self.noise and self.after > SHARE_LEFT * self.before

    @property
    def standardizing_suffices(self) -> bool:
        """Whether nothing shows that KRDA brings the source nearer than standardising does.

        The burden of proof is KRDA's, which assumes more: it must come within the noise where
        standardising does not, or be nearer beyond the interval.
        """
        shown = self.after <= self.noise or self.lead.interval[0] > 0
        return self.standardized <= max(self.noise, self.after) or not shown

    @property
    def nearer(self) -> bool:
        """Whether the source is nearer to the target after the transport, beyond the interval."""
        return self.change.interval[1] < 0


@dataclass(frozen=True)
class RefitCheck:
    """How the predictions change when an arbitrary choice does.

    Attributes
    ----------
    disagreement : tuple of float
        For each refit, the share of target rows whose predicted label is another one.
    failures : tuple of str
        What refits raised that failed.
    agreement : tuple of float, length n_target, or None
        For each target row, the share of refits that predict the same label; None without refits.
    """

    disagreement: tuple[float, ...]
    failures: tuple[str, ...] = ()
    agreement: tuple[float, ...] | None = field(default=None, repr=False)

    @property
    def mean(self) -> float:
        """Mean disagreement; NaN without refits."""
        return float(np.mean(self.disagreement)) if self.disagreement else math.nan

    @property
    def least(self) -> float:
        """Smallest disagreement; NaN without refits."""
        return min(self.disagreement, default=math.nan)

    @property
    def worst(self) -> float:
        """Largest disagreement; NaN without refits."""
        return max(self.disagreement, default=math.nan)


@dataclass(frozen=True)
class ClassShare:
    """How often a class occurs, in shares of rows.

    Attributes
    ----------
    label : str
    source : float
        Among the source's labels.
    krda, source_only, standardized : float
        Among the target's predictions: of KRDA, of the same kind of classifier trained on the
        source as it is, and of that trained on the source standardised.
    """

    label: str
    source: float
    krda: float
    source_only: float
    standardized: float


@dataclass(frozen=True)
class Assessment:
    """What can be said of a fitted KRDA without target labels; printed, it explains itself.

    Attributes
    ----------
    n_source, n_target : int
        Rows.
    densities : tuple of DensityCheck
        Source, target.
    transport : TransportCheck
    seeds : RefitCheck
        Refits with other seeds.
    orders : RefitCheck
        Refits with the columns reversed and in random orders, and the model's own seed. Empty
        where there is one column only.
    agreement_source_only : float
        Share of target rows on which the same kind of classifier, trained on the source as it is,
        predicts the same label.
    agreement_standardized : float
        The same, each domain brought to mean 0 and standard deviation 1 by itself, column by
        column.
    warnings : tuple of str
        What speaks against trusting the predictions, with what to do.
    classes : tuple of ClassShare
    source_only, standardized : tuple, length n_target
        The predictions of the two simple methods.
    """

    n_source: int
    n_target: int
    densities: tuple[DensityCheck, ...]
    transport: TransportCheck
    seeds: RefitCheck
    orders: RefitCheck
    agreement_source_only: float
    agreement_standardized: float
    warnings: tuple[str, ...]
    classes: tuple[ClassShare, ...]
    source_only: tuple[Any, ...] = field(repr=False)
    standardized: tuple[Any, ...] = field(repr=False)

    @property
    def refits_agree(self) -> NDArray[np.float64]:
        """For each target row, the share of all refits with KRDA's label; NaN without refits."""
        checks = [c for c in (self.seeds, self.orders) if c.agreement is not None]
        if not checks:
            return np.full(self.n_target, np.nan)
        return np.average(
            [check.agreement for check in checks],
            axis=0,
            weights=[len(check.disagreement) for check in checks],
        )

    def to_dict(self) -> dict[str, Any]:
        """Give all numbers as JSON has them: those that are not finite are None.

        Returns
        -------
        numbers : dict
            Of strings to strings, numbers, lists and such dicts; keys are the attributes.
        """
        found: dict[str, Any] = _as_json(asdict(self))
        return found

    def __str__(self) -> str:
        """Report in plain text."""
        return printable("\n".join(_report(self)), keep="\n")


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def objections(
    densities: Sequence[DensityCheck],
    transport: TransportCheck,
    seeds: RefitCheck,
    orders: RefitCheck,
    agreement_standardized: float,
) -> Iterator[str]:
    """Say what in the numbers speaks against trusting the predictions.

    Parameters
    ----------
    densities : sequence of DensityCheck
    transport : TransportCheck
    seeds, orders : RefitCheck
    agreement_standardized : float
        See :class:`Assessment`.

    Yields
    ------
    sentences : str
        One objection each, with what to do.
    """
    yield from _density_objections(densities)
    yield from _transport_objections(transport, agreement_standardized)
    yield from _refit_objections(seeds, orders, transport.failures, transport.n_tried)


def _density_objections(densities: Sequence[DensityCheck]) -> Iterator[str]:
    for check in densities:
        if check.worse:
            yield (
                f"The density of the {check.domain} is worse than a plain Gaussian by "
                f"{check.excess:.2f} ± {check.excess_error:.2f} nats a row, both fitted to four "
                "fifths of the rows and judged by the others: the transport is made from a poor "
                "description. Give it more rows, fewer columns, or a smaller hidden_size; of "
                "columns with heavy tails take the logarithm, in both tables."
            )


def _transport_objections(check: TransportCheck, agreement: float) -> Iterator[str]:
    if check.left_out == "too few rows":
        yield (
            f"A table has fewer than {MIN_ROWS} rows: too few to say whether the densities "
            "describe them, and to tell a shift from noise. Collect more before you adapt to them."
        )
    if check.left_out:
        return
    change = (
        f"{_distance(check.before)} before, {_distance(check.after)} after (noise "
        f"{check.noise:.4f})"
    )
    if check.further:
        yield (
            f"The transport takes the source further from the target: energy distance {change}. "
            "Do not use these predictions; use the classifier trained on the source as it is, or "
            "on each table standardised by itself."
        )
    elif not check.shifted:
        yield (
            f"The source is no further from the target (energy distance "
            f"{_distance(check.before)}) than "
            f"two samples of the target are from each other ({check.noise:.4f}): no shift of the "
            "columns is seen that could be adapted to, and a transport can only blur. Use the "
            "classifier trained on the source as it is."
        )
    elif check.far and not check.nearer:
        low, high = check.change.interval
        yield (
            "Whether the transport brings the source nearer to the target is undecided: energy "
            f"distance {change}, a change between {low:+.4f} and {high:+.4f}. Nothing here shows "
            "that it helps: collect more rows, or use the predictions on which the simple methods "
            "agree."
        )
    elif check.far:
        yield (
            "The transported source is still far from the target: "
            f"{check.after / check.before:.0%} of the energy distance is left, {change}. "
            "Look at the columns that are left furthest; "
            "give the density more rows or steps (max_steps), or leave such columns out of both "
            "tables."
        )
    spoilt = [gap for gap in check.columns if gap.after > max(gap.before, check.column_noise)]
    if spoilt:
        told = ", ".join(f"{g.name} ({g.before:.2f} before, {g.after:.2f} after)" for g in spoilt)
        yield (
            f"The transport takes single columns away from the target: {told}, by their "
            f"Kolmogorov-Smirnov distance (noise {check.column_noise:.2f}). The distance of whole "
            "rows sees little of columns with heavy tails. Take their logarithm or clip them, in "
            "both tables, or leave them out."
        )
    if check.shifted and check.standardizing_suffices:
        simple, ours = _distance(check.standardized), _distance(check.after)
        low, high = check.lead.interval
        if check.standardized <= check.after:
            found = f"leaves an energy distance of {simple}, KRDA no smaller one: {ours}"
        elif check.standardized <= check.noise:
            found = f"leaves an energy distance of {simple}, within the noise ({check.noise:.4f})"
        else:
            found = (
                f"leaves an energy distance of {simple}, KRDA {ours} (noise {check.noise:.4f}), "
                f"and this lead, between {low:+.4f} and {high:+.4f}, may be chance"
            )
        yield (
            "Bringing each column to the target's mean and standard deviation, with no density at "
            f"all, {found}. Prefer the same classifier on each table standardised by itself; it "
            f"agrees with KRDA on {_percent(agreement)} of the target rows."
        )


def order_beyond_seeds(seeds: RefitCheck, orders: RefitCheck) -> float:
    """Bound what the order of the columns changes beyond what any other fit does.

    Parameters
    ----------
    seeds, orders : RefitCheck

    Returns
    -------
    bound : float
        Lower bound of the difference of the means, by Student's one-sided test at
        ``DIFFERENCE_LEVEL`` with a common variance; NaN where there are too few refits for one.
    """
    groups = [np.array(check.disagreement) for check in (seeds, orders)]
    degrees = sum(map(len, groups)) - 2
    if degrees < 1 or not all(map(len, groups)):
        return math.nan
    variance = sum(float(((g - g.mean()) ** 2).sum()) for g in groups) / degrees
    error = math.sqrt(variance * sum(1 / len(g) for g in groups))
    return orders.mean - seeds.mean - float(stats.t.ppf(1 - DIFFERENCE_LEVEL, degrees)) * error


def _refit_objections(
    seeds: RefitCheck, orders: RefitCheck, other_failures: Sequence[str], n_others: int
) -> Iterator[str]:
    wrong = "so one of two such fits is wrong on {} of the rows or more."
    if orders.mean > DISAGREEMENT and order_beyond_seeds(seeds, orders) > 0:
        yield (
            f"The order of the columns decides {_percent(orders.mean - seeds.mean)} of the "
            f"predictions: fits in another order differ in {_percent(orders.mean)} on average, "
            f"fits with another seed in {_percent(seeds.mean)}, "
            f"{wrong.format(_percent(orders.mean / 2))} "
            "No unlabelled row says which order is right: use predictions on which fits in several "
            "orders agree, or get a few target labels first."
        )
    elif orders.mean > DISAGREEMENT and not seeds.mean > DISAGREEMENT:
        told = "" if math.isnan(seeds.mean) else f", with another seed in {_percent(seeds.mean)}"
        yield (
            f"Fits in another order of the columns differ in {_percent(orders.mean)} of the "
            f"predictions on average{told}, {wrong.format(_percent(orders.mean / 2))} Whether the "
            "order does it, or any other fit would, so few refits do not tell: ask for more."
        )
    if seeds.mean > DISAGREEMENT:
        yield (
            f"The seed decides {_percent(seeds.mean)} of the predictions: fits with another one "
            f"differ in so many on average, {wrong.format(_percent(seeds.mean / 2))} Give it more "
            "rows or fewer columns, or let several fits vote."
        )
    failures = [*seeds.failures, *orders.failures, *other_failures]
    if failures:
        n = n_others + sum(len(c.failures) + len(c.disagreement) for c in (seeds, orders))
        yield (
            f"{len(failures)} of {n} refits failed, so your fit depends on luck. The "
            f"first: {failures[0]}"
        )


def _distance(value: float) -> str:
    """Write an energy distance; one below 0 is an estimate of a distance that is not."""
    return f"{_rounded(value):.4f}" + (", below 0 by chance" if _rounded(value) < 0 else "")


def _rounded(value: float) -> float:
    return round(value, 4) + 0.0  # no -0.0


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _report(a: Assessment) -> Iterator[str]:
    t = a.transport
    yield f"KRDA on {a.n_source} source and {a.n_target} target rows; no target label was read."
    yield ""
    if t.left_out:
        yield "Do the densities describe the rows? Does the transport bring the source near?"
        yield f"  not compared: {_LEFT_OUT[t.left_out]}"
    else:
        yield from _report_left_out(a)
    yield ""
    yield "What depends on arbitrary choices? Target rows with another prediction"
    for what, refits in (("other seeds", a.seeds), ("other column orders", a.orders)):
        n = len(refits.disagreement)
        if n > 1:
            found = f"mean {_percent(refits.mean)}"
            found += f" ({n} refits, {_percent(refits.least)} to {_percent(refits.worst)})"
        else:
            found = f"{_percent(refits.mean)} (1 refit)" if n else "none compared"
        failed = f", {len(refits.failures)} failed" if refits.failures else ""
        yield f"  {what:30}{found}{failed}"
    yield ""
    yield "Does it differ from simple methods? Target rows with the same prediction"
    yield f"  {'source as it is':30}{_percent(a.agreement_source_only)}"
    yield f"  {'each table standardised':30}{_percent(a.agreement_standardized)}"
    yield ""
    yield from _report_classes(a.classes)
    yield ""
    if a.warnings:
        yield f"What speaks against trusting the predictions ({len(a.warnings)}):"
    elif t.left_out:
        yield "Nothing speaks against the predictions, but little was compared: ask for refits."
    else:
        yield "Nothing here speaks against the predictions. That is no proof: whether the classes"
        yield "end up where they belong cannot be seen without target labels."
    for warning in a.warnings:
        yield from textwrap.wrap(
            warning, 98, initial_indent="- ", subsequent_indent="  ", break_long_words=False
        )


def _report_classes(classes: Sequence[ClassShare]) -> Iterator[str]:
    shown = sorted(classes, key=lambda share: -abs(share.krda - share.source_only))[:_N_CLASSES]
    shown = [share for share in classes if share in shown]
    more = len(classes) - len(shown)
    yield "Which shares have the classes?" + (f" ({more} more differ less)" if more else "")
    yield f"  {'':26}" + "".join(f"{printable(share.label)[:10]:>12}" for share in shown)
    for what, name in (
        ("source labels", "source"),
        ("predicted by KRDA", "krda"),
        ("source as it is", "source_only"),
        ("each table standardised", "standardized"),
    ):
        yield f"  {what:26}" + "".join(f"{_percent(getattr(s, name)):>12}" for s in shown)
    yield "  KRDA keeps the source's class shares. If the target's differ, rows of one"
    yield "  class are moved to places of another, and nothing above shows it."


_LEFT_OUT: dict[LeftOut, str] = {
    "no refits": "no refits were asked for",
    "too few rows": f"a table has fewer than {MIN_ROWS} rows",
    "failed fits": "the fits to parts of the tables failed",
}


def _report_left_out(a: Assessment) -> Iterator[str]:
    t = a.transport
    yield f"Judged by rows left out, a fifth of each table in turn: means over {t.n_fits} fits."
    yield ""
    yield "Do the densities describe the rows? Negative log-likelihood, nats a row"
    yield f"  {'':12}{'KRDA':>10}{'Gaussian':>10}{'difference':>18}"
    for d in a.densities:
        difference = f"{d.excess:+.2f} ± {d.excess_error:.2f}"
        yield (
            f"  {d.domain:12}{d.nll:10.2f}{d.gaussian_nll:10.2f}{difference:>18}"
            f"  ({d.n_held_out} rows)"
        )
    yield ""
    yield "Does the transport bring the source to the target? Energy distance to the target"
    low, high = t.change.interval
    for what, value, more in (
        ("source as it is", t.before, ""),
        ("moved by KRDA", t.after, f"  (change between {low:+.4f} and {high:+.4f})"),
        ("columns standardised instead", t.standardized, ""),
        ("noise: samples of the target", t.noise, ""),
    ):
        below = "  (below 0 by chance: the estimate has no bias)" if _rounded(value) < 0 else ""
        yield f"  {what:30}{_rounded(value):10.4f}{more}{below}"
    yield f"  furthest columns (Kolmogorov-Smirnov, noise {t.column_noise:.2f}):"
    for column in t.columns:
        yield f"    {printable(column.name)}: {column.before:.2f} before, {column.after:.2f} after"
