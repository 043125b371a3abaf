"""The energy distance and the class shares, against loops, integrals and a general optimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize

from krda.alignment.energy import ClassDistances


def mean_distance(A, B):
    """Of two different rows if both samples are one."""
    pairs = [
        np.sqrt(((a - b) ** 2).sum())
        for i, a in enumerate(A)
        for j, b in enumerate(B)
        if A is not B or i != j
    ]
    return sum(pairs) / len(pairs)


def test_in_one_dimension_it_is_twice_the_squared_distance_of_the_distribution_functions():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=2000), 1.5 * rng.normal(size=1500) + 0.7
    values = np.sort(np.concatenate([x, y]))
    F, G = (np.searchsorted(np.sort(sample), values[:-1], side="right") / len(sample)
            for sample in (x, y))  # fmt: skip
    integral = 2 * ((F - G) ** 2 * np.diff(values)).sum()
    one_class = np.zeros(len(x), dtype=int)
    found = ClassDistances.of(x[:, None], one_class, y[:, None]).energy(np.ones(1))
    # The integral is the biased estimate: it is larger by the mean distances over n.
    within = [mean_within(x), mean_within(y)]
    assert found == pytest.approx(integral - within[0] / 2000 - within[1] / 1500, rel=1e-9)
    assert found == pytest.approx(integral, rel=0.01)


def mean_within(x):
    """Mean distance of two different numbers, by their ranks."""
    n = len(x)
    return 2 * (np.sort(x) * (2 * np.arange(n) - n + 1)).sum() / (n * (n - 1))


def distances(rng, n_classes, target_shares, n=40):
    """Gaussian classes, and a target that holds them in these shares, up to noise."""
    centres = 2 * rng.normal(size=(n_classes, 3))
    codes = np.arange(n) % n_classes
    X = centres[codes] + rng.normal(size=(n, 3))
    Y = centres[rng.choice(n_classes, 30, p=target_shares)] + rng.normal(size=(30, 3))
    return X, codes, Y, ClassDistances.of(X, codes, Y)


def test_energy_and_distances_of_classes_are_means_over_pairs_of_different_rows():
    X, codes, Y, found = distances(np.random.default_rng(5), 3, [0.2, 0.3, 0.5])
    parts = [X[codes == a] for a in range(3)]
    within = [[mean_distance(a, b) for b in parts] for a in parts]
    across, target = [mean_distance(a, Y) for a in parts], mean_distance(Y, Y)
    np.testing.assert_allclose(found.within, within)
    np.testing.assert_allclose(found.across, across)
    assert found.target == pytest.approx(target)
    for shares in (*np.eye(3), np.array([0.5, 0.2, 0.3])):
        expected = 2 * shares @ across - shares @ within @ shares - target
        assert found.energy(shares) == pytest.approx(expected, rel=1e-12)


def least(objective, k):
    """The shares of k classes at which a general optimiser finds an objective to be least."""
    whole = {"type": "eq", "fun": lambda s: s.sum() - 1}
    given = {"method": "SLSQP", "bounds": [(0, 1)] * k, "constraints": [whole]}
    starts = [np.full(k, 1 / k), *(0.9 * np.eye(k) + 0.1 / k)]
    found = [minimize(objective, s, options={"ftol": 1e-12}, **given).x for s in starts]
    return min(found, key=objective)


def test_best_shares_are_those_of_a_general_optimiser_within_and_on_the_border():
    on_the_border = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        k = 2 + seed % 4
        # Every third target lacks a class, so that the solution may lie on the border.
        target = rng.dirichlet(np.ones(k)) if seed % 3 else np.eye(k)[0]
        *_, found = distances(rng, k, target)
        penalty = rng.uniform(0, 0.2, size=k) if seed % 2 else np.zeros(k)

        def objective(s, found=found, penalty=penalty):
            return found.energy(s) + penalty @ s**2

        best, shares = least(objective, k), found.best_shares(penalty)
        assert shares.min() >= 0
        assert shares.sum() == pytest.approx(1)
        assert objective(shares) <= objective(best) + 1e-6
        np.testing.assert_allclose(shares, best, atol=1e-3)
        on_the_border += (shares < 1e-9).any()
    assert 2 <= on_the_border <= 10


def test_a_penalty_without_bound_makes_all_shares_equal():
    *_, found = distances(np.random.default_rng(7), 3, [1.0, 0.0, 0.0])
    np.testing.assert_allclose(found.best_shares(1e6), 1 / 3, atol=1e-3)
    assert found.best_shares()[0] > 0.9
