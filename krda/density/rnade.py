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

Three departures from the paper:

- ``sigma`` has a floor, ``sigma^2 = exp(lin_3 h) + sigma_floor^2``. Without it the likelihood of a
  column with point masses has no maximum. ``sigma_floor=0`` is the paper's form.
- ``lin_3 h`` is clipped to +-60 (:data:`MAX_LOG_VARIANCE`).
- The state can take another value than ``x^i``, the *conditioning value*. Rows whose point masses
  were spread over cells (:mod:`krda.preprocessing`) condition by the centres of the cells, since
  the place within a cell is random.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from krda._switch import accelerated
from krda.density import mixture
from krda.density.saving import SavedAsArrays

#: From a coordinate's number i (from 0) and its values x_i (n,) to what the state takes for x_i.
ConditioningValue = Callable[[int, Tensor], Tensor]

#: Log-variances are clipped to this, up and down: standard deviations between 1e-13 and 1e13 of a
#: standardised column. A linear layer far outside the data would overflow otherwise.
MAX_LOG_VARIANCE = 60.0


def as_it_is(i: int, x_i: Tensor) -> Tensor:
    """The paper's conditioning value: ``x_i`` itself."""
    del i
    return x_i


class Conditional(NamedTuple):
    """The mixtures ``p^i(x^i | x^{<i})`` of one coordinate: three tensors of shape (n, N)."""

    log_weights: Tensor
    means: Tensor
    stds: Tensor


@dataclass(frozen=True, eq=False)
class RNADEDensity(SavedAsArrays):
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
    conditioning_value : callable, default=as_it_is
        From a coordinate's number (from 0) and its values (n,) to the values that the state takes
        for them; by default the same.

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
    conditioning_value: ConditioningValue = as_it_is

    @property
    def n_features(self) -> int:
        """Dimension d of a row."""
        return len(self.W)

    def next_state(self, i: int, a: Tensor, x_i: Tensor) -> Tensor:
        """State after coordinate i (from 0) with values x_i of shape (n,)."""
        value = self.conditioning_value(i, x_i)
        return a + value.unsqueeze(1) * self.W[i]  # eq. 2

    def conditional(self, i: int, a: Tensor) -> Conditional:
        """Mixtures of coordinate i (from 0), given its states a of shape (n, H)."""
        h = torch.relu(self.C[i] * a)  # eq. 3
        heads = h @ self.head_weight[i] + self.head_bias[i]
        logits, means, log_variances = heads.chunk(3, dim=-1)  # means: eq. 5
        log_weights = torch.log_softmax(logits, dim=-1)  # eq. 4
        variances = torch.exp(log_variances.clamp(-MAX_LOG_VARIANCE, MAX_LOG_VARIANCE))
        stds = torch.sqrt(variances + self.sigma_floor**2)  # eq. 6
        return Conditional(log_weights, means, stds)

    # Not accelerated: training differentiates it, and :mod:`krda._fast.objective` has a form of its
    # own of the log-density together with the gradient.
    def log_prob(self, x: Tensor) -> Tensor:
        """Log-density.

        Parameters
        ----------
        x : Tensor of shape (n, d)

        Returns
        -------
        log_prob : Tensor of shape (n,)
        """
        a, total = self.c.expand(len(x), -1), x.new_zeros(len(x))
        for i in range(self.n_features):
            total = total + mixture.log_prob(x[:, i], *self.conditional(i, a))  # eq. 1
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
        krda.density.mixture.NotFiniteError
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
        eps = torch.finfo(torch.float64).eps
        return self.inverse_rosenblatt(u.clamp(eps, 1.0 - eps))


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
        self.n_features, self.n_domains, self.hidden_size = n_features, n_domains, hidden_size
        self.sigma_floor, self.seed = sigma_floor, seed
        d, D, H, N = n_features, n_domains, hidden_size, n_components
        # Named, because torch's defaults are of the user's process.
        plain: Any = {"dtype": torch.float32, "device": "cpu"}
        generator = torch.Generator().manual_seed(seed)

        def normal(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, **plain)

        # The components cover the bulk of a standardised feature: their means are its N quantiles
        # at equal distances, each moved a little, and sigma = 2 / N (1 if N = 1).
        # The order of the draws, here and below, is part of what a seed means.
        bias = torch.zeros(d, 3, N, **plain)
        bias[:, 1] = torch.special.ndtri((torch.arange(N, **plain) + 0.5) / N) + 0.1 * normal(d, N)
        bias[:, 2] = -2.0 * math.log(max(N, 2) / 2.0)
        weight = normal(d, H, 3 * N) * (0.5 / math.sqrt(H))  # small: at first the biases decide
        self.c = nn.Parameter(normal(H))
        self.W = nn.Parameter(normal(d, H) / math.sqrt(d))  # a^i has unit size whatever d is
        self.C = nn.Parameter(torch.ones(d, **plain))
        # The domains start from equal heads: before training the transport is the identity, and
        # every difference between them is learnt from data.
        self.head_weight = nn.Parameter(weight.expand(D, -1, -1, -1).clone())
        self.head_bias = nn.Parameter(bias.reshape(d, 3 * N).expand(D, -1, -1).clone())

    def _of_domain(self, domain: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Give the parameters of a domain's density."""
        return self.c, self.W, self.C, self.head_weight[domain], self.head_bias[domain]

    def log_prob(self, x: Tensor, domain: int, conditioning_rows: Tensor | None = None) -> Tensor:
        """Log-density of a domain, differentiable by the parameters.

        Parameters
        ----------
        x : Tensor of shape (n, d)
        domain : int
        conditioning_rows : Tensor of shape (n, d) or None, default=None
            The conditioning values of each row; None takes ``x``.

        Returns
        -------
        log_prob : Tensor of shape (n,)
        """
        values = x if conditioning_rows is None else conditioning_rows
        density = RNADEDensity(
            *self._of_domain(domain), self.sigma_floor, conditioning_value=lambda i, _: values[:, i]
        )
        return density.log_prob(x)

    def density(
        self,
        domain: int,
        *,
        quantile_method: mixture.QuantileMethod = "newton",
        conditioning_value: ConditioningValue = as_it_is,
    ) -> RNADEDensity:
        """Give the density of one domain, detached and in float64.

        Parameters
        ----------
        domain : int
        quantile_method : {"newton", "bisection"}, default="newton"
        conditioning_value : callable, default=as_it_is
            See :class:`RNADEDensity`.

        Returns
        -------
        density : RNADEDensity
        """
        c, W, C, head_weight, head_bias = (
            p.detach().to("cpu", torch.float64).clone() for p in self._of_domain(domain)
        )
        options = self.sigma_floor, quantile_method, conditioning_value
        return RNADEDensity(c, W, C, head_weight, head_bias, *options)
