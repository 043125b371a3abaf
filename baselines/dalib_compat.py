"""The parts of ``dalib`` 0.2 that are used or compared with, made to load with today's libraries.

dalib is of July 2020 and is no longer maintained. Its losses are sound and are what the paper ran.
Training uses its discriminator, and its losses in a form for several models at a time
(:mod:`baselines.adversarial`, :mod:`baselines.discrepancy`); the tests hold that form to the
originals, which are here too. Of what stands in the way, this module is the only one that knows:

- ``dalib.modules.kernels`` imports ``qpsolvers`` for an option that is not used here (and that
  cannot work: it names no solver). A stand-in takes the place of that import while dalib is loaded
  and is gone afterwards, so the real package is neither needed nor hidden from others.
- The gradient reversal layer calls ``numpy.float``, which NumPy 1.24 removed.
  :class:`GradientReversal` overrides the one method that does.
- The index matrix of the MMD losses is filled by a double Python loop each time the batch size
  changes. :func:`index_matrix` computes it without a loop and remembers it.

``dalib.vision``, and with it torchvision, is never imported.
"""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

__all__ = [
    "ConditionalDomainAdversarialLoss",
    "DomainAdversarialLoss",
    "DomainDiscriminator",
    "GaussianKernel",
    "GradientReversal",
    "JointMultipleKernelMaximumMeanDiscrepancy",
    "MultipleKernelMaximumMeanDiscrepancy",
    "conditional_domain_adversarial_loss",
    "domain_adversarial_loss",
    "index_matrix",
]


def _no_quadratic_program(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(
        "dalib's quadratic programme over kernels is not available; leave quadratic_program False."
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
    # Compiling dalib's docstrings warns of invalid escapes; that is no business of the user's.
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
        "DANN, CDAN, DAN and JAN use the losses of dalib 0.2, which is not installed. Install it "
        "without its dependencies (it asks for torchvision, which is not needed): "
        "pip install --no-deps dalib==0.2",
        name="dalib",
    ) from error


class GradientReversal(WarmStartGradientReverseLayer):
    """dalib's gradient reversal, without ``numpy.float``.

    Parameters
    ----------
    warmup_steps : int
        dalib's ``max_iters``, see :func:`baselines.adversarial.reversal_coefficient`.
    """

    def __init__(self, warmup_steps: int = 1000) -> None:
        super().__init__(alpha=1.0, lo=0.0, hi=1.0, max_iters=warmup_steps, auto_step=True)

    def forward(self, input: Tensor) -> Tensor:
        """Return the input; the gradient that comes back is turned round."""
        span = self.hi - self.lo
        progress = self.alpha * self.iter_num / self.max_iters
        coefficient = float(2.0 * span / (1.0 + np.exp(-progress)) - span + self.lo)
        self.step()
        return GradientReverseFunction.apply(input, coefficient)


def domain_adversarial_loss(discriminator: nn.Module, warmup_steps: int = 1000) -> nn.Module:
    """Return dalib's ``DomainAdversarialLoss`` with a working gradient reversal.

    Parameters
    ----------
    discriminator : torch.nn.Module
        Maps features to the probability of the source, shape (n, 1).
    warmup_steps : int
        See :class:`GradientReversal`.

    Returns
    -------
    loss : torch.nn.Module
        Called with source and target features, each of shape (n, d).
    """
    loss = DomainAdversarialLoss(discriminator)
    loss.grl = GradientReversal(warmup_steps)
    return loss


def conditional_domain_adversarial_loss(
    discriminator: nn.Module, warmup_steps: int = 1000, entropy_conditioning: bool = False
) -> nn.Module:
    """Return dalib's ``ConditionalDomainAdversarialLoss`` with a working gradient reversal.

    The full multilinear map is used; dalib's randomised one multiplies its matrices in the wrong
    order and cannot run.

    Parameters
    ----------
    discriminator : torch.nn.Module
        Maps ``d * n_classes`` features to the probability of the source, shape (n, 1).
    warmup_steps : int
        See :class:`GradientReversal`.
    entropy_conditioning : bool
        Weight rows by the certainty of their prediction.

    Returns
    -------
    loss : torch.nn.Module
        Called with source logits, source features, target logits, target features.
    """
    loss = ConditionalDomainAdversarialLoss(
        discriminator, entropy_conditioning=entropy_conditioning
    )
    loss.grl = GradientReversal(warmup_steps)
    return loss


@lru_cache(maxsize=32)
def index_matrix(
    n: int, linear: bool, device: str = "cpu", dtype: torch.dtype = torch.float32
) -> Tensor:
    r"""Weights that turn a kernel matrix of ``n`` source and ``n`` target rows into an MMD.

    Quadratic: :math:`1/(n(n-1))` off the diagonal within a domain, :math:`-1/n^2` between domains.
    Linear: every row meets only the next one, in a ring,
    :math:`h_i = k(s_i, s_{i+1}) + k(t_i, t_{i+1}) - k(s_i, t_{i+1}) - k(s_{i+1}, t_i)`, over ``n``.

    Parameters
    ----------
    n : int
        Rows of each domain, at least two.
    linear : bool
    device : str
    dtype : torch.dtype

    Returns
    -------
    weights : Tensor of shape (2n, 2n)
        Symmetric, as kernel matrices are: dalib's matrix and its transpose, half of each. Shared
        between calls, not to be written to.
    """
    # The matrix outlives the training that asks for it, and may be part of a graph one day.
    with torch.inference_mode(mode=False):
        return _index_matrix(n, linear).to(device=device, dtype=dtype)


def _index_matrix(n: int, linear: bool) -> Tensor:
    one = torch.eye(n, dtype=torch.float64, device="cpu")
    after = one.roll(1, dims=1)
    if linear:
        within = after / n
        # The larger, not the sum: in a ring of two, both meetings fall on the same entry, and dalib
        # counts that entry once.
        across = -torch.maximum(after, after.T) / n
        back = torch.zeros_like(one)
    else:
        within = (1.0 - one) / (n * (n - 1))
        across = back = torch.full_like(one, -1.0 / n**2)
    top, bottom = torch.cat([within, across], dim=1), torch.cat([back, within], dim=1)
    weights = torch.cat([top, bottom])
    return (weights + weights.T) / 2
