r"""One-dimensional Gaussian mixtures, many at once: density, distribution function, quantile.

Every function takes the parameters of a batch of mixtures, one mixture a row:

    p(x) = sum_k w_k N(x; mu_k, sigma_k),        F(x) = sum_k w_k Phi((x - mu_k) / sigma_k)

with ``Phi`` the standard normal distribution function (paper, section 5.2). They are pure functions
of tensors.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from krda._switch import accelerated

QuantileMethod = Literal["newton", "bisection"]

# A bisection gains one bit a step: no search in double precision takes this many.
_MAX_STEPS = 2200


def normal_cdf(x: Tensor) -> Tensor:
    r"""Standard normal distribution function ``Phi``, accurate in the lower tail too.

    ``torch.special.ndtr`` cancels there: at x = -8 it has two digits left, ``erfc`` keeps them all.
    """
    return 0.5 * torch.special.erfc(x * -math.sqrt(0.5))


def log_prob(x: Tensor, log_weights: Tensor, means: Tensor, stds: Tensor) -> Tensor:
    r"""Log-density at x (...) of each row's mixture, with parameters of shape (..., N).

    ``log p(x) = logsumexp_k (log w_k - z_k^2 / 2 - log sigma_k) - log sqrt(2 pi)`` with
    ``z_k = (x - mu_k) / sigma_k``.
    """
    z = (x.unsqueeze(-1) - means) / stds
    joint = log_weights - 0.5 * z * z - torch.log(stds)
    return torch.logsumexp(joint, dim=-1) - 0.5 * math.log(2.0 * math.pi)


def cdf(x: Tensor, weights: Tensor, means: Tensor, stds: Tensor) -> Tensor:
    r"""Distribution function at x (...) of each row's mixture, with parameters (..., N).

    ``F(x) = sum_k w_k Phi((x - mu_k) / sigma_k)``, within [0, 1] whatever the weights' rounding.
    """
    z = (x.unsqueeze(-1) - means) / stds
    return (weights * normal_cdf(z)).sum(-1).clamp(0.0, 1.0)


@accelerated
@torch.no_grad()
def quantile(
    u: Tensor,
    weights: Tensor,
    means: Tensor,
    stds: Tensor,
    *,
    method: QuantileMethod = "newton",
) -> Tensor:
    r"""Quantile of each row's mixture: the root of ``F(z) = u`` (paper, section 5.2).

    Parameters
    ----------
    u : Tensor of shape (...)
        Probabilities in the open interval (0, 1); float64 for the accuracy below.
    weights, means, stds : Tensor of shape (..., N)
        The mixtures; stds positive.
    method : {"newton", "bisection"}, default="newton"
        "bisection" is the paper's: the bracket ``[-2^k, 2^k]`` doubles until it holds the root,
        then halves until it cannot be halved. "newton" takes Newton's steps on
        ``log F(z) - log u`` within the bracket ``[min_k q_k, max_k q_k]`` of the components'
        quantiles ``q_k = mu_k + sigma_k Phi^{-1}(u)``, which always holds the root; an unsafe step
        is replaced by a bisection.

    Returns
    -------
    z : Tensor of shape (...)
        With ``|F(z) - u| <= 1e-12`` wherever floating point resolves z that finely; detached.

    Raises
    ------
    ValueError
        A probability outside (0, 1), a standard deviation that is not positive, or an unknown
        method.
    FloatingPointError
        A probability that is NaN, or a mixture that holds NaN or infinity.

    Examples
    --------
    >>> import torch
    >>> from krda.density.mixture import quantile
    >>> one = torch.ones(1, 1, dtype=torch.float64)
    >>> quantile(torch.tensor([0.975], dtype=torch.float64), one, 0 * one, one)
    tensor([1.9600], dtype=torch.float64)
    """
    search = {"newton": _newton, "bisection": _bisection}.get(method)
    if search is None:
        raise ValueError(f"method must be 'newton' or 'bisection', got {method!r}.")
    rows, n = u.reshape(-1), means.shape[-1]
    mixtures = [
        p.expand(*u.shape, n).reshape(len(rows), n).contiguous() for p in (weights, means, stds)
    ]
    _check(rows, *mixtures)
    return search(rows, *mixtures).reshape(u.shape)


def _check(u: Tensor, weights: Tensor, means: Tensor, stds: Tensor) -> None:
    """Raise unless rows (n,) are probabilities, and (n, N) the parameters of mixtures."""
    if bool(torch.isnan(u).any()):
        raise FloatingPointError("A probability whose quantile is to be computed is NaN.")
    if not bool(((u > 0.0) & (u < 1.0)).all()):
        raise ValueError(
            "Quantiles need probabilities strictly between 0 and 1, got one outside. Clip them "
            "first, as knothe_rosenblatt does with its eps."
        )
    for name, values in (("weights", weights), ("means", means), ("stds", stds)):
        bad = (~torch.isfinite(values)).any(-1).nonzero()
        if len(bad):
            raise FloatingPointError(
                f"The {name} of mixture {int(bad[0])} hold NaN or infinity. Check what they were "
                "computed from: a row far outside the data that a model was fitted to, or a fit "
                "that diverged."
            )
    # The square of a standard deviation, and of its inverse, must be in range.
    least = 2.0 * math.sqrt(torch.finfo(stds.dtype).tiny)
    if bool((stds < least).any()):
        raise ValueError(
            f"The stds of mixtures must be positive (at least {least:.1e}), got {stds.min():g}. "
            "Give them a floor."
        )


def _bisection(u: Tensor, weights: Tensor, means: Tensor, stds: Tensor) -> Tensor:
    """Solve F(z) = u as the paper does; rows of shape (n,), parameters (n, N)."""
    high = torch.ones_like(u)
    while True:
        outside = (cdf(-high, weights, means, stds) > u) | (cdf(high, weights, means, stds) < u)
        if not bool(outside.any()):
            break
        high = torch.where(outside, 2.0 * high, high)
        if not bool(torch.isfinite(high).all()):
            raise ValueError("No interval [-2^k, 2^k] holds the quantile: check the mixtures.")
    low = -high
    for _ in range(_MAX_STEPS):
        middle = 0.5 * (low + high)
        if bool(((middle <= low) | (middle >= high)).all()):
            return middle
        below = cdf(middle, weights, means, stds) < u
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    raise RuntimeError("The quantile search did not end: this is a bug.")


def _newton(u: Tensor, weights: Tensor, means: Tensor, stds: Tensor) -> Tensor:
    """Solve F(z) = u by guarded Newton steps; rows of shape (n,), parameters (n, N)."""
    # The upper half is solved as the lower half of the mirrored mixture: 1 - u keeps its digits.
    sign = torch.where(u > 0.5, -1.0, 1.0).to(u)
    p, means = torch.minimum(u, 1.0 - u), means * sign.unsqueeze(1)
    score = torch.special.ndtri(p).unsqueeze(1)
    quantiles = means + stds * score
    low, high = quantiles.amin(1), quantiles.amax(1)
    # The start: the quantile of the Gaussian with the mixture's mean and variance.
    mean = (weights * means).sum(1, keepdim=True)
    variance = (weights * (stds**2 + (means - mean) ** 2)).sum(1, keepdim=True)
    z = torch.clamp((mean + variance.sqrt() * score)[:, 0], low, high)
    z = torch.where(z.isnan(), 0.5 * low + 0.5 * high, z)  # a variance beyond double precision
    last = before_last = high - low
    eps = torch.finfo(u.dtype).eps
    result, rows = torch.empty_like(u), torch.arange(len(u), device=u.device)
    for _ in range(_MAX_STEPS):
        F = cdf(z, weights, means, stds)
        density = log_prob(z, weights.log(), means, stds).exp()
        error = torch.log(p / F)
        step = error * F / density
        low, high = torch.where(p > F, z, low), torch.where(p > F, high, z)
        middle = 0.5 * low + 0.5 * high
        # Solved: F is right up to rounding, or z is, or the bracket is closed. A small step says
        # little about z where F is wrong: components can be narrower than floating point resolves.
        solved = ((F - p).abs() <= 4 * eps * p) | (middle <= low) | (middle >= high)
        solved |= (step.abs() <= eps * z.abs()) & (error.abs() < 0.1)
        result[rows[solved]] = (z * sign)[solved]
        if bool(solved.all()):
            return result
        # NaN compares false, and is replaced too.
        new = z + step
        safe = (new > low) & (new < high) & (step.abs() <= 0.5 * before_last)
        new = torch.where(safe, new, middle)
        last, before_last = (new - z).abs(), last
        rows, p, sign, weights, means, stds, z, low, high, last, before_last = (
            t[~solved]
            for t in (rows, p, sign, weights, means, stds, new, low, high, last, before_last)
        )
    raise RuntimeError("The quantile search did not end: this is a bug.")
