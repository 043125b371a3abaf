r"""One-dimensional Gaussian mixtures, many at once: density, distribution function, quantile.

Every function takes the parameters of a batch of mixtures, one mixture a row:

    p(x) = sum_k w_k N(x; mu_k, sigma_k),        F(x) = sum_k w_k Phi((x - mu_k) / sigma_k)

with ``Phi`` the standard normal distribution function (paper, section 4.2). They are pure functions
on tensors: no training, no state. Quantiles are meant for float64.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

QuantileMethod = Literal["newton", "bisection"]

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)

# Rows solved together by `quantile`: the working set of a block (some ten arrays of N columns)
# stays in the second-level cache.
_BLOCK_ROWS = 8192

# Bisection gains a bit a step; 2^-k from the widest double range to the last bit takes fewer than
# this many. A row that is still open then is a bug or NaN input, and raises.
_MAX_STEPS = 2200


def normal_cdf(x: Tensor) -> Tensor:
    r"""Standard normal distribution function ``Phi``, exact to rounding in the lower tail too.

    ``torch.special.ndtr`` computes ``(1 + erf(x / sqrt 2)) / 2``, whose lower tail cancels: at
    x = -8 two digits are left, at -9 none. ``erfc`` keeps them.

    Parameters
    ----------
    x : Tensor

    Returns
    -------
    u : Tensor of the same shape
    """
    return 0.5 * torch.special.erfc(x * -math.sqrt(0.5))


def log_prob(x: Tensor, log_weights: Tensor, means: Tensor, stds: Tensor) -> Tensor:
    r"""Log-density of each row under its own mixture.

    ``log p(x) = logsumexp_k (log w_k - z_k^2 / 2 - log sigma_k) - log sqrt(2 pi)`` with
    ``z_k = (x - mu_k) / sigma_k``.

    Parameters
    ----------
    x : Tensor of shape (...)
    log_weights : Tensor of shape (..., N)
        Logarithms of weights that sum to one.
    means : Tensor of shape (..., N)
    stds : Tensor of shape (..., N)
        Standard deviations, positive.

    Returns
    -------
    log_prob : Tensor of shape (...)
    """
    z = (x.unsqueeze(-1) - means) / stds
    return torch.logsumexp(log_weights - 0.5 * z * z - torch.log(stds), dim=-1) - _LOG_SQRT_2PI


def cdf(x: Tensor, weights: Tensor, means: Tensor, stds: Tensor) -> Tensor:
    r"""Distribution function of each row's mixture, ``F(x) = sum_k w_k Phi((x - mu_k)/sigma_k)``.

    Parameters
    ----------
    x : Tensor of shape (...)
    weights, means, stds : Tensor of shape (..., N)

    Returns
    -------
    u : Tensor of shape (...)
        In [0, 1]: rounding of the weights' sum cannot lead out of it.
    """
    z = (x.unsqueeze(-1) - means) / stds
    return (weights * normal_cdf(z)).sum(-1).clamp(0.0, 1.0)


def quantile(
    u: Tensor,
    weights: Tensor,
    means: Tensor,
    stds: Tensor,
    *,
    method: QuantileMethod = "newton",
) -> Tensor:
    r"""Quantile of each row's mixture: the root of ``F(z) = u`` (paper, section 4.2).

    Parameters
    ----------
    u : Tensor of shape (...)
        Probabilities in the open interval (0, 1).
    weights, means, stds : Tensor of shape (..., N)
        The mixtures; stds positive. float64 is expected, for the accuracy below.
    method : {"newton", "bisection"}
        "bisection" is the paper's way, kept as the plain reference: the bracket
        ``[-2^k, 2^k]`` doubles until it holds the root, then halves until it can no more.
        "newton" (default) starts from the bracket ``[min_k q_k, max_k q_k]`` of the components'
        own quantiles ``q_k = mu_k + sigma_k Phi^{-1}(u)``, which always holds the root, and makes
        Newton steps on ``Phi^{-1}(F(z)) - Phi^{-1}(u)``, a function that is linear in z for a
        single Gaussian; a step that leaves the bracket, or is longer than half the last step but
        one, gives way to a bisection, so that steps shrink at least geometrically. Rows leave the
        work as they converge. The upper half is solved as the lower half of the mirrored mixture,
        so that ``1 - u`` keeps its digits.

    Returns
    -------
    z : Tensor of shape (...)
        With ``|F(z) - u| <= 1e-12`` wherever z is represented that finely in floating point.

    Raises
    ------
    ValueError
        A probability outside (0, 1), NaN included, or a method that does not exist.
    """
    if not bool(((u > 0) & (u < 1)).all()):
        raise ValueError(
            "Quantiles need probabilities strictly between 0 and 1, got a value outside or NaN. "
            "Clip them first, as knothe_rosenblatt does with its eps."
        )
    if method not in ("newton", "bisection"):
        raise ValueError(f"method must be 'newton' or 'bisection', got {method!r}.")
    solve = _newton if method == "newton" else _bisection
    n_components = means.shape[-1]
    shape = u.shape
    rows = u.reshape(-1)
    flat = [
        p.expand(*shape, n_components).reshape(-1, n_components) for p in (weights, means, stds)
    ]
    blocks = [
        solve(rows[i : i + _BLOCK_ROWS], *(p[i : i + _BLOCK_ROWS] for p in flat))
        for i in range(0, len(rows), _BLOCK_ROWS)
    ]
    return torch.cat(blocks).reshape(shape) if blocks else u.clone()


def _bisection(u: Tensor, weights: Tensor, means: Tensor, stds: Tensor) -> Tensor:
    """Solve F(z) = u as the paper does; all rows of shape (n,), parameters (n, N)."""
    bound = torch.ones_like(u)
    while True:
        outside = (cdf(-bound, weights, means, stds) > u) | (cdf(bound, weights, means, stds) < u)
        if not bool(outside.any()):
            break
        bound = torch.where(outside, 2.0 * bound, bound)
        if not bool(torch.isfinite(bound).all()):
            raise ValueError("No interval [-2^k, 2^k] holds the quantile: check the mixtures.")
    low, high = -bound, bound
    for _ in range(_MAX_STEPS):
        middle = 0.5 * (low + high)
        if bool(((middle <= low) | (middle >= high)).all()):
            return middle
        below = cdf(middle, weights, means, stds) < u
        low = torch.where(below, middle, low)
        high = torch.where(below, high, middle)
    raise RuntimeError(f"Bisection did not end within {_MAX_STEPS} steps: NaN in the mixtures?")


def _newton(u: Tensor, weights: Tensor, means: Tensor, stds: Tensor) -> Tensor:
    """Solve F(z) = u by safeguarded Newton steps; rows of shape (n,), parameters (n, N)."""
    sign = torch.where(u > 0.5, -1.0, 1.0).to(u.dtype)
    p = torch.where(u > 0.5, 1.0 - u, u)  # exact: u in [0.5, 1]
    means = means * sign.unsqueeze(-1)
    score = torch.special.ndtri(p)
    component_quantiles = means + stds * score.unsqueeze(-1)
    low = component_quantiles.amin(-1)
    high = component_quantiles.amax(-1)
    z = ((weights * component_quantiles).sum(-1)).clamp(low, high)

    result = z.clone()
    open_rows = torch.arange(len(u), device=u.device)
    last = last_but_one = high - low
    eps = torch.finfo(u.dtype).eps
    for _ in range(_MAX_STEPS):
        standard = (z.unsqueeze(-1) - means) / stds
        value = (weights * normal_cdf(standard)).sum(-1)
        density = (weights / stds * torch.exp(-0.5 * standard * standard)).sum(-1)
        below = value < p
        low = torch.where(below, z, low)
        high = torch.where(below, high, z)
        normal = torch.special.ndtri(value.clamp(1e-300, 1.0))
        # d/dz Phi^{-1}(F(z)) = f(z) / phi(Phi^{-1}(F(z))); the factors 1/sqrt(2 pi) cancel.
        step = (score - normal) * torch.exp(-0.5 * normal * normal) / density
        new = z + step
        # A NaN step compares false and gives way to the bisection, too.
        newton = (new > low) & (new < high) & (step.abs() <= 0.5 * last_but_one)
        middle = 0.5 * (low + high)
        new = torch.where(newton, new, middle)
        moved = (new - z).abs()
        # Done: the residual is what rounding of F and of z leaves of it, or z can hardly move.
        exact = (value - p).abs() <= 4.0 * eps * (p + 0.4 * density * z.abs())
        pinned = (moved <= 2.0 * eps * z.abs()) | (middle <= low) | (middle >= high)
        result[open_rows] = torch.where(exact, z, new)
        stay = ~(exact | pinned)
        if not bool(stay.any()):
            return result * sign
        if bool(stay.all()):
            z, last, last_but_one = new, moved, last
            continue
        open_rows, z, low, high, p, score, last_but_one, last, means, stds, weights = (
            t[stay]
            for t in (open_rows, new, low, high, p, score, last, moved, means, stds, weights)
        )
    raise RuntimeError(
        f"The quantile search did not end within {_MAX_STEPS} steps: NaN in the mixtures?"
    )
