"""The methods that can be named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from krda.alignment.auto import AutoAdaptation
from krda.alignment.estimators import (
    AffineAlignment,
    ClassReweighting,
    ColumnQuantiles,
    LinearOT,
    Standardize,
)


def _krda(classifier: Any, seed: int) -> Any:
    from krda.estimator import KRDA

    return KRDA(
        alignment="auto", column_order="consensus", classifier=classifier, random_state=seed
    )


def _plain(classifier: Any, seed: int) -> Any:
    del seed
    return ClassReweighting(classifier, class_shares="source")


#: From a method's name to a function of a classifier and a seed that makes it.
METHODS: dict[str, Callable[[Any, int], Any]] = {
    "auto": lambda classifier, seed: AutoAdaptation(classifier, random_state=seed),
    "plain": _plain,
    "reweighted": lambda classifier, seed: ClassReweighting(classifier),
    "standardize": lambda classifier, seed: Standardize(classifier),
    "quantiles": lambda classifier, seed: ColumnQuantiles(classifier),
    "linear": lambda classifier, seed: LinearOT(classifier),
    "affine": lambda classifier, seed: AffineAlignment(classifier),
    "krda": _krda,
}
