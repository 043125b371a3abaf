"""The sections of the benchmark: what each measures and how to read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import adaptation, density, quantile, scale, together, transport
from benchmarks.sizes import Sizes
from benchmarks.timing import Case
from krda.training import MAX_HELD_OUT


@dataclass(frozen=True)
class Section:
    """A part of the benchmark, one table.

    Attributes
    ----------
    name : str
        Also the name of its files.
    title : str
    notes : tuple of str
        Paragraphs: what is compared, and what is not comparable.
    groups : callable
        From sizes and a directory for fitted models to groups of cases.
    """

    name: str
    title: str
    notes: tuple[str, ...]
    groups: Callable[[Sizes, Path], list[list[Case]]]


SECTIONS = (
    Section(
        "density",
        "Density fit",
        (
            "One RNADE (N = 5, H = 50) fitted to n rows of each of two domains, by KRDA's "
            "settings: at most 1,000 steps of 128 rows of each domain, stopped early by held-out "
            f"rows. A tenth of the rows is held out, at most {MAX_HELD_OUT:,}. `steps` were made, "
            "`steps_kept` is where the lowest held-out loss was.",
        ),
        density.groups,
    ),
    Section(
        "transport",
        "Transport between two fitted densities",
        (
            "n rows through the source's forward map and the target's inverse one. Ratios are to "
            "the KR transport on one thread. `residual`: largest difference between the quantile "
            "asked for and the one that the result has, over the first rows.",
            "**Comparable**: bisection solves the same equations on the same densities; the loops "
            "of `krda._fast` do all but the search there, too. *Not compiled* is what runs where "
            "numba is not installed. "
            "*zuko, mixture of normal CDFs* is the nearest peer: an autoregressive map whose "
            "conditionals are equally weighted mixtures of as many normal distribution functions, "
            "inverted numerically, from a network with one hidden layer of the same size.",
            "**Not comparable**: zuko's inverse bisects to an absolute 1e-6 within [-10, 10], and "
            "its mixtures have no weights; the KR transport is exact to about 1e-12. *Affine* maps "
            "have one Gaussian a conditional and a closed-form inverse: a poorer density, with no "
            "root to search. The peers' parameters are random, as a trained one's cost is the same "
            "(fixed numbers of operations); both run a whole network once for each column, where "
            "RNADE carries its state. They are given blocks of 2,048 rows. float64 but "
            "where said.",
            "MParT's triangular maps are not measured: `mpart` has no wheel on the package index, "
            "and building it from source fetches Kokkos and Eigen besides. nflows' last release, "
            "0.14, is of 2020; it has no wheel either but builds with setuptools alone.",
        ),
        transport.groups,
    ),
    Section(
        "adaptation",
        "Whole adaptation: fit and carry the source",
        (
            "From n rows of each domain, 27 columns, to carried source rows. Ratios are to KRDA. "
            "POT's plans are fitted on standardised rows: exact transport, and Sinkhorn with "
            "regularisation 0.1 of the largest cost and POT's own limit of steps (a warning "
            "column says where it did not converge). POT holds several n x n matrices: where they "
            "do not fit, or take longer than the limit, the table says so.",
            "**Not comparable**: a plan moves the training rows only and knows no density; KRDA's "
            "model carries any further row. For few rows a plan is much the cheaper.",
        ),
        adaptation.groups,
    ),
    Section(
        "quantile",
        "Quantiles of Gaussian mixtures",
        (
            "n mixtures of 5 Gaussians, one probability each, inverted by `krda.mixture.quantile`. "
            "*Far tail*: probabilities of 1e-12 to 1e-4 on either side. *Nearly degenerate*: "
            "standard deviations from 1e-6 to 100 and weights down to 1e-12. Ratios are to Newton, "
            "compiled; *not compiled* is what runs where numba is not installed. "
            "`max_error` is the largest |F(z) - u|; where a Gaussian is narrow, F itself moves by "
            "more from one double to the next, so `max_error_in_spacings` divides by that.",
        ),
        quantile.groups,
    ),
    Section(
        "scale",
        "Scale",
        (
            "KRDA on n rows of each domain, 27 columns, one thread, from arrays in memory. A fit "
            "makes a bounded number of steps (`steps`), each of 128 rows of each domain, and then "
            "carries the n source rows; the classifier is left out. What grows with n beside the "
            f"transport is the search for atoms (a sort of each column): at most {MAX_HELD_OUT:,} "
            "rows are held out. The transport is by a model fitted to few rows: its cost is that "
            "of the rows carried.",
        ),
        scale.groups,
    ),
    Section(
        "together",
        "Repetitions of a cell fitted together",
        (
            "The repetitions of moons/40 (270 rows of each domain), and of three more angles, "
            "through `krda.adaptation.fit_together`, one after another, and one alone, SVM "
            "included. Ratios are to one alone, which makes fewer steps than most (`steps`): the "
            "number of fits (`repetitions_fitted`) would mean that nothing is gained. What is "
            "shared is the time of starting operations; a network's arithmetic is its own. "
            "*Plain training* has the same stopping rule but goes by "
            "automatic differentiation of `RNADE.log_prob` and `torch.optim.Adam`.",
        ),
        together.groups,
    ),
)
