"""DAN and JAN: features whose distributions in the two domains have a small kernel distance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from baselines.dalib_compat import GaussianKernels, JointMeanDiscrepancy, MeanDiscrepancy
from baselines.networks import JointlyTrained, Make, Transfer, require_number

# Factors of the mean squared distance in the squared bandwidths, as in dalib's examples.
BANDWIDTH_FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0)


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
    hidden_size : int
        Width of the hidden layers.
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
        hidden_size: int = 250,
        n_layers: int = 5,
        learning_rate: float = 1e-3,
        trade_off: float = 1.0,
        n_epochs: int = 30,
        batch_size: int = 32,
        bandwidth_factors: Sequence[float] = BANDWIDTH_FACTORS,
        linear: bool = True,
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
        self.standardize = standardize
        self.random_state = random_state
        self.device = device

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _require_factors(self.bandwidth_factors)

    def _transfer(self, n_classes: int, make: Make) -> Transfer:
        loss = MeanDiscrepancy(self.bandwidth_factors, self.linear)

        def transfer(f_s: Tensor, g_s: Tensor, f_t: Tensor, g_t: Tensor) -> Tensor:
            return _finite(loss(f_s, f_t))

        return transfer, []


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
    hidden_size : int
        Width of the hidden layers.
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
        hidden_size: int = 250,
        n_layers: int = 5,
        learning_rate: float = 1e-3,
        trade_off: float = 1.0,
        n_epochs: int = 30,
        batch_size: int = 32,
        bandwidth_factors: Sequence[float] = BANDWIDTH_FACTORS,
        softmax_sigma: float = 0.92,
        linear: bool = False,
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
        self.standardize = standardize
        self.random_state = random_state
        self.device = device

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _require_factors(self.bandwidth_factors)
        require_number("softmax_sigma", self.softmax_sigma, positive=True)

    def _transfer(self, n_classes: int, make: Make) -> Transfer:
        layers = (
            GaussianKernels(self.bandwidth_factors),
            GaussianKernels(sigma=self.softmax_sigma),
        )
        loss = JointMeanDiscrepancy(layers, self.linear)

        def transfer(f_s: Tensor, g_s: Tensor, f_t: Tensor, g_t: Tensor) -> Tensor:
            p_s, p_t = torch.softmax(g_s, dim=1), torch.softmax(g_t, dim=1)
            return _finite(loss((f_s, p_s), (f_t, p_t)))

        return transfer, []


def _finite(discrepancy: Tensor) -> Tensor:
    if not torch.isfinite(discrepancy):
        raise FloatingPointError(
            "the discrepancy between the domains is NaN or infinite (it is where the features of "
            "all rows fall on one point)"
        )
    return discrepancy


def _require_factors(factors: Sequence[float]) -> None:
    if len(factors) == 0:
        raise ValueError("bandwidth_factors must name at least one factor, got none.")
    for factor in factors:
        require_number("each of bandwidth_factors", factor, positive=True)
