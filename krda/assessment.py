"""What the check of a fitted KRDA found, when it speaks against the fit, and how it is told.

:func:`krda.trust.assess` makes an :class:`Assessment`; the bounds of its warnings stand here.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from krda.estimator import Domain

# None of the bounds below was chosen by accuracies on a target.

#: A density is called worse than a Gaussian where its held-out negative log-likelihood is higher
#: by more than so many standard errors of the difference: about one false alarm in forty.
WORSE_STANDARD_ERRORS = 2.0

#: ... and by more than so many nats a row: with thousands of rows held out, two standard errors are
#: next to nothing. Where the rows are Gaussian the excess estimates a Kullback-Leibler divergence,
#: and one of e moves no probability by more than sqrt(e / 2) (Pinsker's inequality): by 0.1 here.
WORSE_NATS = 0.02

#: What is left of the energy distance is called far above the noise beyond so many times the
#: noise. A fitted density is never exact and large tables show the least error: a test at the
#: noise itself would reject every transport of some thousand rows.
FAR_ABOVE_NOISE = 5.0

#: Two refits that differ in more than this share of their predictions: of two classifiers that
#: disagree on a share q of the rows, one is wrong on q / 2 of them at least. A tenth means that an
#: arbitrary choice may cost five points of accuracy or more.
DISAGREEMENT = 0.1


@dataclass(frozen=True)
class DensityCheck:
    """How well a domain's density describes the rows held out of its fit.

    Attributes
    ----------
    domain : {"source", "target"}
    n_held_out : int
        Rows held out.
    nll : float
        Their mean negative log-likelihood, nats a row in the input's units: the model's
        ``held_out_nll_``. A little low, since training stopped where it was lowest.
    gaussian_nll : float
        The same of a Gaussian fitted to the same training rows.
    excess, excess_error : float
        Mean difference, model minus Gaussian, and its standard error; NaN of a single row.
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
        return self.excess > max(WORSE_STANDARD_ERRORS * self.excess_error, WORSE_NATS)


@dataclass(frozen=True)
class ColumnGap:
    """A column's Kolmogorov-Smirnov distance to the target's.

    Attributes
    ----------
    name : str
    before, after : float
        Of the source as it is, and carried; in [0, 1].
    """

    name: str
    before: float
    after: float


@dataclass(frozen=True)
class TransportCheck:
    """How far the source is from the target, by energy distance of whole rows.

    Attributes
    ----------
    before, after : float
        Of the source as it is, and as KRDA carries it. Columns in the target's standard
        deviations; see :func:`krda.diagnostics.energy_distance`.
    standardized : float
        Of the source after each column was brought to the target's mean and standard deviation,
        which needs no density.
    noise : float
        What two samples of the target would differ by: the quantile ``NOISE_QUANTILE`` of random
        halves of the target, times the ratio of (1/n + 1/m) of the samples and of the halves. NaN
        of fewer than four target rows.
    columns : tuple of ColumnGap
        The columns that are left furthest from the target's, furthest first.
    column_noise : float
        What the largest Kolmogorov-Smirnov distance of all columns stays below in 95 of 100 pairs
        of samples of these sizes from one distribution (asymptotically, by Bonferroni's bound).
    """

    before: float
    after: float
    standardized: float
    noise: float
    columns: tuple[ColumnGap, ...]
    column_noise: float


@dataclass(frozen=True)
class RefitCheck:
    """How the predictions change when an arbitrary choice does.

    Attributes
    ----------
    disagreement : tuple of float
        For each refit, the share of target rows whose predicted label is another one.
    failures : tuple of str
        What refits raised that failed.
    """

    disagreement: tuple[float, ...]
    failures: tuple[str, ...] = ()

    @property
    def mean(self) -> float:
        """Mean disagreement; NaN without refits."""
        return float(np.mean(self.disagreement)) if self.disagreement else math.nan

    @property
    def worst(self) -> float:
        """Largest disagreement; NaN without refits."""
        return max(self.disagreement, default=math.nan)


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

    def __str__(self) -> str:
        """Report in plain text."""
        return "\n".join(_report(self))


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
    yield from _refit_objections(seeds, orders)


def _density_objections(densities: Sequence[DensityCheck]) -> Iterator[str]:
    for check in densities:
        if check.worse:
            yield (
                f"The density of the {check.domain} is worse than a plain Gaussian by "
                f"{check.excess:.2f} ± {check.excess_error:.2f} nats a row on rows held out of "
                "both fits: the transport is made from a poor description. Give it more rows, "
                "fewer columns, or a smaller hidden_size; of columns with heavy tails take the "
                "logarithm, in both tables."
            )


def _transport_objections(check: TransportCheck, agreement: float) -> Iterator[str]:
    if math.isnan(check.noise):
        yield (
            "The target has too few rows to tell a shift from noise: expected four at least. "
            "Collect more before you adapt to them."
        )
        return
    shifted = check.before > check.noise
    if check.after > max(check.before, check.noise):
        yield (
            f"The transport takes the source further from the target: energy distance "
            f"{check.before:.4f} before, {check.after:.4f} after (noise {check.noise:.4f}). Do not "
            "use these predictions; use the classifier trained on the source as it is, or on each "
            "table standardised by itself."
        )
    elif not shifted:
        yield (
            f"The source is no further from the target (energy distance {check.before:.4f}) than "
            f"two samples of the target are from each other ({check.noise:.4f}): no shift of the "
            "columns is seen that could be adapted to, and a transport can only blur. Use the "
            "classifier trained on the source as it is."
        )
    elif check.after > FAR_ABOVE_NOISE * check.noise:
        yield (
            f"The carried source is still {check.after / check.noise:.0f} times as far from the "
            f"target (energy distance {check.after:.4f}) as two samples of the target are from "
            f"each other ({check.noise:.4f}). Look at the columns that are left "
            "furthest; give the density more rows or steps (max_steps), or leave such columns out "
            "of both tables."
        )
    if shifted and check.standardized <= max(check.after, check.noise):
        yield (
            "Bringing each column to the target's mean and standard deviation, with no density at "
            f"all, takes the source as near to the target (energy distance "
            f"{check.standardized:.4f}; KRDA {check.after:.4f}, noise {check.noise:.4f}). Prefer "
            "the same classifier on each table standardised by itself; it agrees with KRDA on "
            f"{_percent(agreement)} of the target rows."
        )


def _refit_objections(seeds: RefitCheck, orders: RefitCheck) -> Iterator[str]:
    wrong = "so one of the two fits is wrong on {} of the rows or more."
    if orders.worst > DISAGREEMENT:
        yield (
            f"The order of the columns decides {_percent(orders.worst)} of the predictions: a fit "
            f"in another order differs in so many, {wrong.format(_percent(orders.worst / 2))} "
            "No unlabelled row says which order is right: use predictions on which fits in several "
            "orders agree, or get a few target labels first."
        )
    if seeds.worst > DISAGREEMENT:
        yield (
            f"The seed decides {_percent(seeds.worst)} of the predictions: a fit with another one "
            f"differs in so many, {wrong.format(_percent(seeds.worst / 2))} Give it more rows or "
            "fewer columns, or let several fits vote."
        )
    failures = [*seeds.failures, *orders.failures]
    if failures:
        n = len(failures) + len(seeds.disagreement) + len(orders.disagreement)
        yield (
            f"{len(failures)} of {n} refits failed, so the fit that you have hangs on luck. The "
            f"first: {failures[0]}"
        )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _report(a: Assessment) -> Iterator[str]:
    yield f"KRDA on {a.n_source} source and {a.n_target} target rows; no target label was read."
    yield ""
    yield "Do the densities describe the rows? Held-out negative log-likelihood, nats a row"
    yield f"  {'':12}{'KRDA':>10}{'Gaussian':>10}{'difference':>18}"
    for d in a.densities:
        difference = f"{d.excess:+.2f} ± {d.excess_error:.2f}"
        yield (
            f"  {d.domain:12}{d.nll:10.2f}{d.gaussian_nll:10.2f}{difference:>18}"
            f"  ({d.n_held_out} rows)"
        )
    t = a.transport
    yield ""
    yield "Does the transport bring the source to the target? Energy distance to the target"
    for what, value in (
        ("source as it is", t.before),
        ("carried by KRDA", t.after),
        ("columns standardised instead", t.standardized),
        ("noise: samples of the target", t.noise),
    ):
        yield f"  {what:30}{value:10.4f}"
    yield f"  furthest columns (Kolmogorov-Smirnov, noise {t.column_noise:.2f}):"
    for column in t.columns:
        yield f"    {column.name}: {column.before:.2f} before, {column.after:.2f} after"
    yield ""
    yield "What hangs on arbitrary choices? Target rows with another prediction"
    for what, refits in (("other seeds", a.seeds), ("other column orders", a.orders)):
        n = len(refits.disagreement)
        if n:
            fits = "refit" if n == 1 else "refits"
            found = f"mean {_percent(refits.mean)}, worst {_percent(refits.worst)} ({n} {fits})"
        else:
            found = "none compared"
        failed = f", {len(refits.failures)} failed" if refits.failures else ""
        yield f"  {what:30}{found}{failed}"
    yield ""
    yield "Does it differ from simple methods? Target rows with the same prediction"
    yield f"  {'source as it is':30}{_percent(a.agreement_source_only)}"
    yield f"  {'each table standardised':30}{_percent(a.agreement_standardized)}"
    yield ""
    if not a.warnings:
        yield "Nothing here speaks against the predictions. That is no proof: whether the classes"
        yield "end up where they belong cannot be seen without target labels."
        return
    yield f"What speaks against trusting the predictions ({len(a.warnings)}):"
    for warning in a.warnings:
        yield from textwrap.wrap(
            warning, 98, initial_indent="- ", subsequent_indent="  ", break_long_words=False
        )
