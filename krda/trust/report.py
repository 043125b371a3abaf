"""What the check of a fitted KRDA found, and how it is put into words."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from krda.printing import printable
from krda.trust.statistics import (
    DISAGREEMENT,
    MIN_ROWS,
    DensityCheck,
    Interval,
    RefitCheck,
    TransportCheck,
    order_beyond_seeds,
)


@dataclass(frozen=True)
class Assessment:
    """What can be said of a fitted KRDA without target labels; ``print`` it for the report.

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
        Refits with the columns reversed and in random orders. Empty if there is one column only.
    agreement_source_only, agreement_standardized : float
        Share of target rows with the same prediction by the same kind of classifier, trained on the
        source as it is, or with each table standardised by itself.
    classes : dict
        For each class its shares of the source's labels (``"source"``), of KRDA's predictions
        (``"krda"``), and of those of these two simple methods.
    source_only, standardized : tuple, length n_target
        The predictions of the two simple methods.
    far_rows : str
        What :func:`krda.extrapolation.describe_far_rows` says of the transported source.
    """

    n_source: int
    n_target: int
    densities: tuple[DensityCheck, DensityCheck]
    transport: TransportCheck
    seeds: RefitCheck
    orders: RefitCheck
    agreement_source_only: float
    agreement_standardized: float
    classes: dict[str, dict[str, float]]
    source_only: tuple[Any, ...] = field(repr=False)
    standardized: tuple[Any, ...] = field(repr=False)
    far_rows: str = ""

    @property
    def findings(self) -> tuple[str, ...]:
        """What speaks against trusting the predictions, as short names."""
        return tuple(_objections(self))

    @property
    def warnings(self) -> tuple[str, ...]:
        """The findings in words, with what to do."""
        return tuple(_objections(self).values())

    @property
    def refits_agree(self) -> NDArray[np.float64]:
        """For each target row, the share of all refits with KRDA's label; NaN without refits."""
        checks = [check for check in (self.seeds, self.orders) if check.agreement]
        if not checks:
            return np.full(self.n_target, np.nan)
        weights = [len(check.disagreement) for check in checks]
        return np.average([check.agreement for check in checks], axis=0, weights=weights)

    def to_dict(self) -> dict[str, Any]:
        """Give attributes and findings as JSON has them: numbers that are not finite are None."""
        text = json.dumps(asdict(self) | {"findings": self.findings, "warnings": self.warnings})
        found: dict[str, Any] = json.loads(text, parse_constant=lambda _: None)
        return found

    def plot(self, ax: Any = None) -> Any:
        """Draw how far the columns that are left furthest were from the target, and are.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes one.

        Returns
        -------
        ax : matplotlib Axes
        """
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.subplots(layout="constrained")[1]
        names = list(self.transport.columns)[::-1]
        before, after = np.reshape([self.transport.columns[name] for name in names], (-1, 2)).T
        ax.hlines(names, before, after, color="0.75")
        ax.plot(before, names, "o", color="0.5", label="before the transport")
        ax.plot(after, names, "o", color="C0", label="after")
        ax.set(xlabel="Kolmogorov-Smirnov distance to the target", xlim=(0, None))
        ax.legend()
        return ax

    def __str__(self) -> str:
        """Report in plain text."""
        return printable("\n".join(_report(self)), keep="\n")


def _objections(a: Assessment) -> dict[str, str]:
    """Give the findings by name: a sentence each, with its numbers and what to do."""
    t = a.transport
    distances = (
        f"energy distance {_shown(t.before)} before, {_shown(t.after)} after, noise {t.noise:.4f}"
    )
    left = t.shifted and t.far and not t.further
    worse = [density.domain for density in a.densities if density.worse]
    seeds = f"{a.seeds.mean:.1%}" if a.seeds.disagreement else "none"
    simple = "Use the classifier on the source as it is, or on each table standardised."
    half = "of two such fits one is wrong on half as many or more"
    seed_changes, order_changes = (check.mean > DISAGREEMENT for check in (a.seeds, a.orders))
    order_decides = order_changes and order_beyond_seeds(a.seeds, a.orders) > 0
    failures = (*a.seeds.failures, *a.orders.failures, *t.failures)
    missing = [label for label, shares in a.classes.items() if shares["krda"] == 0]
    asked = (
        (worse, "worse density",
         "A plain Gaussian describes rows left out better than the density of the "
         f"{' and '.join(worse)}. Give it more rows or fewer columns."),
        (min(a.n_source, a.n_target) < MIN_ROWS, "too few rows",
         f"A table has fewer than {MIN_ROWS} rows: too few to tell a shift from noise."),
        (t.further, "further",
         f"The transport takes the source further from the target: {distances}. {simple}"),
        (t.before <= t.noise and not t.further, "no shift",
         f"The source is no further from the target (energy distance {_shown(t.before)}) than "
         f"two samples of the target are from each other ({t.noise:.4f}). {simple}"),
        (left and not t.nearer, "undecided",
         "Whether the transport brings the source nearer to the target is undecided: "
         f"{distances}, change {_interval(t.change)}. Collect more rows."),
        (left and t.nearer, "still far",
         f"The transported source is still far from the target: {distances}. Give the density "
         "more rows or steps (max_steps), or leave out the columns that are left furthest."),
        (t.spoilt, "spoilt columns",
         "The transport takes single columns away from the target, by their Kolmogorov-Smirnov "
         f"distance: {', '.join(_gaps(t.spoilt))}. Clip them or take their logarithm, in both "
         "tables, or leave them out."),
        (t.shifted and t.standardizing_suffices, "standardising suffices",
         "Bringing each column to the target's mean and standard deviation, with no density at "
         f"all, leaves an energy distance of {_shown(t.standardized)}, KRDA {_shown(t.after)} "
         f"(noise {t.noise:.4f}, KRDA's lead {_interval(t.lead)}): too little to prefer KRDA."),
        (order_decides, "order decides",
         "The order of the columns decides: fits in another order differ in "
         f"{a.orders.mean:.1%} of the predictions, fits with another seed in {seeds}; {half}. "
         "No unlabelled row says which order is right: use predictions on which fits in several "
         "orders agree, or get a few target labels first."),
        (order_changes and not order_decides and not seed_changes, "order or seed decides",
         f"Fits in another order of the columns differ in {a.orders.mean:.1%} of the predictions "
         f"(another seed: {seeds}); {half}. Ask for more refits to see which it is."),
        (seed_changes, "seed decides",
         f"The seed decides: fits with another one differ in {seeds} of the predictions; {half}. "
         "Give it more rows or fewer columns, or let several fits vote."),
        (failures, "failed refits",
         f"{len(failures)} refits failed, so the fit that you have depends on luck. The first: "
         f"{''.join(failures[:1])}"),
        (a.far_rows, "far rows", a.far_rows),
        (missing, "missing class",
         f"No target row is predicted to be {' or '.join(missing)}. If the target has such "
         "rows, the classes were not kept apart: look at the classifier and its settings first."),
    )  # fmt: skip
    return {name: sentence for holds, name, sentence in asked if holds}


def _shown(distance: float) -> str:
    """Write an energy distance; one that is below 0 by chance as 0."""
    return f"{max(distance, 0.0):.4f}"


def _interval(interval: Interval) -> str:
    return "{:+.4f} to {:+.4f}".format(*interval)


def _gaps(columns: dict[str, tuple[float, float]]) -> list[str]:
    return [f"{printable(k)} ({b:.2f} before, {a:.2f} after)" for k, (b, a) in columns.items()]


def _report(a: Assessment) -> Iterator[str]:
    yield f"KRDA on {a.n_source} source and {a.n_target} target rows; no target label was read.\n"
    t = a.transport
    if not t.n_fits:
        yield "Densities and transport were not compared.\n"
    else:
        yield f"Judged by rows left out, a fifth of each table in turn: means over {t.n_fits} fits."
        yield "\nDo the densities describe the rows? Negative log-likelihood, nats a row"
        yield f"  {'':12}{'KRDA':>10}{'Gaussian':>10}{'difference':>18}"
        for d in a.densities:
            difference = f"{d.excess:+.2f} ± {d.excess_error:.2f}"
            yield f"  {d.domain:12}{d.nll:10.2f}{d.gaussian_nll:10.2f}{difference:>18}"
        yield "\nDoes the transport bring the source to the target? Energy distance to the target"
        yield f"  {'source as it is':30}{_shown(t.before):>10}"
        yield f"  {'transported by KRDA':30}{_shown(t.after):>10}  (change {_interval(t.change)})"
        yield f"  {'columns standardised instead':30}{_shown(t.standardized):>10}"
        yield f"  {'noise: samples of the target':30}{t.noise:10.4f}"
        yield f"  furthest columns (Kolmogorov-Smirnov, noise {t.column_noise:.2f}):"
        yield from (f"    {gap}" for gap in _gaps(t.columns))
        yield ""
    yield "What depends on arbitrary choices? Target rows with another prediction"
    for what, refits in (("other seeds", a.seeds), ("other column orders", a.orders)):
        yield f"  {what:30}" + (", ".join(f"{x:.1%}" for x in refits.disagreement) or "none")
    yield "\nDoes it differ from simple methods? Target rows with the same prediction"
    yield f"  {'source as it is':30}{a.agreement_source_only:.1%}"
    yield f"  {'each table standardised':30}{a.agreement_standardized:.1%}"
    yield "\nWhat are the shares of the classes?"
    yield f"  {'':20}{'labels':>10}{'KRDA':>10}{'as it is':>10}{'standardised':>14}"
    for label, shares in a.classes.items():
        yield f"  {printable(label)[:20]:20}" + "{:10.1%}{:10.1%}{:10.1%}{:14.1%}".format(
            *shares.values()
        )
    yield "  KRDA keeps the source's shares. If the target has others, rows of one class are"
    yield "  transported to places of another, and nothing above shows it.\n"
    if a.warnings:
        yield f"What speaks against trusting the predictions ({len(a.warnings)}):"
    elif not t.n_fits:
        yield "Nothing speaks against the predictions, but little was compared: ask for refits."
    else:
        yield "Nothing here speaks against the predictions. That is no proof: whether the classes"
        yield "end up where they belong cannot be seen without target labels."
    for warning in a.warnings:
        yield textwrap.fill(warning, 98, initial_indent="- ", subsequent_indent="  ")
