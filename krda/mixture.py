r"""One-dimensional Gaussian mixtures, many at once: density, distribution function, quantile.

Every function takes the parameters of a batch of mixtures, one mixture a row:

    p(x) = sum_k w_k N(x; mu_k, sigma_k),        F(x) = sum_k w_k Phi((x - mu_k) / sigma_k)

with ``Phi`` the standard normal distribution function (paper, section 5.2). They are pure functions
on tensors: no training, no state. Quantiles are meant for float64.
"""

from __future__ import annotations

import math
import threading
from typing import Literal

import torch
from torch import Tensor

try:
    from krda import kernels as kernels
except ImportError:  # No numba: torch does the same in about twice the time.
    kernels = None  # type: ignore[assignment]

#: Whether mixtures are inverted by compiled loops: where numba is installed and may compile.
COMPILED = kernels is not None and kernels.ENABLED

QuantileMethod = Literal["newton", "bisection"]

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)

# Rows bisected together: some ten arrays of N columns stay in the third-level cache.
_BISECTION_ROWS = 8192
# Rows solved together by the fast method: fewer, and the calls on them cost more than the work,
# all the more where threads share Python's lock; more gain nothing.
_FAST_ROWS = 32768
# Pairs of components, over all rows, that are compared at once: 4 MB.
_PAIRS = 2**19
# Solved rows are dropped while so many are left; fewer cost hardly less.
_WORTH_DROPPING = 512
# The numbers from here to _NEARLY, and _MAX_STEPS, stand in krda.kernels once more, which cannot
# be imported where numba is missing, and whose compiled loops would not notice a change here: what
# numba keeps in files it keeps as long as the loops' own file stays. A test holds them together.
# The fast method's unguarded steps on all rows, then on those that are still open.
_FIRST_STEPS = 3
_SECOND_STEPS = 3
# Beyond so many sigma sqrt 2 a component counts as if it lay there: its share of F or f, below
# 1e-170, would soon underflow, and erfc and exp take many times longer where they do.
_FARTHEST = 20.0
# Log F is nearly right where it is off by less than this, up to a factor of 2/sqrt(pi).
_NEARLY = 0.1

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


def cdf_by_component(
    x: Tensor, weights: Tensor, means: Tensor, stds: Tensor, *, out: Tensor
) -> None:
    """Compute :func:`cdf` of mixtures that hold each component's rows side by side, without graph.

    Parameters
    ----------
    x : Tensor of shape (n,), float64
    weights, means, stds : Tensor of shape (N, n), float64
        Contiguous, on the processor, without gradients.
    out : Tensor of shape (n,), float64
        Filled with F(x).
    """
    if COMPILED:
        kernels.cdf(x.numpy(), weights.numpy(), means.numpy(), stds.numpy(), out.numpy())
    else:
        out.copy_(cdf(x, weights.mT, means.mT, stds.mT))


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
        Probabilities in the open interval (0, 1).
    weights, means, stds : Tensor of shape (..., N)
        The mixtures; stds positive. float64 is expected, for the accuracy below.
    method : {"newton", "bisection"}
        "bisection" is the paper's way, kept as the plain reference: the bracket
        ``[-2^k, 2^k]`` doubles until it holds the root, then halves until it can no more.
        "newton" (default) makes Halley's steps (Newton's with the curvature: third order) on
        ``log F(z) - log u``, from the Gaussian quantile of the mixture's own mean and variance and
        within the bracket ``[min_k q_k, max_k q_k]`` of the components' quantiles
        ``q_k = mu_k + sigma_k Phi^{-1}(u)``, which always holds the root. Rows that six steps do
        not settle are bracketed anew between the points ``mu_k + c sigma_k`` of their components
        and solved by guarded steps: one that leaves the bracket, or is longer than half the last
        but one, gives way to a bisection, so that the search always ends. The upper half is
        solved as the lower half of the mirrored mixture, so that ``1 - u`` keeps its digits. A
        row's result does not depend on the rows beside it.

    Returns
    -------
    z : Tensor of shape (...)
        With ``|F(z) - u| <= 1e-12`` wherever z is represented that finely in floating point.

    Raises
    ------
    ValueError
        A probability outside (0, 1), NaN included, a standard deviation that is not positive, or
        a method that does not exist.
    FloatingPointError
        A mixture that holds NaN or infinity.

    Notes
    -----
    No gradients: the result is detached. Parameters whose memory holds each component's rows side
    by side (``.mT`` of a contiguous (N, n)) save the fast method a transposition.
    """
    least = float(u.min()) if u.numel() else 0.5
    # NaN compares false.
    if u.numel() and not (least > 0.0 and float(u.max()) < 1.0):
        raise ValueError(
            "Quantiles need probabilities strictly between 0 and 1, got a value outside or NaN. "
            "Clip them first, as knothe_rosenblatt does with its eps."
        )
    if method not in ("newton", "bisection"):
        raise ValueError(f"method must be 'newton' or 'bisection', got {method!r}.")
    shape, n_components = u.shape, means.shape[-1]
    rows = u.reshape(-1)
    flat = [
        p.expand(*shape, n_components).reshape(-1, n_components) for p in (weights, means, stds)
    ]
    with torch.no_grad():
        if method == "newton":
            usual = u.dtype == torch.float64 and u.device.type == "cpu"
            # The compiled logarithm takes no denormal numbers.
            compiled = COMPILED and usual and least >= torch.finfo(u.dtype).tiny
            return (_newton_compiled if compiled else _newton_torch)(rows, *flat).reshape(shape)
        z = torch.empty_like(rows)
        for i in range(0, len(rows), _BISECTION_ROWS):
            block = slice(i, i + _BISECTION_ROWS)
            parameters = [p[block] for p in flat]
            _check_mixtures(*(p.mT for p in parameters), first_row=i)
            z[block] = _bisection(rows[block], *parameters)
        return z.reshape(shape)


def _check_mixtures(weights: Tensor, means: Tensor, stds: Tensor, *, first_row: int) -> None:
    """Raise where a mixture, a column of (N, n), is none."""
    for name, values in (("weights", weights), ("means", means), ("stds", stds)):
        bad = (~torch.isfinite(values)).any(0).nonzero()
        if len(bad):
            raise FloatingPointError(
                f"The {name} of mixture {first_row + int(bad[0])} hold NaN or infinity. Check what "
                "it was computed from: a row far outside the data that a model was fitted to, or "
                "a fit that diverged."
            )
    smallest, least = float(stds.amin(0).min()), _least_std(stds.dtype)
    if smallest < least:
        raise ValueError(
            f"The stds of mixtures must be positive (at least {least:.1e}), got {smallest}. Give "
            "them a floor."
        )


def _least_std(dtype: torch.dtype) -> float:
    """Smallest standard deviation whose square and that of its inverse are in range."""
    return 2.0 * math.sqrt(torch.finfo(dtype).tiny)


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


class _Memory(threading.local):
    """Working memory that a thread keeps from one block to the next.

    Fresh arrays of this size come from the system, page by page, and take longer to get than to
    use.
    """

    def __init__(self) -> None:
        self._buffers: dict[str, Tensor] = {}

    def arrays(self, name: str, *shape: int, like: Tensor) -> Tensor:
        """Give an array of some shape; it shares its memory with earlier ones of that name."""
        size, buffer = math.prod(shape), self._buffers.get(name, like[..., :0])
        fits = buffer.numel() >= size and buffer.dtype == like.dtype
        # What was made in inference mode may not be written to outside.
        if not fits or buffer.device != like.device or buffer.is_inference():
            self._buffers[name] = buffer = like.new_empty(size)
        return buffer[:size].view(shape)


_memory = _Memory()


def _add_up(terms: Tensor, out: Tensor | None = None) -> Tensor:
    """Sum (N, ..., n) over components, in their order.

    ``torch.sum`` is no faster for a handful of them, and adds those of the last few columns in
    another order than the rest: a row's result would depend on its place.
    """
    first, *others = terms.unbind(0)
    total = torch.add(first, others[0], out=out) if others else torch.add(first, 0.0, out=out)
    for term in others[1:]:
        total.add_(term)
    return total


class _LowerHalf:
    """A block's quantiles, turned into lower halves, and the steps that approach them.

    Rows whose probability is above one half are mirrored. Parameters are held as (N, n), so that
    sums over components run over whole rows. Only one instance in a thread can be at work: the
    next one takes its memory.

    Parameters
    ----------
    u : Tensor of shape (n,)
    weights, means, stds : Tensor of shape (N, n)
    """

    def __init__(self, u: Tensor, weights: Tensor, means: Tensor, stds: Tensor) -> None:
        self.given = (u, weights, means, stds)
        self._one = u.new_ones(())
        self._zero = u.new_zeros(())
        self.sign = torch.copysign(self._one, 0.5 - u)
        self.p = torch.minimum(u, 1.0 - u)  # exact: 1 - u is, for u in [0.5, 1]
        self.two_p = 2.0 * self.p
        self.weights, self.stds = weights, stds
        arrays = _memory.arrays("block", 7, *means.shape, like=means)
        self.means, self.rates, self.slopes, self.offsets = arrays[:4].unbind(0)
        # Three terms for each component, the component first.
        self._terms = arrays[4:].view(len(means), 3, -1)
        self._parts = self._terms.unbind(1)
        torch.mul(means, self.sign, out=self.means)
        torch.div(self._one * math.sqrt(0.5), stds, out=self.rates)
        torch.mul(weights, self.rates, out=self.slopes)
        torch.mul(self.means, self.rates, out=self.offsets)
        self.steepest = self.rates.amax(0)
        self._sums = means.new_empty(3, means.shape[1])
        # 2 F(z); f(z) and f'(z), each up to a factor: see `steps`.
        self.twice_cdf, self.density, self.slope = self._sums.unbind(0)

    def subset(self, rows: Tensor) -> _LowerHalf:
        """Give the problems of some rows alone."""
        u, *parameters = self.given
        return _LowerHalf(u[rows], *(p.index_select(1, rows) for p in parameters))

    def bracket_and_start(self) -> tuple[Tensor, Tensor, Tensor]:
        """Bracket the root by the components' quantiles; start as if the mixture were Gaussian."""
        score = torch.special.ndtri(self.p)
        first, second, _ = self._parts
        torch.addcmul(self.means, self.stds, score, out=first)
        low, high = first.amin(0), first.amax(0)
        mean = _add_up(torch.mul(self.weights, self.means, out=first))
        torch.sub(self.means, mean, out=first)
        variance = torch.mul(first, first, out=second).addcmul_(self.stds, self.stds)
        z = _add_up(variance.mul_(self.weights)).sqrt_().mul_(score).add_(mean)
        # Cheap, as no NaN or infinity hides from these sums; where they overflow, look closer.
        self.plausible = math.isfinite(float((low + high + mean).sum())) and (
            float(self.stds.amin(0).min()) >= _least_std(z.dtype)
        )
        return low, high, torch.minimum(torch.maximum(z, low, out=z), high, out=z)

    def steps(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Newton's and Halley's step on ``g(z) = log F(z) - log p``.

        With ``y = (mu - z) / (sigma sqrt 2)`` the sums over components are

            2 F = sum w erfc(y),    sqrt(pi) f = sum w rate exp(-y^2),    rate = 1 / (sigma sqrt 2),
            sqrt(pi) f' / 2 = sum w rate exp(-y^2) rate y

        and with ``g' = f / F`` and ``g'' / g' = f' / f - f / F`` Newton's step is ``-g / g'``,
        Halley's that step divided by ``1 + step g'' / (2 g')``.
        """
        weighted, slopes, y = self._parts
        torch.addcmul(self.offsets, self.rates, z, value=-1.0, out=y).clamp_(-_FARTHEST, _FARTHEST)
        torch.special.erfc(y, out=weighted).mul_(self.weights)
        torch.addcmul(self._zero, y, y, value=-1.0, out=slopes).exp_().mul_(self.slopes)
        y.mul_(slopes).mul_(self.rates)
        _add_up(self._terms, out=self._sums)
        g1 = (self.density / self.twice_cdf).mul_(2.0 / math.sqrt(math.pi))
        newton = (self.two_p / self.twice_cdf).log_().div_(g1)
        bend = (self.slope / self.density).sub_(g1, alpha=0.5)
        # Where the curvature asks for more than twice Newton's step, the parabola is no guide.
        return newton, newton / torch.addcmul(self._one, newton, bend).clamp_(min=0.5)

    def settles(self, newton: Tensor) -> Tensor:
        """Say where a step is the last one: a further one would be below rounding.

        The error that Halley's step leaves is of third order: ``(step / sigma)^3`` of the
        narrowest component's ``sigma``, up to a factor of a few, over which no component bends
        more. Newton's step is asked, since Halley's is also short where the curvature is large.
        """
        longest = 0.4 * torch.finfo(newton.dtype).eps ** (1.0 / 3.0)
        return (newton * self.steepest).abs_() < longest

    def localise(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Narrow the bracket to between two components' means, and start in it.

        The start is the secant's root on the scale of ``Phi^{-1}(F)``, moved into the bounds that
        single components set: ``F`` rises from ``mu_k`` on by at least what component k gives it,
        so that ``F(mu_k) + w_k (Phi(y) - 1/2) = p`` bounds the root, from above if ``F(mu_k) < p``
        and from below if not. If components hardly overlap, one of these bounds is the root.
        """
        n_components, n = self.means.shape
        y = _memory.arrays("pairs", n_components, n_components, n, like=self.means)
        # y[j, k]: component j at the mean of component k.
        torch.sub(self.means.unsqueeze(1), self.means, out=y).mul_(self.rates.unsqueeze(1))
        torch.special.erfc(y.clamp_(-_FARTHEST, _FARTHEST), out=y).mul_(self.weights.unsqueeze(1))
        cdf = _add_up(y).mul_(0.5)
        finfo = torch.finfo(cdf.dtype)
        below = cdf < self.p
        # F rises: the means nearest to the root from both sides have the nearest F, too.
        left, cdf_left = (torch.where(below, t, -math.inf).amax(0) for t in (self.means, cdf))
        right, cdf_right = (torch.where(below, math.inf, t).amin(0) for t in (self.means, cdf))
        normal_left, normal_right = (
            torch.special.ndtri(t.clamp(finfo.tiny, 1.0 - finfo.eps)) for t in (cdf_left, cdf_right)
        )
        share = (torch.special.ndtri(self.p) - normal_left) / (normal_right - normal_left)
        z = left + (right - left) * share
        low, high = torch.maximum(low, left), torch.minimum(high, right)
        z = torch.where((z > low) & (z < high), z, 0.5 * low + 0.5 * high)

        within = ((self.p - cdf) / self.weights.clamp(min=finfo.tiny)).add_(0.5).clamp_(0.0, 1.0)
        bounds = torch.special.ndtri(within).mul_(self.stds).add_(self.means)
        lower = torch.where(below, -math.inf, bounds).amax(0)
        upper = torch.where(below, bounds, math.inf).amin(0)
        has_lower, has_upper = lower > low, upper < high
        z = torch.where(has_lower & ~has_upper, lower, z)
        z = torch.where(has_upper & ~has_lower, upper, z)
        z = torch.where(has_lower & has_upper, z.clamp(lower, upper), z)
        return low, high, z.clamp(low, high)


def _newton_compiled(u: Tensor, weights: Tensor, means: Tensor, stds: Tensor) -> Tensor:
    """Solve F(z) = u by compiled loops; all rows of shape (n,), parameters (n, N).

    Block by block, for the memory of transposed parameters.
    """
    z = torch.empty(u.shape, dtype=u.dtype, device=u.device)
    for i in range(0, len(u), _FAST_ROWS):
        block = slice(i, i + _FAST_ROWS)
        parameters = [p[block].detach().mT.contiguous() for p in (weights, means, stds)]
        w, mu, sigma = (p.numpy() for p in parameters)
        asked = u[block].detach().contiguous().numpy()
        n_open, bad = kernels.quantile(asked, w, mu, sigma, z[block].numpy(), _least_std(u.dtype))
        if bad >= 0:
            _check_mixtures(*parameters, first_row=i)
            raise FloatingPointError(f"Mixture {i + bad} cannot be inverted.")
        if n_open:
            raise _did_not_end(_MAX_STEPS)
    return z


def _did_not_end(n_steps: int) -> RuntimeError:
    return RuntimeError(f"The quantile search did not end within {n_steps} steps: this is a bug.")


def _newton_torch(u: Tensor, weights: Tensor, means: Tensor, stds: Tensor) -> Tensor:
    """Solve as :func:`_newton_compiled` does, by operations of torch on many rows at a time."""

    def problem(rows: slice | Tensor) -> _LowerHalf:
        return _LowerHalf(u[rows], *(p[rows].mT.contiguous() for p in (weights, means, stds)))

    z = torch.empty_like(u)
    still_open = [torch.empty(0, dtype=torch.int64, device=u.device)]
    for i in range(0, len(u), _FAST_ROWS):
        block = slice(i, i + _FAST_ROWS)
        first = problem(block)
        z[block], rows = _unguarded(first, None, _FIRST_STEPS)
        if not first.plausible:
            _check_mixtures(*first.given[1:], first_row=i)
        still_open.append(rows + i)
    # What is left of all blocks is solved together: a call on few rows costs as much as on many.
    rest, still_open = torch.cat(still_open), still_open[:1]
    for rows in torch.split(rest, _FAST_ROWS) if len(rest) else ():
        z[rows], open_rows = _unguarded(problem(rows), z[rows], _SECOND_STEPS)
        still_open.append(rows[open_rows])
    rest = torch.cat(still_open)
    rows_at_once = max(1, min(_FAST_ROWS, _PAIRS // means.shape[1] ** 2))
    for rows in torch.split(rest, rows_at_once) if len(rest) else ():
        z[rows] = _guarded(problem(rows))
    return z


def _unguarded(problem: _LowerHalf, z: Tensor | None, n_steps: int) -> tuple[Tensor, Tensor]:
    """Take some steps, the same number for every row, within the bracket of components.

    Parameters
    ----------
    problem : _LowerHalf
    z : Tensor of shape (n,) or None
        Where to start; None: as if the mixture were Gaussian.
    n_steps : int

    Returns
    -------
    z : Tensor of shape (n,)
    rows : Tensor of int64, shape (n_open,)
        The rows that these steps did not settle, NaN among them.
    """
    low, high, start = problem.bracket_and_start()
    at = start if z is None else z * problem.sign
    for _ in range(n_steps):
        newton, step = problem.steps(at)
        torch.minimum(torch.maximum(at.add_(step), low, out=at), high, out=at)
    return at.mul_(problem.sign), torch.nonzero(~problem.settles(newton))[:, 0]


def _guarded(problem: _LowerHalf) -> Tensor:
    """Solve by steps that cannot fail to end; all rows of a block."""
    sign = problem.sign
    low, high, _ = problem.bracket_and_start()
    low, high, z = problem.localise(low, high)
    last = last_but_one = high - low
    eps = torch.finfo(z.dtype).eps
    result = torch.empty_like(z)
    rows = torch.arange(len(z), device=z.device)
    is_open = torch.ones(len(z), dtype=torch.bool, device=z.device)
    for _ in range(_MAX_STEPS):
        newton, step = problem.steps(z)
        two_p = problem.two_p
        # A NaN compares false and gives way to the bisection, too.
        below = problem.twice_cdf < two_p
        low, high = torch.where(below, z, low), torch.where(below, high, z)
        new, middle = z + step, 0.5 * low + 0.5 * high
        inside = (new > low) & (new < high) & (step.abs() <= 0.5 * last_but_one)
        new = torch.where(inside, new, middle)
        moved = (new - z).abs()
        # No better than rounding: of F, or of z. Newton's step tells how far the root is only
        # where log F is nearly right: on a component narrower than the spacing of floating-point
        # numbers it is short wherever the root may be.
        ulp = eps * z.abs()
        near = newton.abs() * problem.density < _NEARLY * problem.twice_cdf
        exact = (problem.twice_cdf - two_p).abs() <= 4.0 * eps * two_p
        exact |= near & (newton.abs() <= ulp)
        # Halley's step is also short where the curvature is large, far from any root.
        small = near & (newton.abs() <= 2.0 * ulp)
        stuck = (moved <= 2.0 * ulp) & (~inside | small)
        pinned = stuck | (middle <= low) | (middle >= high)
        # Solved rows keep their value until they leave, so that they do not depend on the others.
        z = torch.where(is_open & (inside | ~exact), new, z)
        is_open &= ~(exact | pinned | (inside & near & problem.settles(newton)))
        last, last_but_one = moved, last
        n_open = int(is_open.sum())
        if n_open and (2 * n_open > len(z) or len(z) <= _WORTH_DROPPING):
            continue
        result[rows] = z
        if not n_open:
            return result.mul_(sign)
        stay = torch.nonzero(is_open)[:, 0]
        problem = problem.subset(stay)
        rows, z, low, high, last, last_but_one, is_open = (
            t[stay] for t in (rows, z, low, high, last, last_but_one, is_open)
        )
    raise _did_not_end(_MAX_STEPS)
