"""Optional accelerators: each registers in place of a plain function of the same signature.

Nothing but the one switch, :mod:`krda._switch`, imports this package. The results are those of the
plain code up to rounding. Without numba there are no compiled loops.

- :mod:`krda._fast.training` in place of :func:`krda.density.training.fit_all`;
- :mod:`krda._fast.loops` in place of :func:`krda.density.mixture.quantile` and of the two
  Rosenblatt transforms of :class:`krda.density.rnade.RNADEDensity`.
"""

from contextlib import suppress

from krda._fast import training as training

with suppress(ImportError):  # no numba, or it may not compile
    from krda._fast import loops as loops
