"""The table of methods and the fixtures that the baselines' tests share.

To put a further method under the contract's tests, add a line to ``METHODS``: a name and a
function of no arguments that returns a new, unfitted estimator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pair_fixtures import blobs, domains, moons

from baselines.deep.adversarial import CDAN, DANN
from baselines.deep.discrepancy import DAN, JAN
from baselines.deep.source_hypothesis import SHOT
from baselines.kernel_mean_matching import KernelMeanMatching
from baselines.optimal_transport import OptimalTransport
from baselines.reference import SourceOnly
from baselines.subspace_alignment import SubspaceAlignment
from baselines.transfer_components import TransferComponentAnalysis
from krda import KRDA, AffineAlignment, ClassReweighting, ColumnQuantiles, LinearOT, Standardize
from krda.alignment.auto import AutoAdaptation

__all__ = ["METHODS", "blobs", "domains", "moons"]

# Smaller than in the paper, so that the many fits of the contract's tests take seconds.
SMALL_NETWORK: dict[str, Any] = {
    "hidden_size": 64, "n_layers": 3, "learning_rate": 1e-2, "n_epochs": 10, "random_state": 0,
}  # fmt: skip

SMALL_DENSITY: dict[str, Any] = {"hidden_size": 10, "max_steps": 20, "random_state": 0}

METHODS: dict[str, Callable[[], Any]] = {
    "krda": lambda: KRDA(**SMALL_DENSITY),
    "source_only": SourceOnly,
    "sa": SubspaceAlignment,
    "sa_2": lambda: SubspaceAlignment(n_components=2),
    "ot_emd": OptimalTransport,
    "ot_sinkhorn": lambda: OptimalTransport("sinkhorn", reg_e=0.1, norm="max"),
    "ot_lpl1": lambda: OptimalTransport("sinkhorn_lpl1", reg_e=0.3, norm="max"),
    "dann": lambda: DANN(**SMALL_NETWORK),
    "cdan": lambda: CDAN(**SMALL_NETWORK),
    "dan": lambda: DAN(**SMALL_NETWORK),
    "jan": lambda: JAN(**SMALL_NETWORK),
    "shot": lambda: SHOT(**SMALL_NETWORK),
    "tca": TransferComponentAnalysis,
    "tca_linear": lambda: TransferComponentAnalysis(2, kernel="linear"),
    "kmm": KernelMeanMatching,
    "standardize": Standardize,
    "column_quantiles": ColumnQuantiles,
    "linear_ot": LinearOT,
    "affine": AffineAlignment,
    "affine_shares": lambda: AffineAlignment(class_shares="estimated"),
    "class_reweighting": ClassReweighting,
    "auto": AutoAdaptation,
    "krda_auto": lambda: KRDA(
        alignment="auto", column_order="consensus", n_orders=2, **SMALL_DENSITY
    ),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "make_method" in metafunc.fixturenames:
        metafunc.parametrize("make_method", METHODS.values(), ids=METHODS.keys())
