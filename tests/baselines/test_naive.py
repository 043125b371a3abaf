"""The two column-wise adaptations."""

from __future__ import annotations

import numpy as np
import ot
from hypothesis import given
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


def test_equal_values_share_the_mean_of_their_ranks():
    # Zeros hold ranks 0 to 1/2 and ones 1/2 to 1 on both sides.
    source, target = np.array([0, 0, 1, 1]), np.array([5.0, 5.0, 9.0, 9.0])
    np.testing.assert_allclose(quantile_map(source, target)([0, 1, 0.5]), [5, 9, 7])


def test_a_constant_column_goes_to_the_median_or_stays_there():
    move = quantile_map(np.ones(5), np.array([1.0, 2.0, 10.0]))
    np.testing.assert_allclose(move([1.0, -3.0, 50.0]), 2.0)
    move = quantile_map(np.arange(6.0), np.full(4, 3.5))
    np.testing.assert_allclose(move([-1.0, 2.2, 9.0]), 3.5)


@given(
    source=arrays(
        float, st.integers(2, 20), elements=st.integers(-1000, 1000).map(lambda i: i / 8)
    ),
    target=arrays(
        float, st.integers(2, 20), elements=st.integers(-1000, 1000).map(lambda i: i / 8)
    ),
    values=arrays(float, 10, elements=st.floats(-1e9, 1e9)),
)
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
