r"""The Knothe-Rosenblatt map between two densities (paper, section 4).

``T = R_T^{-1} o R_S``: the source's Rosenblatt transform, then the target's inverse one. Each
coordinate keeps its conditional quantile, ``F_S^i(x^i | x^{<i}) = F_T^i(T(x)^i | T(x)^{<i})``.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

# Rows carried together: their hidden states stay in the processor's cache.
_BLOCK_ROWS = 2048


class Density(Protocol):
    """What the transport asks of a density on R^d."""

    @property
    def n_features(self) -> int:
        """Dimension d."""
        ...

    def log_prob(self, x: Tensor) -> Tensor:
        """Log-density of rows (n, d), as (n,)."""
        ...

    def rosenblatt(self, x: Tensor) -> Tensor:
        """Map rows (n, d) to conditional quantiles ``u^i = F^i(x^i | x^{<i})``."""
        ...

    def inverse_rosenblatt(self, u: Tensor) -> Tensor:
        """Map conditional quantiles (n, d) in (0, 1) to rows."""
        ...

    def sample(self, n: int, generator: torch.Generator) -> Tensor:
        """Draw n rows."""
        ...


def knothe_rosenblatt(source: Density, target: Density, x: Tensor, *, eps: float = 1e-8) -> Tensor:
    r"""Carry source rows to the target by the Knothe-Rosenblatt map (paper, Algorithm 1).

    Parameters
    ----------
    source, target : Density
        Of equal dimension d.
    x : Tensor of shape (n, d)
        Source rows; computed in float64.
    eps : float, default=1e-8
        Quantiles are clipped to ``[eps, 1 - eps]`` for numerical stability, as in the paper.

    Returns
    -------
    t : Tensor of shape (n, d), float64
        ``T(x)``. It follows the target density if x follows the source's (paper, Proposition 2).

    Raises
    ------
    ValueError
        Dimensions that do not agree, or rows that are not finite.
    """
    if x.ndim != 2 or not x.shape[1] == source.n_features == target.n_features:
        raise ValueError(
            f"x must have shape (n, d) with the densities' d; got {tuple(x.shape)}, a source "
            f"density of d = {source.n_features} and a target density of d = {target.n_features}."
        )
    x = x.to(torch.float64)
    if not bool(torch.isfinite(x).all()):
        raise ValueError("x holds NaN or infinity; remove or impute such rows first.")
    with torch.no_grad():
        blocks = [
            target.inverse_rosenblatt(source.rosenblatt(block).clamp(eps, 1.0 - eps))
            for block in torch.split(x, _BLOCK_ROWS)
        ]
    return torch.cat(blocks)
