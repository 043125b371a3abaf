"""DANN and CDAN: features that a domain discriminator cannot tell apart."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from baselines.dalib_compat import DomainDiscriminator
from baselines.networks import JointlyTrained, Transfer, TransferLoss, build
from baselines.stacked import Stack
from krda.parameters import require_integer, require_truth


def reversal_coefficient(step: int, warmup_steps: int) -> float:
    r"""Return the factor of the reversed gradient in a step, counted from 0.

    .. math:: \lambda_i = \frac{2}{1 + \exp(-i / N)} - 1

    is dalib's schedule, with its own constants but for ``N``, dalib's ``max_iters``. It rises from
    0 and is at 0.46 after ``N`` steps; Ganin et al. (2016, section 5.2.2) have ``10 i / N`` in the
    exponent, with ``N`` the length of the training.

    Parameters
    ----------
    step : int
        :math:`i`.
    warmup_steps : int
        ``N``; dalib has 1000.

    Returns
    -------
    coefficient : float
    """
    return 2.0 / (1.0 + math.exp(-step / warmup_steps)) - 1.0


class DomainAdversary(Transfer):
    r"""dalib's ``DomainAdversarialLoss`` for R models, and the discriminators that it trains.

    .. math::
        T = -\frac{1}{2} \left( E_s \, w \log D(R_\lambda x)
            + E_t \, w \log (1 - D(R_\lambda x)) \right), \qquad D(x) = \mathrm{sigmoid}(z(x))

    with discriminator :math:`D` (dalib's: two hidden layers with batch normalisation and ReLU),
    gradient reversal :math:`R_\lambda`, input :math:`x` and weights :math:`w` as the method has
    them. Logarithms end at -100, and the gradient vanishes where single precision takes
    :math:`D` for 0 or 1, both as in torch's binary cross entropy.

    Parameters
    ----------
    n_inputs, hidden_size : int
        Width of the discriminator's input and hidden layers.
    warmup_steps : int
        See :func:`reversal_coefficient`.
    generators : sequence of torch.Generator
        One for each model, for the first weights.
    device : torch.device
    """

    reason = "the output of the domain discriminator is NaN"

    # Whether nobody but the discriminator needs its input.
    _owns_input = False

    def __init__(
        self,
        n_inputs: int,
        hidden_size: int,
        warmup_steps: int,
        generators: Sequence[torch.Generator],
        device: torch.device,
    ) -> None:
        chains = []
        for generator in generators:
            d = build(lambda: DomainDiscriminator(n_inputs, hidden_size), generator, device)
            chains.append([d.layer1, d.bn1, d.relu1, d.layer2, d.bn2, d.relu2, d.layer3])
        self._discriminator = Stack(
            chains, running_statistics=False, overwrites_input=self._owns_input
        )
        self.stacks = [self._discriminator]
        self._warmup_steps = warmup_steps
        self._step = 0

    def loss(self, features: Tensor, logits: Tensor, weight: float) -> TransferLoss:
        """Find the loss of a batch, see :meth:`baselines.networks.Transfer.loss`."""
        values, on_input, reversal = self._discriminate(features, None, weight)
        return TransferLoss(values, on_input.mul_(reversal))

    def _discriminate(
        self, x: Tensor, row_weights: Tensor | None, weight: float
    ) -> tuple[Tensor, Tensor, float]:
        """Loss of shape (R,), its gradient with respect to the input, and a factor for that.

        Parameters
        ----------
        x : Tensor of shape (R, 2b, n_inputs)
        row_weights : Tensor of shape (R, 2b) or None
        weight : float
            A factor for the gradients.

        Returns
        -------
        values : Tensor of shape (R,)
        on_input : Tensor of shape (R, 2b, n_inputs)
            As it is before the reversal.
        reversal : float
            What the reversal multiplies it with.
        """
        n = x.shape[1]
        is_source, labels = _domain_labels(n, x.device, x.dtype)
        source = self._discriminator.forward(x)[:, :, 0].neg_().exp_().add_(1.0).reciprocal_()
        target = 1.0 - source
        log_right = torch.where(is_source, source, target).log_().clamp_(min=-100.0)
        error = source - labels
        spread = target.mul_(source)
        gradient = error.mul_(spread / spread.clamp(min=1e-12)).mul_(weight / n)
        if row_weights is not None:
            log_right, gradient = log_right * row_weights, gradient * row_weights
        on_input = self._discriminator.backward(gradient[:, :, None])
        assert on_input is not None
        reversal = -reversal_coefficient(self._step, self._warmup_steps)
        self._step += 1
        return log_right.sum(dim=1) / -n, on_input, reversal


@functools.lru_cache(maxsize=8)
def _domain_labels(n: int, device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Which of n rows are source rows: the first half; as truth values and as numbers."""
    is_source = torch.arange(n, device=device) < n // 2
    return is_source, is_source.to(dtype)


class ConditionalDomainAdversary(DomainAdversary):
    r"""dalib's ``ConditionalDomainAdversarialLoss`` for R models.

    As :class:`DomainAdversary`, the discriminator's input being the outer product of features and
    predicted probabilities :math:`f \otimes p`. No gradient flows through :math:`p`, nor through
    the weights :math:`1 + \exp(-H(p))`, which are scaled to mean 1.

    Parameters
    ----------
    n_classes : int
    hidden_size : int
        Width of the features and of the discriminator's hidden layers.
    warmup_steps : int
    entropy_conditioning : bool
        Weight the rows; else all weights are 1.
    generators : sequence of torch.Generator
    device : torch.device
    """

    _owns_input = True

    def __init__(
        self,
        n_classes: int,
        hidden_size: int,
        warmup_steps: int,
        entropy_conditioning: bool,
        generators: Sequence[torch.Generator],
        device: torch.device,
    ) -> None:
        super().__init__(n_classes * hidden_size, hidden_size, warmup_steps, generators, device)
        self._entropy_conditioning = entropy_conditioning
        # The same memory each time: a new array takes longer than the products.
        self._outer: Tensor | None = None

    def loss(self, features: Tensor, logits: Tensor, weight: float) -> TransferLoss:
        """Find the loss of a batch, see :meth:`baselines.networks.Transfer.loss`."""
        p = torch.softmax(logits, dim=2)
        row_weights = None
        if self._entropy_conditioning:
            # The small constant is dalib's.
            entropy = -(p * torch.log(p + 1e-5)).sum(dim=2)
            certain = 1.0 + torch.exp(-entropy)
            row_weights = certain / (certain.sum(dim=1, keepdim=True) / certain.shape[1])
        shape = (*p.shape, features.shape[2])
        if self._outer is None or self._outer.shape != shape:
            self._outer = features.new_empty(shape)
        outer = torch.mul(p.unsqueeze(3), features.unsqueeze(2), out=self._outer)
        values, on_outer, reversal = self._discriminate(outer.flatten(2), row_weights, weight)
        on_classes, factors = on_outer.view_as(outer).unbind(2), torch.split(p * reversal, 1, 2)
        on_features = on_classes[0].mul_(factors[0])
        for on_class, factor in zip(on_classes[1:], factors[1:], strict=True):
            on_features.addcmul_(on_class, factor)
        return TransferLoss(values, on_features)


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
    dalib's (:func:`reversal_coefficient`); the discriminator is dalib's, with as many hidden units
    as the MLP; the rest as set out in :mod:`baselines.networks`.

    Parameters
    ----------
    hidden_size : int or dict
        Width of the hidden layers, of the MLP and of the discriminator; with
        ``{"rnade_hidden_size": H, "n_components": N}`` the one at which the number of trained
        parameters, the discriminator's included, is nearest to that of KRDA's density with these
        settings.
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
    validation_fraction : float or None
        Share of each domain's rows that is held out to stop by, see :mod:`baselines.networks`; None
        trains for all epochs and keeps the last state.
    patience : int
        Steps without a smaller held-out loss after which training ends; only with
        ``validation_fraction``.
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
        hidden_size: int | Mapping[str, int] = 250,
        n_layers: int = 5,
        learning_rate: float = 1e-3,
        trade_off: float = 1.0,
        n_epochs: int = 30,
        batch_size: int = 32,
        warmup_steps: int = 1000,
        validation_fraction: float | None = None,
        patience: int = 250,
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
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.standardize = standardize
        self.random_state = random_state
        self.device = device

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_integer("warmup_steps", self.warmup_steps, 1)

    def _transfer(
        self, n_classes: int, generators: Sequence[torch.Generator], device: torch.device
    ) -> Transfer:
        return DomainAdversary(
            self.hidden_size_, self.hidden_size_, self.warmup_steps, generators, device
        )

    def _trained_modules(
        self, n_features: int, n_classes: int, hidden_size: int
    ) -> list[nn.Module]:
        networks = super()._trained_modules(n_features, n_classes, hidden_size)
        return [*networks, DomainDiscriminator(hidden_size, hidden_size)]


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
    hidden_size : int or dict
        Width of the hidden layers, of the MLP and of the discriminator; with
        ``{"rnade_hidden_size": H, "n_components": N}`` the one at which the number of trained
        parameters, the discriminator's included, is nearest to that of KRDA's density with these
        settings.
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
    validation_fraction : float or None
        Share of each domain's rows that is held out to stop by, see :mod:`baselines.networks`; None
        trains for all epochs and keeps the last state.
    patience : int
        Steps without a smaller held-out loss after which training ends; only with
        ``validation_fraction``.
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
        hidden_size: int | Mapping[str, int] = 250,
        n_layers: int = 5,
        learning_rate: float = 1e-3,
        trade_off: float = 1.0,
        n_epochs: int = 30,
        batch_size: int = 32,
        warmup_steps: int = 1000,
        entropy_conditioning: bool = False,
        validation_fraction: float | None = None,
        patience: int = 250,
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
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.standardize = standardize
        self.random_state = random_state
        self.device = device

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_integer("warmup_steps", self.warmup_steps, 1)
        require_truth("entropy_conditioning", self.entropy_conditioning)

    def _transfer(
        self, n_classes: int, generators: Sequence[torch.Generator], device: torch.device
    ) -> Transfer:
        return ConditionalDomainAdversary(
            n_classes,
            self.hidden_size_,
            self.warmup_steps,
            self.entropy_conditioning,
            generators,
            device,
        )

    def _trained_modules(
        self, n_features: int, n_classes: int, hidden_size: int
    ) -> list[nn.Module]:
        networks = super()._trained_modules(n_features, n_classes, hidden_size)
        return [*networks, DomainDiscriminator(n_classes * hidden_size, hidden_size)]
