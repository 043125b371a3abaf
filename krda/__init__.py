"""Knothe-Rosenblatt Domain Adaptation for tabular data (arXiv:2110.02716)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from krda._version import __version__

if TYPE_CHECKING:
    from krda.adaptation.adapt import Adaptation as Adaptation
    from krda.adaptation.adapt import adapt as adapt
    from krda.adaptation.saving import load as load
    from krda.adaptation.saving import save as save
    from krda.adaptation.verdict import Verdict as Verdict
    from krda.alignment.auto import AutoAdaptation as AutoAdaptation
    from krda.alignment.estimators import AffineAlignment as AffineAlignment
    from krda.alignment.estimators import ClassReweighting as ClassReweighting
    from krda.alignment.estimators import ColumnQuantiles as ColumnQuantiles
    from krda.alignment.estimators import LinearOT as LinearOT
    from krda.alignment.estimators import Standardize as Standardize
    from krda.base import AlignedClassifier as AlignedClassifier
    from krda.base import DomainAdaptationClassifier as DomainAdaptationClassifier
    from krda.density.gaussian import LinearGaussianDensity as LinearGaussianDensity
    from krda.density.options import TrainingOptions as TrainingOptions
    from krda.density.rnade import RNADE as RNADE
    from krda.density.rnade import RNADEDensity as RNADEDensity
    from krda.density.training import DivergenceError as DivergenceError
    from krda.density.training import TrainingHistory as TrainingHistory
    from krda.estimator import KRDA as KRDA
    from krda.transformer import KnotheRosenblatt as KnotheRosenblatt
    from krda.transport import Density as Density
    from krda.transport import knothe_rosenblatt as knothe_rosenblatt

# Loaded when they are first asked for: `python -m krda --help` needs no numerical library.
_MODULES = {
    "Adaptation": "adaptation.adapt",
    "AffineAlignment": "alignment.estimators",
    "AlignedClassifier": "base",
    "AutoAdaptation": "alignment.auto",
    "ClassReweighting": "alignment.estimators",
    "ColumnQuantiles": "alignment.estimators",
    "Density": "transport",
    "DivergenceError": "density.training",
    "DomainAdaptationClassifier": "base",
    "KRDA": "estimator",
    "KnotheRosenblatt": "transformer",
    "LinearOT": "alignment.estimators",
    "LinearGaussianDensity": "density.gaussian",
    "RNADE": "density.rnade",
    "RNADEDensity": "density.rnade",
    "Standardize": "alignment.estimators",
    "TrainingHistory": "density.training",
    "TrainingOptions": "density.options",
    "Verdict": "adaptation.verdict",
    "adapt": "adaptation.adapt",
    "knothe_rosenblatt": "transport",
    "load": "adaptation.saving",
    "save": "adaptation.saving",
}

__all__ = ["__version__", *_MODULES]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"krda.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
