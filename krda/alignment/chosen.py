"""An alignment that was chosen, fitted to all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from krda.alignment.choice import Candidate, Choice, choose
from krda.alignment.fitting import Kind, comparable_units, fit_map, map_in_units
from krda.alignment.shares import class_weights, some_of_each, some_rows, source_shares
from krda.validation import FloatArray


@dataclass(frozen=True)
class ChosenAlignment:
    """The candidates of a choice; those that take part have maps that are fitted to all rows.

    The maps work on columns divided by ``scale``.
    """

    choice: Choice
    scale: FloatArray

    @classmethod
    def fit(
        cls, kind: Kind | Literal["auto"], Xs: FloatArray, codes: NDArray[Any], Xt: FloatArray,
        seed: int,
    ) -> Self:  # fmt: skip
        """Fit an alignment of one kind, or choose one on some of the rows and fit it to all.

        Labels are the codes 0, 1, ...
        """
        scale = comparable_units(Xs, Xt)
        source, target = Xs / scale, Xt / scale
        if kind == "auto":
            choice = choose(source, codes, target, seed)
        else:
            rows, own = some_of_each(codes), source_shares(codes)
            fitted = fit_map(kind, source[rows], codes[rows], target[some_rows(len(target))], own)
            unknown = np.full(2, np.nan)
            only = Candidate(
                kind, "source", own, unknown, unknown, unknown, chosen=True, fitted=fitted
            )
            choice = Choice("unexplained", (only,), ambiguous=False)
        full = [
            replace(
                c,
                fitted=fit_map(c.kind, source, codes, target, c.shares, rotation=c.fitted.rotation),
            )
            if c.chosen
            else c
            for c in choice.candidates
        ]
        return cls(replace(choice, candidates=tuple(full)), scale)

    def maps(self, Xs: FloatArray) -> list[FloatArray]:
        """Map source rows by each candidate that takes part."""
        return [map_in_units(c.fitted.map, Xs, self.scale) for c in self.choice.chosen]

    def __call__(self, Xs: FloatArray) -> FloatArray:
        """Map source rows by the mean of the maps."""
        return np.mean(self.maps(Xs), axis=0)

    def weights(self, codes: NDArray[Any]) -> FloatArray | None:
        """Weights of the source rows, of mean one; None if class shares stay the source's."""
        first = self.choice.chosen[0]
        if first.class_shares == "source":
            return None
        return len(codes) * class_weights(codes, first.shares)
