"""DANN and CDAN: features that a domain discriminator cannot tell apart."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from baselines.dalib_compat import (
    Discriminator,
    conditional_domain_adversarial_loss,
    domain_adversarial_loss,
)
from baselines.networks import JointlyTrained, Make, Transfer, require_integer


class DANN(JointlyTrained):
    r"""Domain-adversarial training of neural networks (Ganin et al. 2016).

    With features :math:`f`, discriminator :math:`D` (probability of the source) and gradient
    reversal :math:`R_\lambda` (identity forwards, :math:`-\lambda` times the gradient backwards),

    .. math::
        L = \mathrm{CE}(g(f(x_s)), y_s) - \frac{\eta}{2} \left( E_s \log D(R_\lambda f(x_s))
            + E_t \log (1 - D(R_\lambda f(x_t))) \right)

    is minimised over everything at once: the discriminator learns to tell the domains apart, the
    features learn to prevent it. The second term is dalib's ``DomainAdversarialLoss``.

    The paper used dalib's loss, a five-layer MLP with 250 hidden units, Adam with 1e-3 and
    :math:`\eta = 1`. Chosen here, as the paper is silent: the schedule of :math:`\lambda` is
    dalib's (:class:`baselines.dalib_compat.GradientReversal`); the discriminator is dalib's, with
    as many hidden units as the MLP; the rest as set out in :mod:`baselines.networks`.

    Parameters
    ----------
    hidden_size : int
        Width of the hidden layers, of the MLP and of the discriminator.
    n_layers : int
        Linear layers of the MLP, the output layer included.
    learning_rate : float
        Of Adam.
    trade_off : float
        :math:`\eta`; 0 is plain training on the source.
    n_epochs : int
        Passes over the larger domain.
    batch_size : int
        Rows of each domain in a step, at least two.
    warmup_steps : int
        ``N`` of the schedule of :math:`\lambda`.
    standardize : bool
        Scale each column to mean 0 and variance 1 over both domains together.
    random_state : None, int or numpy.random.RandomState
    device : str
        Where to compute, ``cpu`` or ``cuda``. Results repeat exactly on one machine's CPU.

    References
    ----------
    Ganin, Ustinova, Ajakan, Germain, Larochelle, Laviolette, Marchand, Lempitsky (2016).
    Domain-adversarial training of neural networks. JMLR 17(59), 1-35.
    """

    def __init__(
        self,
        hidden_size: int = 250,
        n_layers: int = 5,
        learning_rate: float = 1e-3,
        trade_off: float = 1.0,
        n_epochs: int = 30,
        batch_size: int = 32,
        warmup_steps: int = 1000,
        standardize: bool = True,
        random_state: Any = None,
        device: str = "cpu",
    ) -> None:
        self.hidden_size = hidden_size
        self.n_layers = n_layers
        self.learning_rate = learning_rate
        self.trade_off = trade_off
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.warmup_steps = warmup_steps
        self.standardize = standardize
        self.random_state = random_state
        self.device = device

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_integer("warmup_steps", self.warmup_steps, 1)

    def _transfer(self, n_classes: int, make: Make) -> Transfer:
        discriminator = make(lambda: Discriminator(self.hidden_size, self.hidden_size))
        loss = domain_adversarial_loss(discriminator, self.warmup_steps)

        def transfer(f_s: Tensor, g_s: Tensor, f_t: Tensor, g_t: Tensor) -> Tensor:
            return loss(f_s, f_t)

        return transfer, [discriminator]


class CDAN(JointlyTrained):
    r"""Conditional domain-adversarial network (Long et al. 2018).

    As :class:`DANN`, but the discriminator sees the outer product of features and predicted
    probabilities :math:`p = \mathrm{softmax}(g)`, through which no gradient flows:

    .. math::
        T = -\frac{1}{2} \left( E_s \, w \log D(R_\lambda (f \otimes p))
            + E_t \, w \log (1 - D(R_\lambda (f \otimes p))) \right)

    with :math:`w = 1` (CDAN) or, with entropy conditioning (CDAN+E), :math:`w` proportional to
    :math:`1 + \exp(-H(p))` with mean 1 over the batch. This is dalib's
    ``ConditionalDomainAdversarialLoss`` with the full multilinear map; the publication takes a
    random map only beyond 4096 products, and here there are 250 for each class.

    The paper used dalib's loss, a five-layer MLP with 250 hidden units, Adam with 1e-3 and
    :math:`\eta = 1`. Chosen here, as the paper is silent: no entropy conditioning, which is dalib's
    default and what the paper's name of the method says; schedule and discriminator as in
    :class:`DANN`; the rest as set out in :mod:`baselines.networks`.

    Parameters
    ----------
    hidden_size : int
        Width of the hidden layers, of the MLP and of the discriminator.
    n_layers : int
        Linear layers of the MLP, the output layer included.
    learning_rate : float
        Of Adam.
    trade_off : float
        :math:`\eta`; 0 is plain training on the source.
    n_epochs : int
        Passes over the larger domain.
    batch_size : int
        Rows of each domain in a step, at least two.
    warmup_steps : int
        ``N`` of the schedule of :math:`\lambda`.
    entropy_conditioning : bool
        CDAN+E.
    standardize : bool
        Scale each column to mean 0 and variance 1 over both domains together.
    random_state : None, int or numpy.random.RandomState
    device : str
        Where to compute, ``cpu`` or ``cuda``. Results repeat exactly on one machine's CPU.

    References
    ----------
    Long, Cao, Wang, Jordan (2018). Conditional adversarial domain adaptation. NeurIPS 31.
    """

    def __init__(
        self,
        hidden_size: int = 250,
        n_layers: int = 5,
        learning_rate: float = 1e-3,
        trade_off: float = 1.0,
        n_epochs: int = 30,
        batch_size: int = 32,
        warmup_steps: int = 1000,
        entropy_conditioning: bool = False,
        standardize: bool = True,
        random_state: Any = None,
        device: str = "cpu",
    ) -> None:
        self.hidden_size = hidden_size
        self.n_layers = n_layers
        self.learning_rate = learning_rate
        self.trade_off = trade_off
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.warmup_steps = warmup_steps
        self.entropy_conditioning = entropy_conditioning
        self.standardize = standardize
        self.random_state = random_state
        self.device = device

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_integer("warmup_steps", self.warmup_steps, 1)

    def _transfer(self, n_classes: int, make: Make) -> Transfer:
        discriminator = make(lambda: Discriminator(self.hidden_size * n_classes, self.hidden_size))
        loss = conditional_domain_adversarial_loss(
            discriminator, self.warmup_steps, self.entropy_conditioning
        )

        def transfer(f_s: Tensor, g_s: Tensor, f_t: Tensor, g_t: Tensor) -> Tensor:
            return loss(g_s, f_s, g_t, f_t)

        return transfer, [discriminator]
