"""The version of the package; CITATION.cff names it, too."""

__version__ = "0.2.0"
