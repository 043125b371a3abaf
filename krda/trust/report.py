"""What the check of a fitted KRDA found, and how it is put into words."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from krda.command.console import printable
from krda.trust.statistics import (
    DISAGREEMENT,
    MIN_ROWS,
    ColumnGap,
    DensityCheck,
    RefitCheck,
    TransportCheck,
    order_beyond_seeds,
)

_N_CLASSES = 5  # that a report shows at most

_CHANGE = "energy distance {before:.4f} before, {after:.4f} after, noise {t.noise:.4f}"
_HALF = "of two such fits one is wrong on half as many or more"

#: What is said of each finding, and what to do; the names are those of :func:`_values`.
OBJECTIONS = {
    "worse density": "A plain Gaussian describes rows left out better than the density of the "
    "{worse}. Give it more rows, fewer columns, or a smaller hidden_size; of columns with heavy "
    "tails take the logarithm, in both tables.",
    "too few rows": f"A table has fewer than {MIN_ROWS} rows: too few to say whether the densities "
    "describe them, and to tell a shift from noise. Collect more before you adapt to them.",
    "further": f"The transport takes the source further from the target: {_CHANGE}. Use the "
    "classifier trained on the source as it is, or on each table standardised by itself.",
    "no shift": "The source is no further from the target (energy distance {before:.4f}) than two "
    "samples of the target are from each other ({t.noise:.4f}): no shift of the columns is seen. "
    "Use the classifier trained on the source as it is.",
    "undecided": f"Whether the transport brings the source nearer to the target is undecided: "
    f"{_CHANGE}, change {{change}}. Collect more rows, or use the predictions on which the simple "
    "methods agree.",
    "still far": f"The transported source is still far from the target: {_CHANGE}. Look at the "
    "columns that are left furthest; give the density more rows or steps (max_steps), or leave "
    "such columns out of both tables.",
    "spoilt columns": "The transport takes single columns away from the target, by their "
    "Kolmogorov-Smirnov distance: {spoilt}. Take the logarithm of columns with heavy tails or clip "
    "them, in both tables, or leave them out.",
    "standardising suffices": "Bringing each column to the target's mean and standard deviation, "
    "with no density at all, leaves an energy distance of {standardized:.4f}, KRDA {after:.4f} "
    "(noise {t.noise:.4f}, KRDA's lead {lead}): too little to prefer KRDA. Use the same classifier "
    "on each table standardised by itself; it agrees on {a.agreement_standardized:.1%} of the "
    "target rows.",
    "order decides": "The order of the columns decides: fits in another order differ in {orders} "
    f"of the predictions, fits with another seed in {{seeds}}; {_HALF}. No unlabelled row says "
    "which order is right: use predictions on which fits in several orders agree, or get a few "
    "target labels first.",
    "order or seed decides": "Fits in another order of the columns differ in {orders} of the "
    f"predictions (another seed: {{seeds}}); {_HALF}. So few refits do not show whether the order "
    "does it, or any other fit would: ask for more.",
    "seed decides": "The seed decides: fits with another one differ in {seeds} of the predictions; "
    f"{_HALF}. Give it more rows or fewer columns, or let several fits vote.",
    "failed refits": "{n_failed} refits failed, so the fit that you have depends on luck. The "
    "first: {failure}",
    "far rows": "{a.far_rows}",
    "missing class": "No target row is predicted to be {missing}. If the target has such rows, the "
    "classes were not kept apart: look at the classifier and its settings first.",
}


@dataclass(frozen=True)
class ClassShare:
    """How often a class occurs, in shares of rows."""

    label: str
    source: float  # among the source's labels
    krda: float  # among KRDA's predictions
    source_only: float  # among those of the same classifier trained on the source as it is
    standardized: float  # and trained on the source standardised by itself


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
    classes : tuple of ClassShare
    source_only, standardized : tuple, length n_target
        The predictions of these two simple methods.
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
    classes: tuple[ClassShare, ...]
    source_only: tuple[Any, ...] = field(repr=False)
    standardized: tuple[Any, ...] = field(repr=False)
    far_rows: str = ""

    @property
    def findings(self) -> tuple[str, ...]:
        """What speaks against trusting the predictions: keys of ``OBJECTIONS``."""
        t = self.transport
        order, seed = (check.mean > DISAGREEMENT for check in (self.orders, self.seeds))
        order_decides = order and order_beyond_seeds(self.seeds, self.orders) > 0
        found = {
            "worse density": any(density.worse for density in self.densities),
            "too few rows": min(self.n_source, self.n_target) < MIN_ROWS,
            t.finding: t.finding != "",
            "spoilt columns": bool(t.spoilt),
            "standardising suffices": t.shifted and t.standardizing_suffices,
            "order decides": order_decides,
            "order or seed decides": order and not order_decides and not seed,
            "seed decides": seed,
            "failed refits": bool(self.failures),
            "far rows": bool(self.far_rows),
            "missing class": any(share.krda == 0 for share in self.classes),
        }
        return tuple(name for name, holds in found.items() if holds)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The findings in words, with what to do."""
        values = _values(self)
        return tuple(OBJECTIONS[finding].format(**values) for finding in self.findings)

    @property
    def failures(self) -> tuple[str, ...]:
        """What refits raised that failed."""
        return (*self.seeds.failures, *self.orders.failures, *self.transport.failures)

    @property
    def refits_agree(self) -> NDArray[np.float64]:
        """For each target row, the share of all refits with KRDA's label; NaN without refits."""
        checks = [c for c in (self.seeds, self.orders) if c.agreement is not None]
        if not checks:
            return np.full(self.n_target, np.nan)
        weights = [len(check.disagreement) for check in checks]
        return np.average([check.agreement for check in checks], axis=0, weights=weights)

    def to_dict(self) -> dict[str, Any]:
        """Give attributes and findings as JSON has them: numbers that are not finite are None."""
        more = {"findings": self.findings, "warnings": self.warnings}
        found: dict[str, Any] = _as_json(asdict(self) | more)
        return found

    def __str__(self) -> str:
        """Report in plain text."""
        return printable("\n".join(_report(self)), keep="\n")


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _values(a: Assessment) -> dict[str, Any]:
    """Give what sentences and report name; energy distances that are below 0 by chance as 0."""
    t = a.transport
    return {
        "a": a,
        "t": t,
        **{name: max(getattr(t, name), 0.0) for name in ("before", "after", "standardized")},
        "change": "{:+.4f} to {:+.4f}".format(*t.change.interval),
        "lead": "{:+.4f} to {:+.4f}".format(*t.lead.interval),
        "worse": " and ".join(density.domain for density in a.densities if density.worse),
        "spoilt": ", ".join(map(_gap, t.spoilt)),
        "seeds": _mean(a.seeds),
        "orders": _mean(a.orders),
        "failure": a.failures[0] if a.failures else "",
        "n_failed": len(a.failures),
        "missing": " or ".join(share.label for share in a.classes if share.krda == 0),
    }


def _mean(refits: RefitCheck) -> str:
    return f"{refits.mean:.1%}" if refits.disagreement else "none"


def _gap(gap: ColumnGap) -> str:
    return f"{printable(gap.name)} ({gap.before:.2f} before, {gap.after:.2f} after)"


def _report(a: Assessment) -> Iterator[str]:
    yield f"KRDA on {a.n_source} source and {a.n_target} target rows; no target label was read.\n"
    if a.transport.left_out:
        yield f"Densities and transport were not compared: {a.transport.left_out}.\n"
    else:
        yield from _report_left_out(a)
    yield "What depends on arbitrary choices? Target rows with another prediction"
    for what, refits in (("other seeds", a.seeds), ("other column orders", a.orders)):
        shares = ", ".join(f"{share:.1%}" for share in refits.disagreement) or "none compared"
        failed = f", {len(refits.failures)} failed" if refits.failures else ""
        yield f"  {what:30}{shares}{failed}"
    yield "\nDoes it differ from simple methods? Target rows with the same prediction"
    yield f"  {'source as it is':30}{a.agreement_source_only:.1%}"
    yield f"  {'each table standardised':30}{a.agreement_standardized:.1%}\n"
    shown = sorted(a.classes, key=lambda share: -abs(share.krda - share.source_only))[:_N_CLASSES]
    more = (
        f" ({len(a.classes) - len(shown)} more differ less)" if len(a.classes) > len(shown) else ""
    )
    yield f"What are the shares of the classes?{more}"
    yield f"  {'':20}{'labels':>10}{'KRDA':>10}{'as it is':>10}{'standardised':>14}"
    for s in shown:
        shares = f"{s.source:10.1%}{s.krda:10.1%}{s.source_only:10.1%}{s.standardized:14.1%}"
        yield f"  {printable(s.label)[:20]:20}{shares}"
    yield "  KRDA keeps the source's shares. If the target has others, rows of one class are"
    yield "  transported to places of another, and nothing above shows it.\n"
    if a.warnings:
        yield f"What speaks against trusting the predictions ({len(a.warnings)}):"
    elif a.transport.left_out:
        yield "Nothing speaks against the predictions, but little was compared: ask for refits."
    else:
        yield "Nothing here speaks against the predictions. That is no proof: whether the classes"
        yield "end up where they belong cannot be seen without target labels."
    for warning in a.warnings:
        yield textwrap.fill(warning, 98, initial_indent="- ", subsequent_indent="  ")


def _report_left_out(a: Assessment) -> Iterator[str]:
    t, values = a.transport, _values(a)
    yield f"Judged by rows left out, a fifth of each table in turn: means over {t.n_fits} fits.\n"
    yield "Do the densities describe the rows? Negative log-likelihood, nats a row"
    yield f"  {'':12}{'KRDA':>10}{'Gaussian':>10}{'difference':>18}"
    for d in a.densities:
        difference = f"{d.excess:+.2f} ± {d.excess_error:.2f}"
        yield f"  {d.domain:12}{d.nll:10.2f}{d.gaussian_nll:10.2f}{difference:>18}"
    yield "\nDoes the transport bring the source to the target? Energy distance to the target"
    yield f"  {'source as it is':30}{values['before']:10.4f}"
    yield f"  {'transported by KRDA':30}{values['after']:10.4f}  (change {values['change']})"
    yield f"  {'columns standardised instead':30}{values['standardized']:10.4f}"
    yield f"  {'noise: samples of the target':30}{t.noise:10.4f}"
    yield f"  furthest columns (Kolmogorov-Smirnov, noise {t.column_noise:.2f}):"
    yield from (f"    {_gap(column)}" for column in t.columns)
    yield ""
