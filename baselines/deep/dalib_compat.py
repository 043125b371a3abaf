"""``dalib`` 0.2, made to load and run with today's libraries.

dalib is of July 2020 and is no longer maintained. Its losses are what the paper ran. DANN and CDAN
train its discriminator behind its gradient reversal. Its losses take one model at a time, so
training has them in a form for several (:mod:`baselines.deep.adversarial`,
:mod:`baselines.deep.discrepancy`); the tests compare that form with the originals here. This module
alone knows what is broken in dalib:

- ``dalib.modules.kernels`` imports ``qpsolvers`` for an option that is not used here (and that
  cannot work: it names no solver). A stand-in takes the place of that import while dalib is loaded
  and is gone afterwards, so the real package is neither needed nor hidden from others.
- The gradient reversal layer calls ``numpy.float``, which NumPy 1.24 removed.
- The randomised multilinear map of CDAN multiplies its matrices in the wrong order; it is not used.

``dalib.vision``, and with it torchvision, is never imported.
"""

from __future__ import annotations

import math
import sys
import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

__all__ = [
    "DomainDiscriminator",
    "GaussianKernel",
    "GradientReversal",
    "JointMultipleKernelMaximumMeanDiscrepancy",
    "MultipleKernelMaximumMeanDiscrepancy",
    "conditional_domain_adversarial_loss",
    "domain_adversarial_loss",
]


def _no_quadratic_program(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(
        "dalib's quadratic program over kernels is not available; leave quadratic_program False."
    )


@contextmanager
def _stand_in_for_qpsolvers() -> Iterator[None]:
    """Let ``from qpsolvers import solve_qp`` succeed within the block, and leave no trace of it."""
    stand_in = types.ModuleType("qpsolvers")
    stand_in.solve_qp = _no_quadratic_program  # type: ignore[attr-defined]
    previous = sys.modules.get("qpsolvers")
    sys.modules["qpsolvers"] = stand_in
    try:
        yield
    finally:
        if previous is None:
            del sys.modules["qpsolvers"]
        else:
            sys.modules["qpsolvers"] = previous


try:
    # Compiling dalib's docstrings warns of invalid escapes, which is nothing for the user.
    with warnings.catch_warnings(), _stand_in_for_qpsolvers():
        warnings.simplefilter("ignore")
        from dalib.adaptation.cdan import ConditionalDomainAdversarialLoss
        from dalib.adaptation.dan import MultipleKernelMaximumMeanDiscrepancy
        from dalib.adaptation.dann import DomainAdversarialLoss
        from dalib.adaptation.jan import JointMultipleKernelMaximumMeanDiscrepancy
        from dalib.modules.domain_discriminator import DomainDiscriminator
        from dalib.modules.grl import GradientReverseFunction, WarmStartGradientReverseLayer
        from dalib.modules.kernels import GaussianKernel
except ModuleNotFoundError as error:
    if error.name is None or error.name.split(".")[0] != "dalib":
        raise
    raise ModuleNotFoundError(
        "DANN and CDAN use dalib 0.2, which is not installed. Install it without its "
        "dependencies (it asks for torchvision, which is not needed): "
        "pip install --no-deps dalib==0.2",
        name="dalib",
    ) from error


class GradientReversal(WarmStartGradientReverseLayer):
    """dalib's gradient reversal without ``numpy.float``; its factor is that of the next step."""

    def __init__(self, warmup_steps: int = 1000) -> None:
        super().__init__(max_iters=warmup_steps, auto_step=True)

    def forward(self, input: Tensor) -> Tensor:
        """Return the input; the gradient that comes back is reversed."""
        coefficient = 2.0 / (1.0 + math.exp(-self.iter_num / self.max_iters)) - 1.0
        self.step()
        return GradientReverseFunction.apply(input, coefficient)


def domain_adversarial_loss(discriminator: nn.Module, warmup_steps: int = 1000) -> nn.Module:
    """Return dalib's loss of DANN for one model, called with features (source, target)."""
    loss = DomainAdversarialLoss(discriminator)
    loss.grl = GradientReversal(warmup_steps)
    return loss


def conditional_domain_adversarial_loss(
    discriminator: nn.Module, warmup_steps: int = 1000, entropy_conditioning: bool = False
) -> nn.Module:
    """Return dalib's loss of CDAN for one model: (logits_s, features_s, logits_t, features_t)."""
    loss = ConditionalDomainAdversarialLoss(
        discriminator, entropy_conditioning=entropy_conditioning
    )
    loss.grl = GradientReversal(warmup_steps)
    return loss
