"""Kernel mean matching against general-purpose optimisation and by its own certificate."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from baselines import kernel_mean_matching as kmm
from baselines.kernel_mean_matching import Bounds, KernelMeanMatching, objective_and_gap


def problem(domains, gamma):
    Xs, Xt = domains.Xs, domains.Xt
    K = np.exp(-gamma * ((Xs[:, None] - Xs[None]) ** 2).sum(axis=2))
    kappa = len(Xs) / len(Xt) * np.exp(-gamma * ((Xs[:, None] - Xt[None]) ** 2).sum(axis=2)).sum(1)
    return K, kappa


@pytest.mark.parametrize(("B", "eps"), [(1000.0, None), (3.0, 0.1)])
def test_its_objective_is_that_of_another_solver(domains, B, eps):
    domains = domains._replace(Xs=domains.Xs[::3], ys=domains.ys[::3])  # the other one is slow
    method = KernelMeanMatching(B=B, eps=eps).fit(domains.Xs, domains.ys, domains.Xt)
    K, kappa = problem(domains, method.gamma_)
    n = len(K)
    width = (np.sqrt(n) - 1) / np.sqrt(n) if eps is None else eps
    found = minimize(
        lambda b: (0.5 * b @ K @ b - kappa @ b) / n**2,
        np.ones(n),
        jac=lambda b: (K @ b - kappa) / n**2,
        method="SLSQP",
        bounds=[(0, B)] * n,
        constraints=[
            {"type": "ineq", "fun": lambda b: 1 + width - b.mean()},
            {"type": "ineq", "fun": lambda b: b.mean() - 1 + width},
        ],
        options={"ftol": 1e-13, "maxiter": 2000},
    )
    assert found.success
    assert method.objective_ == pytest.approx(found.fun, rel=1e-6)
    assert method.weights_.min() >= 0
    assert method.weights_.max() <= B
    assert 1 - width - 1e-6 <= method.weights_.mean() <= 1 + width + 1e-6


@pytest.mark.parametrize("gamma", [1e-4, 1.0, 50.0])
def test_kernels_of_any_width_are_solved_far_below_the_accepted_gap(domains, gamma):
    # From nearly one direction to nearly the identity.
    method = KernelMeanMatching(gamma=gamma).fit(domains.Xs, domains.ys, domains.Xt)
    assert abs(method.gap_) <= 1e-7 * max(abs(method.objective_), 1 / len(domains.Xs))


def test_the_gap_bounds_the_distance_from_the_optimum(domains):
    method = KernelMeanMatching(B=5.0, eps=0.5).fit(domains.Xs, domains.ys, domains.Xt)
    K, kappa = problem(domains, method.gamma_)
    bounds = Bounds(5.0, 0.5 * len(K), 1.5 * len(K))
    assert 0 <= method.gap_ <= 1e-5 * abs(method.objective_)
    rng = np.random.default_rng(0)
    for _ in range(5):
        others = rng.uniform(0, 2, len(K))
        others *= len(K) / others.sum()
        objective, gap = objective_and_gap(K, kappa, bounds, others)
        assert 0 < objective - method.objective_ <= gap


def test_a_classifier_without_weights_is_refused_before_any_work(moons, monkeypatch):
    monkeypatch.delattr(kmm, "solve_mean_matching")
    method = KernelMeanMatching(classifier=KNeighborsClassifier())
    with pytest.raises(ValueError, match=r"KNeighborsClassifier.fit takes no sample_weight"):
        method.fit(moons.Xs, moons.ys, moons.Xt)


@pytest.mark.parametrize("empty", [0, 1, 2])
def test_a_class_without_weight_is_not_predicted_and_the_others_stay_right(
    blobs, monkeypatch, empty
):
    # SVC itself, given weights of zero on a whole class, returns the wrong names of the others.
    kept = blobs.ys != empty
    monkeypatch.setattr(kmm, "solve_mean_matching", lambda *args: kept.astype(float))
    monkeypatch.setattr(kmm, "objective_and_gap", lambda *args: (-1.0, 0.0))
    method = KernelMeanMatching().fit(blobs.Xs, blobs.ys, blobs.Xt)
    two = SVC(gamma=method.classifier_._gamma).fit(blobs.Xs[kept], blobs.ys[kept])
    np.testing.assert_array_equal(method.predict(blobs.Xt), two.predict(blobs.Xt))


def test_an_answer_off_the_optimum_is_an_error(moons, monkeypatch):
    monkeypatch.setattr(kmm, "solve_mean_matching", lambda K, *args: np.ones(len(K)))
    with pytest.raises(FloatingPointError, match=r"of the objective away from the optimum"):
        KernelMeanMatching().fit(moons.Xs, moons.ys, moons.Xt)


def test_bounds_that_no_weights_meet_are_refused_by_the_solver(moons):
    with pytest.raises(FloatingPointError, match=r"INFEASIBLE.* raise B or eps"):
        KernelMeanMatching(B=0.5, eps=0.1).fit(moons.Xs, moons.ys, moons.Xt)


@pytest.mark.parametrize(
    "wrong",
    [{"B": -1}, {"B": np.nan}, {"eps": 0}, {"eps": 1}, {"gamma": 0}, {"kernel": "cosine"}],
    ids=str,
)
def test_wrong_parameters_are_refused_by_name(moons, wrong):
    with pytest.raises(ValueError, match=rf"{next(iter(wrong))} (.* )?must"):
        KernelMeanMatching(**wrong).fit(moons.Xs, moons.ys, moons.Xt)
