r"""RNADE: autoregressive Gaussian mixture conditionals (paper, section 4; Uria et al. 2013).

For a row ``x = (x^1, ..., x^d)`` and hidden size H,

    a^1 = c,   a^{i+1} = a^i + x^i W_{.,i}                                (paper, eq. 2)
    h^i = relu(C^i a^i)                                                    (eq. 3)
    w^i = softmax(lin_1 h^i),  mu^i = lin_2 h^i,  sigma^i = exp(lin_3 h^i / 2)   (eqs. 4-6)
    p(x) = prod_i sum_k w^i_k N(x^i; mu^i_k, sigma^i_k)                    (eq. 1)

The paper lets the domains share ``c`` and ``W`` and gives each linear layers of its own. Of ``C``
it only says that it rescales. Here ``C^i`` is one learned number for each coordinate, as in Uria
et al., shared by the domains like ``c`` and ``W``; each coordinate has its own linear layers, also
as in Uria et al. :class:`RNADEDensity` is the density of one domain, with the equations;
:class:`RNADE` is the module whose parameters are trained.

Two departures. ``sigma`` has a floor, ``sigma^2 = exp(lin_3 h) + sigma_floor^2``: without it the
likelihood of a column with point masses has no maximum; ``sigma_floor=0`` is the paper's form. And
conditionals can be given another form of the row than the one whose density is computed: rows
whose point masses were spread over cells (:mod:`krda.preprocessing`) condition through the cells'
centres, since the place within a cell is random.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from krda._switch import accelerated
from krda.density import mixture

#: From a coordinate's number (from 0) and its values (n,) to what later conditionals are given.
Given = Callable[[int, Tensor], Tensor]

#: Log-variances are clipped to this, up and down: standard deviations between 1e-13 and 1e13 of a
#: standardised column. A linear layer far outside the data would overflow otherwise.
MAX_LOG_VARIANCE = 60.0


class Conditional(NamedTuple):
    """The mixtures ``p^i(x^i | x^{<i})`` of one coordinate: three tensors of shape (n, N)."""

    log_weights: Tensor
    means: Tensor
    stds: Tensor


@dataclass(frozen=True, eq=False)
class RNADEDensity:
    """The density of one domain: see :class:`krda.transport.Density`.

    The state ``a`` passes from one coordinate to the next: a transform costs O(d H N) a row.

    Attributes
    ----------
    c : Tensor of shape (H,)
    W : Tensor of shape (d, H)
        Row i is the paper's column ``W_{.,i}``.
    C : Tensor of shape (d,)
    head_weight : Tensor of shape (d, H, 3 N)
        The matrices of the three linear layers side by side: weights, means, log-variances.
    head_bias : Tensor of shape (d, 3 N)
    sigma_floor : float
        Lower bound of the standard deviations, approached smoothly.
    quantile_method : {"newton", "bisection"}, default="newton"
        How conditionals are inverted: see :func:`krda.density.mixture.quantile`.
    given : callable or None, default=None
        From a coordinate's number (from 0) and its values (n,) to the values that later
        conditionals are given; None gives them as they are.

    Examples
    --------
    >>> import torch
    >>> from krda import RNADE
    >>> density = RNADE(n_features=3, seed=0).density(domain=0)
    >>> x = density.sample(100, torch.Generator().manual_seed(0))
    >>> u = density.rosenblatt(x)
    >>> torch.allclose(density.inverse_rosenblatt(u), x)
    True
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

    def conditional(self, i: int, a: Tensor) -> Conditional:
        """Mixtures of coordinate i (from 0), given its states a of shape (n, H) (eqs. 3-6)."""
        h = torch.relu(self.C[i] * a)
        lin_1, lin_2, lin_3 = (h @ self.head_weight[i] + self.head_bias[i]).chunk(3, dim=-1)
        variances = torch.exp(lin_3.clamp(-MAX_LOG_VARIANCE, MAX_LOG_VARIANCE))
        stds = torch.sqrt(variances + self.sigma_floor**2)
        return Conditional(torch.log_softmax(lin_1, dim=-1), lin_2, stds)

    def next_state(self, i: int, a: Tensor, x_i: Tensor) -> Tensor:
        """State after coordinate i (from 0) with values x_i of shape (n,) (eq. 2)."""
        given = x_i if self.given is None else self.given(i, x_i)
        return a + given.unsqueeze(1) * self.W[i]

    def log_prob(self, x: Tensor) -> Tensor:
        """Log-density (eq. 1).

        Parameters
        ----------
        x : Tensor of shape (n, d)

        Returns
        -------
        log_prob : Tensor of shape (n,)
        """
        a, total = self.c.expand(len(x), -1), x.new_zeros(len(x))
        for i in range(self.n_features):
            total = total + mixture.log_prob(x[:, i], *self.conditional(i, a))
            a = self.next_state(i, a, x[:, i])
        return total

    @accelerated
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
        a, u = self.c.expand(len(x), -1), torch.empty_like(x)
        for i in range(self.n_features):
            log_weights, means, stds = self.conditional(i, a)
            u[:, i] = mixture.cdf(x[:, i], log_weights.exp(), means, stds)
            a = self.next_state(i, a, x[:, i])
        return u

    @accelerated
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
        a, x = self.c.expand(len(u), -1), torch.empty_like(u)
        for i in range(self.n_features):
            log_weights, means, stds = self.conditional(i, a)
            x[:, i] = mixture.quantile(
                u[:, i], log_weights.exp(), means, stds, method=self.quantile_method
            )
            a = self.next_state(i, a, x[:, i])
        return x

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


class RNADE(nn.Module):
    """The parameters of the densities of several domains, with ``c``, ``W`` and ``C`` in common.

    Parameters
    ----------
    n_features : int
        Dimension d of a row.
    n_domains : int, default=2
        Number D of domains.
    n_components : int, default=5
        Gaussians N in each conditional.
    hidden_size : int, default=50
        Dimension H of the hidden state.
    sigma_floor : float, default=0.0
        Lower bound of every standard deviation, in the units of the rows.
    seed : int, default=0
        The initial parameters depend on nothing else; training also takes its draws from it.

    Attributes
    ----------
    c : Parameter of shape (H,)
    W : Parameter of shape (d, H)
    C : Parameter of shape (d,)
    head_weight : Parameter of shape (D, d, H, 3 N)
    head_bias : Parameter of shape (D, d, 3 N)

    Examples
    --------
    >>> import torch
    >>> from krda import RNADE
    >>> model = RNADE(n_features=3)
    >>> model.log_prob(torch.zeros(10, 3), domain=1).shape
    torch.Size([10])
    """

    c: Tensor
    W: Tensor
    C: Tensor
    head_weight: Tensor
    head_bias: Tensor

    def __init__(
        self,
        n_features: int,
        n_domains: int = 2,
        *,
        n_components: int = 5,
        hidden_size: int = 50,
        sigma_floor: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.n_features = n_features
        self.n_domains = n_domains
        self.n_components = n_components
        self.hidden_size = hidden_size
        self.sigma_floor = sigma_floor
        self.seed = seed
        for name, initial in self._initial(torch.Generator().manual_seed(seed)).items():
            setattr(self, name, nn.Parameter(initial))

    def _initial(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Draw the initial parameters.

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

    def _density(self, domain: int, **options: Any) -> RNADEDensity:
        """Density of a domain on the parameters themselves, so that it can be differentiated."""
        heads = self.head_weight[domain], self.head_bias[domain]
        return RNADEDensity(self.c, self.W, self.C, *heads, self.sigma_floor, **options)

    def log_prob(self, x: Tensor, domain: int, given: Tensor | None = None) -> Tensor:
        """Log-density of a domain (eq. 1), differentiable by the parameters.

        Parameters
        ----------
        x : Tensor of shape (n, d)
        domain : int
        given : Tensor of shape (n, d) or None, default=None
            The rows as conditionals are given them; None takes ``x``.

        Returns
        -------
        log_prob : Tensor of shape (n,)
        """
        conditioned = None if given is None else lambda i, _: given[:, i]
        return self._density(domain, given=conditioned).log_prob(x)

    def density(
        self,
        domain: int,
        *,
        quantile_method: mixture.QuantileMethod = "newton",
        given: Given | None = None,
    ) -> RNADEDensity:
        """Give the density of one domain, detached and in float64.

        Parameters
        ----------
        domain : int
        quantile_method : {"newton", "bisection"}, default="newton"
        given : callable or None, default=None
            See :class:`RNADEDensity`.

        Returns
        -------
        density : RNADEDensity
        """
        live = self._density(domain, quantile_method=quantile_method, given=given)
        fixed: dict[str, Any] = {
            name: getattr(live, name).detach().to("cpu", torch.float64).clone()
            for name in ("c", "W", "C", "head_weight", "head_bias")
        }
        return replace(live, **fixed)
