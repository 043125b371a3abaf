"""Optimal Transport for Domain Adaptation (Courty, Flamary, Tuia, Rakotomamonjy, TPAMI 2017)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.memory import check_memory
from krda.alignment.mapping import SourceMapping
from krda.base import AlignedSource
from krda.validation import FloatArray, require_finite, require_number

TRANSPORTS = ("emd", "sinkhorn", "sinkhorn_lpl1")

#: Largest share of mass that a plan may leave in the wrong place before it counts as failed.
MISPLACED_MASS_LIMIT = 1e-3

#: POT's 200 Sinkhorn steps within an outer step of the class term often stop short.
_INNER_STEPS = 2000

#: Matrices of the size of the plan at the peak, measured with POT 0.9: costs, plan, and what the
#: solver works with.
_PLAN_COPIES = {"emd": 5, "sinkhorn": 8, "sinkhorn_lpl1": 11}


class OptimalTransport(SourceMapping):
    r"""Transport source rows to the target by optimal transport, through POT.

    All variants compute a plan :math:`\gamma` between the two samples, uniform weights
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
    row was moved (Ferradans et al. 2014). It raises FloatingPointError for a row too far from
    the training rows for the extension of the plan to reach it.

    The transport between two Gaussians is :class:`krda.LinearOT`.

    POT is imported on the first fit, not before: it brings PyTorch along where that is installed.
    """

    transport_: Any  # POT's fitted object
    misplaced_mass_: float  # half the L1 error of the worse marginal

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
