"""Knothe-Rosenblatt Domain Adaptation for tabular data (arXiv:2110.02716)."""

from krda._version import __version__
from krda.adaptation import AlignedClassifier, DomainAdaptationClassifier
from krda.estimator import KRDA
from krda.gaussian import LinearGaussianDensity
from krda.rnade import RNADE, RNADEDensity
from krda.training import DivergenceError, TrainingHistory, TrainingOptions
from krda.transformer import KnotheRosenblatt
from krda.transport import Density, knothe_rosenblatt

# The optional accelerators register here, and nowhere else, with the one switch, krda._switch.
from krda import _fast as _fast  # isort: skip

__all__ = [
    "KRDA",
    "RNADE",
    "AlignedClassifier",
    "Density",
    "DivergenceError",
    "DomainAdaptationClassifier",
    "KnotheRosenblatt",
    "LinearGaussianDensity",
    "RNADEDensity",
    "TrainingHistory",
    "TrainingOptions",
    "__version__",
    "knothe_rosenblatt",
]
