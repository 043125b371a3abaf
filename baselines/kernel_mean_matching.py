"""Kernel Mean Matching (Huang et al., NIPS 2006; Gretton et al., 2009)."""

from __future__ import annotations

from typing import Any

import numpy as np
import qpsolvers
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.lapack import dpstrf

from baselines.kernels import bandwidth, check_kernel, gram, is_number
from krda.adaptation import AlignedClassifier, AlignedSource, FloatArray

#: Largest relative distance from the optimum with which weights are accepted.
GAP_LIMIT = 1e-5

#: Pivots of the Gram matrix below this share of its largest entry are left out of its factor.
_FACTOR_TOLERANCE = 1e-9

#: Least weight that the classifier gets, where the mean is about 1. scikit-learn's SVC drops rows
#: of weight zero, and where a whole class goes it names the remaining ones wrongly.
_WEIGHT_FLOOR = 1e-9

#: Up to this share of full rank the factor makes a smaller problem than the Gram matrix itself.
_LOW_RANK = 1 / 8


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
    the method helps where the target lies within the source, not where it was moved away.

    **How it is solved.** By an interior-point solver through qpsolvers, on the objective divided by
    :math:`n_s^2`. Where the Gram matrix has a low numerical rank r, K is replaced by its pivoted
    Cholesky factor, :math:`K \approx G G^\top`, and :math:`z = G^\top \beta` becomes a variable, so
    that the solver meets an n x r block rather than an n x n one. Whatever was solved,
    the answer is then judged on the exact K: over this feasible set a linear function is minimised
    by sorting, and :math:`\max_s \nabla f(\beta)^\top (\beta - s)` bounds the distance from the
    optimum from above.

    Parameters
    ----------
    kernel : {"rbf", "linear"}
        The kernel.
    gamma : "median", "scale" or float
        Bandwidth of the RBF kernel over the rows of both domains, see
        :func:`baselines.kernels.bandwidth`. The default is the common choice for the distance of
        kernel means, which is what the weights make small; it looks at no label.
    B : float
        Largest weight; 1000 as in both papers.
    eps : float or None
        How far the mean weight may be from 1; None means :math:`(\sqrt{n_s} - 1) / \sqrt{n_s}`, as
        in both papers.
    classifier : estimator or None
        The classifier to train on the weighted source, with ``sample_weight`` in its ``fit``; None
        stands for ``sklearn.svm.SVC()``.
    solver : str
        Name of an installed solver that qpsolvers knows.

    Attributes
    ----------
    weights_ : ndarray of shape (n_source,)
        The weights :math:`\beta`. The classifier gets no weight below 1e-9 in place of zeros, so
        that it still knows every class.
    objective_ : float
        The objective at the weights, on the exact K, divided by :math:`n_s^2`.
    gap_ : float
        Upper bound of how far ``objective_`` is from the optimum, in the same units.
    gamma_ : float
        The bandwidth used.
    classifier_ : estimator
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int

    Raises
    ------
    QuadraticProgramError
        From ``fit``, where the solver finds no solution or one whose gap is above 1e-5 of the
        objective.
    ValueError
        From ``fit``, where all weights are zero, which takes ``eps`` of 1 or more.

    References
    ----------
    J. Huang, A. Gretton, K. Borgwardt, B. Schölkopf, A. Smola. Correcting sample selection bias by
    unlabeled data. NIPS 2006 (proceedings of 2007).
    A. Gretton, A. Smola, J. Huang, M. Schmittfull, K. Borgwardt, B. Schölkopf. Covariate shift by
    kernel mean matching. In: Dataset Shift in Machine Learning, MIT Press 2009.
    """

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
        solver: str = "clarabel",
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.B = B
        self.eps = eps
        self.classifier = classifier
        self.solver = solver

    def _align(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> AlignedSource:
        n = len(Xs)
        check_kernel(self.kernel)
        eps = (np.sqrt(n) - 1) / np.sqrt(n) if self.eps is None else self.eps
        for name, value in (("B", self.B), ("eps", eps)):
            if not is_number(value) or not 0 <= value < np.inf:
                raise ValueError(f"{name} must be a number that is not negative, got {value!r}.")
        if 1 - eps > self.B:
            raise ValueError(
                f"No weights can average at least 1 - eps = {1 - eps:.3g} with none above "
                f"B = {self.B!r}; raise B or eps."
            )
        if self.solver not in qpsolvers.available_solvers:
            raise ValueError(
                f"solver must be one of the installed ones ({qpsolvers.available_solvers}), got "
                f"{self.solver!r}."
            )
        rows = np.concatenate([Xs, Xt])
        self.gamma_ = bandwidth(self.gamma, rows) if self.kernel == "rbf" else np.nan
        K = gram(self.kernel, Xs, Xs, self.gamma_)
        kappa = n * gram(self.kernel, Xs, Xt, self.gamma_).mean(axis=1)
        bounds = Bounds(float(self.B), n * (1 - float(eps)), n * (1 + float(eps)))
        self.weights_ = solve_mean_matching(K, kappa, bounds, self.solver)
        self.objective_, self.gap_ = objective_and_gap(K, kappa, bounds, self.weights_)
        # The second term is how far a sample's mean is from its distribution's: with a linear
        # kernel the objective itself can be zero.
        scale = max(abs(self.objective_), float(np.trace(K)) / n**2)
        if not self.gap_ <= GAP_LIMIT * scale:
            raise QuadraticProgramError(
                f"{self.solver} gave weights up to {self.gap_ / scale:.1e} of the objective away "
                f"from the optimum, at most {GAP_LIMIT:.0e} is accepted. Try another solver, or "
                "scale the features."
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
    """Judge weights on the exact problem.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    kappa : ndarray of shape (n,)
    bounds : Bounds
    weights : ndarray of shape (n,)

    Returns
    -------
    objective : float
        The objective divided by n squared.
    gap : float
        Upper bound of its distance from the least one, in the same units: the objective is convex,
        so that it lies above its tangent, whose minimum over the feasible set is known.
    """
    gradient = K @ weights - kappa
    objective = 0.5 * weights @ (gradient - kappa)
    gap = gradient @ weights - bounds.minimise(gradient)
    return float(objective / len(K) ** 2), float(gap / len(K) ** 2)


def solve_mean_matching(
    K: FloatArray, kappa: FloatArray, bounds: Bounds, solver: str = "clarabel"
) -> FloatArray:
    """Solve the quadratic program for the weights.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Positive semi-definite.
    kappa : ndarray of shape (n,)
    bounds : Bounds
    solver : str
        Name of an installed solver that qpsolvers knows.

    Returns
    -------
    weights : ndarray of shape (n,)
        Within [0, ``bounds.upper``]; their sum within the bounds up to the solver's tolerance.

    Raises
    ------
    QuadraticProgramError
        The solver found no solution.
    """
    n = len(K)
    # Sums of the weights as means, the objective per pair: numbers of order one.
    mean_row = np.full((1, n), 1 / n)
    limits = np.array([bounds.high / n, -bounds.low / n])
    G = np.concatenate([mean_row, -mean_row])
    lower, upper = np.zeros(n), np.full(n, bounds.upper)
    if solver in qpsolvers.dense_solvers:
        problem = qpsolvers.Problem(K / n**2, -kappa / n**2, G, limits, lb=lower, ub=upper)
    elif (factor := low_rank_factor(K)) is None:
        problem = qpsolvers.Problem(
            sp.csc_matrix(K / n**2), -kappa / n**2, sp.csc_matrix(G), limits, lb=lower, ub=upper
        )
    else:
        rank = factor.shape[1]
        free = np.full(rank, np.inf)
        problem = qpsolvers.Problem(
            P=sp.block_diag([sp.csc_matrix((n, n)), sp.eye(rank)], format="csc"),
            q=np.concatenate([-kappa / n**2, np.zeros(rank)]),
            G=sp.hstack([sp.csc_matrix(G), sp.csc_matrix((2, rank))], format="csc"),
            h=limits,
            A=sp.hstack([sp.csc_matrix(factor.T / n), -sp.eye(rank)], format="csc"),
            b=np.zeros(rank),
            lb=np.concatenate([lower, -free]),
            ub=np.concatenate([upper, free]),
        )
    try:
        solution = qpsolvers.solve_problem(problem, solver=solver)
    except qpsolvers.exceptions.QPError as error:
        raise QuadraticProgramError(f"{solver} failed on the weights: {error}") from error
    if not solution.found or solution.x is None or not np.isfinite(solution.x).all():
        raise QuadraticProgramError(
            f"{solver} found no weights for {n} source rows. Try another solver, or scale the "
            "features."
        )
    # An interior point comes within rounding of a bound, from either side.
    return np.clip(solution.x[:n], 0, bounds.upper)


def low_rank_factor(K: FloatArray) -> FloatArray | None:
    """Factor a Gram matrix by pivoted Cholesky, where that saves work.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Positive semi-definite.

    Returns
    -------
    G : ndarray of shape (n, r) or None
        With ``K - G @ G.T`` positive semi-definite and no entry above 1e-9 of the largest of K;
        None where r would be more than n / 8.
    """
    n = len(K)
    packed, pivots, rank, _ = dpstrf(K, lower=1, tol=_FACTOR_TOLERANCE * float(K.max()))
    if rank > _LOW_RANK * n:
        return None
    factor = np.empty((n, rank))
    factor[pivots - 1] = np.tril(packed)[:, :rank]
    return factor
