"""Kernel Mean Matching (Huang et al., NIPS 2006; Gretton et al., 2009)."""

from __future__ import annotations

from typing import Any

import numpy as np
import piqp
from numpy.typing import NDArray

from baselines.kernels import bandwidth, check_kernel, gram
from baselines.memory import check_matrix_size
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


class QuadraticProgramError(FloatingPointError):
    """The weights' quadratic program was not solved."""


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

    Parameters
    ----------
    kernel : {"rbf", "linear"}, default="rbf"
    gamma : "median", "scale" or float, default="median"
        Bandwidth of the RBF kernel over the rows of both domains, see
        :func:`baselines.kernels.bandwidth`. The default is the common choice for the distance of
        kernel means, which is what the weights make small; it looks at no label.
    B : float, default=1000.0
        Largest weight; 1000 as in both papers.
    eps : float or None, default=None
        How far the mean weight may be from 1; None means :math:`(\sqrt{n_s} - 1) / \sqrt{n_s}`, as
        in both papers.
    classifier : estimator or None, default=None
        The classifier to train on the weighted source, with ``sample_weight`` in its ``fit``; None
        means ``sklearn.svm.SVC()``.

    Attributes
    ----------
    weights_ : ndarray of shape (n_source,)
        The weights :math:`\beta`. The classifier gets no weight below 1e-9 in place of zeros, so
        that it still knows every class.
    objective_ : float
        The objective at the weights, divided by :math:`n_s^2`.
    gap_ : float
        Upper bound of how far ``objective_`` is from the optimum, in the same units.
    gamma_ : float
        The bandwidth used.

    Raises
    ------
    QuadraticProgramError
        From ``fit``, if the solver gives up, or its answer has a gap above 1e-5 of the objective
        or a mean outside its bounds.
    ValueError
        From ``fit``, if all weights are zero, which takes ``eps`` of 1 or more.
    MemoryError
        From ``fit``, before any work, if the Gram matrix cannot be held: memory is quadratic in
        the source rows.

    References
    ----------
    J. Huang, A. Gretton, K. Borgwardt, B. Schölkopf, A. Smola. Correcting sample selection bias by
    unlabeled data. NIPS 2006 (proceedings of 2007).
    A. Gretton, A. Smola, J. Huang, M. Schmittfull, K. Borgwardt, B. Schölkopf. Covariate shift by
    kernel mean matching. In: Dataset Shift in Machine Learning, MIT Press 2009.
    """

    weights_source = True

    weights_: FloatArray
    objective_: float
    gap_: float
    gamma_: float

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
        check_kernel(self.kernel)
        eps = (np.sqrt(n) - 1) / np.sqrt(n) if self.eps is None else self.eps
        require_number("B", self.B, positive=False)
        require_number("eps", eps, positive=False)
        if 1 - eps > self.B:
            raise ValueError(
                f"No weights can average at least 1 - eps = {1 - eps:.3g} with none above "
                f"B = {self.B!r}; raise B or eps."
            )
        check_matrix_size(
            n, n, what="source by source rows", method="KernelMeanMatching", copies=_GRAM_COPIES
        )
        check_matrix_size(
            n, len(Xt), what="source by target rows", method="KernelMeanMatching", copies=1
        )
        rows = np.concatenate([Xs, Xt])
        self.gamma_ = bandwidth(self.gamma, rows) if self.kernel == "rbf" else np.nan
        K = gram(self.kernel, Xs, Xs, self.gamma_)
        kappa = n * gram(self.kernel, Xs, Xt, self.gamma_).mean(axis=1)
        bounds = Bounds(float(self.B), n * (1 - float(eps)), n * (1 + float(eps)))
        self.weights_ = solve_mean_matching(K, kappa, bounds)
        self.objective_, self.gap_ = objective_and_gap(K, kappa, bounds, self.weights_)
        # The second term is how far a sample's mean is from its distribution's: with a linear
        # kernel the objective itself can be zero.
        scale = max(abs(self.objective_), float(np.trace(K)) / n**2)
        outside = max(bounds.low - self.weights_.sum(), self.weights_.sum() - bounds.high, 0) / n
        if not (self.gap_ <= GAP_LIMIT * scale and outside <= MEAN_LIMIT):
            raise QuadraticProgramError(
                f"The weights may be {self.gap_ / scale:.1e} of the objective away from the "
                f"optimum (at most {GAP_LIMIT:.0e} is accepted), their mean is {outside:.1e} "
                f"outside its bounds (at most {MEAN_LIMIT:.0e}). Scale the features, or choose "
                "another kernel or gamma."
            )
        if not self.weights_.mean() > 1e-6:  # an interior point only comes near zero
            raise ValueError(
                "All weights are zero: nothing in the source looks like the target. Lower eps, "
                f"which is {eps:.3g}, below 1, or use kernel='rbf'."
            )
        return AlignedSource(Xs, np.maximum(self.weights_, _WEIGHT_FLOOR))


class Bounds:
    """The feasible set: every weight within [0, upper], their sum within [low, high]."""

    def __init__(self, upper: float, low: float, high: float) -> None:
        self.upper, self.low, self.high = upper, low, high

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
    mean = np.full((1, n), 1 / n)
    low, high = np.array([bounds.low / n]), np.array([bounds.high / n])
    solver = piqp.DenseSolver()
    # Divided by n, the gradient is of order one and the solver's tolerances mean something; after
    # n^2, as in the objective that is reported, it stops a hundred to a thousand times earlier.
    problem = {"P": K / n, "c": -kappa / n, "x_l": np.zeros(n), "x_u": np.full(n, bounds.upper)}
    if bounds.low == bounds.high:  # an interior point needs an interior
        solver.setup(**problem, A=mean, b=low)
    else:
        solver.setup(**problem, G=mean, h_l=low, h_u=high)
    status = solver.solve()
    weights = solver.result.x
    # Out of steps it is mostly as near as rounding lets it come; the caller judges that.
    answered = status in (piqp.PIQP_SOLVED, piqp.PIQP_MAX_ITER_REACHED)
    if not answered or not np.isfinite(weights).all():
        raise QuadraticProgramError(
            f"No weights were found for {n} source rows (PIQP: {status.name}). Scale the features, "
            "or choose another kernel or gamma."
        )
    # An interior point comes within rounding of a bound, from either side.
    return np.clip(weights, 0, bounds.upper)
