"""The compiled loops beside scipy's functions and beside torch's operations."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from rnade_models import make_rnade
from scipy import special

from krda import mixture
from krda.transport import knothe_rosenblatt

kernels = pytest.importorskip("krda.kernels")
numba = pytest.importorskip("numba")


@numba.njit
def each(function, x):
    result = np.empty_like(x)
    for i in range(len(x)):
        result[i] = function(x[i])
    return result


FUNCTIONS = {
    "exp": (kernels._exp, np.exp, np.linspace(-700, 20, 20_001), 4e-16),
    "log": (kernels._log, np.log, np.logspace(-307, 307, 20_001), 5e-16),
    "erfc": (kernels._erfc_factor, special.erfcx, np.linspace(0, 30, 20_001), 5e-15),
    "lower tail": (kernels._normal_quantile, special.ndtri, np.logspace(-300, -0.4, 20_001), 1e-9),
    "upper tail": (
        kernels._normal_quantile,
        special.ndtri,
        1 - np.logspace(-12, -0.4, 20_001),
        1e-9,
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_polynomials_have_the_relative_accuracy_that_they_are_said_to_have(name):
    function, expected, x, accuracy = FUNCTIONS[name]
    np.testing.assert_allclose(each(function, x), expected(x), rtol=accuracy, atol=accuracy)


def test_exp_of_far_less_than_nothing_is_next_to_nothing_and_nan_stays_nan():
    result = each(kernels._exp, np.array([-1e5, -np.inf, np.nan]))
    assert (result[:2] > 0).all()
    assert (result[:2] < 1e-303).all()
    assert np.isnan(result[2])


def random_heads(n, n_components, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(scale=[[[3.0]], [[2.0]], [[1.5]]], size=(3, n_components, n))


@pytest.mark.parametrize("floor", [0.0, 0.01])
@pytest.mark.parametrize("n", [1, 64, 201])
def test_activations_and_cdf_equal_torchs(n, floor):
    raw = random_heads(n, 4, n)
    logits, means, log_variances = (torch.from_numpy(a.copy()) for a in raw)
    kernels.activate(raw, floor**2, 60.0)
    weights, stds = torch.softmax(logits, 0), torch.sqrt(torch.exp(log_variances) + floor**2)
    np.testing.assert_allclose(raw[0], weights, rtol=1e-14)
    np.testing.assert_array_equal(raw[1], means)
    np.testing.assert_allclose(raw[2], stds, rtol=1e-14)
    x, u = np.linspace(-6, 6, n), np.empty(n)
    kernels.cdf(x, *raw, u)
    expected = mixture.cdf(torch.from_numpy(x), weights.mT, means.mT, stds.mT)
    np.testing.assert_allclose(u, expected, rtol=1e-13, atol=1e-16)


def test_log_variances_are_bounded_and_nan_is_kept():
    raw = np.zeros((3, 1, 4))
    raw[2, 0] = [1e4, -1e4, np.nan, np.inf]
    kernels.activate(raw, 0.0, 60.0)
    np.testing.assert_allclose(raw[2, 0], np.exp([30.0, -30.0, np.nan, 30.0]), rtol=1e-13)
    raw = np.zeros((3, 2, 1))
    raw[0, 1] = np.nan
    kernels.activate(raw, 0.0, 60.0)
    assert np.isnan(raw[0]).all()


def test_a_row_that_no_step_settles_is_counted_and_not_passed_off_as_solved(monkeypatch):
    one = np.ones((1, 3))
    u = np.array([0.2, 0.5, 0.7])
    monkeypatch.setattr(mixture.kernels, "quantile", lambda *_: (2, -1))
    with pytest.raises(RuntimeError, match="did not end"):
        mixture.quantile(torch.from_numpy(u), *(torch.from_numpy(one.T),) * 3)


def test_cdf_far_outside_is_0_or_1_and_nan_stays_nan():
    one = np.ones((1, 5))
    u = np.empty(5)
    kernels.cdf(np.array([-1e300, -1e170, 1e170, 1e300, np.nan]), one, one, one, u)
    np.testing.assert_array_equal(u[2:], [1, 1, np.nan])
    assert (u[:2] < 1e-290).all()


def test_the_transport_is_the_same_to_rounding_compiled_or_not(monkeypatch):
    model = make_rnade(5)
    source, target = model.density(0), model.density(1)
    x = source.sample(3000, torch.Generator().manual_seed(0))
    compiled = knothe_rosenblatt(source, target, x)
    monkeypatch.setattr(mixture, "COMPILED", False)
    plain = knothe_rosenblatt(source, target, x)
    np.testing.assert_allclose(compiled, plain, rtol=1e-9, atol=1e-10)
    assert not torch.equal(compiled, plain)  # or the loops were not used


@pytest.mark.parametrize(
    "name", ["_FIRST_STEPS", "_SECOND_STEPS", "_FARTHEST", "_NEARLY", "_MAX_STEPS"]
)
def test_both_searches_are_held_to_the_same_numbers(name):
    assert getattr(kernels, name) == getattr(mixture, name)


@pytest.mark.parametrize("without", ["not installed", "not to compile"])
def test_krda_works_where_numba_is_not_installed_or_not_to_compile(without):
    code = """
import sys
if sys.argv[1] == "not installed":
    sys.modules["numba"] = None
import numpy as np
from krda import KRDA, mixture
assert not mixture.COMPILED
rng = np.random.default_rng(0)
Xs = rng.normal(size=(60, 2))
model = KRDA(max_steps=20, random_state=0).fit(Xs, Xs[:, 0] > 0, 2 * rng.normal(size=(50, 2)))
assert np.isfinite(model.transform(Xs)).all()
"""
    environment = os.environ | ({} if without == "not installed" else {"NUMBA_DISABLE_JIT": "1"})
    command = [sys.executable, "-c", code, without]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
