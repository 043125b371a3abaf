"""The simulated HEPMASS tasks: shapes, units, seeds."""

import numpy as np
import pytest

from experiments.datasets import hepmass_sim
from experiments.datasets.base import unlock
from experiments.datasets.collider.normalisation import LOGARITHMIC, REFERENCE, normalise
from experiments.datasets.collider.simulation import simulate
from experiments.datasets.collisions import FEATURES, MASSES
from experiments.datasets.hepmass_sim import HepmassSim


def test_a_task_has_the_papers_shapes_and_half_of_each_kind():
    dataset = HepmassSim()
    assert dataset.name == "hepmass_sim"
    assert len(set(dataset.task_names)) == 20
    assert dataset.task_names[:5] == ("500-750", "500-1000", "500-1250", "500-1500", "750-500")
    with pytest.raises(ValueError, match="no task '500-500'"):
        dataset.task("500-500")
    task = dataset.task("1500-500")
    assert task.label == "hepmass_sim/1500-500"
    assert task.Xs.shape == (1000, 27)
    assert task.Xt.shape == (500, 27)
    assert task.X_test.shape == (2000, 27)
    for labels in (task.ys, unlock(task.yt), unlock(task.y_test)):
        assert labels.dtype == np.int64
        assert labels.mean() == pytest.approx(0.5, abs=0.08)
    for rows in (task.Xs, task.Xt, task.X_test):
        assert np.isfinite(rows).all()


def test_label_one_is_the_resonance():
    X, y = HepmassSim().rows(1500, "training")
    m_wwbb = X[:, FEATURES.index("m_wwbb")]
    assert np.median(m_wwbb[y == 1]) > np.median(m_wwbb[y == 0]) + 1


def test_training_and_test_rows_are_different_collisions():
    training, _ = HepmassSim().rows(500, "training")
    test, _ = HepmassSim().rows(500, "test")
    assert not set(map(bytes, training)) & set(map(bytes, test))


def test_a_masss_rows_do_not_depend_on_what_else_was_asked_for():
    hepmass_sim._pool.cache_clear()
    alone = HepmassSim().task("750-1000").sha256
    hepmass_sim._pool.cache_clear()
    for name in ("1000-750", "500-1500"):
        HepmassSim().task(name)
    HepmassSim(simulation=1).task("750-1000")
    assert HepmassSim().task("750-1000").sha256 == alone
    assert HepmassSim(draw=1).task("750-1000").sha256 != alone


def test_backgrounds_of_two_masses_are_different_rows_of_one_distribution():
    rows = {mass: HepmassSim().rows(mass, "test") for mass in (500, 1500)}
    light, heavy = (X[y == 0] for X, y in rows.values())
    assert not np.array_equal(light, heavy)
    # Means differ by chance alone: 27 columns, 4000 rows of standard deviation about one.
    assert np.abs(light.mean(axis=0) - heavy.mean(axis=0)).max() < 4.5 * np.sqrt(2 / 4000)


def test_units_are_those_of_hepmass():
    parts = [HepmassSim().rows(mass, "test")[0] for mass in MASSES]
    X = np.concatenate(parts)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=0.05)
    np.testing.assert_allclose(X.std(axis=0), 1.0, atol=0.05)
    logs = dict(zip(FEATURES, LOGARITHMIC, strict=True))
    assert sum(logs.values()) == 12
    assert logs["n_jets"]
    assert not logs["jet_1_b_tag"]
    raw = simulate("signal", 500, 10, np.random.default_rng(0))
    mean, sd = REFERENCE["m_jlv"]
    column = FEATURES.index("m_jlv")
    np.testing.assert_allclose(
        normalise(raw)[:, column], (np.log(raw[:, column]) - mean) / sd, atol=1e-5
    )
