"""DAN and JAN: features whose distributions in the two domains have a small kernel distance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from baselines.dalib_compat import index_matrix
from baselines.networks import JointlyTrained, Transfer, TransferLoss
from baselines.stacked import Stack
from krda.parameters import require_number, require_truth

# Factors of the mean squared distance in the squared bandwidths, as in dalib's examples.
BANDWIDTH_FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0)


def squared_distances(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Squared Euclidean distances between all rows of each model, through one Gram matrix.

    The rows are centred first: distances stay as they are, and the cancellation in
    ``|x|^2 + |y|^2 - 2 x.y`` is that of the spread of the rows, not of their distance from zero.
    What is below the rounding error of that sum is set to 0, so that rows that all fall on one
    point have distance 0 exactly, as with dalib's kernel, and do not pass for noise with a spread.

    Parameters
    ----------
    rows : Tensor of shape (R, n, d)

    Returns
    -------
    distances : Tensor of shape (R, n, n), none negative
    centred : Tensor of shape (R, n, d)
        The rows less their mean.
    """
    centred = rows - rows.mean(dim=1, keepdim=True)
    norms = (centred * centred).sum(dim=2)
    sums = norms[:, :, None] + norms[:, None, :]
    distances = torch.baddbmm(sums, centred, centred.transpose(1, 2), alpha=-2.0)
    rounding = 8.0 * torch.finfo(rows.dtype).eps
    return torch.where(distances > rounding * sums, distances, 0.0), centred


class GaussianKernels:
    r"""The sum of dalib's ``GaussianKernel`` over several bandwidths, for R models.

    .. math::
        K_{ij} = \sum_\alpha \exp\left(-\frac{\|x_i - x_j\|^2}{2 \alpha \bar d}\right), \qquad
        \bar d = \frac{1}{n^2} \sum_{ij} \|x_i - x_j\|^2,

    no gradient flowing through :math:`\bar d`; with a fixed bandwidth, :math:`\alpha \bar d` is
    :math:`\sigma^2`. dalib computes an array of :math:`n^2 d` numbers for each bandwidth.

    Parameters
    ----------
    factors : sequence of float
        The values of :math:`\alpha`. Ignored where ``sigma`` is given.
    sigma : float or None
        One fixed bandwidth in place of those that follow the batch.
    """

    def __init__(self, factors: Sequence[float] = (1.0,), sigma: float | None = None) -> None:
        self._factors = [1.0] if sigma is not None else [float(factor) for factor in factors]
        self._sigma = sigma

    def forward(self, rows: Tensor) -> Tensor:
        """Kernel matrices of rows of shape (R, n, d), of shape (R, n, n)."""
        distances, self._centred = squared_distances(rows)
        n = rows.shape[1]
        self._scale = (
            distances.sum(dim=(1, 2), keepdim=True) * (-2.0 / n**2)
            if self._sigma is None
            else torch.full_like(distances[:, :1, :1], -2.0 * self._sigma**2)
        )
        scaled = distances / self._scale
        self._kernels = [torch.exp(scaled / factor) for factor in self._factors]
        return _sum(self._kernels)

    def backward(self, g: Tensor) -> Tensor:
        r"""Gradient with respect to the rows, from a symmetric one with respect to the kernels.

        :math:`4 \sum_j s_{ij} (x_i - x_j)` for row :math:`i`, where :math:`s` is the gradient with
        respect to the squared distances.
        """
        by_factor = zip(self._kernels, self._factors, strict=True)
        s = g * _sum([kernel / factor for kernel, factor in by_factor]) / self._scale
        x = self._centred
        return torch.baddbmm(s.sum(dim=2, keepdim=True) * x, s, x, beta=4.0, alpha=-4.0)


def _sum(tensors: list[Tensor]) -> Tensor:
    total = tensors[0]
    for tensor in tensors[1:]:
        total = total + tensor
    return total


class Discrepancy(Transfer):
    r"""dalib's (joint) maximum mean discrepancy for R models.

    The kernel of two rows is that of their features, times that of their predicted probabilities
    where there is one. :func:`baselines.dalib_compat.index_matrix` makes a discrepancy of it.

    Parameters
    ----------
    kernel : GaussianKernels
        Of the features.
    linear : bool
        Estimate in linear time.
    prediction_kernel : GaussianKernels or None
        Of the probabilities.
    """

    stacks: list[Stack] = []  # noqa: RUF012, nothing is trained along
    reason = (
        "the discrepancy between the domains is NaN or infinite (it is where the features of all "
        "rows fall on one point)"
    )

    def __init__(
        self,
        kernel: GaussianKernels,
        linear: bool,
        prediction_kernel: GaussianKernels | None = None,
    ) -> None:
        self._kernel, self._prediction_kernel = kernel, prediction_kernel
        self._linear = linear

    def loss(self, features: Tensor, logits: Tensor, weight: float) -> TransferLoss:
        """Find the loss of a batch, see :meth:`baselines.networks.Transfer.loss`."""
        n = features.shape[1] // 2
        weights = index_matrix(n, self._linear, str(features.device), features.dtype)
        k = self._kernel.forward(features)
        if self._prediction_kernel is None:
            values = (weights * k).sum(dim=(1, 2)) + 2.0 / (n - 1)
            return TransferLoss(values, self._kernel.backward(weights * weight))
        p = torch.softmax(logits, dim=2)
        q = self._prediction_kernel.forward(p)
        values = (weights * (k * q)).sum(dim=(1, 2)) + 2.0 / (n - 1)
        weights = weights * weight
        on_features = self._kernel.backward(weights * q)
        on_p = self._prediction_kernel.backward(weights * k)
        # Through the softmax.
        on_logits = p * (on_p - (p * on_p).sum(dim=2, keepdim=True))
        return TransferLoss(values, on_features, on_logits)

    def divergence(self, features: Tensor, logits: Tensor) -> Tensor:
        """Estimate the discrepancy from all pairs of rows, also where training does from a few."""
        of_all_pairs = Discrepancy(self._kernel, False, self._prediction_kernel)
        return of_all_pairs.loss(features, logits, 0.0).values


class DAN(JointlyTrained):
    r"""Deep adaptation network (Long et al. 2015).

    The transfer loss is the squared maximum mean discrepancy between the features of the domains,
    with a sum of Gaussian kernels :math:`k` whose squared bandwidths are ``bandwidth_factors``
    times the mean squared distance in the batch. In linear time, with the rows of a batch of
    :math:`n` paired in a ring,

    .. math::
        T = \frac{1}{n} \sum_i \left( k(s_i, s_{i+1}) + k(t_i, t_{i+1}) - k(s_i, t_{i+1})
            - k(s_{i+1}, t_i) \right) + \frac{2}{n - 1};

    in quadratic time (``linear=False``)

    .. math::
        T = \sum_{i \ne j} \frac{k(s_i, s_j) + k(t_i, t_j)}{n (n - 1)}
            - \frac{2}{n^2} \sum_{ij} k(s_i, t_j) + \frac{2}{n - 1}.

    This is dalib's ``MultipleKernelMaximumMeanDiscrepancy`` (its last term is a constant and moves
    no gradient). It acts on the features before the output layer only, with equal weights for the
    kernels; the publication has it on several layers and learns the weights.

    The paper used dalib's loss, a five-layer MLP with 250 hidden units and Adam with 1e-3; it lists
    :math:`\eta = 1` for DANN, JAN and CDAN and says nothing of DAN, which gets 1 too. Chosen here,
    as the paper is silent: linear time as in the publication and in dalib's example; bandwidth
    factors :math:`2^{-3}, ..., 2^1` as in dalib's example; the rest as set out in
    :mod:`baselines.networks`.

    Where all features of a batch fall on one point, the bandwidth is 0 and the loss undefined; the
    fit then ends with an error. (NaN logits have their maximum at the first class, so that such a
    network would pass for one that is right on exactly the rows of that class.)

    Parameters
    ----------
    hidden_size : int or dict
        Width of the hidden layers; with ``{"rnade_hidden_size": H,
        "n_components": N}`` the one at which the number of trained parameters is nearest to that
        of KRDA's density with these settings.
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
    bandwidth_factors : sequence of float
        One kernel for each.
    linear : bool
        Estimate in linear time.
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
    Long, Cao, Wang, Jordan (2015). Learning transferable features with deep adaptation networks.
    ICML, PMLR 37, 97-105.
    """

    def __init__(
        self,
        hidden_size: int | Mapping[str, int] = 250,
        n_layers: int = 5,
        learning_rate: float = 1e-3,
        trade_off: float = 1.0,
        n_epochs: int = 30,
        batch_size: int = 32,
        bandwidth_factors: Sequence[float] = BANDWIDTH_FACTORS,
        linear: bool = True,
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
        self.bandwidth_factors = bandwidth_factors
        self.linear = linear
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.standardize = standardize
        self.random_state = random_state
        self.device = device

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _require_factors(self.bandwidth_factors)
        require_truth("linear", self.linear)

    def _transfer(
        self, n_classes: int, generators: Sequence[torch.Generator], device: torch.device
    ) -> Transfer:
        return Discrepancy(GaussianKernels(self.bandwidth_factors), self.linear)


class JAN(JointlyTrained):
    r"""Joint adaptation network (Long et al. 2017).

    As :class:`DAN`, but the kernel of two rows is the product over layers: the features before the
    output layer, with the sum of Gaussian kernels of :class:`DAN`, and the predicted probabilities,
    with one Gaussian kernel of fixed width ``softmax_sigma``. So joint distributions of feature
    and prediction are compared. This is dalib's ``JointMultipleKernelMaximumMeanDiscrepancy``,
    without the adversarial layers of JAN-A.

    The paper used dalib's loss, a five-layer MLP with 250 hidden units, Adam with 1e-3 and
    :math:`\eta = 1`. Chosen here, as the paper is silent: quadratic time, bandwidth factors
    :math:`2^{-3}, ..., 2^1` and a width of 0.92, all as in dalib's example; the rest as set out in
    :mod:`baselines.networks`.

    Parameters
    ----------
    hidden_size : int or dict
        Width of the hidden layers; with ``{"rnade_hidden_size": H,
        "n_components": N}`` the one at which the number of trained parameters is nearest to that
        of KRDA's density with these settings.
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
    bandwidth_factors : sequence of float
        One kernel of the features for each.
    softmax_sigma : float
        Width of the kernel of the predicted probabilities.
    linear : bool
        Estimate in linear time.
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
    Long, Zhu, Wang, Jordan (2017). Deep transfer learning with joint adaptation networks. ICML,
    PMLR 70, 2208-2217.
    """

    def __init__(
        self,
        hidden_size: int | Mapping[str, int] = 250,
        n_layers: int = 5,
        learning_rate: float = 1e-3,
        trade_off: float = 1.0,
        n_epochs: int = 30,
        batch_size: int = 32,
        bandwidth_factors: Sequence[float] = BANDWIDTH_FACTORS,
        softmax_sigma: float = 0.92,
        linear: bool = False,
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
        self.bandwidth_factors = bandwidth_factors
        self.softmax_sigma = softmax_sigma
        self.linear = linear
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.standardize = standardize
        self.random_state = random_state
        self.device = device

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _require_factors(self.bandwidth_factors)
        require_truth("linear", self.linear)
        require_number("softmax_sigma", self.softmax_sigma, positive=True)

    def _transfer(
        self, n_classes: int, generators: Sequence[torch.Generator], device: torch.device
    ) -> Transfer:
        return Discrepancy(
            GaussianKernels(self.bandwidth_factors),
            self.linear,
            GaussianKernels(sigma=self.softmax_sigma),
        )


def _require_factors(factors: Any) -> None:
    if np.ndim(factors) != 1 or len(factors) == 0:
        raise ValueError(
            f"bandwidth_factors must be a sequence of at least one number, got {factors!r}."
        )
    for factor in factors:
        require_number("each of bandwidth_factors", factor, positive=True)
