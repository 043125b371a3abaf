"""The closest rotation: derivatives, known answers, and what it must not depend on."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.spatial.distance import cdist
from scipy.stats import special_ortho_group

from krda.alignment import rotation
from krda.alignment.maps import uniform
from krda.alignment.rotation import RotationProblem, closest_rotation


def whitened(X):
    X = X - X.mean(axis=0)
    return np.linalg.qr(X)[0] * np.sqrt(len(X))


def skewed(n, d, seed):
    """Whitened rows whose columns are skewed, each in another way: no turn maps them to itself."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.gamma(0.3 + 0.5 * j, size=n) for j in range(d)])
    return (X - X.mean(axis=0)) / X.std(axis=0)


def plane(angle):
    angle = np.deg2rad(angle)
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def problem(d, penalty=0.1, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 1.5, size=30)
    source, target = rng.normal(size=(30, d)), rng.gamma(1.0, size=(20, d))
    return RotationProblem(source, weights / weights.sum(), target, penalty)


@pytest.mark.parametrize("d", [2, 4])
def test_the_value_is_the_energy_distance_and_the_penalty_up_to_what_no_rotation_changes(d):
    given = problem(d)
    X, w, Y, penalty = given

    def directly(R):
        moved = ((X @ R - X) ** 2).sum(axis=1)
        across = sum(w[i] * cdist(X @ R, Y)[i].mean() for i in range(len(X)))
        return 2 * across - w @ cdist(X @ R, X @ R) @ w + penalty * w @ moved

    one, other = (special_ortho_group.rvs(d, random_state=seed) for seed in (0, 1))
    difference = given.value(one)[0] - given.value(other)[0]
    assert difference == pytest.approx(directly(one) - directly(other))
    assert given.moved(one) == pytest.approx(penalty * w @ ((X @ one - X) ** 2).sum(axis=1))
    assert given.moved(np.eye(d)) == 0


@pytest.mark.parametrize("d", [2, 3, 5])
def test_the_derivative_that_the_local_search_follows_is_right(d, monkeypatch):
    errors = []

    def check(function, origin, **options):
        for seed in range(3):
            at = np.random.default_rng(seed).normal(size=len(origin))
            errors.append(check_grad(lambda a: function(a)[0], lambda a: function(a)[1], at))
        raise StopIteration

    monkeypatch.setattr(rotation, "minimize", check)
    with pytest.raises(StopIteration):
        closest_rotation(problem(d), start=special_ortho_group.rvs(d, random_state=3))
    assert max(errors) < 1e-6


def found(turn):
    """What is found where the target is a sample that was turned."""
    source, target = skewed(300, len(turn), 0), skewed(300, len(turn), 1) @ turn
    return closest_rotation(RotationProblem(source, uniform(300), target, 0.002))


@pytest.mark.parametrize("angle", [20, 100, 180, 290])
def test_a_rotation_of_the_plane_is_found(angle):
    np.testing.assert_allclose(found(plane(angle)), plane(angle), atol=0.1)


@pytest.mark.parametrize("d", [3, 5])
def test_a_turn_of_one_plane_by_a_right_angle_is_found(d):
    turn = np.eye(d)
    turn[np.ix_([0, 2], [0, 2])] = plane(90).round()
    np.testing.assert_allclose(found(turn), turn, atol=0.25)


@pytest.mark.parametrize("seed", range(3))
def test_a_rotation_in_five_dimensions_is_found(seed):
    # About 40 degrees in some plane of no two axes.
    a = np.random.default_rng(seed).normal(size=(5, 5))
    a = (a - a.T) / np.linalg.norm(a - a.T)
    turn = np.linalg.inv(np.eye(5) - a / 2) @ (np.eye(5) + a / 2)
    assert np.linalg.norm(found(turn) - turn) < 0.5 * np.linalg.norm(np.eye(5) - turn)


@pytest.mark.parametrize("d", [2, 3, 6])
def test_what_is_found_is_a_rotation_that_is_no_worse_than_none(d):
    for seed in range(3):
        given = problem(d, penalty=0.02, seed=seed)
        R = closest_rotation(given)
        np.testing.assert_allclose(R @ R.T, np.eye(d), atol=1e-10)
        assert np.linalg.det(R) == pytest.approx(1)
        assert given.value(R)[0] <= given.value(np.eye(d))[0]


def test_in_one_dimension_there_is_nothing_to_turn():
    given = RotationProblem(np.ones((3, 1)), uniform(3), -np.ones((3, 1)), 0.0)
    np.testing.assert_array_equal(closest_rotation(given), [[1.0]])


@pytest.mark.parametrize("d", [2, 5])
def test_the_penalty_keeps_gaussian_samples_where_they_are(d):
    turned, penalised = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, Y = (whitened(rng.normal(size=(150, d))) for _ in range(2))
        # The strength that is used for as many rows, and nearly none.
        for penalty, kept in ((0.5 * 2 / 150, penalised), (1e-9, turned)):
            R = closest_rotation(RotationProblem(X, uniform(150), Y, penalty))
            kept.append(np.linalg.norm(R - np.eye(d)))
    assert np.median(penalised) < 0.15 * np.sqrt(d)
    assert np.median(turned) > 4 * np.median(penalised)


def test_near_a_start_the_search_is_local():
    # These rows are the same after each quarter turn.
    source = np.vstack([skewed(50, 2, 0) @ plane(angle) for angle in (0, 90, 180, 270)])
    given = RotationProblem(source, uniform(200), source @ plane(40), 0.001)
    for angle in (40, 130, 220):
        local = closest_rotation(given, plane(angle + 10))
        np.testing.assert_allclose(local, plane(angle), atol=0.15)


def test_in_the_plane_turning_both_samples_alike_changes_nothing():
    source, target = skewed(200, 2, 0), skewed(150, 2, 1) @ plane(70)
    plain = closest_rotation(RotationProblem(source, uniform(200), target, 0.002))
    for angle in (33, 180):
        both = RotationProblem(source @ plane(angle), uniform(200), target @ plane(angle), 0.002)
        np.testing.assert_allclose(closest_rotation(both), plain, atol=1e-3)


def test_weights_are_repeated_rows():
    source, target, times = skewed(60, 3, 0), skewed(80, 3, 1), np.arange(60) % 3 + 1
    weighted = RotationProblem(source, times / times.sum(), target, 0.01)
    repeated = RotationProblem(np.repeat(source, times, axis=0), uniform(120), target, 0.01)
    start = special_ortho_group.rvs(3, random_state=0)
    for R in (start, np.eye(3)):
        assert weighted.value(R)[0] == pytest.approx(repeated.value(R)[0])
    np.testing.assert_allclose(
        closest_rotation(weighted, start), closest_rotation(repeated, start), atol=1e-4
    )
