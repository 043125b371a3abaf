import hashlib

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import make_moons

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


def test_random_positions_are_uniform_on_each_half_circle_whatever_the_label():
    task = MoonsRandom(n_source=4000, noise=0.0).task("0")
    found = positions(task.Xs, task.ys)
    for label in (0, 1):
        assert stats.kstest(found[task.ys == label] / np.pi, "uniform").pvalue > 0.01


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


def test_the_rows_of_a_random_draw_stay_as_they_are():
    task = MoonsRandom().task("40")
    labels = np.concatenate([task.ys, unlock(task.yt), unlock(task.y_test)])
    assert hashlib.sha256(bytes(labels.tolist())).hexdigest()[:16] == "d34a5b04cf1d73e9"
    # Of what goes through cosines, the last digits may depend on the platform.
    np.testing.assert_allclose(task.Xs[0], [-0.5617322262291166, 0.7844390828676651], atol=1e-9)
    np.testing.assert_allclose(
        task.X_test[-1], [-0.7857981218430891, 0.2959836692659274], atol=1e-9
    )
