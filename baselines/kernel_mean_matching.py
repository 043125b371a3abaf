"""Kernel Mean Matching (Huang et al., NIPS 2006; Gretton et al., 2009)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import piqp
from numpy.typing import NDArray

from baselines.kernels import make_kernel
from baselines.memory import check_memory
from krda.base import AlignedClassifier, AlignedSource
from krda.validation import FloatArray, require_number

#: Largest relative distance from the optimum with which weights are accepted.
GAP_LIMIT = 1e-5

#: How far the mean weight may be outside its bounds.
MEAN_LIMIT = 1e-6

#: Matrices of the size of the source's Gram matrix at the peak, measured: the matrix itself, and
#: what PIQP makes of it.
_GRAM_COPIES = 6

#: Least weight that the classifier gets, where the mean is about 1. scikit-learn's SVC drops rows
#: of weight zero, and where a whole class goes it names the remaining ones wrongly.
_WEIGHT_FLOOR = 1e-9


class KernelMeanMatching(AlignedClassifier):
    r"""Weight the source rows so that their mean in a kernel space is the target's.

    The weights :math:`\beta` solve (eq. 12 of Gretton et al.)

    .. math::
        \min_\beta \tfrac12 \beta^\top K \beta - \kappa^\top \beta
        \quad\text{with}\quad 0 \le \beta_i \le B, \;
        \left| \textstyle\sum_i \beta_i - n_s \right| \le n_s \epsilon,

    where K is the Gram matrix of the source and :math:`\kappa_i = \frac{n_s}{n_t} \sum_j
    k(x^s_i, x^t_j)`. They go to the classifier as ``sample_weight``; rows stay where they are, so
    the method helps if the target is within the source, not if it was moved away.

    **How it is solved.** By the proximal interior-point solver PIQP (Schwan, Jiang, Kuhn and Jones,
    CDC 2023), with the objective divided by :math:`n_s`. The answer is then judged on its own: over
    this feasible set a linear function is minimised by sorting, and :math:`\max_s \nabla
    f(\beta)^\top (\beta - s)` bounds the distance from the optimum from above. What the data
    determine is the objective; where K is singular to rounding, as with a wide kernel, many weights
    reach it.

    ``gamma`` of the RBF kernel is by default the median rule over the rows of both domains, the
    common choice for the distance of kernel means, which is what the weights make small; it looks
    at no label. B = 1000 and :math:`\epsilon = (\sqrt{n_s} - 1) / \sqrt{n_s}` (``eps=None``) are
    those of both papers. The classifier gets no weight below 1e-9 in place of zeros, so that it
    still knows every class.

    References
    ----------
    J. Huang, A. Gretton, K. Borgwardt, B. Schölkopf, A. Smola. Correcting sample selection bias by
    unlabeled data. NIPS 2006 (proceedings of 2007).
    A. Gretton, A. Smola, J. Huang, M. Schmittfull, K. Borgwardt, B. Schölkopf. Covariate shift by
    kernel mean matching. In: Dataset Shift in Machine Learning, MIT Press 2009.
    """

    weights_source = True

    weights_: FloatArray
    objective_: float  # at the weights, divided by n_s^2
    gap_: float  # upper bound of how far that is from the optimum
    gamma_: float  # nan for the linear kernel

    def __init__(
        self,
        kernel: str = "rbf",
        gamma: str | float = "median",
        B: float = 1000.0,
        eps: float | None = None,
        classifier: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.B = B
        self.eps = eps
        self.classifier = classifier

    def _align(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> AlignedSource:
        n = len(Xs)
        eps = (np.sqrt(n) - 1) / np.sqrt(n) if self.eps is None else self.eps
        require_number("B", self.B, positive=True)
        if not 0 < eps < 1:
            raise ValueError(f"eps must be None or between 0 and 1, got {self.eps!r}.")
        check_memory("KernelMeanMatching", _GRAM_COPIES * n**2 + n * len(Xt))
        kernel, self.gamma_ = make_kernel(self.kernel, self.gamma, np.concatenate([Xs, Xt]))
        K = kernel(Xs, Xs)
        kappa = n * kernel(Xs, Xt).mean(axis=1)
        bounds = Bounds(float(self.B), n * (1 - float(eps)), n * (1 + float(eps)))
        self.weights_ = solve_mean_matching(K, kappa, bounds)
        self.objective_, self.gap_ = objective_and_gap(K, kappa, bounds, self.weights_)
        # The second term is how far a sample's mean is from its distribution's: with a linear
        # kernel the objective itself can be zero.
        scale = max(abs(self.objective_), float(np.trace(K)) / n**2)
        outside = max(bounds.low - self.weights_.sum(), self.weights_.sum() - bounds.high, 0) / n
        if not (self.gap_ <= GAP_LIMIT * scale and outside <= MEAN_LIMIT):
            raise FloatingPointError(
                f"The weights may be {self.gap_ / scale:.1e} of the objective away from the "
                f"optimum (at most {GAP_LIMIT:.0e} is accepted), their mean is {outside:.1e} "
                f"outside its bounds (at most {MEAN_LIMIT:.0e}). Scale the features, or choose "
                "another kernel or gamma."
            )
        return AlignedSource(Xs, np.maximum(self.weights_, _WEIGHT_FLOOR))


class Bounds(NamedTuple):
    """The feasible set: every weight within [0, upper], their sum within [low, high]."""

    upper: float
    low: float
    high: float

    def minimise(self, g: FloatArray) -> float:
        """Return the least value of the linear function with coefficients ``g``."""
        ascending = np.sort(g)
        # Fill the smallest coefficients first: all that are negative, then as the sum demands.
        total = np.clip(self.upper * np.count_nonzero(ascending < 0), self.low, self.high)
        filled = np.clip(total - self.upper * np.arange(len(g)), 0, self.upper)
        return float(ascending @ filled)


def objective_and_gap(
    K: FloatArray, kappa: FloatArray, bounds: Bounds, weights: FloatArray
) -> tuple[float, float]:
    """Return the objective at the weights over n squared, and how far it may be from the optimum.

    The objective is convex, so it is above its tangent, whose minimum over the bounds is known.
    """
    gradient = K @ weights - kappa
    objective = 0.5 * weights @ (gradient - kappa)
    gap = gradient @ weights - bounds.minimise(gradient)
    return float(objective / len(K) ** 2), float(gap / len(K) ** 2)


def solve_mean_matching(K: FloatArray, kappa: FloatArray, bounds: Bounds) -> FloatArray:
    """Solve the quadratic program; how near the weights are to the optimum is not checked here."""
    n = len(K)
    solver = piqp.DenseSolver()
    # Divided by n, the gradient is of order one and the solver's tolerances mean something; after
    # n^2, as in the objective that is reported, it stops a hundred to a thousand times earlier.
    solver.setup(
        P=K / n, c=-kappa / n, x_l=np.zeros(n), x_u=np.full(n, bounds.upper),
        G=np.full((1, n), 1 / n), h_l=np.array([bounds.low / n]), h_u=np.array([bounds.high / n]),
    )  # fmt: skip
    status = solver.solve()
    weights = solver.result.x
    # Out of steps it is mostly as near as rounding lets it come; the caller judges that.
    answered = status in (piqp.PIQP_SOLVED, piqp.PIQP_MAX_ITER_REACHED)
    if not answered or not np.isfinite(weights).all():
        raise FloatingPointError(
            f"No weights were found for {n} source rows (PIQP: {status.name}). Scale the features, "
            "raise B or eps, or choose another kernel or gamma."
        )
    # An interior point comes within rounding of a bound, from either side.
    return np.clip(weights, 0, bounds.upper)
