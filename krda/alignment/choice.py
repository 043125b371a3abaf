"""Which shift it is, and the simplest alignment that explains it.

Candidates are tried from the simplest on. A candidate *explains* the shift if what it leaves of the
energy distance is no more than the noise of the samples leaves, of all columns together and along
the directions that separate the classes. How much that is, splits of the source say: the aligned
source is cut in two at random, with the class shares of the target on one side, and the candidate
is fitted to the halves, between which there is nothing to explain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from krda.alignment.fitting import (
    Fitted,
    Kind,
    fit_alone,
    fit_jointly,
    fit_map,
    with_residuals,
)
from krda.alignment.noise import split_residuals
from krda.alignment.rotation import half_turns
from krda.alignment.shares import some_of_each, some_rows, source_shares
from krda.validation import FloatArray

Shift = Literal["none", "class shares", "columns", "axes", "both", "unexplained"]

#: Standard deviations of the noise up to which a residual counts as noise, and those by which two
#: candidates may differ to count as equally good.
DEVIATIONS = 3.0

#: Standard deviations that all maps have to be away before other class shares are tried with them,
#: and up to which other class shares count as an explanation: they can fit almost anything.
FAR, SHARES_DEVIATIONS = 5.0, 2.0

#: Standard deviations up to which other class shares explain a shift that standardisation or the
#: linear map explains, too: with few rows both can. Quantiles do not count. They can follow any
#: change of single columns, other class shares among them.
CLOSE = 1.0

_SIMPLE: tuple[Kind, ...] = ("standardize", "quantiles", "linear")


@dataclass(frozen=True, eq=False)
class Candidate:
    """An alignment that was tried.

    Attributes
    ----------
    kind : {"none", "standardize", "quantiles", "linear", "affine"}
    class_shares : {"source", "estimated"}
    shares : ndarray of shape (n_classes,)
        Class shares that the source was weighted by, in the order of the sorted labels.
    residuals : ndarray of shape (2,)
        Energy distances to the target that are left: of all columns, in their standard deviations,
        and along the directions that separate the classes. They are unbiased and can be below zero.
    noise_means, noise_deviations : ndarray of shape (2,)
        Of the residuals that splits of the source leave.
    chosen : bool
        Whether the candidate takes part in the prediction.
    """

    kind: Kind
    class_shares: Literal["source", "estimated"]
    shares: FloatArray
    residuals: FloatArray
    noise_means: FloatArray
    noise_deviations: FloatArray
    chosen: bool = False
    fitted: Fitted = field(repr=False, kw_only=True)

    @property
    def excess(self) -> float:
        """Residual of all columns beyond the mean of the noise."""
        return float(self.residuals[0] - self.noise_means[0])

    def needs_shares(self, weighted: Candidate) -> bool:
        """Whether this map leaves more than noise between the classes, and other shares halve it.

        They also have to explain what it leaves of all columns.
        """
        between = [(c.residuals - c.noise_means)[1] for c in (self, weighted)]
        left = self.deviations[1] > DEVIATIONS and weighted.deviations[0] <= SHARES_DEVIATIONS
        return bool(left and between[1] <= between[0] / 2)

    @property
    def explains(self) -> bool:
        """Whether what is left may be noise."""
        limit = DEVIATIONS if self.class_shares == "source" else SHARES_DEVIATIONS
        return bool(self.deviations.max() <= limit)

    @property
    def deviations(self) -> FloatArray:
        """Residuals beyond the mean of the noise, in standard deviations of it."""
        return (self.residuals - self.noise_means) / self.noise_deviations

    @property
    def name(self) -> str:
        """Such as ``affine`` or ``affine, class shares``."""
        return self.kind if self.class_shares == "source" else f"{self.kind}, class shares"


@dataclass(frozen=True)
class Choice:
    """The kind of shift, all candidates that were tried, and whether a rotation is ambiguous."""

    shift: Shift
    candidates: tuple[Candidate, ...]
    ambiguous: bool

    @property
    def chosen(self) -> list[Candidate]:
        """The candidates that take part in the prediction."""
        return [candidate for candidate in self.candidates if candidate.chosen]


def choose(Xs: FloatArray, codes: NDArray[Any], Xt: FloatArray, seed: int) -> Choice:
    """Choose the simplest alignment that explains the shift, or several that vote.

    1. The source as it is.
    2. Its classes in other shares: nothing has to be moved. If standardisation or the linear map
       explains the shift, too, these have to explain it better than they have to otherwise.
    3. Standardisation, quantiles and the linear map. If one explains the shift, all three vote, and
       the source as it is if it is as good as the best.
    4. An affine map with a rotation.
    5. If even the best is far from explaining the shift, those that are as good with other shares.
    6. Nothing explains the shift: the affine map if it halves what the best of the others leaves
       beyond noise, else the vote of step 3.

    Columns are to be in comparable units.
    """
    sample = _Sample(Xs, codes, Xt, seed)
    plain = sample.candidate("none")
    if plain.explains:
        return _choice("none", [plain], [plain])
    weighted = sample.candidate("none", estimated=True)
    simple = [sample.candidate(kind) for kind in _SIMPLE]
    tried = [plain, weighted, *simple]
    moved = any(candidate.explains for candidate in simple)
    rivals = any(candidate.explains for candidate in simple if candidate.kind != "quantiles")
    if weighted.explains and (not rivals or weighted.deviations.max() <= CLOSE):
        return _choice("class shares", tried, [weighted])
    voters = [plain, *simple] if plain in _as_good_as_the_best([plain, *simple]) else simple
    if moved:
        return _choice("columns", tried, voters)
    affine = sample.candidate("affine")
    tried.append(affine)
    if affine.explains:
        return _choice("axes", tried, [affine], sample.ambiguous(affine))
    best = _as_good_as_the_best([*simple, affine])
    if all(candidate.deviations.max() > FAR for candidate in best):
        near = affine.fitted.rotation
        for candidate in best:
            tried.append(sample.candidate(candidate.kind, estimated=True, near=near))
            if candidate.needs_shares(tried[-1]):
                return _choice("both", tried, tried[-1:], sample.ambiguous(tried[-1]))
    if affine.excess < 0.5 * min(candidate.excess for candidate in simple):
        return _choice("unexplained", tried, [affine], sample.ambiguous(affine))
    return _choice("unexplained", tried, voters)


class _Sample:
    """Some rows of both domains, on which candidates are tried."""

    def __init__(self, Xs: FloatArray, codes: NDArray[Any], Xt: FloatArray, seed: int) -> None:
        rows = some_of_each(codes)
        self.Xs, self.codes, self.Xt = Xs[rows], codes[rows], Xt[some_rows(len(Xt))]
        self.own, self.seed = source_shares(codes), seed

    def candidate(
        self, kind: Kind, *, estimated: bool = False, near: FloatArray | None = None
    ) -> Candidate:
        """Fit an alignment and compare what it leaves with what splits of the source leave."""
        rows = self.Xs, self.codes, self.Xt
        # Between splits a rotation has nothing to find, and is what costs time.
        still: Kind = "linear" if kind == "affine" else kind
        fit_split: Callable[..., Fitted]
        if estimated:
            # In the plane every angle is cheap to try; beyond, stay near the map without shares.
            near = near if self.Xs.shape[1] > 2 else None
            fitted = fit_jointly(kind, *rows, self.own, near=near)
            fit_split = partial(fit_jointly, still, own=self.own, start=fitted.shares, turns=3)
        else:
            fitted = fit_alone(kind, *rows, self.own)
            fit_split = partial(fit_alone, still, shares=fitted.shares)
        noise = split_residuals(
            fit_split, fitted.map(self.Xs), self.codes, fitted.shares, len(self.Xt),
            by_class=estimated or kind != "none", seed=self.seed,
        )  # fmt: skip
        return Candidate(
            kind, "estimated" if estimated else "source", fitted.shares,
            np.array(fitted.residuals), noise.mean(axis=0), noise.std(axis=0), fitted=fitted,
        )  # fmt: skip

    def ambiguous(self, candidate: Candidate) -> bool:
        """Whether half a turn more in the plane of two axes explains the target as well."""
        fitted = candidate.fitted
        if fitted.rotation is None:
            return False
        bound = fitted.residuals[0] + DEVIATIONS * candidate.noise_deviations[0]
        for signs in half_turns(self.Xs.shape[1]):
            turned = fit_map(
                "affine", self.Xs, self.codes, self.Xt, fitted.shares,
                rotation=fitted.rotation * signs,
            )  # fmt: skip
            residuals = with_residuals(turned, self.Xs, self.codes, self.Xt).residuals
            if residuals[0] <= bound:
                return True
        return False


def _as_good_as_the_best(candidates: list[Candidate]) -> list[Candidate]:
    """Those whose excess is at most that of the best, or zero, and what noise makes of it."""
    best = min(candidates, key=lambda candidate: candidate.excess)
    bound = max(best.excess, 0.0) + DEVIATIONS * best.noise_deviations[0]
    return [candidate for candidate in candidates if candidate.excess <= bound]


def _choice(
    shift: Shift, tried: list[Candidate], chosen: list[Candidate], ambiguous: bool = False
) -> Choice:
    marked = tuple(replace(c, chosen=any(c is other for other in chosen)) for c in tried)
    return Choice(shift, marked, ambiguous)
