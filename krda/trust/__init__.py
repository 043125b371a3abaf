"""Whether a fitted map can be trusted: a check without target labels."""

from krda.trust.check import assess
from krda.trust.report import Assessment

__all__ = ["Assessment", "assess"]
