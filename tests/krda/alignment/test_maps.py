"""The maps in closed form: weights, constant columns, limits of the shrinkage."""

import numpy as np
import ot
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.covariance import ledoit_wolf_shrinkage

from krda.alignment.maps import (
    gaussian_map,
    power,
    quantile_map,
    shrunk_covariance,
    shrunk_gaussian_map,
    standardizing_map,
    uniform,
)

MAPS = [standardizing_map, quantile_map]


def column(values):
    return np.asarray(values, dtype=float)[:, None]


def one_column(source, target):
    """The quantile map of single columns, as a function of values."""
    move = quantile_map(column(source), column(target), uniform(len(source)))
    return lambda values: move(column(values))[:, 0]


@pytest.mark.parametrize("map_between", MAPS)
def test_weights_are_repeated_rows(map_between, domains):
    Xs, Xt = domains.Xs, domains.Xt
    times = np.arange(len(Xs)) % 3 + 1
    weighted = map_between(Xs, Xt, times / times.sum())
    repeated = np.repeat(Xs, times, axis=0)
    unweighted = map_between(repeated, Xt, uniform(len(repeated)))
    np.testing.assert_allclose(weighted(Xs), unweighted(Xs), atol=1e-8)
    plain = map_between(Xs, Xt, uniform(len(Xs)))
    assert np.abs(plain(Xs) - weighted(Xs)).max() > 0.01


def test_repeated_rows_are_weights_for_the_shrunk_covariance_but_not_for_how_far_it_shrinks(
    domains,
):
    Xs = domains.Xs
    times = np.arange(len(Xs)) % 3 + 1
    repeated = np.repeat(Xs, times, axis=0)
    mean, covariance = shrunk_covariance(Xs, times / times.sum())
    expected = np.cov(Xs.T, fweights=times, ddof=0)
    np.testing.assert_allclose(mean, repeated.mean(axis=0))
    np.testing.assert_allclose(np.diag(covariance), np.diag(expected))
    # One factor for all correlations. Copies would say that there is less noise than there is.
    off = ~np.eye(len(expected), dtype=bool)
    factor = covariance[off] / expected[off]
    np.testing.assert_allclose(factor, factor[0])
    copies = shrunk_covariance(repeated, uniform(len(repeated)))[1][off] / expected[off]
    assert 0 <= factor[0] < copies[0] < 1


@pytest.mark.parametrize("map_between", [*MAPS, shrunk_gaussian_map])
def test_a_weight_of_zero_leaves_a_row_out(map_between, blobs):
    weights = np.where(np.arange(60) < 40, 1 / 40, 0.0)
    left_out = map_between(blobs.Xs, blobs.Xt, weights)
    alone = map_between(blobs.Xs[:40], blobs.Xt, uniform(40))
    np.testing.assert_allclose(left_out(blobs.Xs[:40]), alone(blobs.Xs[:40]), atol=1e-9)


def test_standardising_gives_each_column_the_targets_weighted_moments(domains):
    Xs, Xt = domains.Xs, domains.Xt
    weights = np.random.default_rng(0).dirichlet(np.ones(len(Xs)))
    moved = standardizing_map(Xs, Xt, weights)(Xs)
    np.testing.assert_allclose(weights @ moved, Xt.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(weights @ (moved - Xt.mean(axis=0)) ** 2, Xt.var(axis=0))


def test_standardising_sends_constant_columns_to_the_targets_mean(blobs):
    Xs, Xt = blobs.Xs.copy(), blobs.Xt.copy()
    Xs[:, 2], Xt[:, 4] = 1e6 / 3, 0.1
    moved = standardizing_map(Xs, Xt, uniform(len(Xs)))(Xs)
    np.testing.assert_array_equal(moved[:, 2], np.full(60, moved[0, 2]))
    np.testing.assert_allclose(moved[:, 2], Xt[:, 2].mean())
    np.testing.assert_allclose(moved[:, 4], 0.1)


def test_quantiles_are_one_dimensional_optimal_transport(domains):
    n = min(len(domains.Xs), len(domains.Xt))
    Xs, Xt = domains.Xs[:n], domains.Xt[:n]
    moved = quantile_map(Xs, Xt, uniform(n))(Xs)
    for j in range(Xs.shape[1]):
        plan = n * ot.emd_1d(Xs[:, j], Xt[:, j])
        np.testing.assert_allclose(moved[:, j], plan @ Xt[:, j], atol=1e-12)


def test_equal_values_share_the_mean_of_their_ranks():
    # Zeros hold ranks 0 to 1/2 and ones 1/2 to 1 on both sides.
    move = one_column([0, 0, 1, 1], [5.0, 5.0, 9.0, 9.0])
    np.testing.assert_allclose(move([0, 1, 0.5]), [5, 9, 7])


def test_quantiles_of_a_constant_column_are_its_median_or_itself():
    move = one_column(np.ones(5), [1.0, 2.0, 10.0])
    np.testing.assert_allclose(move([1.0, -3.0, 50.0]), 2.0)
    move = one_column(np.arange(6.0), np.full(4, 3.5))
    np.testing.assert_allclose(move([-1.0, 2.2, 9.0]), 3.5)


EIGHTHS = arrays(float, st.integers(2, 20), elements=st.integers(-1000, 1000).map(lambda i: i / 8))


@given(
    source=EIGHTHS, target=EIGHTHS, values=arrays(float, 10, elements=st.floats(-1e9, 1e9))
)  # fmt: skip
def test_quantiles_rise_and_stay_within_the_target(source, target, values):
    images = one_column(source, target)(np.sort(values))
    slack = 1e-12 * np.abs(target).max()
    assert np.all(np.diff(images) >= -slack)
    assert images.min() >= target.min() - slack
    assert images.max() <= target.max() + slack


def correlated(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ (np.eye(d) + 0.5 * np.tri(d)) * np.arange(1, d + 1)


def test_shrinkage_vanishes_with_many_rows():
    X = correlated(20_000, 4)
    mean, covariance = shrunk_covariance(X, uniform(len(X)))
    np.testing.assert_allclose(mean, X.mean(axis=0))
    np.testing.assert_allclose(covariance, np.cov(X.T, ddof=0), rtol=1e-3)


def test_shrinkage_of_fewer_rows_than_columns_gives_a_covariance_of_full_rank():
    X = np.random.default_rng(0).normal(size=(20, 50))
    covariance = shrunk_covariance(X, uniform(20))[1]
    assert np.linalg.matrix_rank(np.cov(X.T, ddof=0)) == 19
    assert np.linalg.eigvalsh(covariance).min() > 0.1 * X.var(axis=0).min()
    np.testing.assert_allclose(np.diag(covariance), X.var(axis=0))


def test_the_share_of_shrinkage_is_ledoit_and_wolfs_with_a_target_of_ones_on_the_diagonal():
    # For standardised columns their target, the mean variance, is ours; their noise counts the
    # diagonal as well, where fourth moments are, so that the shares agree for many columns.
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 60)) @ (np.eye(60) + 0.1 * rng.normal(size=(60, 60)))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    covariance = shrunk_covariance(Z, uniform(100))[1]
    off = ~np.eye(60, dtype=bool)
    share = 1 - (covariance[off] / np.cov(Z.T, ddof=0)[off]).mean()
    assert 0.1 < share < 0.9
    assert share == pytest.approx(ledoit_wolf_shrinkage(Z), rel=0.1)


def test_the_shrunk_map_lies_between_that_of_gaussians_and_standardising():
    Xs, Xt = correlated(20_000, 3), 2 * correlated(20_000, 3, seed=1)[:, ::-1] + 5
    w = uniform(len(Xs))
    limit = gaussian_map(Xs, Xt)(Xs)
    np.testing.assert_allclose(shrunk_gaussian_map(Xs, Xt, w)(Xs), limit, atol=0.02)
    # Without correlations in the samples nothing is left but the columns.
    Xs, Xt = (np.array([[1.0, 2], [-1, 2], [1, -2], [-1, -2]]) * c + 1 for c in (1, 3))
    limit = standardizing_map(Xs, Xt, uniform(4))(Xs)
    np.testing.assert_allclose(shrunk_gaussian_map(Xs, Xt, uniform(4))(Xs), limit)


def test_powers_of_a_covariance_leave_out_what_has_no_variance():
    X = correlated(50, 3)
    S = np.cov(np.c_[X, X[:, 0]].T)
    np.testing.assert_allclose(power(S, 0.5) @ power(S, 0.5), S, atol=1e-9)
    onto = power(S, -0.5) @ S @ power(S, -0.5)
    np.testing.assert_allclose(onto @ onto, onto, atol=1e-9)
    assert np.trace(onto) == pytest.approx(3)
    np.testing.assert_array_equal(power(np.zeros((2, 2)), -0.5), 0)
