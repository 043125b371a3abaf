"""Accelerators: each registers in place of a plain function of the same signature.

Nothing but the one switch, :mod:`krda._switch`, imports this package. The results are those of the
plain code up to rounding; no code needs it.

- :mod:`krda._fast.training` in place of :func:`krda.density.training.fit_maximum_likelihood`. It
  is in use wherever krda is, since it needs torch alone;
- :mod:`krda._fast.loops` in place of :func:`krda.density.mixture.quantile` and of the two
  Rosenblatt transforms of :class:`krda.density.rnade.RNADEDensity`: compiled loops, in use if numba
  is installed.
"""

from contextlib import suppress

from krda._fast import training as training

with suppress(ImportError):  # no numba, or it may not compile
    from krda._fast import loops as loops
