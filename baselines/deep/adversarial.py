"""DANN and CDAN: features that a domain discriminator cannot tell apart."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from baselines.deep.dalib_compat import DomainDiscriminator, GradientReversal
from baselines.deep.joint import JointlyTrained
from krda.validation import require_integer, require_truth


@dataclass(kw_only=True, eq=False, repr=False)
class DANN(JointlyTrained):
    r"""Domain-adversarial training of neural networks (Ganin et al. 2016).

    With features :math:`f`, discriminator :math:`D` (probability of the source) and gradient
    reversal :math:`R_\lambda` (identity forwards, :math:`-\lambda` times the gradient backwards),

    .. math::
        L = \mathrm{CE}(g(f(x_s)), y_s) - \frac{\eta}{2} \left( E_s \log D(R_\lambda f(x_s))
            + E_t \log (1 - D(R_\lambda f(x_t))) \right)

    is minimised over everything at once: the discriminator learns to tell the domains apart, the
    features learn to prevent it. The second term is dalib's ``DomainAdversarialLoss``.

    Chosen here, as the paper is silent: dalib's discriminator, as wide as the MLP, and dalib's
    schedule in step :math:`i`, with :math:`N` = ``warmup_steps``,

    .. math:: \lambda_i = \frac{2}{1 + \exp(-i / N)} - 1,

    which rises from 0 and is at 0.46 after :math:`N` steps. (Ganin et al. have ``10 i / N`` in the
    exponent, with :math:`N` the length of the training.) The rest is set out in
    :mod:`baselines.deep.networks`.

    References
    ----------
    Ganin, Ustinova, Ajakan, Germain, Larochelle, Laviolette, Marchand, Lempitsky (2016).
    Domain-adversarial training of neural networks. JMLR 17(59), 1-35.
    """

    warmup_steps: int = 1000

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_integer("warmup_steps", self.warmup_steps, 1)

    def _adversary(self, n_classes: int, width: int) -> nn.Module:
        return nn.Sequential(GradientReversal(self.warmup_steps), DomainDiscriminator(width, width))

    def _transfer_loss(self, features: Tensor, logits: Tensor, adversary: nn.Module) -> Tensor:
        return domain_cross_entropy(adversary(features)[:, :, 0])


@dataclass(kw_only=True, eq=False, repr=False)
class CDAN(DANN):
    r"""Conditional domain-adversarial network (Long et al. 2018).

    As :class:`DANN`, but the discriminator sees the outer product of features and predicted
    probabilities :math:`p = \mathrm{softmax}(g)`, through which no gradient flows:

    .. math::
        T = -\frac{1}{2} \left( E_s \, w \log D(R_\lambda (f \otimes p))
            + E_t \, w \log (1 - D(R_\lambda (f \otimes p))) \right)

    with :math:`w = 1` (CDAN) or, with ``entropy_conditioning`` (CDAN+E), :math:`w` proportional to
    :math:`1 + \exp(-H(p))` with mean 1 over the batch. This is dalib's
    ``ConditionalDomainAdversarialLoss`` with the full multilinear map; the publication takes a
    random map only beyond 4096 products, and here there are 250 for each class.

    Chosen here, as the paper is silent: no entropy conditioning, which is dalib's default and what
    the paper's name of the method says; the rest as in :class:`DANN`.

    References
    ----------
    Long, Cao, Wang, Jordan (2018). Conditional adversarial domain adaptation. NeurIPS 31.
    """

    entropy_conditioning: bool = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_truth("entropy_conditioning", self.entropy_conditioning)

    def _adversary(self, n_classes: int, width: int) -> nn.Module:
        discriminator = DomainDiscriminator(n_classes * width, width)
        return nn.Sequential(GradientReversal(self.warmup_steps), discriminator)

    def _transfer_loss(self, features: Tensor, logits: Tensor, adversary: nn.Module) -> Tensor:
        p = torch.softmax(logits.detach(), dim=2)
        weights = None
        if self.entropy_conditioning:
            # The small constant is dalib's.
            certain = 1.0 + torch.exp((p * torch.log(p + 1e-5)).sum(dim=2))
            weights = certain / certain.mean(dim=1, keepdim=True)
        products = (p[:, :, :, None] * features[:, :, None, :]).flatten(2)
        return domain_cross_entropy(adversary(products)[:, :, 0], weights)


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
