"""Optional accelerators: each registers in place of a plain function of the same signature.

Nothing but ``krda/__init__.py`` imports this package. Without it, or with what is missing here
(numba, for the compiled loops), the plain code runs and gives the same results up to rounding:

- :mod:`krda._fast.training` in place of :func:`krda.training.fit_all`;
- :mod:`krda._fast.loops` in place of :func:`krda.mixture.quantile` and of the two Rosenblatt
  transforms of :class:`krda.rnade.RNADEDensity`.
"""

from contextlib import suppress

from krda._fast import training as training

with suppress(ImportError):  # no numba, or it may not compile
    from krda._fast import loops as loops
