"""Made-up rows of two domains, of any size: the same numbers for every peer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from krda.base import Domains

FloatArray = NDArray[np.float64]

_COMPONENTS = 3


def domains(n: int, d: int, seed: int = 0) -> Domains:
    """Draw correlated, skewed rows with several modes, each domain of another shape.

    A row is ``v + v^2 / 5`` with ``v = m_k + A z``, z standard normal, k one of three components, A
    lower triangular with correlations that fade with distance.
    """
    parts = []
    for domain in range(2):
        shape = np.random.default_rng([seed, d, domain])
        means = 0.7 * shape.normal(size=(_COMPONENTS, d))
        distance = np.arange(d)[:, None] - np.arange(d)
        A = np.tril(0.6 ** np.abs(distance)) * shape.uniform(0.3, 0.8, size=(d, d))
        rng = np.random.default_rng([seed, d, domain, n])
        k = rng.integers(_COMPONENTS, size=n)
        X = rng.normal(size=(n, d)) @ A.T
        X += means[k]
        X += 0.2 * X * X
        parts.append((X, k % 2))
    (Xs, ys), (Xt, _) = parts
    return Domains(Xs, ys, Xt)


def standardized(X: FloatArray) -> FloatArray:
    """Columns of mean 0 and standard deviation 1."""
    return (X - X.mean(axis=0)) / X.std(axis=0)
