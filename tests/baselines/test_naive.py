"""The two column-wise adaptations."""

from __future__ import annotations

import numpy as np
import ot
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.dummy import DummyClassifier
from sklearn.svm import SVC

from baselines.naive import DomainStandardization, QuantileMapping


def test_standardisation_gives_both_domains_zero_mean_and_unit_variance(domains):
    method = DomainStandardization().fit(domains.Xs, domains.ys, domains.Xt)
    for rows in (method.transform(domains.Xs), method._map_target(domains.Xt)):
        np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(rows.std(axis=0), 1)
    plain = SVC().fit((domains.Xs - domains.Xs.mean(0)) / domains.Xs.std(0), domains.ys)
    target = (domains.Xt - domains.Xt.mean(0)) / domains.Xt.std(0)
    np.testing.assert_array_equal(method.predict(domains.Xt), plain.predict(target))


def test_a_constant_column_becomes_zero(blobs):
    Xt = blobs.Xt.copy()
    Xt[:, 1] = 0.1  # no exact binary fraction, so its computed variance is not exactly zero
    method = DomainStandardization().fit(blobs.Xs, blobs.ys, Xt)
    np.testing.assert_allclose(method._map_target(Xt)[:, 1], 0, atol=1e-12)


def quantile_map(source, target):
    # The map alone is looked at: SVC's default gamma is no number for rows of tiny variance.
    labels = np.arange(len(source)) % 2
    method = QuantileMapping(DummyClassifier()).fit(source[:, None], labels, target[:, None])
    return lambda values: method.transform(np.asarray(values, dtype=float)[:, None])[:, 0]


def test_it_is_one_dimensional_optimal_transport(domains):
    n = min(len(domains.Xs), len(domains.Xt))
    Xs, Xt = domains.Xs[:n], domains.Xt[:n]
    moved = QuantileMapping().fit(Xs, domains.ys[:n], Xt).transform(Xs)
    for j in range(Xs.shape[1]):
        plan = n * ot.emd_1d(Xs[:, j], Xt[:, j])
        np.testing.assert_allclose(moved[:, j], plan @ Xt[:, j], atol=1e-12)


def test_its_ranks_are_hazens_quantiles():
    rng = np.random.default_rng(1)
    source, target = rng.normal(size=17), rng.gamma(2, size=40)
    ranks = (np.argsort(np.argsort(source)) + 0.5) / 17
    expected = np.quantile(target, ranks, method="hazen")
    np.testing.assert_allclose(quantile_map(source, target)(source), expected)


def test_equal_values_share_the_mean_of_their_ranks():
    # Zeros hold ranks 0 to 1/2 and ones 1/2 to 1 on both sides.
    source, target = np.array([0, 0, 1, 1]), np.array([5.0, 5.0, 9.0, 9.0])
    np.testing.assert_allclose(quantile_map(source, target)([0, 1, 0.5]), [5, 9, 7])


def test_a_column_that_is_constant_in_the_source_goes_to_the_median():
    move = quantile_map(np.ones(5), np.array([1.0, 2.0, 10.0]))
    np.testing.assert_allclose(move([1.0, -3.0, 50.0]), 2.0)


def test_a_column_that_is_constant_in_the_target_stays_there():
    move = quantile_map(np.arange(6.0), np.full(4, 3.5))
    np.testing.assert_allclose(move([-1.0, 2.2, 9.0]), 3.5)


def test_values_too_near_each_other_for_a_slope_are_mapped_like_others():
    # The slope between the first two is above the largest number.
    source, target = np.array([-2e-304, 0.0, 1.0]), np.array([0.0, 3e5, 4e5])
    move = quantile_map(source, target)
    np.testing.assert_allclose(move([-1.0, -2e-304, -5e-305, 0.0, 0.5]), [0, 0, 225e3, 3e5, 35e4])


@given(
    source=arrays(float, st.integers(2, 20), elements=st.floats(-1e6, 1e6)),
    target=arrays(float, st.integers(2, 20), elements=st.floats(-1e6, 1e6)),
    values=arrays(float, 10, elements=st.floats(-1e9, 1e9)),
)
@example(np.zeros(20), np.full(2, 3.170427720317043e-141), np.zeros(10))
def test_it_rises_and_stays_within_the_target(source, target, values):
    images = quantile_map(source, target)(np.sort(values))
    slack = 1e-12 * np.abs(target).max()
    assert np.all(np.diff(images) >= -slack)
    assert images.min() >= target.min() - slack
    assert images.max() <= target.max() + slack


def test_the_classifier_sees_mapped_source_and_plain_target(domains):
    method = QuantileMapping().fit(domains.Xs, domains.ys, domains.Xt)
    plain = SVC().fit(method.transform(domains.Xs), domains.ys)
    np.testing.assert_array_equal(method.predict(domains.Xt), plain.predict(domains.Xt))
