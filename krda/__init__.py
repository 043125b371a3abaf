"""Knothe-Rosenblatt Domain Adaptation for tabular data (arXiv:2110.02716)."""

from krda._version import __version__
from krda.adaptation import AlignedClassifier, DomainAdaptationClassifier
from krda.estimator import KRDA
from krda.linear_gaussian import LinearGaussianDensity
from krda.rnade import RNADE, RNADEDensity
from krda.training import DivergenceError, TrainingHistory, TrainingOptions
from krda.transport import Density, knothe_rosenblatt

__all__ = [
    "KRDA",
    "RNADE",
    "AlignedClassifier",
    "Density",
    "DivergenceError",
    "DomainAdaptationClassifier",
    "LinearGaussianDensity",
    "RNADEDensity",
    "TrainingHistory",
    "TrainingOptions",
    "__version__",
    "knothe_rosenblatt",
]
