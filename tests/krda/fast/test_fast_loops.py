"""The compiled loops beside scipy's functions and beside torch's operations."""

import hashlib
import math
import os
import subprocess
import sys
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
import torch
from rnade_models import make_rnade
from scipy import special

from krda import _switch
from krda.density import mixture
from krda.density.rnade import RNADEDensity
from krda.density.training import fit_maximum_likelihood
from krda.transport import knothe_rosenblatt

functions = pytest.importorskip("krda._fast.functions")
kernels = pytest.importorskip("krda._fast.kernels")
numba = pytest.importorskip("numba")


@numba.njit
def each(function, x):
    result = np.empty_like(x)
    for i in range(len(x)):
        result[i] = function(x[i])
    return result


@numba.njit
def lower_quantile(p):
    return functions.lower_quantile(functions.tail_scale(p))


def test_the_loops_are_compiled_anew_after_a_change_of_their_functions():
    source = Path(functions.__file__).read_bytes()
    assert hashlib.sha256(source).hexdigest() == kernels.FUNCTIONS_SHA256, (
        "functions.py has changed: write its new sha256 into kernels.py"
    )


FUNCTIONS = {
    "exp": (functions.exp, np.exp, np.linspace(-700, 20, 20_001), 4e-16),
    "log": (functions.log, np.log, np.logspace(-307, 307, 20_001), 5e-16),
    "erfc": (functions.erfc_factor, special.erfcx, np.linspace(0, 30, 20_001), 5e-15),
    "quantile": (lower_quantile, special.ndtri, np.logspace(-300, math.log10(0.5), 20_001), 1e-9),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_polynomials_have_the_relative_accuracy_that_they_are_said_to_have(name):
    function, expected, x, accuracy = FUNCTIONS[name]
    np.testing.assert_allclose(each(function, x), expected(x), rtol=accuracy, atol=accuracy)


@pytest.mark.parametrize(
    "plain",
    [mixture.quantile, RNADEDensity.rosenblatt, RNADEDensity.inverse_rosenblatt,
     fit_maximum_likelihood],
    ids=lambda plain: plain.__qualname__,
)  # fmt: skip
def test_a_fast_function_has_the_signature_of_the_plain_one(plain):
    fast = _switch.fast_functions()[f"{plain.__module__}.{plain.__qualname__}"]
    expected, found = (list(signature(f).parameters.values()) for f in (plain, fast))
    assert [(p.name, p.kind, p.default) for p in found[1:]] == [
        (p.name, p.kind, p.default) for p in expected[1:]
    ]
    assert len(found) == len(expected)


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


def test_a_row_that_no_step_settles_is_left_to_the_plain_code(monkeypatch):
    one = torch.ones(3, 1, dtype=torch.float64)
    u = torch.tensor([0.2, 0.5, 0.7], dtype=torch.float64)
    with _switch.plain_only():
        expected = mixture.quantile(u, one, one, one)
    monkeypatch.setattr(kernels, "quantile", lambda *_: False)
    assert torch.equal(mixture.quantile(u, one, one, one), expected)


def test_the_transport_is_the_same_to_rounding_fast_or_plain():
    model = make_rnade(5)
    source, target = (
        model.density(i, conditioning_value=lambda i, z: torch.floor(z)) for i in (0, 1)
    )
    x = source.sample(3000, torch.Generator().manual_seed(0))
    fast = knothe_rosenblatt(source, target, x)
    with _switch.plain_only():
        plain = knothe_rosenblatt(source, target, x)
        # What rounding the quantiles to their last bits does to a row bounds what can agree.
        slack = 4e-16 / target_density(target, plain)
    assert bool(((fast - plain).abs() <= 1e-12 + slack).all())
    assert not torch.equal(fast, plain)  # or the loops were not used


def target_density(target, x):
    """The conditional density of each coordinate of rows."""
    a, found = target.c.expand(len(x), -1), torch.empty_like(x)
    for i in range(target.n_features):
        found[:, i] = mixture.log_prob(x[:, i], *target.conditional(i, a)).exp()
        a = target.next_state(i, a, x[:, i])
    return found


def test_krda_sets_no_variable_and_works_where_numba_is_not_to_compile():
    code = """
import os, sys, numba, numpy as np, sklearn, torch  # sklearn sets a variable of its own
before = dict(os.environ)
from krda import KRDA, _switch
assert "krda.density.mixture.quantile" in _switch.fast_functions()
assert dict(os.environ) == before, set(os.environ) ^ set(before)

for name in [name for name in sys.modules if name.split(".")[0] == "krda"]:
    del sys.modules[name]
os.environ["NUMBA_DISABLE_JIT"] = "1"
numba.config.reload_config()
from krda import KRDA, _switch
assert "krda.density.mixture.quantile" not in _switch.fast_functions()
assert "krda.density.training.fit_maximum_likelihood" in _switch.fast_functions()
rng = np.random.default_rng(0)
Xs = rng.normal(size=(60, 2))
model = KRDA(max_steps=20, random_state=0).fit(Xs, Xs[:, 0] > 0, 2 * rng.normal(size=(50, 2)))
assert np.isfinite(model.transform(Xs)).all()
"""
    # The tests set these, so that krda could not be seen to set them.
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
