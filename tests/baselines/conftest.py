"""The table of methods and the data that the baselines' tests share.

To put a further method under the contract's tests, add a line to ``METHODS``: a name and a
function of no arguments that returns a new, unfitted estimator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.datasets import make_moons

from baselines.deep.adversarial import CDAN, DANN
from baselines.deep.discrepancy import DAN, JAN
from baselines.deep.source_hypothesis import SHOT
from baselines.kernel_mean_matching import KernelMeanMatching
from baselines.naive import DomainStandardization, QuantileMapping
from baselines.optimal_transport import OptimalTransport
from baselines.reference import SourceOnly
from baselines.subspace_alignment import SubspaceAlignment
from baselines.transfer_components import TransferComponentAnalysis
from krda import KRDA

# Smaller than in the paper, so that the many fits of the contract's tests take seconds.
SMALL_NETWORK: dict[str, Any] = {
    "hidden_size": 64,
    "n_layers": 3,
    "learning_rate": 1e-2,
    "n_epochs": 15,
    "random_state": 0,
}

METHODS: dict[str, Callable[[], Any]] = {
    "krda": lambda: KRDA(hidden_size=10, max_steps=20, random_state=0),
    "source_only": SourceOnly,
    "sa": SubspaceAlignment,
    "sa_2": lambda: SubspaceAlignment(n_components=2),
    "ot_emd": OptimalTransport,
    "ot_sinkhorn": lambda: OptimalTransport("sinkhorn", reg_e=0.1, norm="max"),
    "ot_lpl1": lambda: OptimalTransport("sinkhorn_lpl1", reg_e=0.3, norm="max"),
    "ot_linear": lambda: OptimalTransport("linear"),
    "dann": lambda: DANN(**SMALL_NETWORK),
    "cdan": lambda: CDAN(**SMALL_NETWORK),
    "dan": lambda: DAN(**SMALL_NETWORK),
    "jan": lambda: JAN(**SMALL_NETWORK),
    "shot": lambda: SHOT(**SMALL_NETWORK),
    "tca": TransferComponentAnalysis,
    "tca_linear": lambda: TransferComponentAnalysis(2, kernel="linear"),
    "kmm": KernelMeanMatching,
    "domain_standardization": DomainStandardization,
    "quantile_mapping": QuantileMapping,
}


class Domains(NamedTuple):
    """A source with labels, a target, and labels of the target for scoring."""

    Xs: np.ndarray
    ys: np.ndarray
    Xt: np.ndarray
    yt: np.ndarray


def rotated_moons() -> Domains:
    Xs, ys = make_moons(60, noise=0.05, random_state=0)
    Xt, yt = make_moons(50, noise=0.05, random_state=1)
    c, s = np.cos(np.pi / 6), np.sin(np.pi / 6)
    rotation = np.array([[c, s], [-s, c]])
    return Domains(Xs - Xs.mean(axis=0), ys, (Xt - Xt.mean(axis=0)) @ rotation, yt)


def shifted_blobs() -> Domains:
    rng = np.random.default_rng(2)
    ys, yt = np.repeat([0, 1, 2], 20), np.repeat([0, 1, 2], 25)
    centres = 4 * rng.normal(size=(3, 5))
    Xs = centres[ys] + rng.normal(size=(60, 5))
    Xt = 1.5 * (centres[yt] + rng.normal(size=(75, 5))) + 1
    return Domains(Xs, ys, Xt, yt)


def skewed_columns() -> Domains:
    rng = np.random.default_rng(3)
    ys, yt = rng.integers(0, 2, 70), rng.integers(0, 2, 64)
    Xs = rng.gamma(1.5, size=(70, 8)) + ys[:, None] * np.linspace(0, 2, 8)
    Xt = np.exp(0.5 * rng.normal(size=(64, 8))) + yt[:, None] * np.linspace(0, 2, 8)
    return Domains(Xs, ys, Xt, yt)


DOMAINS = {"moons": rotated_moons, "blobs": shifted_blobs, "skewed": skewed_columns}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "make_method" in metafunc.fixturenames:
        metafunc.parametrize("make_method", METHODS.values(), ids=METHODS.keys())


@pytest.fixture(params=DOMAINS)
def domains(request: pytest.FixtureRequest) -> Domains:
    """Three pairs of domains in turn: rotated moons, scaled 5-d blobs, skewed 8-d columns."""
    return DOMAINS[request.param]()


@pytest.fixture
def blobs() -> Domains:
    return shifted_blobs()


@pytest.fixture
def moons() -> Domains:
    return rotated_moons()
