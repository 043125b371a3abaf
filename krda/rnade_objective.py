r"""The training objective of RNADE and its gradient in closed form.

:meth:`krda.rnade.RNADE.log_prob` is the plain form of the likelihood; automatic differentiation of
it spends most of a step on intermediate tensors, on the cumulative sum and, for small models, on
the bookkeeping of a graph. Here the same mean negative log-likelihood, and its derivative, are
computed by hand in buffers that are allocated once; the tests hold one against the other.

With the names of :mod:`krda.rnade`, the raw outputs of the linear layers ``l`` (logits of the
weights), ``mu`` and ``v`` (log-variances), ``s = exp(v) + sigma_floor^2``, the weights ``w`` and
the responsibilities ``r_k = w_k N(x; mu_k, s_k) / sum_j w_j N(x; mu_j, s_j)``, the derivatives of
``-log p(x)`` of one mixture are

    dl = w - r,     dmu = -r (x - mu) / s,     dv = r (1 - (x - mu)^2 / s) exp(v) / (2 s)

(and ``dv = 0`` where v is at its bound).
From there they go back through the linear layers and relu to ``C^i a^i``, and through the sum
``a^i = c + sum_{j<i} x^j W_{.,j}`` by adding up from the last coordinate to the first. For the
rescaling no pass over the hidden states is needed: relu is homogeneous, so that ``h^i`` is
proportional to ``C^i`` as long as its sign stays, and by Euler's theorem ``C^i dC^i`` is the inner
product of the coordinate's matrices with their own derivatives. (At ``C^i = 0`` the derivative is
0, as torch's relu has it.)

Every operation is elementwise, or a matrix product or sum within one replica: what one replica
computes does not depend, to the last bit, on what those beside it hold. On their number it depends
by rounding at most: a linear algebra library may take another program for many products than for
one. With MKL's compatible kernels (``MKL_CBWR=COMPATIBLE``) the bits are the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from krda.rnade import _MAX_LOG_VARIANCE, RNADE

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)

# Logarithm of a share that changes no sum when it is added. Smaller ones count as this: their
# exponentials are denormal numbers, which take the processor ten times as long.
_NEGLIGIBLE = -80.0

# Looked up once: finding the overload by its arguments takes longer than a small model's pass.
_hardtanh_backward = torch.ops.aten.hardtanh_backward.grad_input


class Parameters:
    """Parameters of R replicas in one flat vector, in the layout that the objective computes with.

    Attributes
    ----------
    flat : Tensor of shape (n_parameters,)
        All of them; the others are views of it.
    inputs : Tensor of shape (R, d, H)
        What is added to the hidden state before each coordinate: ``c, W_{.,1}, ..., W_{.,d-1}``.
        (Nothing depends on ``W_{.,d}``.)
    scales : Tensor of shape (R, d)
        ``C``.
    heads : Tensor of shape (R, D, d, H + 1, 3 N)
        Matrices of the linear layers, with the biases as last row.
    """

    def __init__(self, flat: Tensor, shapes: Sequence[tuple[int, ...]]) -> None:
        self.flat = flat
        self.shapes = tuple(shapes)
        parts = torch.split(flat, [math.prod(shape) for shape in self.shapes])
        self.parts = tuple(p.view(shape) for p, shape in zip(parts, self.shapes, strict=True))
        self.inputs, self.scales, self.heads = self.parts

    @classmethod
    def of(cls, model: RNADE) -> Parameters:
        """Copy the parameters of a model."""
        with torch.no_grad():
            inputs = torch.cat([model.c.unsqueeze(1), model.W[:, :-1]], dim=1)
            heads = torch.cat([model.head_weight, model.head_bias.unsqueeze(-2)], dim=-2)
            return cls._join([inputs, model.C, heads])

    @classmethod
    def _join(cls, parts: Sequence[Tensor]) -> Parameters:
        return cls(torch.cat([p.reshape(-1) for p in parts]), [tuple(p.shape) for p in parts])

    def copy_to(self, model: RNADE) -> None:
        """Write the parameters into a model of the same shape."""
        with torch.no_grad():
            model.c.copy_(self.inputs[:, 0])
            model.W[:, :-1].copy_(self.inputs[:, 1:])
            model.C.copy_(self.scales)
            model.head_weight.copy_(self.heads[..., :-1, :])
            model.head_bias.copy_(self.heads[..., -1, :])

    def clone(self) -> Parameters:
        """Copy all of them."""
        return Parameters(self.flat.clone(), self.shapes)

    def zeros_like(self) -> Parameters:
        """Return zeros in the same layout."""
        return Parameters(torch.zeros_like(self.flat), self.shapes)

    def of_replicas(self, replicas: Sequence[int]) -> Parameters:
        """Copy the parameters of some replicas."""
        return self._join([part[list(replicas)] for part in self.parts])

    def copy_replica(self, r: int, other: Parameters, s: int) -> None:
        """Overwrite replica ``r`` with replica ``s`` of another set."""
        for mine, theirs in zip(self.parts, other.parts, strict=True):
            mine[r].copy_(theirs[s])


class RowWeights(NamedTuple):
    """What each of a block's rows counts, in the shapes that :class:`Objective` needs.

    Attributes
    ----------
    rows : Tensor of shape (D, 1, 1, 1, M)
    signed : Tensor of shape (D, d, 2, 1, M)
        Plus for the logsumexp of the logits, minus for that of the joint.
    constant : Tensor of shape (D,)
        What the normal densities' constant adds to the objective.
    """

    rows: Tensor
    signed: Tensor
    constant: Tensor


class Objective:
    """Mean negative log-likelihood (NLL) of a block of rows of every replica and domain.

    Domains that have fewer rows than the block leave the rest of it to rows of weight 0.

    Parameters
    ----------
    parameters : Parameters
        Read at each computation, so that they can change in between.
    n_rows : int
        Rows M of each domain.
    sigma_floor : float
    differentiable : bool, default=True
        Whether :meth:`gradient` will be called.

    Attributes
    ----------
    x : Tensor of shape (R, D, d, M)
        Columns of the rows; :meth:`load` fills them.
    given : Tensor of shape (R, D, d - 1, M)
        The columns but the last one as conditionals are given them.
    """

    def __init__(
        self,
        parameters: Parameters,
        n_rows: int,
        sigma_floor: float,
        *,
        differentiable: bool = True,
    ) -> None:
        self._p = parameters
        n_replicas, n_domains, d, width, outputs = parameters.heads.shape
        hidden, n = width - 1, outputs // 3
        self._variance_floor = sigma_floor**2
        blocks = n_replicas * n_domains * d

        def buffer(*shape: int) -> Tensor:
            return parameters.flat.new_zeros(n_replicas, n_domains, *shape)

        self.x = buffer(d, n_rows)
        # What enters the hidden state before each coordinate: 1 (times c), x^1, ..., x^{d-1}.
        self._entering = buffer(d, n_rows)
        self._entering[:, :, 0] = 1.0
        self.given = self._entering[:, :, 1:]
        self._x_column = self.x.unsqueeze(-2)
        self._places: dict[tuple[int, int], tuple[Tensor, ...]] = {}

        self._a = buffer(hidden, n_rows)
        # Hidden states, transposed, with ones in the last row: the biases' own unit.
        self._h = buffer(d, width, n_rows)
        self._h[..., -1, :] = 1.0
        self._h_units = self._h[..., :-1, :]
        self._h_flat = self._h.view(blocks, width, n_rows)
        self._c = parameters.inputs[:, None, 0, :, None].expand_as(self._a)
        self._steps = [
            (
                parameters.inputs[:, None, i, :, None],
                self._entering[:, :, i, None],
                parameters.scales[:, i, None, None, None],
                self._h[:, :, i, :-1],
            )
            for i in range(d)
        ]
        self._heads_flat = parameters.heads.view(blocks, width, outputs)
        self._raw = buffer(d, 3, n, n_rows)
        self._raw_flat = self._raw.view(blocks, outputs, n_rows)
        self._logits, self._means, self._log_variances = self._raw.unbind(3)
        self._pair = self._raw[:, :, :, :2]
        self._variances, self._exp, self._u, self._q = (buffer(d, n, n_rows) for _ in range(4))
        self._sums, self._maxima, self._logs = (buffer(d, 2, 1, n_rows) for _ in range(3))
        if differentiable:
            self._scaled_layers = buffer(d, hidden, outputs)
            self._scaled_flat = self._scaled_layers.view(blocks, hidden, outputs)
            self._g = buffer(d, hidden, n_rows)
            self._g_flat = self._g.view(blocks, hidden, n_rows)
            # From the last coordinate to the first: what is after it, its own part, where h > 0.
            parts = list(zip(self._g.unbind(2), self._h_units.unbind(2), strict=True))
            self._g_steps = [
                (parts[i + 1][0] if i + 1 < d else None, *parts[i]) for i in reversed(range(d))
            ]
            self._inputs_by_domain = buffer(d, hidden)

    def load(self, domain: int, x: Tensor, given: Tensor) -> None:
        """Put rows into the block, from the first place on.

        Parameters
        ----------
        domain : int
        x, given : Tensor of shape (R, m, d), m <= M
            The rows, and the rows as conditionals are given them. Places after them keep what they
            hold; :meth:`weights` says that they do not count.
        """
        m = x.shape[1]
        if (domain, m) not in self._places:
            places = tuple(block[:, domain, :, :m].mT for block in (self.x, self.given))
            self._places[domain, m] = places
        x_place, given_place = self._places[domain, m]
        x_place.copy_(x)
        given_place.copy_(given[..., :-1])

    def weights(self, n_used: Sequence[int], n_all: Sequence[int]) -> RowWeights:
        """Weight the first rows of each domain equally, and the others not at all.

        Parameters
        ----------
        n_used : sequence of int
            Rows of each domain in this block.
        n_all : sequence of int
            Rows of each domain in all blocks: each row counts one in so many.

        Returns
        -------
        weights : RowWeights
        """
        n_domains, d, n_rows = self.x.shape[1:]
        rows = self.x.new_zeros(n_domains, 1, 1, 1, n_rows)
        for domain, (used, everything) in enumerate(zip(n_used, n_all, strict=True)):
            rows[domain, ..., :used] = 1.0 / everything
        signed = torch.cat([rows, -rows], dim=2).expand(-1, d, -1, -1, -1).contiguous()
        return RowWeights(rows, signed, rows.flatten(1).sum(1) * (d * _LOG_SQRT_2PI))

    def nll(self, weights: RowWeights) -> Tensor:
        """Compute the weighted sum of the rows' negative log-likelihoods.

        Parameters
        ----------
        weights : RowWeights

        Returns
        -------
        nll : Tensor of shape (R, D)
        """
        a = self._a
        for i, (entering, x, scale, h) in enumerate(self._steps):
            if i:
                a.addcmul_(entering, x)
            else:
                a.copy_(self._c)
            torch.mul(a, scale, out=h)
        self._h_units.relu_()
        torch.bmm(self._heads_flat.mT, self._h_flat, out=self._raw_flat)
        # In place: the means become mu - x, then the logarithms of w_k N(x; mu_k, s_k).
        self._log_variances.clamp_(-_MAX_LOG_VARIANCE, _MAX_LOG_VARIANCE)
        torch.exp(self._log_variances, out=self._exp)
        torch.add(self._exp, self._variance_floor, out=self._variances)
        self._means.sub_(self._x_column)
        torch.div(self._means, self._variances, out=self._u)
        torch.mul(self._means, self._u, out=self._q)
        torch.log(self._variances, out=self._means).add_(self._q)
        torch.add(self._logits, self._means, alpha=-0.5, out=self._means)
        # Logsumexp of the joint and of the logits, both at once.
        torch.amax(self._pair, -2, keepdim=True, out=self._maxima)
        self._pair.sub_(self._maxima).clamp_min_(_NEGLIGIBLE).exp_()
        torch.sum(self._pair, -2, keepdim=True, out=self._sums)
        torch.log(self._sums, out=self._logs).add_(self._maxima)
        return self._logs.mul_(weights.signed).flatten(2).sum(-1).add_(weights.constant)

    def gradient(self, weights: RowWeights, out: Parameters) -> None:
        """Compute the gradient of the sum over domains, right after :meth:`nll`.

        Parameters
        ----------
        weights : RowWeights
            The same as for :meth:`nll`.
        out : Parameters
            Overwritten with it.
        """
        # From the exponentials to w and r, times the rows' weights.
        torch.div(weights.rows, self._sums, out=self._sums)
        self._pair.mul_(self._sums)
        r = self._means
        torch.addcmul(r, r, self._q, value=-1.0, out=self._q)
        self._exp.div_(self._variances)
        self._q.mul_(self._exp).mul_(0.5)
        # Nothing goes back through log-variances at their bounds.
        v = self._log_variances
        bounds = -_MAX_LOG_VARIANCE, _MAX_LOG_VARIANCE
        _hardtanh_backward(self._q, v, *bounds, grad_input=v)
        self._logits.sub_(r)
        self._means.mul_(self._u)

        layers = self._p.heads[..., :-1, :]
        torch.bmm(self._h_flat, self._raw_flat.mT, out=out.heads.view_as(self._heads_flat))
        # Derivatives by C^i a^i, times C^i, where relu lets them through; then their sum over i
        # and all later coordinates, which is the derivative by what enters before coordinate i.
        torch.mul(layers, self._p.scales[:, None, :, None, None], out=self._scaled_layers)
        torch.bmm(self._scaled_flat, self._raw_flat, out=self._g_flat)
        self._h_units.sign_()
        for after, g, passes in self._g_steps:
            if after is None:
                g.mul_(passes)
            else:
                torch.addcmul(after, g, passes, out=g)
        self._g.mul_(self._entering.unsqueeze(-2))
        torch.sum(self._g, -1, out=self._inputs_by_domain)
        torch.sum(self._inputs_by_domain, 1, out=out.inputs)

        torch.mul(layers, out.heads[..., :-1, :], out=self._scaled_layers)
        torch.sum(self._scaled_layers.flatten(3).sum(-1), 1, out=out.scales)
        out.scales.div_(self._p.scales).masked_fill_(self._p.scales == 0.0, 0.0)
