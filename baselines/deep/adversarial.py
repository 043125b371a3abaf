"""DANN and CDAN: features that a domain discriminator cannot tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from baselines.deep.dalib_compat import DomainDiscriminator, GradientReversal
from baselines.deep.joint import JointlyTrained, Transfer
from baselines.deep.stacked import build, stack
from krda.validation import require_integer, require_truth


class DomainAdversary(Transfer):
    r"""dalib's ``DomainAdversarialLoss`` for R models, and the discriminators that it trains.

    .. math::
        T = -\frac{1}{2} \left( E_s \, w \log D(R_\lambda x)
            + E_t \, w \log (1 - D(R_\lambda x)) \right)

    with dalib's discriminator :math:`D` and gradient reversal :math:`R_\lambda`. Here :math:`x` are
    the features and :math:`w = 1`.
    """

    reason = "the output of the domain discriminator is NaN"

    def __init__(self, discriminators: Sequence[nn.Module], warmup_steps: int) -> None:
        super().__init__()
        self.reversal = GradientReversal(warmup_steps)
        self.discriminator = stack(discriminators)

    def forward(self, features: Tensor, logits: Tensor) -> Tensor:
        """Loss of shape (R,)."""
        return self._loss(features)

    def _loss(self, x: Tensor, weights: Tensor | None = None) -> Tensor:
        return domain_cross_entropy(self.discriminator(self.reversal(x))[:, :, 0], weights)


class ConditionalDomainAdversary(DomainAdversary):
    r"""dalib's ``ConditionalDomainAdversarialLoss`` for R models.

    As :class:`DomainAdversary`, but :math:`x` is the outer product of features and predicted
    probabilities :math:`f \otimes p`. No gradient flows through :math:`p`, nor through the weights
    :math:`1 + \exp(-H(p))` of entropy conditioning, which are scaled to mean 1.
    """

    entropy_conditioning = False

    def forward(self, features: Tensor, logits: Tensor) -> Tensor:
        """Loss of shape (R,)."""
        p = torch.softmax(logits.detach(), dim=2)
        weights = None
        if self.entropy_conditioning:
            # The small constant is dalib's.
            certain = 1.0 + torch.exp((p * torch.log(p + 1e-5)).sum(dim=2))
            weights = certain / certain.mean(dim=1, keepdim=True)
        return self._loss((p[:, :, :, None] * features[:, :, None, :]).flatten(2), weights)


def domain_cross_entropy(d: Tensor, weights: Tensor | None = None) -> Tensor:
    """Mean binary cross entropy of each model, (R,); d, (R, 2b), are probabilities of the source.

    Logarithms end at -100 as in dalib, whose function refuses NaN; here the model's loss is NaN.
    """
    is_source = torch.arange(d.shape[1], device=d.device) < d.shape[1] // 2
    broken = d.isnan()
    terms = F.binary_cross_entropy(
        torch.where(broken, 0.5, d), is_source.to(d).expand_as(d), weights, reduction="none"
    )
    return torch.where(broken, torch.nan, terms).mean(dim=1)


@dataclass(kw_only=True, eq=False, repr=False)
class Adversarial(JointlyTrained):
    r"""Methods with a domain discriminator.

    Parameters
    ----------
    warmup_steps : int, default=1000
        ``N`` of the schedule of :math:`\lambda`, see :class:`DANN`; dalib's ``max_iters``.
    """

    warmup_steps: int = 1000

    _adversary: ClassVar[type[DomainAdversary]] = DomainAdversary

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_integer("warmup_steps", self.warmup_steps, 1)

    def _discriminator(self, n_classes: int, hidden_size: int) -> nn.Module:
        return DomainDiscriminator(hidden_size, hidden_size)

    def _transfer(
        self, n_classes: int, generators: Sequence[torch.Generator], device: torch.device
    ) -> DomainAdversary:
        return self._adversary(
            [
                build(lambda: self._discriminator(n_classes, self.hidden_size_), generator, device)
                for generator in generators
            ],
            self.warmup_steps,
        )

    def _trained_modules(self, n_features: int, n_classes: int, hidden_size: int) -> list[Any]:
        networks = super()._trained_modules(n_features, n_classes, hidden_size)
        return [*networks, self._discriminator(n_classes, hidden_size)]


@dataclass(kw_only=True, eq=False, repr=False)
class DANN(Adversarial):
    r"""Domain-adversarial training of neural networks (Ganin et al. 2016).

    With features :math:`f`, discriminator :math:`D` (probability of the source) and gradient
    reversal :math:`R_\lambda` (identity forwards, :math:`-\lambda` times the gradient backwards),

    .. math::
        L = \mathrm{CE}(g(f(x_s)), y_s) - \frac{\eta}{2} \left( E_s \log D(R_\lambda f(x_s))
            + E_t \log (1 - D(R_\lambda f(x_t))) \right)

    is minimised over everything at once: the discriminator learns to tell the domains apart, the
    features learn to prevent it. The second term is dalib's ``DomainAdversarialLoss``.

    The paper used dalib's loss, a five-layer MLP with 250 hidden units, Adam with 1e-3 and
    :math:`\eta = 1`. Chosen here, as the paper is silent: dalib's discriminator, as wide as the
    MLP, and dalib's schedule in step :math:`i`,

    .. math:: \lambda_i = \frac{2}{1 + \exp(-i / N)} - 1,

    which rises from 0 and is at 0.46 after ``N`` steps. (Ganin et al. have ``10 i / N`` in the
    exponent, with ``N`` the length of the training.) The rest is set out in
    :mod:`baselines.deep.networks`.

    Parameters
    ----------
    **parameters
        Those of :class:`Adversarial`, :class:`baselines.deep.joint.JointlyTrained` and
        :class:`baselines.deep.networks.DeepClassifier`.

    References
    ----------
    Ganin, Ustinova, Ajakan, Germain, Larochelle, Laviolette, Marchand, Lempitsky (2016).
    Domain-adversarial training of neural networks. JMLR 17(59), 1-35.
    """


@dataclass(kw_only=True, eq=False, repr=False)
class CDAN(Adversarial):
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
    :class:`DANN`; the rest is set out in :mod:`baselines.deep.networks`.

    Parameters
    ----------
    entropy_conditioning : bool, default=False
        CDAN+E.
    **parameters
        Those of :class:`DANN`.

    References
    ----------
    Long, Cao, Wang, Jordan (2018). Conditional adversarial domain adaptation. NeurIPS 31.
    """

    entropy_conditioning: bool = False

    _adversary = ConditionalDomainAdversary

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_truth("entropy_conditioning", self.entropy_conditioning)

    def _discriminator(self, n_classes: int, hidden_size: int) -> nn.Module:
        return DomainDiscriminator(n_classes * hidden_size, hidden_size)

    def _transfer(self, *args: Any) -> DomainAdversary:
        adversary = super()._transfer(*args)
        assert isinstance(adversary, ConditionalDomainAdversary)
        adversary.entropy_conditioning = self.entropy_conditioning
        return adversary
