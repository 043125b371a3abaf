import hashlib

import numpy as np
import pytest
from hydra.utils import instantiate
from scipy import stats
from sklearn.datasets import make_moons

from experiments.cells.configuration import compose_config
from experiments.datasets.base import unlock
from experiments.datasets.moons import Moons
from experiments.datasets.moons_random import MoonsRandom
from experiments.seeds import derive_seed


def positions(X, y):
    """Angle on the half-circle, in [0, pi], of rows without noise."""
    lower = np.asarray(y) == 1
    upper = np.where(lower[:, np.newaxis], -X, X) + np.array([0.5, 0.25])
    np.testing.assert_allclose(np.linalg.norm(upper, axis=1), 1.0, atol=1e-12)
    return np.arctan2(upper[:, 1], upper[:, 0])


@pytest.mark.parametrize("draw", [0, 7])
def test_the_usual_moons_are_those_of_scikit_learn_bit_for_bit(draw):
    task = Moons(draw=draw).task("0")
    for part, X, y in (
        ("source", task.Xs, task.ys),
        ("target", task.Xt, unlock(task.yt)),
        ("test", task.X_test, unlock(task.y_test)),
    ):
        rows, labels = make_moons(len(y), noise=0.05, random_state=derive_seed("moons", part, draw))
        np.testing.assert_array_equal(y, labels)
        # A rotation by 0 degrees is exact.
        np.testing.assert_array_equal(X, rows - [0.5, 0.25])


def test_the_usual_moons_have_the_same_positions_in_each_part_and_draw():
    first, second = Moons(noise=0.0).task("0"), Moons(noise=0.0, draw=1).task("0")

    def ordered(X, y):
        return np.sort(positions(X, y)[y == 0])

    source = ordered(first.Xs, first.ys)
    np.testing.assert_allclose(source, np.linspace(0, np.pi, 150), atol=1e-12)
    np.testing.assert_allclose(ordered(first.Xt, unlock(first.yt)), source, atol=1e-12)
    np.testing.assert_allclose(ordered(second.Xs, second.ys), source, atol=1e-12)


def test_random_positions_are_uniform_on_each_half_circle_whatever_the_label():
    task = MoonsRandom(n_source=4000, noise=0.0).task("0")
    found = positions(task.Xs, task.ys)
    for label in (0, 1):
        assert stats.kstest(found[task.ys == label] / np.pi, "uniform").pvalue > 0.01


def test_random_labels_are_a_fair_coins():
    ones = [int(MoonsRandom(draw=draw).task("0").ys.sum()) for draw in range(400)]
    coin = stats.binom(300, 0.5)
    edges = coin.ppf([0.2, 0.4, 0.6, 0.8])
    observed = np.bincount(np.searchsorted(edges, ones), minlength=5)
    shares = np.diff([0.0, *coin.cdf(edges), 1.0])
    assert stats.chisquare(observed, 400 * shares).pvalue > 0.01


def test_random_rows_have_the_noise_of_the_usual_moons():
    exact = MoonsRandom(n_source=4000, noise=0.0).task("0").Xs
    noisy = MoonsRandom(n_source=4000).task("0").Xs
    noise = (noisy - exact) / 0.05
    assert stats.kstest(noise.ravel(), "norm").pvalue > 0.01
    assert abs(np.corrcoef(noise.T)[0, 1]) < 0.05


def test_source_and_target_share_neither_positions_nor_labels_nor_noise():
    task = MoonsRandom(n_source=2000, n_target=2000, n_test=2000, noise=0.0).task("0")
    parts = (task.Xs, task.ys), (task.Xt, unlock(task.yt)), (task.X_test, unlock(task.y_test))
    angles = [positions(X, y) for X, y in parts]
    labels = [y for _, y in parts]
    other = MoonsRandom(n_source=2000, draw=1, noise=0.0).task("0")
    angles.append(positions(other.Xs, other.ys))
    labels.append(other.ys)
    for values in (angles, labels):
        correlations = np.corrcoef(values)[np.triu_indices(4, 1)]
        # Six correlations of 2000 independent pairs: each has standard deviation 0.022.
        assert np.abs(correlations).max() < 0.07
    # Sorted positions differ by what uniform samples do, unlike those of a lattice.
    assert np.abs(np.sort(angles[0]) - np.sort(angles[1])).max() > 0.01


def test_tasks_of_random_moons_differ_by_the_rotation_alone_and_draws_by_their_rows():
    first, second = MoonsRandom().task("10"), MoonsRandom().task("70")
    np.testing.assert_array_equal(first.Xs, second.Xs)
    np.testing.assert_array_equal(unlock(first.yt), unlock(second.yt))
    assert first.sha256 == MoonsRandom().task("10").sha256
    assert first.sha256 != MoonsRandom(draw=1).task("10").sha256


def test_the_config_has_the_usual_moons_sizes_and_noise():
    usual, random = (
        instantiate(compose_config((f"dataset={name}",)).dataset.data)
        for name in ("moons", "moons_random")
    )
    assert type(random) is MoonsRandom
    assert vars(usual) == vars(random)


def test_the_rows_of_a_random_draw_stay_as_they_are():
    task = MoonsRandom().task("40")
    labels = np.concatenate([task.ys, unlock(task.yt), unlock(task.y_test)])
    assert hashlib.sha256(bytes(labels.tolist())).hexdigest()[:16] == "d34a5b04cf1d73e9"
    # Of what goes through cosines, the last digits may depend on the platform.
    np.testing.assert_allclose(task.Xs[0], [-0.5617322262291166, 0.7844390828676651], atol=1e-9)
    np.testing.assert_allclose(
        task.X_test[-1], [-0.7857981218430891, 0.2959836692659274], atol=1e-9
    )
