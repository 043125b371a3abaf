"""Optimal Transport for Domain Adaptation (Courty, Flamary, Tuia, Rakotomamonjy, TPAMI 2017)."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd

from baselines.mapping import SourceMapping
from baselines.memory import check_memory
from krda.base import AlignedSource
from krda.validation import FloatArray, require_finite, require_number

TRANSPORTS = ("emd", "sinkhorn", "sinkhorn_lpl1", "linear")

#: Largest share of mass that a plan may leave in the wrong place before it counts as failed.
MISPLACED_MASS_LIMIT = 1e-3

#: POT's 200 Sinkhorn steps within an outer step of the class term often stop short.
_INNER_STEPS = 2000

#: Matrices of the size of the plan at the peak, measured with POT 0.9: costs, plan, and what the
#: solver works with.
_PLAN_COPIES = {"emd": 5, "sinkhorn": 8, "sinkhorn_lpl1": 11}


class OptimalTransport(SourceMapping):
    r"""Transport source rows to the target by optimal transport, through POT.

    All variants but the last compute a plan :math:`\gamma` between the two samples, uniform weights
    on both, ground cost :math:`c`, and map each source row to the mean of where its mass goes,
    :math:`\hat{x}_i = \sum_j \gamma_{ij} x^t_j / \sum_j \gamma_{ij}` (barycentric map):

    ``"emd"``
        :math:`\min_\gamma \langle \gamma, C \rangle`: the plain transport problem, solved exactly
        by the network simplex. It has no regularisation to choose; the tables use it because the
        KRDA paper names neither a variant nor a regularisation.
    ``"sinkhorn"``
        adds the entropy :math:`\mathrm{reg_e} \sum_{ij} \gamma_{ij} \log \gamma_{ij}`.
    ``"sinkhorn_lpl1"``
        adds to that the group term :math:`\mathrm{reg_{cl}} \sum_{j,c} \lVert \gamma_{I_c j}
        \rVert_1^{1/2}`, which keeps source classes from sharing a target row.
    ``"linear"``
        takes both domains for Gaussian; the map is affine and in closed form, see
        :func:`gaussian_map`. It has no regularisation and needs no POT.

    ``reg_e`` is the weight of the entropy in units of the cost, which is the squared distance,
    scaled by ``norm`` first (None, or POT's "median", "max", "log", "loglog"); ``reg_cl`` is that
    of the class term. Both defaults are POT's. ``max_iter`` limits the simplex pivots ("emd", by
    default 1 000 000), the Sinkhorn steps (10 000) or the outer steps of the class term (10).

    A plan that holds NaN, is not optimal ("emd"), or misplaces more than 0.1 % of the mass is an
    error. POT only warns there and puts the rows concerned at the origin, so that a classifier
    would learn from invented rows. The class term's outer loop has no criterion of convergence in
    POT; its inner ones are checked through the last plan.

    ``transform`` of rows that were not in training: "sinkhorn" has a continuous extension
    (Pooladian and Niles-Weed 2021); "emd" and "sinkhorn_lpl1" move a row as the nearest training
    row was moved (Ferradans et al. 2014); "linear" applies its map. It raises FloatingPointError
    for a row too far from the training rows for the extension of the plan to reach it.

    POT is imported on the first fit, not before: it brings PyTorch along where that is installed.
    """

    transport_: Any  # POT's fitted object, or an AffineMap
    misplaced_mass_: float  # half the L1 error of the worse marginal; NaN for "linear"

    def __init__(
        self,
        transport: str = "emd",
        classifier: Any = None,
        *,
        reg_e: float = 1.0,
        reg_cl: float = 0.1,
        max_iter: int | None = None,
        norm: str | None = None,
    ) -> None:
        self.transport = transport
        self.classifier = classifier
        self.reg_e = reg_e
        self.reg_cl = reg_cl
        self.max_iter = max_iter
        self.norm = norm

    def _align(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> AlignedSource:
        if self.transport not in TRANSPORTS:
            raise ValueError(
                f"transport must be one of {', '.join(TRANSPORTS)}, got {self.transport!r}."
            )
        require_number("reg_e", self.reg_e, positive=True)
        require_number("reg_cl", self.reg_cl, positive=False)
        if self.transport == "linear":
            self.transport_, self.misplaced_mass_ = gaussian_map(Xs, Xt), math.nan
            return AlignedSource(self._map_source(Xs))
        copies = _PLAN_COPIES[self.transport]
        check_memory(f"OptimalTransport({self.transport!r})", copies * len(Xs) * len(Xt))
        solver = self._solver()
        # POT compares labels by arithmetic and reserves -1; hand it 0, 1, ... instead.
        codes = np.unique(ys, return_inverse=True)[1]
        # POT warns about what is checked below, and divides by zero on the way.
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            self.transport_ = solver.fit(Xs=Xs, ys=codes, Xt=Xt)
        self.misplaced_mass_ = self._check_plan()
        return AlignedSource(self._map_source(Xs))

    def _solver(self) -> Any:
        from ot import da

        steps, norm = self.max_iter, self.norm
        if self.transport == "emd":
            return da.EMDTransport(norm=norm, log=True, max_iter=steps or 1_000_000)
        if self.transport == "sinkhorn":
            return da.SinkhornTransport(
                reg_e=self.reg_e, norm=norm, log=True, max_iter=steps or 10_000
            )
        return da.SinkhornLpl1Transport(
            reg_e=self.reg_e,
            reg_cl=self.reg_cl,
            norm=norm,
            max_iter=steps or 10,
            max_inner_iter=_INNER_STEPS,
        )

    def _check_plan(self) -> float:
        """Return the share of mass that the plan misplaces; raise if it is not a plan."""
        plan = self.transport_.coupling_
        if self.transport == "emd" and self.transport_.log_["warning"] is not None:
            raise FloatingPointError(
                "The transport problem was not solved to optimality "
                f"({self.transport_.log_['warning']}); raise max_iter."
            )
        misplaced = 0.5 * max(
            np.abs(plan.sum(axis=axis) - 1 / plan.shape[1 - axis]).sum() for axis in (0, 1)
        )
        if not misplaced <= MISPLACED_MASS_LIMIT:  # it may be NaN
            raise FloatingPointError(
                f"The {self.transport} plan did not converge: it leaves {misplaced:.2%} of the "
                f"mass in the wrong place, at most {MISPLACED_MASS_LIMIT:.1%} is accepted; raise "
                f"reg_e or max_iter, or scale the costs with norm='max' (reg_e={self.reg_e}, "
                f"largest cost {np.max(self.transport_.cost_):.3g})."
            )
        return float(misplaced)

    def _map_source(self, Xs: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            moved = np.asarray(self.transport_.transform(Xs=Xs), dtype=np.float64)
        require_finite(moved, f"{type(self).__name__}: the transported source")
        return moved


class AffineMap(NamedTuple):
    """The map of a row x to (x - source_mean) @ matrix + target_mean."""

    matrix: FloatArray
    source_mean: FloatArray
    target_mean: FloatArray

    def transform(self, Xs: FloatArray) -> FloatArray:
        """Map rows."""
        return (Xs - self.source_mean) @ self.matrix + self.target_mean


def gaussian_map(Xs: FloatArray, Xt: FloatArray) -> AffineMap:
    r"""Find the optimal map between the Gaussians of two samples' means and covariances.

    With covariances S and T of full rank the matrix is
    :math:`S^{-1/2} (S^{1/2} T S^{1/2})^{1/2} S^{-1/2}` (Knott and Smith 1984). Written by the roots
    of S and T, no inverse of a product is needed, and inverses are taken on the directions in
    which the source varies: constant or collinear columns, or more columns than rows, give the
    conditional mean of the optimal plan. The moved source then has the target's mean, and the
    target's covariance on the span of the source's directions; everywhere, if the target varies in
    no more directions.
    """
    source_mean, source, deviations, axes = _principal_axes(Xs)
    target_mean, target, target_deviations, _ = _principal_axes(Xt)
    # Of B = T^(1/2) S^(1/2), in the source's axes, the orthogonal factor of the polar form.
    left, lengths, right = svd(target @ axes.T * deviations, full_matrices=False)
    full = len(deviations) == len(target_deviations) == Xs.shape[1]
    kept = np.full(len(lengths), True) if full else _above_rounding(lengths, target.shape)
    factor = left[:, kept] @ right[kept]
    matrix = (axes.T / deviations) @ factor.T @ target
    if full and not np.allclose(_spread(source @ matrix), _spread(target), rtol=1e-6, atol=0):
        raise FloatingPointError(
            "The scales of the columns are too far apart for linear optimal transport in double "
            f"precision: standard deviations from {Xs.std(axis=0).min():.3g} to "
            f"{Xs.std(axis=0).max():.3g} in the source. Choose units of similar scale, or divide "
            "the columns of both domains by the same numbers."
        )
    return AffineMap(matrix, source_mean, target_mean)


def _spread(X: FloatArray) -> FloatArray:
    """Return the root of the sum of squares about the mean, column by column."""
    return np.linalg.norm(X - X.mean(axis=0), axis=0)


def _principal_axes(X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the mean, the centred rows / sqrt(n), and their standard deviations along axes."""
    # About the first row, so that a constant column is zero, not a rounding error.
    centred = X - X[0]
    offset = centred.mean(axis=0)
    centred = (centred - offset) / math.sqrt(len(X))
    _, deviations, axes = svd(centred, full_matrices=False)
    kept = _above_rounding(deviations, centred.shape)
    return X[0] + offset, centred, deviations[kept], axes[kept]


def _above_rounding(singular_values: FloatArray, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    tolerance = max(shape) * np.finfo(np.float64).eps * singular_values.max(initial=0.0)
    return singular_values > tolerance
