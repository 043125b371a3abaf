"""Which shift it is, and the simplest alignment that explains it.

Candidates are tried from the simplest on. A candidate *explains* the shift if what it leaves of the
energy distance is no more than the noise of the samples leaves. How much that is, splits of the
source say: the aligned source is cut in two at random, with the class shares of the target on one
side, and the candidate is fitted to the halves, between which there is nothing to explain.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from krda.alignment.fitting import (
    Fitted,
    Kind,
    distances_of,
    fit_alone,
    fit_jointly,
    fit_map,
    some_of_each,
    some_rows,
    source_shares,
)
from krda.alignment.noise import split_residuals
from krda.validation import FloatArray

Shift = Literal["none", "class shares", "columns", "axes", "both", "unexplained"]

#: Standard deviations of the noise up to which a residual counts as noise, and those by which two
#: candidates may differ to count as equally good.
DEVIATIONS = 3.0

#: The same for a map together with other class shares: the two can fit almost anything.
JOINT_DEVIATIONS = 2.0

#: Axes between which half turns are tried, to see whether a rotation is ambiguous.
_MOST_AXES = 10

_SIMPLE: tuple[Kind, ...] = ("standardize", "quantiles", "linear")


@dataclass(frozen=True)
class Candidate:
    """An alignment that was tried.

    Attributes
    ----------
    kind : {"none", "standardize", "quantiles", "linear", "affine"}
    class_shares : {"source", "estimated"}
    shares : ndarray of shape (n_classes,)
        Class shares that the source was weighted by, in the order of the sorted labels.
    residual : float
        Energy distance to the target that is left, in standard deviations of the columns; unbiased,
        so that it can be below zero.
    noise_mean, noise_deviation : float
        Of the residuals that splits of the source leave.
    chosen : bool
        Whether the candidate takes part in the prediction.
    """

    kind: Kind
    class_shares: Literal["source", "estimated"]
    shares: FloatArray
    residual: float
    noise_mean: float
    noise_deviation: float
    chosen: bool = False
    fitted: Fitted = field(repr=False, kw_only=True)

    @property
    def excess(self) -> float:
        """Residual beyond the mean of the noise."""
        return self.residual - self.noise_mean

    @property
    def explains(self) -> bool:
        """Whether what is left may be noise."""
        joint = self.kind != "none" and self.class_shares == "estimated"
        return self.excess <= (JOINT_DEVIATIONS if joint else DEVIATIONS) * self.noise_deviation

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


def choose(
    Xs: FloatArray, codes: NDArray[Any], Xt: FloatArray, seed: int, *, reweight: bool = True
) -> Choice:
    """Choose the simplest alignment that explains the shift, or several that are equally good.

    1. The source as it is, then its classes in other shares: nothing has to be moved.
    2. Maps of columns and linear maps. If one explains the shift, all that are as good as the best
       take part, and the source as it is if it is as good.
    3. An affine map with a rotation.
    4. Those of these maps that are as good as the best, with other class shares.
    5. Nothing explains the shift: those that are as good as the best take part.

    Columns are to be in comparable units. Without ``reweight`` the class shares stay the source's.
    """
    sample = _Sample(Xs, codes, Xt, seed)
    plain = sample.candidate("none")
    if plain.explains:
        return _choice("none", [plain], [plain])
    tried = [plain]
    if reweight:
        tried.append(sample.candidate("none", estimated=True))
        if tried[-1].explains:
            return _choice("class shares", tried, tried[-1:])
    simple = [plain, *(sample.candidate(kind) for kind in _SIMPLE)]
    tried += simple[1:]
    if any(candidate.explains for candidate in simple):
        return _choice("columns", tried, _as_good_as_the_best(simple))
    affine = sample.candidate("affine")
    tried.append(affine)
    if affine.explains:
        return _choice("axes", tried, [affine], sample.ambiguous(affine))
    best = _as_good_as_the_best([*simple, affine])
    for candidate in best if reweight else ():
        tried.append(sample.candidate(candidate.kind, estimated=True, near=affine.fitted.rotation))
        if tried[-1].explains:
            return _choice("both", tried, tried[-1:], sample.ambiguous(tried[-1]))
    return _choice("unexplained", tried, best, any(map(sample.ambiguous, best)))


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
        if estimated:
            # In the plane every angle is cheap to try; beyond, stay near the map without shares.
            near = near if self.Xs.shape[1] > 2 else None
            fitted = fit_jointly(kind, self.Xs, self.codes, self.Xt, self.own, near=near)
        else:
            fitted = fit_alone(kind, self.Xs, self.codes, self.Xt, self.own)
        noise = split_residuals(
            kind, fitted.map(self.Xs), self.codes, fitted.shares, len(self.Xt), self.own,
            estimated=estimated, seed=self.seed,
        )  # fmt: skip
        return Candidate(
            kind, "estimated" if estimated else "source", fitted.shares, fitted.residual,
            float(noise.mean()), float(noise.std()), fitted=fitted,
        )  # fmt: skip

    def ambiguous(self, candidate: Candidate) -> bool:
        """Whether half a turn more in the plane of two axes explains the target as well."""
        fitted = candidate.fitted
        if fitted.rotation is None:
            return False
        within = cdist(self.Xt, self.Xt)
        for i, j in combinations(range(min(self.Xs.shape[1], _MOST_AXES)), 2):
            flip = np.ones(self.Xs.shape[1])
            flip[[i, j]] = -1
            turned = fit_map(
                "affine", self.Xs, self.codes, self.Xt, fitted.shares,
                rotation=fitted.rotation * flip,
            )  # fmt: skip
            distances = distances_of(turned, self.Xs, self.codes, self.Xt, within)
            more = distances.energy(fitted.shares) - fitted.residual
            if more <= DEVIATIONS * candidate.noise_deviation:
                return True
        return False


def _as_good_as_the_best(candidates: list[Candidate]) -> list[Candidate]:
    """Those whose excess is at most that of the best, or zero, and what noise makes of it."""
    best = min(candidates, key=lambda candidate: candidate.excess)
    bound = max(best.excess, 0.0) + DEVIATIONS * best.noise_deviation
    return [candidate for candidate in candidates if candidate.excess <= bound]


def _choice(
    shift: Shift, tried: list[Candidate], chosen: list[Candidate], ambiguous: bool = False
) -> Choice:
    marked = tuple(replace(c, chosen=any(c is other for other in chosen)) for c in tried)
    return Choice(shift, marked, ambiguous)
