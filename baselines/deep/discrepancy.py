"""DAN and JAN: features whose distributions in the two domains have a small kernel distance."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from baselines.deep.joint import JointlyTrained
from krda.validation import require_number, require_truth

# Factors of the mean squared distance in the squared bandwidths, as in dalib's examples.
BANDWIDTH_FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0)


@dataclass(kw_only=True, eq=False, repr=False)
class DAN(JointlyTrained):
    r"""Deep adaptation network (Long et al. 2015).

    The transfer loss is the squared maximum mean discrepancy between the features of the domains,
    with a sum of Gaussian kernels :math:`k` whose squared bandwidths are ``BANDWIDTH_FACTORS``
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
    kernels; the publication has it on several layers and learns the weights. If all features of a
    batch are equal, the loss is not defined and the fit ends with an error.

    The paper lists :math:`\eta = 1` for DANN, JAN and CDAN and says nothing of DAN, which gets 1
    too. Chosen here, as the paper is silent: linear time as in the publication and in dalib's
    example; bandwidth factors :math:`2^{-3}, ..., 2^1` as in dalib's example; the rest is set out
    in :mod:`baselines.deep.networks`.

    References
    ----------
    Long, Cao, Wang, Jordan (2015). Learning transferable features with deep adaptation networks.
    ICML, PMLR 37, 97-105.
    """

    linear: bool = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_truth("linear", self.linear)

    def _kernel(self, features: Tensor, logits: Tensor) -> Tensor:
        return adaptive_kernel(features)

    def _transfer_loss(self, features: Tensor, logits: Tensor, adversary: nn.Module) -> Tensor:
        return mean_discrepancy(self._kernel(features, logits), self.linear)

    def _divergence(self, features: Tensor, logits: Tensor) -> Tensor:
        # From all pairs of rows, whatever training does.
        return mean_discrepancy(self._kernel(features, logits), linear=False)


@dataclass(kw_only=True, eq=False, repr=False)
class JAN(DAN):
    r"""Joint adaptation network (Long et al. 2017).

    As :class:`DAN`, but the kernel of two rows is the product over layers: the features before the
    output layer, with the sum of Gaussian kernels of :class:`DAN`, and the predicted probabilities,
    with one Gaussian kernel of fixed width ``softmax_sigma``. So joint distributions of feature
    and prediction are compared. This is dalib's ``JointMultipleKernelMaximumMeanDiscrepancy``,
    without the adversarial layers of JAN-A.

    Chosen here, as the paper is silent: quadratic time, bandwidth factors
    :math:`2^{-3}, ..., 2^1` and a width of 0.92, all as in dalib's example; the rest is set out in
    :mod:`baselines.deep.networks`.

    References
    ----------
    Long, Zhu, Wang, Jordan (2017). Deep transfer learning with joint adaptation networks. ICML,
    PMLR 70, 2208-2217.
    """

    linear: bool = False
    softmax_sigma: float = 0.92

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_number("softmax_sigma", self.softmax_sigma, positive=True)

    def _kernel(self, features: Tensor, logits: Tensor) -> Tensor:
        predictions = torch.softmax(logits, dim=2)
        return adaptive_kernel(features) * fixed_kernel(predictions, self.softmax_sigma)


def squared_distances(rows: Tensor) -> Tensor:
    """Squared Euclidean distances between all rows of each model, (R, m, m), from a Gram matrix.

    The rows are centred first, so the cancellation in ``|x|^2 + |y|^2 - 2 x.y`` is that of their
    spread. What is below the rounding error of that sum is set to 0: rows that all fall on one
    point have distance 0 exactly, as with dalib's kernel, and do not pass for noise with a spread.
    """
    centred = rows - rows.detach().mean(dim=1, keepdim=True)
    norms = centred.square().sum(dim=2)
    sums = norms[:, :, None] + norms[:, None, :]
    distances = torch.baddbmm(sums, centred, centred.mT, alpha=-2.0)
    rounding = 8.0 * torch.finfo(rows.dtype).eps
    return torch.where(distances > rounding * sums, distances, 0.0)


def adaptive_kernel(rows: Tensor) -> Tensor:
    r"""Sum of dalib's ``GaussianKernel(alpha)`` over the bandwidth factors :math:`\alpha`.

    .. math::
        K_{ij} = \sum_\alpha \exp\left(-\frac{\|x_i - x_j\|^2}{2 \alpha \bar d}\right), \qquad
        \bar d = \frac{1}{m^2} \sum_{ij} \|x_i - x_j\|^2,

    no gradient flowing through :math:`\bar d`. dalib computes an array of :math:`m^2 d` numbers for
    each bandwidth, at many times the cost.
    """
    distances = squared_distances(rows)
    scaled = distances / (-2.0 * distances.detach().mean(dim=(1, 2), keepdim=True))
    return torch.stack([torch.exp(scaled / factor) for factor in BANDWIDTH_FACTORS]).sum(dim=0)


def fixed_kernel(rows: Tensor, sigma: float) -> Tensor:
    """One Gaussian kernel of fixed width, dalib's ``GaussianKernel(sigma)``."""
    return torch.exp(squared_distances(rows) / (-2.0 * sigma**2))


def mean_discrepancy(kernel: Tensor, linear: bool) -> Tensor:
    """Estimate the squared maximum mean discrepancy as dalib does, (R,), see :class:`DAN`.

    The kernel is of n source rows followed by n target rows, (R, 2n, 2n). For batches of two rows
    in linear time dalib counts one of the two equal terms between the domains only.
    """
    n = kernel.shape[1] // 2
    ss, st, ts, tt = kernel[:, :n, :n], kernel[:, :n, n:], kernel[:, n:, :n], kernel[:, n:, n:]
    if linear:
        estimate = (_next(ss) + _next(tt) - _next(st) - _next(ts)).mean(dim=1)
    else:
        within = sum(k.sum(dim=(1, 2)) - _diagonal(k).sum(dim=1) for k in (ss, tt))
        estimate = within / (n * (n - 1)) - 2.0 * st.mean(dim=(1, 2))
    return estimate + 2.0 / (n - 1)


def _diagonal(k: Tensor) -> Tensor:
    return k.diagonal(dim1=1, dim2=2)


def _next(k: Tensor) -> Tensor:
    """Entries (i, i + 1) of square matrices, in a ring."""
    return _diagonal(k.roll(-1, dims=2))
