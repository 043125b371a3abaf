"""``dalib`` 0.2, made to load and run with today's libraries.

dalib is of July 2020 and is no longer maintained. Its losses are what the paper ran. DANN and CDAN
train its discriminator behind its gradient reversal. Its losses take one model at a time, so
training has them in a form for several; the tests compare that form with the originals. This module
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

from torch import Tensor, nn

__all__ = ["DomainDiscriminator", "GradientReversal", "adaptation", "domain_adversarial_loss"]

_real = sys.modules.get("qpsolvers")
_stand_in = sys.modules["qpsolvers"] = types.ModuleType("qpsolvers")
_stand_in.solve_qp = None  # type: ignore[attr-defined]
try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # dalib's docstrings have invalid escapes
        from dalib import adaptation
        from dalib.modules.domain_discriminator import DomainDiscriminator
        from dalib.modules.grl import GradientReverseFunction, WarmStartGradientReverseLayer
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "DANN and CDAN use dalib 0.2, which is not installed. Install it without its "
        "dependencies (it asks for torchvision, which is not needed): "
        "pip install --no-deps dalib==0.2",
        name="dalib",
    ) from error
finally:
    del sys.modules["qpsolvers"]
    if _real is not None:
        sys.modules["qpsolvers"] = _real


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
    loss = adaptation.dann.DomainAdversarialLoss(discriminator)
    loss.grl = GradientReversal(warmup_steps)
    return loss
