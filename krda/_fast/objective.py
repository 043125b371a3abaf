r"""The negative log-likelihood (NLL) of several RNADE models and its gradient in closed form.

With the names of :mod:`krda.density.rnade`, the raw outputs of the linear layers ``l`` (logits of
the weights), ``mu`` and ``v`` (log-variances), ``s = exp(v) + sigma_floor^2``, the weights ``w``
and the responsibilities ``r_k = w_k N(x; mu_k, s_k) / sum_j w_j N(x; mu_j, s_j)``, the derivatives
of ``-log p(x)`` of one mixture are

    dl = w - r,     dmu = -r (x - mu) / s,     dv = r (1 - (x - mu)^2 / s) exp(v) / (2 s)

(and ``dv = 0`` where v is at its bound). From there they go back through the linear layers and relu
to ``C^i a^i``, and through the sum ``a^i = c + sum_{j<i} x^j W_{.,j}`` by adding up from the last
coordinate to the first. For the rescaling no pass over the hidden states is needed: relu is
homogeneous, so that ``h^i`` is proportional to ``C^i`` as long as its sign stays, and by Euler's
theorem ``C^i dC^i`` is the inner product of the coordinate's matrices with their own derivatives.
(At ``C^i = 0`` the derivative is 0, as torch's relu has it.)

Every operation is elementwise, or a matrix product or sum within one model: what one model
computes does not depend on what those beside it hold, and on their number by rounding at most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from krda.density.rnade import MAX_LOG_VARIANCE, RNADE

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)

# Logarithm of a share that changes no sum when it is added. Smaller ones count as this: their
# exponentials are denormal numbers, which take the processor ten times as long.
_NEGLIGIBLE = -80.0


class Parameters(NamedTuple):
    """Parameters of R models, or their gradient."""

    # What is added to the hidden state before each coordinate: c, W_{.,1}, ..., W_{.,d-1}, as
    # (R, d, H); nothing depends on W_{.,d}.
    inputs: Tensor
    scales: Tensor  # C, as (R, d)
    heads: Tensor  # matrices of the linear layers, the biases as last row: (R, D, d, H + 1, 3 N)

    @classmethod
    def of(cls, models: Sequence[RNADE]) -> Parameters:
        """Copy the parameters of models of equal shape."""

        def stack(name: str) -> Tensor:
            return torch.stack([model.get_parameter(name).detach() for model in models])

        inputs = torch.cat([stack("c").unsqueeze(1), stack("W")[:, :-1]], dim=1)
        heads = torch.cat([stack("head_weight"), stack("head_bias").unsqueeze(-2)], dim=-2)
        return cls(inputs, stack("C"), heads)

    def copy_to(self, models: Sequence[RNADE]) -> None:
        """Write the parameters into the models."""
        with torch.no_grad():
            for model, inputs, scales, heads in zip(models, *self, strict=True):
                model.c.copy_(inputs[0])
                model.W[:-1].copy_(inputs[1:])
                model.C.copy_(scales)
                model.head_weight.copy_(heads[..., :-1, :])
                model.head_bias.copy_(heads[..., -1, :])

    def flat(self) -> Tensor:
        """All of them, in one row a model: shape (R, n_parameters)."""
        return torch.cat([part.flatten(1) for part in self], dim=1)

    def like(self, flat: Tensor) -> Parameters:
        """Views of rows made by :meth:`flat`, of any number of models."""
        parts = torch.split(flat, [part[0].numel() for part in self], dim=1)
        return Parameters(*(p.view(len(p), *q.shape[1:]) for p, q in zip(parts, self, strict=True)))


class Rows(NamedTuple):
    """Rows of every model and domain, padded to M rows a domain; one coordinate after another."""

    x: Tensor  # (R, D, d, M)
    # What enters the hidden state before each coordinate: 1 (times c), then the conditioning values
    # of x^1, ..., x^{d-1}. (R, D, d, M)
    conditioning: Tensor
    weights: Tensor  # what each row counts, 0 in the padding: (D, 1, 1, 1, M)


def pack(domains: Sequence[Sequence[Tensor]], n_rows: int) -> Rows:
    """Pack the rows (R, m, d) of each domain, m <= n_rows, and their conditioning rows."""
    n_models, _, d = domains[0][0].shape
    x = domains[0][0].new_zeros(n_models, len(domains), d, n_rows)
    conditioning, weights = torch.zeros_like(x), x.new_zeros(len(domains), 1, 1, 1, n_rows)
    conditioning[:, :, 0] = 1.0
    for i, (own, conditioning_rows) in enumerate(domains):
        m = own.shape[1]
        x[:, i, :, :m] = own.mT
        conditioning[:, i, 1:, :m] = conditioning_rows[..., :-1].mT
        weights[i, ..., :m] = 1.0 / m
    return Rows(x, conditioning, weights)


#: What :func:`nll` leaves for the gradient: h, raw, u, q, slope and sums.
After = tuple[Tensor, ...]


def nll(p: Parameters, rows: Rows, sigma_floor: float) -> tuple[Tensor, After]:
    """Weighted sum of the rows' NLLs, shape (R, D), and what its gradient is computed from."""
    n_models, n_domains, d, width, outputs = p.heads.shape
    n, n_rows = outputs // 3, rows.x.shape[-1]
    # Hidden states, with ones in the last unit, the biases' own.
    h = rows.x.new_ones(n_models, n_domains, d, width, n_rows)
    a = p.inputs[:, None, 0, :, None].expand(-1, n_domains, -1, n_rows)
    for i in range(d):
        if i:
            a = torch.addcmul(a, p.inputs[:, None, i, :, None], rows.conditioning[:, :, i, None])
        torch.mul(a, p.scales[:, i, None, None, None], out=h[:, :, i, :-1])
    h[..., :-1, :].relu_()
    raw = torch.bmm(p.heads.flatten(0, 2).mT, h.flatten(0, 2))
    raw = raw.view(n_models, n_domains, d, 3, n, n_rows)
    logits, means, log_variances = raw.unbind(3)
    log_variances.clamp_(-MAX_LOG_VARIANCE, MAX_LOG_VARIANCE)
    exp = torch.exp(log_variances)
    variances = exp + sigma_floor**2
    means.sub_(rows.x.unsqueeze(-2))  # mu - x
    u = means / variances
    q = means * u
    # In place of the means: the logarithms of w_k N(x; mu_k, s_k).
    torch.log(variances, out=means).add_(q)
    torch.add(logits, means, alpha=-0.5, out=means)
    # Logsumexp of the logits and of the joint, both at once; then the exponentials stay.
    pair = raw[:, :, :, :2]
    maxima = pair.amax(-2, keepdim=True)
    pair.sub_(maxima).clamp_min_(_NEGLIGIBLE).exp_()
    sums = pair.sum(-2, keepdim=True)
    logs = torch.log(sums).add_(maxima)
    signed = torch.cat([rows.weights, -rows.weights], dim=2)
    total = logs.mul_(signed).flatten(2).sum(-1)
    total.add_(rows.weights.flatten(1).sum(1) * (d * _LOG_SQRT_2PI))
    return total, (h, raw, u, q, exp.div_(variances), sums)


def gradient(p: Parameters, rows: Rows, after: After) -> Parameters:
    """Gradient of the sum over domains; it uses up what :func:`nll` left."""
    h, raw, u, q, slope, sums = after
    logits, joint, log_variances = raw.unbind(3)
    # From the exponentials to w and r, times the rows' weights; then to dl, dmu and dv.
    raw[:, :, :, :2].mul_(rows.weights / sums)
    torch.addcmul(joint, joint, q, value=-1.0, out=q)
    inside = log_variances.abs() < MAX_LOG_VARIANCE
    torch.mul(q.mul_(slope).mul_(0.5), inside, out=log_variances)
    logits.sub_(joint)
    joint.mul_(u)

    layers, scaled = p.heads[..., :-1, :], p.scales[:, None, :, None, None]
    outer = raw.flatten(3, 4).flatten(0, 2)
    heads = torch.bmm(h.flatten(0, 2), outer.mT).view_as(p.heads)
    # Derivatives by C^i a^i, times C^i, where relu lets them through; then their sum over i and
    # all later coordinates, which is the derivative by what enters before coordinate i.
    units = h[..., :-1, :]
    g = torch.bmm((layers * scaled).flatten(0, 2), outer).view_as(units)
    units.sign_()
    steps = list(zip(g.unbind(2), units.unbind(2), strict=True))
    later: Tensor | None = None
    for own, passes in reversed(steps):
        if later is None:
            own.mul_(passes)
        else:
            torch.addcmul(later, own, passes, out=own)
        later = own
    inputs = g.mul_(rows.conditioning.unsqueeze(-2)).sum(-1).sum(1)
    scales = (layers * heads[..., :-1, :]).flatten(3).sum(-1).sum(1)
    scales = scales.div_(p.scales).masked_fill_(p.scales == 0.0, 0.0)
    return Parameters(inputs, scales, heads)
