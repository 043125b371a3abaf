import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from krda.density import mixture

pytestmark = pytest.mark.usefixtures("fast_or_plain")

METHODS = ("newton", "bisection")


def test_normal_cdf_keeps_its_digits_in_the_lower_tail_where_torch_ndtr_loses_them():
    x = torch.tensor([-37.0, -20.0, -9.0, -5.0, 0.0, 3.0], dtype=torch.float64)
    np.testing.assert_allclose(mixture.normal_cdf(x), stats.norm.cdf(x), rtol=1e-12)


def test_log_prob_and_cdf_equal_scipys_weighted_sums():
    _, weights, means, stds = nasty_mixtures(200, 4, 0)
    x = torch.linspace(-6, 6, 200, dtype=torch.float64)
    density = (weights.numpy() * stats.norm.pdf(x[:, None], means, stds)).sum(1)
    found = mixture.log_prob(x, weights.log(), means, stds)
    np.testing.assert_allclose(found, np.log(density), rtol=1e-10)
    share = (weights.numpy() * stats.norm.cdf(x[:, None], means, stds)).sum(1)
    np.testing.assert_allclose(mixture.cdf(x, weights, means, stds), share, atol=1e-14)


@pytest.mark.parametrize("method", METHODS)
def test_quantile_of_one_gaussian_is_the_normal_quantile(method):
    u = torch.tensor([1e-8, 1e-3, 0.3, 0.5, 0.9, 1 - 1e-8], dtype=torch.float64)
    one = torch.ones(len(u), 1, dtype=torch.float64)
    z = mixture.quantile(u, one, 2.0 * one, 3.0 * one, method=method)
    np.testing.assert_allclose(z, stats.norm.ppf(u, 2.0, 3.0), rtol=1e-7)


def nasty_mixtures(n, n_components, seed, log_sd=1.0, spread=3.0, concentration=1.0):
    """Probabilities, and mixtures of any widths: weights down to 0, means far from 0 and apart."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(n_components, concentration), size=n)
    means = spread * (rng.normal(size=(n, n_components)) + rng.normal())
    stds = np.exp(log_sd * rng.normal(size=(n, n_components)))
    tail = 10.0 ** rng.uniform(-8, -0.31, size=n)
    u = np.where(rng.uniform(size=n) < 0.5, tail, 1.0 - tail)
    return [torch.from_numpy(a) for a in (u, weights, means, stds)]


def nearest_residual(z, u, weights, means, stds):
    """How far F is from u at the nearest of the points a few roundings of z away: 0 if between."""
    rounding = 4 * torch.finfo(z.dtype).eps * z.abs()
    below, above = (mixture.cdf(z + s * rounding, weights, means, stds) for s in (-1, 1))
    return torch.maximum(below - u, u - above).clamp(min=0.0)


nasty = given(
    seed=st.integers(0, 2**31),
    n_components=st.integers(1, 8),
    log_sd=st.floats(0.0, 6.0),
    spread=st.sampled_from([0.1, 3.0, 100.0, 1e6]),
    concentration=st.sampled_from([0.02, 0.3, 5.0]),
)


@pytest.mark.parametrize("method", METHODS)
@nasty
@settings(max_examples=60, deadline=None)
def test_quantile_is_accurate_to_1e_12_for_nearly_degenerate_mixtures_and_far_tails(
    method, seed, n_components, log_sd, spread, concentration
):
    u, *parameters = nasty_mixtures(60, n_components, seed, log_sd, spread, concentration)
    z = mixture.quantile(u, *parameters, method=method)
    assert float(nearest_residual(z, u, *parameters).max()) <= 1e-12


# Rows that a search with a careless last step was once content too early with.
HARD_ROWS = {
    "a wide gap, where the curvature makes Halley's step short": (
        0.8247997023188621, [0.8640323119402713, 3.8755921904221515e-11, 0.13596768802097264],
        [-417054.9147758116, -36579.098357484196, -2140371.169465338],
        [3.671034278518356e-10, 1.3790458342164995, 0.003308560623220523]),
    "narrower than the distance between floating-point numbers there": (
        0.994581542203854, [1e-28, 1.0, 0.0],
        [-1034978.3305192374, -257336.00573010335, 664028.5758945744],
        [0.0008540634435526241, 2.52815492897496e-12, 0.48812995874798787]),
    "in the tail of a narrow component": (
        0.9999999480645956, [3.8e-09, 0.9999994556079945, 5.405929405789995e-07, 0.0],
        [-210437.76708868344, 925765.8739992953, 50453.102889241316, 2573489.603681289],
        [0.09701681846693384, 9.203413296655061e-12, 0.09262556577994657, 5.148539824997984]),
    "a gap beside components narrower than that": (
        0.07115042617641987, [2.73e-18, 0.852272, 1.86e-13, 0.13888, 0.0088478],
        [135695.97, -350508.82776967034, -439697.99, 543662.67, -451559.1184577336],
        [1.08e-9, 0.021417, 2.6e-6, 2.7e-11, 1.07e-11]),
    "far below all components": (
        1.0945907386674478e-29, [0.0006631858450703483, 0.9993368141548475, 6.2610320634713014e-34],
        [2.5482634521357603, 4.449402552968769, 5.306812945787261],
        [932.5514307479243, 1.7277656783234943e-12, 0.00017547930254410409]),
}  # fmt: skip


@pytest.mark.parametrize("name", HARD_ROWS)
def test_newton_goes_on_until_the_row_is_solved(name):
    row, *parameters = HARD_ROWS[name]
    u = torch.tensor([row], dtype=torch.float64)
    mixtures = [torch.tensor([values], dtype=torch.float64) for values in parameters]
    z = mixture.quantile(u, *mixtures)
    assert float(nearest_residual(z, u, *mixtures).max()) <= 1e-12 * min(1.0, row)


@nasty
@settings(max_examples=60, deadline=None)
def test_newton_keeps_the_relative_accuracy_of_the_tail_probability(
    seed, n_components, log_sd, spread, concentration
):
    _, *parameters = nasty_mixtures(60, n_components, seed, log_sd, spread, concentration)
    u = torch.from_numpy(10.0 ** np.random.default_rng(seed).uniform(-60, -0.31, size=60))
    z = mixture.quantile(u, *parameters)
    assert float((nearest_residual(z, u, *parameters) / u).max()) <= 1e-11


def test_quantile_leaves_its_arguments_alone_whatever_their_memory_layout():
    arguments = nasty_mixtures(1000, 5, 4, 1.0, 3.0, 0.5)
    others = [a.mT.contiguous().mT if a.ndim == 2 else a.clone() for a in arguments]
    assert torch.equal(mixture.quantile(*arguments), mixture.quantile(*others))
    assert all(torch.equal(a, b) for a, b in zip(arguments, others, strict=True))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["weights", "means", "stds"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_quantile_names_the_mixture_that_is_not_finite(method, name, bad):
    u, *parameters = nasty_mixtures(9000, 3, 0, 1.0, 3.0, 5.0)
    parameters[["weights", "means", "stds"].index(name)][8500, 1] = bad
    message = f"{name} of mixture 8500 hold NaN or infinity"
    with pytest.raises(mixture.NotFiniteError, match=message) as caught:
        mixture.quantile(u, *parameters, method=method)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("u", [5e-324, 1e-310, 1e-300])
def test_quantile_of_the_smallest_numbers_is_the_normal_quantile(u):
    one = torch.ones(1, 1, dtype=torch.float64)
    z = mixture.quantile(torch.tensor([u], dtype=torch.float64), one, 0 * one, one)
    np.testing.assert_allclose(z, stats.norm.ppf(u), rtol=1e-3)


def test_newton_agrees_with_the_papers_bisection():
    u, weights, means, stds = nasty_mixtures(2000, 5, 3)
    fast, plain = (mixture.quantile(u, weights, means, stds, method=m) for m in METHODS)
    density = mixture.log_prob(plain, weights.log(), means, stds).exp()
    assert bool(((fast - plain).abs() * density <= 1e-12).all())


def test_quantile_does_not_depend_on_the_rows_solved_beside_it():
    arguments = nasty_mixtures(9000, 3, 5)
    alone = mixture.quantile(*(values[8500:] for values in arguments))
    assert torch.equal(mixture.quantile(*arguments)[8500:], alone)


@pytest.mark.parametrize(
    ("u", "std", "method", "error", "message"),
    [
        (0.0, 1.0, "newton", ValueError, "strictly between 0 and 1"),
        (1.0, 1.0, "bisection", ValueError, "strictly between 0 and 1"),
        (np.nan, 1.0, "newton", FloatingPointError, "probabilities of mixture 0 hold NaN"),
        (0.5, 0.0, "newton", ValueError, "stds of mixtures must be positive"),
        (0.5, -1.0, "bisection", ValueError, "stds of mixtures must be positive"),
        (0.5, 1.0, "secant", ValueError, "'newton' or 'bisection'"),
    ],
)
def test_quantile_refuses_what_has_none(u, std, method, error, message):
    one = torch.ones(1, 1, dtype=torch.float64)
    with pytest.raises(error, match=message):
        mixture.quantile(u * one[0], one, one, std * one, method=method)


def test_quantile_of_no_rows_is_no_rows():
    empty = torch.empty(0, 3, dtype=torch.float64)
    assert mixture.quantile(empty[:, 0], empty, empty, empty).shape == (0,)
