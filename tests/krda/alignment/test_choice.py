"""Which shift is found: on samples whose shift is known."""

from collections import Counter
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from krda.alignment import choice as choosing
from krda.alignment import fitting
from krda.alignment.choice import Candidate, choose
from krda.alignment.chosen import ChosenAlignment
from krda.alignment.fitting import Fitted, comparable_units, fit_alone
from krda.alignment.noise import split_residuals
from krda.alignment.shares import MAX_ROWS, class_weights, some_of_each, some_rows


def moons(angle=0, *, n=200, shares=(0.5, 0.5), seed=0):
    counts = [round(n * share) for share in shares]
    X, y = make_moons(tuple(counts), noise=0.05, random_state=seed)
    angle = np.deg2rad(angle)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return X @ turn, y


def blobs(rng, counts, spread=1.0):
    y = np.repeat([0, 1, 2], counts)
    centres = np.array([[0.0, 0, 0], [3, 1, 0], [0, 3, 2]])
    return centres[y] + spread * rng.gamma(2.0, size=(len(y), 3)), y


def chosen(Xs, ys, Xt, *, seed=0):
    return ChosenAlignment.fit("auto", Xs, ys, Xt, seed)


def test_without_a_shift_nothing_is_done_in_most_draws():
    found = Counter()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        Xs, ys = blobs(rng, [40, 30, 30])
        Xt, _ = blobs(rng, [40, 30, 30])
        found[chosen(Xs, ys, Xt).choice.shift] += 1
    assert found["none"] >= 17


def test_other_class_shares_alone_are_found_with_their_sizes():
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        Xs, ys = blobs(rng, [60, 50, 50])
        Xt, _ = blobs(rng, [15, 105, 30])
        alignment = chosen(Xs, ys, Xt)
        found.append(alignment.choice.shift)
        if found[-1] == "class shares":
            shares = alignment.choice.chosen[0].shares
            np.testing.assert_allclose(shares, [0.1, 0.7, 0.2], atol=0.1)
            np.testing.assert_allclose(alignment(Xs), Xs, rtol=1e-15)
            weights = alignment.weights(ys)
            assert weights.mean() == pytest.approx(1)
            np.testing.assert_allclose(np.bincount(ys, weights) / len(ys), shares)
    assert found.count("class shares") >= 3


@pytest.mark.parametrize("seed", range(3))
def test_columns_that_are_shifted_and_scaled_are_put_back(seed):
    rng = np.random.default_rng(seed)
    Xs, ys = blobs(rng, [50, 50, 50])
    Xt, _ = blobs(rng, [50, 50, 50])
    units, offset = np.array([2.0, 0.5, 1.5]), np.array([3.0, -1.0, 0.0])
    alignment = chosen(Xs, ys, Xt * units + offset)
    assert alignment.choice.shift == "columns"
    assert alignment.weights(ys) is None
    error = np.abs(alignment(Xs) - (Xs * units + offset)) / (Xt * units).std(axis=0)
    assert np.median(error) < 0.2


@pytest.mark.parametrize("seed", range(3))
def test_rotated_moons_are_turned(seed):
    (Xs, ys), (Xt, yt) = moons(seed=seed), moons(40, seed=100 + seed)
    alignment = chosen(Xs, ys, Xt)
    assert alignment.choice.shift == "axes"
    assert alignment.choice.ambiguous  # half a turn maps the moons onto each other
    assert SVC().fit(alignment(Xs), ys).score(Xt, yt) >= 0.99


def test_a_rotation_of_a_shape_without_symmetry_is_not_ambiguous():
    rng = np.random.default_rng(0)
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    Xs, Xt = (rng.gamma(0.5, size=(300, 2)) * [1, 2] for _ in range(2))
    ys = (Xs[:, 0] > np.median(Xs[:, 0])).astype(int)
    found = chosen(Xs, ys, Xt @ turn).choice
    assert (found.shift, found.ambiguous) == ("axes", False)


def test_rotated_moons_in_other_shares_are_both():
    (Xs, ys), (Xt, yt) = moons(), moons(40, shares=(0.8, 0.2), seed=100)
    alignment = chosen(Xs, ys, Xt)
    assert alignment.choice.shift == "both"
    np.testing.assert_allclose(alignment.choice.chosen[0].shares, [0.8, 0.2], atol=0.1)
    machine = SVC().fit(alignment(Xs), ys, sample_weight=alignment.weights(ys))
    assert machine.score(Xt, yt) >= 0.95


def test_the_seed_decides_the_noise_and_nothing_else():
    (Xs, ys), (Xt, _) = moons(n=100), moons(40, n=100, seed=100)
    first, again, other = (chosen(Xs, ys, Xt, seed=seed).choice for seed in (0, 0, 1))
    for a, b, c in zip(first.candidates, again.candidates, other.candidates, strict=True):
        for name in ("residuals", "noise_means", "noise_deviations"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        np.testing.assert_array_equal(a.residuals, c.residuals)
        assert (a.noise_means != c.noise_means).all()


def candidate(kind, excess, between=0.0, class_shares="source"):
    """What it leaves beyond noise: of all columns, and between the classes."""
    shares, noise = np.array([0.5, 0.5]), np.full(2, 5.0)
    left, fitted = noise + np.array([excess, between]), Fitted(lambda X: X, shares)
    return Candidate(kind, class_shares, shares, left, noise, np.ones(2), fitted=fitted)


def test_a_candidate_explains_what_noise_may_leave_of_all_columns_and_between_classes():
    assert candidate("linear", 2.9, 2.9).explains
    assert not candidate("linear", 3.1).explains
    assert not candidate("linear", 0.0, 3.1).explains
    assert candidate("affine", 0).name == "affine"
    assert candidate("affine", 0, class_shares="estimated").name == "affine, class shares"


def test_shares_are_needed_with_a_map_if_they_explain_all_and_halve_what_is_between_classes():
    plain = candidate("linear", 8.0, 6.0)
    for excess, between, needed in ((1.9, 2.9, True), (2.1, 0.0, False), (0.0, 3.1, False)):
        weighted = candidate("linear", excess, between, "estimated")
        assert plain.needs_shares(weighted) is needed
    # Between the classes this map leaves no more than noise: there is nothing to halve.
    weighted = candidate("linear", 0.0, -3.0, "estimated")
    assert not candidate("linear", 8.0, 2.9).needs_shares(weighted)


@pytest.mark.parametrize(
    ("of_shares", "of_a_map", "of_quantiles", "shift"),
    [(1.9, 9.0, 9.0, "class shares"), (2.1, 2.9, 9.0, "columns"), (1.9, 2.9, 9.0, "columns"),
     (0.9, 2.9, 2.9, "class shares"), (1.9, 9.0, 0.5, "class shares")],
)  # fmt: skip
def test_shares_have_to_explain_more_if_a_simple_map_explains_the_shift_too(
    monkeypatch, of_shares, of_a_map, of_quantiles, shift
):
    left = {"none": 20.0, "quantiles": of_quantiles}

    def tried(self, kind, *, estimated=False, near=None):
        if estimated:
            return candidate(kind, of_shares, class_shares="estimated")
        return candidate(kind, left.get(kind, of_a_map))

    monkeypatch.setattr(choosing._Sample, "candidate", tried)
    rows = np.arange(20.0).reshape(10, 2)
    assert choose(rows, np.arange(10) % 2, rows, 0).shift == shift


def test_as_good_as_the_best_is_what_noise_cannot_tell_from_it_or_from_zero():
    best, near, far = candidate("linear", -4.0), candidate("none", 2.9), candidate("affine", 3.1)
    assert choosing._as_good_as_the_best([far, near, best]) == [near, best]
    assert choosing._as_good_as_the_best([far, candidate("none", 6.2)]) == [far]


def test_noise_is_what_a_sample_of_the_same_size_leaves():
    # What 200 pairs of samples leave, against what splits of one source say.
    def pair(seed):
        rng = np.random.default_rng(seed)
        (Xs, codes), (Xt, _) = blobs(rng, [30, 30, 30]), blobs(rng, [20, 20, 20])
        return Xs, codes, Xt

    own = np.full(3, 1 / 3)
    left = [fitting.fit_alone("none", *pair(seed), own).residuals for seed in range(200)]
    means, deviations = [], []
    for seed in range(20):
        Xs, codes, _ = pair(seed)
        fit = partial(fit_alone, "none", shares=own)
        noise = split_residuals(fit, Xs, codes, own, 60, by_class=False, seed=seed)
        means.append(noise.mean(axis=0))
        deviations.append(noise.std(axis=0))
    spread = np.std(left, axis=0)
    np.testing.assert_allclose(np.mean(deviations, axis=0), spread, rtol=0.5)
    np.testing.assert_array_less(np.abs(np.mean(means, axis=0) - np.mean(left, axis=0)), spread)


def test_what_a_fitted_map_leaves_is_less_by_what_it_fits():
    rng = np.random.default_rng(0)
    X, codes = blobs(rng, [40, 40, 40])
    own = np.full(3, 1 / 3)
    means = [
        split_residuals(
            partial(fit_alone, kind, shares=own), X, codes, own, 120,
            by_class=kind != "none", seed=0,
        ).mean()
        for kind in ("none", "standardize", "quantiles")
    ]  # fmt: skip
    assert means[0] > means[1] > means[2]


def test_of_a_large_table_some_rows_are_looked_at_and_every_class(monkeypatch):
    n = 100_000
    X = np.random.default_rng(0).normal(size=(n, 27))
    codes = np.zeros(n, dtype=int)
    codes[-2:] = 1
    codes[:5] = 2
    seen = {}

    def fit(kind, Xs, codes, Xt, shares):
        seen.update(source=len(Xs), codes=codes, target=len(Xt), shares=shares)
        raise StopIteration

    monkeypatch.setattr(choosing, "fit_alone", fit)
    with pytest.raises(StopIteration):
        choose(X, codes, X, 0)
    assert MAX_ROWS <= seen["source"] <= MAX_ROWS + 9
    assert seen["target"] == MAX_ROWS
    assert np.bincount(seen["codes"])[1] == 2  # all that there are
    assert 3 <= np.bincount(seen["codes"])[2] <= 4
    # The shares are those of all rows.
    np.testing.assert_allclose(seen["shares"], [1 - 7 / n, 2 / n, 5 / n])


def test_rows_are_looked_at_evenly():
    assert some_rows(5).tolist() == [0, 1, 2, 3, 4]
    assert len(set(some_rows(1000).tolist())) == MAX_ROWS
    assert some_rows(1000)[[0, -1]].tolist() == [0, 999]
    codes = np.arange(4000) % 4
    counts = np.bincount(codes[some_of_each(codes)])
    assert counts.min() >= 100
    assert counts.max() <= 103


def test_weights_give_the_classes_their_shares():
    weights = class_weights(np.array([0, 1, 1, 1]), np.array([0.4, 0.6]))
    np.testing.assert_allclose(weights, [0.4, 0.2, 0.2, 0.2])
    # Of a class that has no rows, the others take the share.
    np.testing.assert_allclose(class_weights(np.array([0, 0]), np.array([0.4, 0.6])), 0.5)


def test_units_are_those_of_both_domains_together():
    Xs, Xt = np.array([[0.0, 3], [0, 3]]), np.array([[2.0, 3], [2, 3]])
    np.testing.assert_allclose(comparable_units(Xs, Xt), [1, 1])
    np.testing.assert_allclose(comparable_units(10 * Xs, 10 * Xt), [10, 1])
