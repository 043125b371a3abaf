"""What makes a real table fit for a density: one scale for all columns, constant columns set aside.

A conditional density is learnt on columns of about unit scale. Each domain can be standardised by
its own mean and standard deviation or both by those of the pooled rows. The Knothe-Rosenblatt map
does not change under increasing maps of single columns, so either choice leaves its definition
alone; what changes is how well the shared part of the network serves both domains. Standardising
each domain by itself keeps every column at unit scale however far apart the domains are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Scaling = Literal["domain", "pooled"]

# A column whose standard deviation is below this share of its largest magnitude is constant up to
# rounding; dividing by such a number would blow rounding errors up to unit scale.
_CONSTANT = 1e-12


@dataclass(frozen=True)
class Standardization:
    """Location and scale of one domain's columns.

    Attributes
    ----------
    location, scale : ndarray of shape (d,)
        Subtracted from a row, then divided by; scales are positive.
    """

    location: FloatArray
    scale: FloatArray

    def forward(self, X: FloatArray) -> FloatArray:
        """Bring rows (n, d) to unit scale."""
        return (X - self.location) / self.scale

    def backward(self, Z: FloatArray) -> FloatArray:
        """Bring rows (n, d) back to the domain's own scale."""
        return Z * self.scale + self.location


def constant_columns(X: FloatArray) -> NDArray[np.bool_]:
    """Find the columns that hold one value, up to rounding.

    Parameters
    ----------
    X : ndarray of shape (n, d)

    Returns
    -------
    constant : ndarray of shape (d,), bool
    """
    return X.std(axis=0) <= _CONSTANT * np.abs(X).max(axis=0)


def standardizations(
    Xs: FloatArray, Xt: FloatArray, scaling: Scaling
) -> tuple[Standardization, Standardization]:
    """Compute the standardisation of the source and of the target.

    Parameters
    ----------
    Xs : ndarray of shape (n_source, d)
    Xt : ndarray of shape (n_target, d)
        Without constant columns.
    scaling : {"domain", "pooled"}
        Each domain by its own mean and standard deviation, or both by those of the pooled rows,
        in which each domain counts half whatever its size.

    Returns
    -------
    source, target : Standardization

    Raises
    ------
    ValueError
        Another value of ``scaling``.
    """
    means = Xs.mean(axis=0), Xt.mean(axis=0)
    if scaling == "domain":
        return Standardization(means[0], Xs.std(axis=0)), Standardization(means[1], Xt.std(axis=0))
    if scaling == "pooled":
        location = (means[0] + means[1]) / 2
        variance = (((Xs - location) ** 2).mean(axis=0) + ((Xt - location) ** 2).mean(axis=0)) / 2
        pooled = Standardization(location, np.sqrt(variance))
        return pooled, pooled
    raise ValueError(f"scaling must be 'domain' or 'pooled', got {scaling!r}.")
