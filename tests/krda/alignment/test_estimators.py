"""The alignments as estimators: class shares, refusals, and what they must not depend on."""

import numpy as np
import pytest
from domain_pairs import label_shift
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from krda import AffineAlignment, ClassReweighting, ColumnQuantiles, LinearOT, Standardize
from krda.alignment import fitting
from krda.alignment.auto import AutoAdaptation
from krda.alignment.maps import gaussian_map, quantile_map, standardizing_map, uniform
from krda.alignment.shares import MAX_ROWS

WITH_SHARES = [Standardize, ColumnQuantiles, AffineAlignment, ClassReweighting]
MOVING = [Standardize, ColumnQuantiles, LinearOT, AffineAlignment]


@pytest.mark.parametrize(
    ("method", "map_between", "weights"),
    [
        (Standardize, standardizing_map, True),
        (ColumnQuantiles, quantile_map, True),
        (LinearOT, gaussian_map, False),
    ],
)
def test_the_classifier_sees_the_mapped_source_and_the_target_as_it_is(
    domains, method, map_between, weights
):
    model = method().fit(domains.Xs, domains.ys, domains.Xt)
    equal = [uniform(len(domains.Xs))] if weights else []
    mapped = map_between(domains.Xs, domains.Xt, *equal)(domains.Xs)
    np.testing.assert_allclose(model.transform(domains.Xs), mapped, atol=1e-9)
    plain = SVC().fit(mapped, domains.ys)
    np.testing.assert_allclose(
        model.decision_function(domains.Xt), plain.decision_function(domains.Xt), atol=0.01
    )


def test_an_affine_alignment_turns_back_what_was_turned(moons):
    model = AffineAlignment().fit(moons.Xs, moons.ys, moons.Xt)
    assert model.score(moons.Xt, moons.yt) == 1
    moved = model.transform(moons.Xs)
    np.testing.assert_allclose(moved.mean(axis=0), moons.Xt.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(np.cov(moved.T), np.cov(moons.Xt.T), atol=0.05)  # shrunk


def test_a_penalty_without_bound_leaves_the_axes_and_none_is_taken_at_its_word(moons):
    stiff = AffineAlignment(penalty=1e6).fit(moons.Xs, moons.ys, moons.Xt)
    matrix = stiff.map_.matrix * stiff.scale_ / stiff.scale_[:, None]
    free = AffineAlignment(penalty=0.0).fit(moons.Xs, moons.ys, moons.Xt)
    assert np.abs(np.linalg.eigvals(matrix).imag).max() < 0.05
    assert np.abs(np.linalg.eigvals(free.map_.matrix).imag).max() > 0.1
    with pytest.raises(ValueError, match="penalty must"):
        AffineAlignment(penalty=-1.0).fit(moons.Xs, moons.ys, moons.Xt)


def test_reweighting_finds_the_shares_and_moves_nothing():
    Xs, ys, Xt, yt = label_shift()
    model = ClassReweighting().fit(Xs, ys, Xt)
    np.testing.assert_allclose(model.class_shares_, [0.125, 0.875], atol=0.1)
    np.testing.assert_allclose(model.transform(Xs), Xs, rtol=1e-15)
    weights = model.class_shares_[ys] / 0.5
    plain = SVC().fit(Xs, ys, sample_weight=weights)
    np.testing.assert_array_equal(model.predict(Xt), plain.predict(Xt))
    assert model.score(Xt, yt) >= SVC().fit(Xs, ys).score(Xt, yt)


@pytest.mark.parametrize("method", [Standardize, ColumnQuantiles, AffineAlignment])
def test_shares_that_are_estimated_undo_a_shift_with_other_shares(method):
    Xs, ys, Xt, yt = label_shift()
    moved = 2 * Xt + 5
    model = method(class_shares="estimated").fit(Xs, ys, moved)
    np.testing.assert_allclose(model.class_shares_, [0.125, 0.875], atol=0.15)
    # Without them the target's more frequent class is taken for both.
    assert model.score(moved, yt) > method().fit(Xs, ys, moved).score(moved, yt) + 0.05


@pytest.mark.parametrize("method", WITH_SHARES)
def test_given_shares_are_used_up_to_their_sum(method, blobs):
    given = method(class_shares=[2, 1, 1]).fit(blobs.Xs, blobs.ys, blobs.Xt)
    np.testing.assert_allclose(given.class_shares_, [0.5, 0.25, 0.25])
    # For the map: what has these weights has the target's mean.
    weights = given.class_shares_[blobs.ys] / 20
    moved = given.transform(blobs.Xs)
    if method in (Standardize, AffineAlignment):
        np.testing.assert_allclose(weights @ moved, blobs.Xt.mean(axis=0), atol=1e-9)
    # And for the classifier.
    plain = SVC().fit(moved, blobs.ys, sample_weight=60 * weights)
    np.testing.assert_allclose(
        given.decision_function(blobs.Xt), plain.decision_function(blobs.Xt), atol=0.01
    )


def test_the_sources_own_shares_are_no_weights(blobs):
    for shares in ("source", [1, 1, 1]):
        model = AffineAlignment(class_shares=shares).fit(blobs.Xs, blobs.ys, blobs.Xt)
        np.testing.assert_allclose(model.class_shares_, 1 / 3)
        plain = AffineAlignment().fit(blobs.Xs, blobs.ys, blobs.Xt)
        np.testing.assert_allclose(model.transform(blobs.Xs), plain.transform(blobs.Xs))


@pytest.mark.parametrize("method", WITH_SHARES)
@pytest.mark.parametrize(
    "wrong",
    ["target", [0.5, 0.5], [0.5, 0.6, -0.1], [0, 0, 0], [1, np.nan, 1], [1, np.inf, 1], [[1, 1, 1]],
     ["a", "b", "c"], None, 0.3],
    ids=str,
)  # fmt: skip
def test_wrong_shares_are_refused_by_name(method, wrong, blobs):
    with pytest.raises(ValueError, match=r"class_shares must be .* each of the 3 classes"):
        method(class_shares=wrong).fit(blobs.Xs, blobs.ys, blobs.Xt)


NAIVE_BAYES = GaussianNB(var_smoothing=0.0)  # sees neither units nor the order of the columns

UNITS, NAMES = np.array([2.0**10, 0.25, 3.0, 1.0, 0.1]), np.array(["b", "c", "a"])


@pytest.mark.parametrize("change", ["order", "units", "names"])
@pytest.mark.parametrize(
    "model",
    [
        *(method(NAIVE_BAYES) for method in (*MOVING, AutoAdaptation)),
        *(method(NAIVE_BAYES, class_shares="estimated") for method in WITH_SHARES),
    ],
    ids=repr,
)
def test_order_and_units_of_columns_and_names_of_classes_do_not_matter(model, change, moons, blobs):
    for data in (moons, blobs):
        d = data.Xs.shape[1]
        order, units, names, atol = np.arange(d), np.ones(d), np.arange(3), 1e-3
        if change == "order":
            # The sweeps of a rotation beyond the plane go over pairs of axes in their order: a
            # search may end elsewhere, and on these rows it does not.
            order, atol = order[::-1], 0.05
        elif change == "names":
            names = NAMES  # sorted in another order
        elif isinstance(model, LinearOT):
            pytest.skip("it moves rows as little as possible in the units given")
        else:
            units = UNITS[:d]
        Xs, Xt = data.Xs[:, order] * units, data.Xt[:, order] * units
        plain = clone(model).fit(*data[:3])
        other = clone(model).fit(Xs, names[data.ys], Xt)
        np.testing.assert_array_equal(other.predict(Xt), names[plain.predict(data.Xt)])
        moved = (other.transform(Xs) / units)[:, order]
        np.testing.assert_allclose(moved, plain.transform(data.Xs), atol=atol)
        if hasattr(plain, "class_shares_"):
            shares = other.class_shares_[np.searchsorted(other.classes_, names[plain.classes_])]
            np.testing.assert_allclose(shares, plain.class_shares_, atol=1e-3)
        assert getattr(other, "shift_", None) == getattr(plain, "shift_", None)


@pytest.mark.parametrize(
    "method", [LinearOT, AffineAlignment, lambda c: AffineAlignment(c, class_shares=[0.4, 0.6])]
)
def test_turning_the_axes_of_both_domains_does_not_matter(method):
    rng = np.random.default_rng(0)
    Xs, Xt = rng.gamma(1.0, size=(400, 2)), 2 * rng.gamma(1.0, size=(400, 2)) + 1
    ys = (Xs.sum(axis=1) > 2).astype(int)
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    classifier = SVC(gamma=0.5)  # it sees no axes
    plain = method(classifier).fit(Xs, ys, Xt)
    other = method(classifier).fit(Xs @ turn, ys, Xt @ turn)
    # Units are those of the columns, and correlations are shrunk: equal up to the noise in them.
    exact = method is LinearOT
    difference = other.transform(Xs @ turn) @ turn.T - plain.transform(Xs)
    assert np.sqrt((difference**2).mean()) < (1e-9 if exact else 0.1 * Xt.std())
    assert np.mean(other.predict(Xt @ turn) == plain.predict(Xt)) >= (1 if exact else 0.95)


def test_the_map_is_fitted_to_all_rows_and_the_rotation_to_some(monkeypatch):
    rng = np.random.default_rng(0)
    Xs, Xt = rng.gamma(1.0, size=(1500, 2)), rng.gamma(1.0, size=(1200, 2)) @ [[0, 1], [-1, 0]]
    seen = []
    find = fitting.closest_rotation

    def counted(problem, near):
        seen.append((len(problem.source), len(problem.target)))
        return find(problem, near)

    monkeypatch.setattr(fitting, "closest_rotation", counted)
    model = AffineAlignment().fit(Xs, np.arange(1500) % 2, Xt)
    assert len(seen) == 1
    assert seen[0][1] == MAX_ROWS
    assert MAX_ROWS <= seen[0][0] <= MAX_ROWS + 6
    np.testing.assert_allclose(model.transform(Xs).mean(axis=0), Xt.mean(axis=0), atol=1e-9)
