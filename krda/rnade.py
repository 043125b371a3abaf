r"""RNADE: autoregressive Gaussian mixture conditionals (paper, section 4; Uria et al. 2013).

For a row ``x = (x^1, ..., x^d)`` and hidden size H,

    a^1 = c,   a^{i+1} = a^i + x^i W_{.,i}                                (paper, eq. 2)
    h^i = relu(C^i a^i)                                                    (eq. 3)
    w^i = softmax(lin_1 h^i),  mu^i = lin_2 h^i,  sigma^i = exp(lin_3 h^i / 2)   (eqs. 4-6)
    p(x) = prod_i sum_k w^i_k N(x^i; mu^i_k, sigma^i_k)                    (eq. 1)

The paper lets the domains share ``c`` and ``W`` and gives each linear layers of its own. Of ``C``
it says no more than that it rescales. Chosen here: ``C^i`` is one learned number for each
coordinate, as in Uria et al., and shared by the domains like ``c`` and ``W``; the linear layers are
also each coordinate's own, as in Uria et al. :class:`RNADE` is the module that is trained,
:class:`RNADEDensity` the fitted density of one domain, in float64, with the Rosenblatt transforms.

Two departures. ``sigma`` has a floor, ``sigma^2 = exp(lin_3 h) + sigma_floor^2``: without it the
likelihood of a column with point masses has no maximum; ``sigma_floor=0`` is the paper's form. And
the ``x^{<i}`` that a conditional is given can be another form of the row than the ``x^i`` that it
is the density of: rows whose atoms were spread over cells (:mod:`krda.atoms`) condition through
the cells' centres, since the place within a cell is random and says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from krda import mixture, transport

#: From a coordinate's number and its values (n,) to what later conditionals are given of it.
Given = Callable[[int, Tensor], Tensor]


# Log-variances are kept within these bounds: standard deviations between 1e-13 and 1e13, in units
# of standardised columns. No column of double precision, let alone the single precision of
# training, can have a spread outside them, so that they never bind on rows like the fitted ones.
# But the heads are linear: a row carried far out of the data would meet exp(lin_3 h) = inf there.
_MAX_LOG_VARIANCE = 60.0


class Conditionals(NamedTuple):
    """Parameters of the mixtures ``p^i(x^i | x^{<i})``.

    Attributes
    ----------
    log_weights, means, stds : Tensor of shape (..., N)
    """

    log_weights: Tensor
    means: Tensor
    stds: Tensor


def mixture_parameters(h: Tensor, weight: Tensor, bias: Tensor, sigma_floor: float) -> Conditionals:
    """Apply the three linear layers of a coordinate (paper, eqs. 4-6).

    Parameters
    ----------
    h : Tensor of shape (..., n, H)
    weight : Tensor of shape (..., H, 3 N)
        The layers' matrices side by side: weights, means, log-variances.
    bias : Tensor of shape (..., 3 N)
    sigma_floor : float
        Lower bound of the standard deviations, approached smoothly.

    Returns
    -------
    conditionals : Conditionals of shape (..., n, N)
        Log-variances beyond +-60 count as +-60.
    """
    logits, means, log_variances = (h @ weight + bias.unsqueeze(-2)).chunk(3, dim=-1)
    log_variances = log_variances.clamp(-_MAX_LOG_VARIANCE, _MAX_LOG_VARIANCE)
    stds = torch.sqrt(torch.exp(log_variances) + sigma_floor**2)
    return Conditionals(torch.log_softmax(logits, dim=-1), means, stds)


class RNADE(nn.Module):
    """RNADE of several domains, and several independent replicas of it at once.

    All parameters carry the replica as their first dimension, so that R models of equal shape are
    trained by one program whose every operation is batched over them.

    Parameters
    ----------
    n_features : int
        Dimension d of a row.
    n_domains : int, default=2
    n_components : int, default=5
        Gaussians N in each conditional.
    hidden_size : int, default=50
        Dimension H of the hidden state.
    sigma_floor : float, default=0.0
        Lower bound of every standard deviation, in the units of the rows.
    seeds : sequence of int, default=(0,)
        One seed a replica: its initial parameters depend on nothing else.

    Attributes
    ----------
    c : Parameter of shape (R, H)
    W : Parameter of shape (R, d, H)
        Row i is the paper's column ``W_{.,i}``.
    C : Parameter of shape (R, d)
    head_weight : Parameter of shape (R, D, d, H, 3 N)
    head_bias : Parameter of shape (R, D, d, 3 N)
    """

    def __init__(
        self,
        n_features: int,
        n_domains: int = 2,
        *,
        n_components: int = 5,
        hidden_size: int = 50,
        sigma_floor: float = 0.0,
        seeds: Sequence[int] = (0,),
    ) -> None:
        super().__init__()
        self.n_features = n_features
        self.n_domains = n_domains
        self.n_components = n_components
        self.hidden_size = hidden_size
        self.sigma_floor = sigma_floor
        self.seeds = tuple(seeds)
        initial = [self._initial(torch.Generator().manual_seed(seed)) for seed in self.seeds]
        for name in initial[0]:
            setattr(self, name, nn.Parameter(torch.stack([state[name] for state in initial])))

    c: Tensor
    W: Tensor
    C: Tensor
    head_weight: Tensor
    head_bias: Tensor

    def _initial(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Draw one replica's initial parameters.

        The hidden state starts at unit size whatever d is, the heads with small weights, and the
        means' biases spread over the bulk of a standardised feature, so that the components
        differ from the first step on. The domains start from equal heads: before training the
        transport is the identity, and every difference between the domains is learnt from data.
        """
        d, hidden, n = self.n_features, self.hidden_size, self.n_components
        # Named, because torch's defaults are of the user's process.
        plain: Any = {"dtype": torch.float32, "device": "cpu"}

        def normal(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, **plain)

        bias = torch.zeros(d, 3, n, **plain)
        bias[:, 1] = torch.special.ndtri((torch.arange(n, **plain) + 0.5) / n) + 0.1 * normal(d, n)
        bias[:, 2] = -2.0 * math.log(max(n, 2) / 2.0)
        weight = normal(d, hidden, 3 * n) * (0.5 / math.sqrt(hidden))
        return {
            "c": normal(hidden),
            "W": normal(d, hidden) / math.sqrt(d),
            "C": torch.ones(d, **plain),
            "head_weight": weight.expand(self.n_domains, -1, -1, -1).clone(),
            "head_bias": bias.reshape(d, 3 * n).expand(self.n_domains, -1, -1).clone(),
        }

    def conditionals(self, given: Tensor, domain: int) -> Conditionals:
        """Compute the mixtures of all coordinates at once.

        Parameters
        ----------
        given : Tensor of shape (R, n, d)
            What each coordinate's mixture is conditioned on, up to that coordinate.
        domain : int

        Returns
        -------
        conditionals : Conditionals of shape (R, d, n, N)
        """
        increments = given.mT.unsqueeze(-1) * self.W.unsqueeze(-2)  # x^i W_{.,i}: (R, d, n, H)
        first = self.c[:, None, None, :].expand(-1, 1, given.shape[1], -1)
        # a^i = c + sum_{j<i} x^j W_{.,j}: a cumulative sum that starts with c and leaves out x^d.
        a = torch.cumsum(torch.cat([first, increments[:, :-1]], dim=1), dim=1)
        h = torch.relu(self.C[:, :, None, None] * a)
        return mixture_parameters(
            h, self.head_weight[:, domain], self.head_bias[:, domain], self.sigma_floor
        )

    def log_prob(self, x: Tensor, domain: int, given: Tensor | None = None) -> Tensor:
        """Log-density ``log p(x) = sum_i log p^i(x^i | x^{<i})`` of a domain (paper, eq. 1).

        Parameters
        ----------
        x : Tensor of shape (R, n, d)
        domain : int
        given : Tensor of shape (R, n, d) or None
            The rows as conditionals are given them; None takes ``x``.

        Returns
        -------
        log_prob : Tensor of shape (R, n)
        """
        conditionals = self.conditionals(x if given is None else given, domain)
        return mixture.log_prob(x.mT, *conditionals).sum(1)

    def density(
        self,
        domain: int,
        replica: int = 0,
        *,
        quantile_method: mixture.QuantileMethod = "newton",
        given: Given | None = None,
    ) -> RNADEDensity:
        """Give the density of one domain and replica, detached and in float64.

        Parameters
        ----------
        domain, replica : int
        quantile_method : {"newton", "bisection"}, default="newton"
        given : callable or None
            See :class:`RNADEDensity`.

        Returns
        -------
        density : RNADEDensity
        """

        def fixed(parameter: Tensor) -> Tensor:
            return parameter[replica].detach().to("cpu", torch.float64).clone()

        return RNADEDensity(
            c=fixed(self.c),
            W=fixed(self.W),
            C=fixed(self.C),
            head_weight=fixed(self.head_weight)[domain],
            head_bias=fixed(self.head_bias)[domain],
            sigma_floor=self.sigma_floor,
            quantile_method=quantile_method,
            given=given,
        )


@dataclass(frozen=True, eq=False)
class RNADEDensity:
    """The fitted density of one domain: see :class:`krda.transport.Density`.

    The state ``a`` is carried from one coordinate to the next, so that each transform costs
    O(d H N) a row and no run of the network is repeated.

    Attributes
    ----------
    c : Tensor of shape (H,)
    W : Tensor of shape (d, H)
    C : Tensor of shape (d,)
    head_weight : Tensor of shape (d, H, 3 N)
    head_bias : Tensor of shape (d, 3 N)
    sigma_floor : float
    quantile_method : {"newton", "bisection"}
        How conditionals are inverted: see :func:`krda.mixture.quantile`.
    given : callable or None
        From a coordinate's number (from 0) and its values (n,) to the values that later
        conditionals are given; None gives them as they are.
    """

    c: Tensor
    W: Tensor
    C: Tensor
    head_weight: Tensor
    head_bias: Tensor
    sigma_floor: float
    quantile_method: mixture.QuantileMethod = "newton"
    given: Given | None = None

    @property
    def n_features(self) -> int:
        """Dimension d of a row."""
        return len(self.W)

    def _conditional(self, a: Tensor, i: int) -> Conditionals:
        """Mixture of coordinate i (from 0) given its state a of shape (n, H)."""
        h = torch.relu(self.C[i] * a)
        return mixture_parameters(h, self.head_weight[i], self.head_bias[i], self.sigma_floor)

    def _initial_state(self, n: int) -> Tensor:
        return self.c.expand(n, -1)

    def _next_state(self, a: Tensor, i: int, x_i: Tensor) -> Tensor:
        """Carry the state over coordinate i: ``a^{i+1} = a^i + x^i W_{.,i}`` (paper, eq. 2)."""
        given = x_i if self.given is None else self.given(i, x_i)
        return a + given.unsqueeze(1) * self.W[i]

    def log_prob(self, x: Tensor) -> Tensor:
        """Log-density (paper, eq. 1).

        Parameters
        ----------
        x : Tensor of shape (n, d), float64

        Returns
        -------
        log_prob : Tensor of shape (n,)
        """
        a, total = self._initial_state(len(x)), x.new_zeros(len(x))
        for i in range(self.n_features):
            total = total + mixture.log_prob(x[:, i], *self._conditional(a, i))
            a = self._next_state(a, i, x[:, i])
        return total

    def rosenblatt(self, x: Tensor) -> Tensor:
        """Rosenblatt transform ``u^i = F^i(x^i | x^{<i})``.

        Parameters
        ----------
        x : Tensor of shape (n, d), float64

        Returns
        -------
        u : Tensor of shape (n, d)
            Independent uniforms, if x follows this density.
        """
        return self._transform(x, inverse=False)

    def inverse_rosenblatt(self, u: Tensor) -> Tensor:
        """Inverse Rosenblatt transform, coordinate by coordinate: ``x^i = F^i^{-1}(u^i | x^{<i})``.

        Parameters
        ----------
        u : Tensor of shape (n, d), float64
            In the open interval (0, 1).

        Returns
        -------
        x : Tensor of shape (n, d)

        Raises
        ------
        FloatingPointError
            A conditional that holds NaN or infinity: the row went too far out.
        """
        return self._transform(u, inverse=True)

    def _transform(self, rows: Tensor, *, inverse: bool) -> Tensor:
        """Apply either transform block by block: beside the result, memory is a block's.

        All arrays hold a coordinate's, a hidden unit's or a component's rows side by side.
        """
        n, d = len(rows), self.n_features
        result = rows.new_empty(d, n)
        with torch.no_grad():
            for start in range(0, n, transport.BLOCK_ROWS):
                block = slice(start, start + transport.BLOCK_ROWS)
                columns, out = rows[block].mT.contiguous(), result[:, block]
                a = self.c.unsqueeze(1).repeat(1, columns.shape[1])
                h, heads = torch.empty_like(a), a.new_empty(len(self.head_bias[0]), a.shape[1])
                given = torch.zeros_like(columns[0])
                for i in range(d):
                    self._next_states(i, a, given, h)
                    weights, means, stds = self._mixtures(i, h, heads)
                    if inverse:
                        out[i] = mixture.quantile(
                            columns[i], weights.mT, means.mT, stds.mT, method=self.quantile_method
                        )
                    else:
                        mixture.cdf_by_component(columns[i], weights, means, stds, out=out[i])
                    x_i = out[i] if inverse else columns[i]
                    given = x_i if self.given is None else self.given(i, x_i)
        return result.mT

    def _next_states(self, i: int, a: Tensor, given: Tensor, h: Tensor) -> None:
        """Carry the state to coordinate i (paper, eq. 2), in place; fill the hidden state.

        Parameters
        ----------
        i : int
            From 0.
        a : Tensor of shape (H, n)
            The state before the coordinate i - 1.
        given : Tensor of shape (n,)
            What is given of that coordinate.
        h : Tensor of shape (H, n)
            Becomes ``relu(C^i a^i) / C^i``: the positive part of ``a^i`` for ``C^i >= 0`` and the
            negative part for ``C^i < 0``.
        """
        positive = float(self.C[i]) >= 0.0
        if mixture.COMPILED and i:
            column = self.W[i - 1].numpy()
            mixture.kernels.next_state(a.numpy(), given.numpy(), column, positive, h.numpy())
            return
        if i:
            a.addcmul_(self.W[i - 1].unsqueeze(1), given)
        torch.clamp(a, **{"min" if positive else "max": 0.0}, out=h)

    def _mixtures(self, i: int, h: Tensor, heads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Weights, means and standard deviations of coordinate i (from 0), each (N, n).

        They are :func:`mixture_parameters`, transposed, of what :meth:`_next_states` made, in
        memory that the next call takes: heads of shape (3 N, n).
        """
        C, weight = self.C[i], self.head_weight[i].mT
        torch.addmm(self.head_bias[i].unsqueeze(1), C * weight, h, out=heads)
        weights, means, stds = heads.chunk(3)
        if mixture.COMPILED:
            raw = heads.view(3, -1, heads.shape[1]).numpy()
            mixture.kernels.activate(raw, self.sigma_floor**2, _MAX_LOG_VARIANCE)
            return weights, means, stds
        weights.sub_(weights.amax(0)).exp_()
        weights.mul_(weights.sum(0).reciprocal_())
        stds.clamp_(-_MAX_LOG_VARIANCE, _MAX_LOG_VARIANCE)
        if self.sigma_floor:
            stds.exp_().add_(self.sigma_floor**2).sqrt_()
        else:
            stds.mul_(0.5).exp_()
        return weights, means, stds

    def sample(self, n: int, generator: torch.Generator) -> Tensor:
        """Draw rows: the inverse Rosenblatt transform of independent uniforms.

        Parameters
        ----------
        n : int
        generator : torch.Generator

        Returns
        -------
        x : Tensor of shape (n, d), float64
        """
        u = torch.rand(n, self.n_features, generator=generator, dtype=torch.float64, device="cpu")
        tiny = torch.finfo(torch.float64).eps
        return self.inverse_rosenblatt(u.clamp(tiny, 1.0 - tiny))
