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


class NotFiniteError(FloatingPointError):
    """NaN or infinity in a row, counted from 0, whose quantile is to be computed."""

    def __init__(self, what: str, row: int) -> None:
        super().__init__(what, row)
        self.what, self.row = what, row

    def __str__(self) -> str:
        return (
            f"The {self.what} of mixture {self.row} hold NaN or infinity. Check what they were "
            "computed from: a row far outside the data that a model was fitted to, or a fit that "
            "diverged."
        )


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
    NotFiniteError
        A probability or a mixture that holds NaN or infinity.

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
    named = {"probabilities": u.unsqueeze(1), "weights": weights, "means": means, "stds": stds}
    for name, values in named.items():
        bad = (~torch.isfinite(values)).any(-1).nonzero()
        if len(bad):
            raise NotFiniteError(name, int(bad[0]))
    if not bool(((u > 0.0) & (u < 1.0)).all()):
        raise ValueError(
            "Quantiles need probabilities strictly between 0 and 1, got one outside. Clip them "
            "first, as knothe_rosenblatt does with its eps."
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

    def F(z: Tensor) -> Tensor:
        return cdf(z, weights, means, stds)

    # Double the bracket [-2^k, 2^k] until it holds the root.
    high = torch.ones_like(u)
    while bool((outside := (F(-high) > u) | (F(high) < u)).any()):
        high = torch.where(outside, 2.0 * high, high)
        if not bool(torch.isfinite(high).all()):
            raise ValueError("No interval [-2^k, 2^k] holds the quantile: check the mixtures.")
    # Halve it until no number lies between its ends.
    low, middle = -high, torch.zeros_like(u)
    while bool(((low < middle) & (middle < high)).any()):
        below = F(middle) < u
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
        middle = 0.5 * (low + high)
    return middle


def _newton(u: Tensor, weights: Tensor, means: Tensor, stds: Tensor) -> Tensor:
    """Solve F(z) = u by guarded Newton steps; rows of shape (n,), parameters (n, N)."""
    # Rows in the upper half are solved in the mirrored mixture, where F(-z) = 1 - u = p: both keep
    # their digits in the lower tail alone.
    sign = torch.where(u > 0.5, -1.0, 1.0).to(u)
    p, means = torch.minimum(u, 1.0 - u), means * sign.unsqueeze(1)
    # The bracket: the least and the largest quantile of the components.
    score = torch.special.ndtri(p).unsqueeze(1)
    quantiles = means + stds * score
    low, high = quantiles.amin(1), quantiles.amax(1)
    # The start: the quantile of the Gaussian with the mixture's mean and variance.
    mean = (weights * means).sum(1, keepdim=True)
    variance = (weights * (stds**2 + (means - mean) ** 2)).sum(1, keepdim=True)
    z = torch.clamp((mean + variance.sqrt() * score)[:, 0], low, high)
    z = torch.where(z.isnan(), 0.5 * low + 0.5 * high, z)  # a variance beyond double precision

    eps, solved = torch.finfo(u.dtype).eps, torch.zeros_like(u, dtype=torch.bool)
    last = before_last = high - low  # lengths of the last two steps
    for _ in range(_MAX_STEPS):
        # Newton's step on log F(z) - log p, whose derivative is f / F.
        F, f = cdf(z, weights, means, stds), log_prob(z, weights.log(), means, stds).exp()
        error = torch.log(p / F)
        step = error * F / f
        # F says on which side of z the root is.
        low, high = torch.where(p > F, z, low), torch.where(p > F, high, z)
        middle = 0.5 * low + 0.5 * high
        # Solved: F is right up to rounding, or the bracket is closed, or the step is no larger than
        # rounding. A small step says nothing where F is far off: z can be on a component narrower
        # than the distance between floating-point numbers.
        solved |= ((F - p).abs() <= 4 * eps * p) | (middle <= low) | (middle >= high)
        solved |= (step.abs() <= eps * z.abs()) & (error.abs() < 0.1)
        if bool(solved.all()):
            return z * sign
        # The guard: within the bracket, and at most half as long as the step before the last one;
        # otherwise bisect. (A step that is NaN is not safe either.)
        safe = (z + step > low) & (z + step < high) & (step.abs() <= 0.5 * before_last)
        new = torch.where(solved, z, torch.where(safe, z + step, middle))
        z, last, before_last = new, (new - z).abs(), last
    raise RuntimeError("The quantile search did not end: this is a bug.")
