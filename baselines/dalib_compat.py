"""The losses of ``dalib`` 0.2 as its authors wrote them, made usable with today's libraries.

dalib is of July 2020 and is no longer maintained. Its losses are sound and are what the paper ran;
four things around them are not, and this module is the only one that knows:

- ``dalib.modules.kernels`` imports ``qpsolvers`` for an option that is not used here (and that
  cannot work: it names no solver). A stand-in takes the place of that import while dalib is loaded
  and is gone afterwards, so the real package is neither needed nor hidden from others.
- The gradient reversal layer calls ``numpy.float``, which NumPy 1.24 removed.
  :class:`GradientReversal` overrides the one method that does.
- The Gaussian kernel builds an array of ``(2n)^2 d`` numbers for a batch of ``n`` rows a domain.
  :class:`GaussianKernels` computes the same matrix from a Gram matrix, for all bandwidths at once.
- The index matrix of the MMD losses is filled by a double Python loop each time the batch size
  changes. :func:`index_matrix` computes it without a loop and remembers it.

``dalib.vision``, and with it torchvision, is never imported.
"""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn


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
    r"""Identity forwards, minus :math:`\lambda_i` times the gradient backwards, in step ``i``.

    .. math:: \lambda_i = \frac{2}{1 + \exp(-i / N)} - 1

    is dalib's schedule, with its own constants but for ``N``, dalib's ``max_iters``. It rises from
    0 and is at 0.46 after ``N`` steps; Ganin et al. (2016, section 5.2.2) have ``10 i / N`` in the
    exponent, with ``N`` the length of the training.

    Parameters
    ----------
    warmup_steps : int
        ``N``; dalib has 1000.
    """

    def __init__(self, warmup_steps: int = 1000) -> None:
        super().__init__(alpha=1.0, lo=0.0, hi=1.0, max_iters=warmup_steps, auto_step=True)

    @property
    def coefficient(self) -> float:
        """The coefficient that the next call will use."""
        span = self.hi - self.lo
        progress = self.alpha * self.iter_num / self.max_iters
        return float(2.0 * span / (1.0 + np.exp(-progress)) - span + self.lo)

    def forward(self, input: Tensor) -> Tensor:
        """Return the input; the gradient that comes back is turned round."""
        coefficient = self.coefficient
        self.step()
        return GradientReverseFunction.apply(input, coefficient)


class Discriminator(DomainDiscriminator):
    """dalib's domain discriminator, which says so where its output is not a probability.

    Two hidden layers with batch normalisation and ReLU, one sigmoid output. Cross entropy would
    raise without a reason on a CPU, and end the process's use of the device on a GPU.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Probability of each row to be of the source, of shape (n, 1)."""
        output: Tensor = super().forward(x)
        if not torch.isfinite(output).all():
            raise FloatingPointError("the output of the domain discriminator is NaN")
        return output


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


def squared_distances(rows: Tensor) -> Tensor:
    """Squared Euclidean distances between all rows, through one Gram matrix.

    The rows are centred first: distances stay as they are, and the cancellation in
    ``|x|^2 + |y|^2 - 2 x.y`` is that of the spread of the rows, not of their distance from zero.
    What is below the rounding error of that sum is set to 0, so that rows that all fall on one
    point have distance 0 exactly, as with dalib's kernel, and do not pass for noise with a spread.

    Parameters
    ----------
    rows : Tensor of shape (n, d)

    Returns
    -------
    distances : Tensor of shape (n, n), none negative
    """
    centred = rows - rows.mean(dim=0)
    norms = (centred * centred).sum(dim=1)
    sums = norms[:, None] + norms[None, :]
    distances = sums - 2.0 * centred @ centred.T
    rounding = 8.0 * torch.finfo(rows.dtype).eps
    return torch.where(distances > rounding * sums, distances, 0.0)


class GaussianKernels(nn.Module):
    r"""The sum of dalib's ``GaussianKernel`` over several bandwidths.

    .. math::
        K_{ij} = \sum_\alpha \exp\left(-\frac{\|x_i - x_j\|^2}{2 \alpha \bar d}\right), \qquad
        \bar d = \frac{1}{n^2} \sum_{ij} \|x_i - x_j\|^2,

    no gradient flowing through :math:`\bar d`; with a fixed bandwidth, :math:`\alpha \bar d` is
    :math:`\sigma^2`.

    Parameters
    ----------
    factors : sequence of float
        The values of :math:`\alpha`. Ignored where ``sigma`` is given.
    sigma : float or None
        One fixed bandwidth in place of those that follow the batch.
    """

    def __init__(self, factors: Sequence[float] = (1.0,), sigma: float | None = None) -> None:
        super().__init__()
        self.factors = tuple(float(factor) for factor in factors)
        self.sigma = sigma

    def forward(self, rows: Tensor) -> Tensor:
        """Kernel matrix of rows of shape (n, d), of shape (n, n)."""
        distances = squared_distances(rows)
        if self.sigma is not None:
            return torch.exp(distances / (-2.0 * self.sigma**2))
        scaled = distances / (-2.0 * distances.detach().mean())
        return torch.stack([torch.exp(scaled / factor) for factor in self.factors]).sum(dim=0)


@lru_cache(maxsize=32)
def index_matrix(n: int, linear: bool, device: str = "cpu") -> Tensor:
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

    Returns
    -------
    weights : Tensor of shape (2n, 2n); shared between calls, not to be written to
    """
    if linear:
        within = torch.eye(n).roll(1, dims=1) / n
        # Assigned, not added: in a ring of two, both meetings fall on the same entry, and dalib
        # counts that entry once.
        across = -((torch.eye(n).roll(1, dims=1) + torch.eye(n).roll(1, dims=0)) > 0).float() / n
        back = torch.zeros(n, n)
    else:
        within = (1.0 - torch.eye(n)) / (n * (n - 1))
        across = back = torch.full((n, n), -1.0 / n**2)
    top, bottom = torch.cat([within, across], dim=1), torch.cat([back, within], dim=1)
    return torch.cat([top, bottom]).to(device=device, dtype=torch.float32)


class MeanDiscrepancy(MultipleKernelMaximumMeanDiscrepancy):
    """dalib's MK-MMD with the fast kernel and the remembered index matrix.

    Parameters
    ----------
    factors : sequence of float
        Bandwidth factors, see :class:`GaussianKernels`.
    linear : bool
        The estimator in linear time in place of the quadratic one.
    """

    def __init__(self, factors: Sequence[float], linear: bool) -> None:
        super().__init__((GaussianKernels(factors),), linear=linear)

    def forward(self, z_s: Tensor, z_t: Tensor) -> Tensor:
        """MMD between source and target features, both of shape (n, d), n at least two."""
        self.index_matrix = index_matrix(len(z_s), self.linear, str(z_s.device))
        return super().forward(z_s, z_t)


class JointMeanDiscrepancy(JointMultipleKernelMaximumMeanDiscrepancy):
    """dalib's JMMD with the fast kernels and the remembered index matrix.

    Parameters
    ----------
    layers : sequence of GaussianKernels
        One for each layer; the kernel of a pair of rows is the product over layers.
    linear : bool
        The estimator in linear time in place of the quadratic one.
    """

    def __init__(self, layers: Sequence[GaussianKernels], linear: bool) -> None:
        super().__init__(tuple((layer,) for layer in layers), linear=linear)

    def forward(self, z_s: tuple[Tensor, ...], z_t: tuple[Tensor, ...]) -> Tensor:
        """JMMD between source and target activations of each layer, n rows each, at least two."""
        self.index_matrix = index_matrix(len(z_s[0]), self.linear, str(z_s[0].device))
        return super().forward(z_s, z_t)
