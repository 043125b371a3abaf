"""Quantiles and Rosenblatt transforms by compiled loops (:mod:`krda._fast.kernels`).

Arrays hold a coordinate's, a hidden unit's or a component's rows side by side.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

import krda.transport
from krda._fast import kernels
from krda._switch import accelerates
from krda.density import mixture
from krda.density.rnade import MAX_LOG_VARIANCE, RNADEDensity

if not kernels.ENABLED:
    raise ImportError("numba may not compile here (NUMBA_DISABLE_JIT).")

_TINY = torch.finfo(torch.float64).tiny


def _usual(x: Tensor) -> bool:
    return x.dtype == torch.float64 and x.device.type == "cpu" and x.numel() > 0


@accelerates(mixture.quantile)
def quantile(
    u: Tensor,
    weights: Tensor,
    means: Tensor,
    stds: Tensor,
    *,
    method: mixture.QuantileMethod = "newton",
) -> Tensor:
    """Solve as the plain code does, by Halley's steps; what it refuses is left to it."""
    # NaN compares false; denormal probabilities are the plain code's.
    if method != "newton" or not _usual(u) or not _TINY <= float(u.min()) <= float(u.max()) < 1.0:
        return NotImplemented
    rows, n = u.detach().reshape(-1).contiguous(), means.shape[-1]
    w, mu, sigma = (
        p.detach().expand(*u.shape, n).reshape(len(rows), n).mT.contiguous().numpy()
        for p in (weights, means, stds)
    )
    z = torch.empty_like(rows)
    least = 2.0 * math.sqrt(_TINY)
    solved = kernels.quantile(rows.numpy(), w, mu, sigma, z.numpy(), least)
    return z.view(u.shape) if solved else NotImplemented


@accelerates(RNADEDensity.rosenblatt)
def rosenblatt(density: RNADEDensity, x: Tensor) -> Tensor:
    """Transform as the plain code does."""
    return _transform(density, x, inverse=False) if _usual(x) else NotImplemented


@accelerates(RNADEDensity.inverse_rosenblatt)
def inverse_rosenblatt(density: RNADEDensity, u: Tensor) -> Tensor:
    """Transform as the plain code does."""
    return _transform(density, u, inverse=True) if _usual(u) else NotImplemented


def _transform(density: RNADEDensity, rows: Tensor, *, inverse: bool) -> Tensor:
    """Apply either transform block by block: beside the result, memory is a block's."""
    n, d = rows.shape
    result = rows.new_empty(d, n)
    with torch.no_grad():
        for start in range(0, n, krda.transport.BLOCK_ROWS):
            block = slice(start, start + krda.transport.BLOCK_ROWS)
            columns, out = rows[block].mT.contiguous(), result[:, block]
            a = density.c.unsqueeze(1).repeat(1, columns.shape[1])
            h, heads = torch.empty_like(a), a.new_empty(density.head_bias.shape[1], a.shape[1])
            for i in range(d):
                # relu(C^i a^i) / C^i: the positive part of a^i, or the negative one if C^i < 0.
                torch.clamp(a, **{"min" if density.C[i] >= 0.0 else "max": 0.0}, out=h)
                matrix = density.C[i] * density.head_weight[i].mT
                torch.addmm(density.head_bias[i].unsqueeze(1), matrix, h, out=heads)
                mixtures = heads.view(3, -1, a.shape[1])
                kernels.activate(mixtures.numpy(), density.sigma_floor**2, MAX_LOG_VARIANCE)
                if inverse:
                    by_row = (p.mT for p in mixtures)
                    method = density.quantile_method
                    try:
                        out[i] = mixture.quantile(columns[i], *by_row, method=method)
                    except mixture.NotFiniteError as error:
                        raise mixture.NotFiniteError(error.what, start + error.row) from error
                else:
                    w, mu, sigma = mixtures.numpy()
                    kernels.cdf(columns[i].numpy(), w, mu, sigma, out[i].numpy())
                value = density.conditioning_value(i, out[i] if inverse else columns[i])
                a.addcmul_(density.W[i].unsqueeze(1), value)
    return result.mT
