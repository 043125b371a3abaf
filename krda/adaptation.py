"""The old name of :mod:`krda.base`, and of some of :mod:`krda.validation`."""

from krda.base import (
    AlignedClassifier,
    AlignedSource,
    DomainAdaptationClassifier,
    Domains,
    fit_together,
    fresh_fit,
    new_classifier,
    seed_from,
)
from krda.validation import FloatArray, check_same_columns, remember_columns, require_finite

__all__ = [
    "AlignedClassifier",
    "AlignedSource",
    "DomainAdaptationClassifier",
    "Domains",
    "FloatArray",
    "check_same_columns",
    "fit_together",
    "fresh_fit",
    "new_classifier",
    "remember_columns",
    "require_finite",
    "seed_from",
]
