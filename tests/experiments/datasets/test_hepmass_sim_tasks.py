"""The simulated HEPMASS tasks: shapes, units, seeds."""

import numpy as np
import pytest

from experiments.datasets import hepmass_sim
from experiments.datasets.base import Dataset, unlock
from experiments.datasets.collider.normalisation import (
    LOGARITHMIC,
    REFERENCE,
    measure_reference,
    normalise,
)
from experiments.datasets.collider.simulation import simulate
from experiments.datasets.collisions import FEATURES, MASSES
from experiments.datasets.hepmass_sim import HepmassSim


def test_a_task_has_the_papers_shapes_and_half_of_each_kind() -> None:
    dataset: Dataset = HepmassSim()
    assert dataset.name == "hepmass_sim"
    assert len(set(dataset.task_names)) == 20
    assert dataset.task_names[:5] == ("500-750", "500-1000", "500-1250", "500-1500", "750-500")
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


def test_label_one_is_the_resonance() -> None:
    X, y = HepmassSim().rows(1500, "training")
    m_wwbb = X[:, FEATURES.index("m_wwbb")]
    assert np.median(m_wwbb[y == 1]) > np.median(m_wwbb[y == 0]) + 1


def test_pools_hold_four_times_what_a_task_draws_and_grow_with_it() -> None:
    for part, n in (("training", 4000), ("test", 8000)):
        _, y = HepmassSim().rows(750, part)
        assert np.bincount(y).tolist() == [n // 2, n // 2]
    _, y = HepmassSim(n_source=10, n_target=1500).rows(750, "training")
    assert len(y) == 6000
    assert len(HepmassSim(n_source=20, n_target=10, n_test=5).rows(750, "training")[1]) == 4000


def test_training_and_test_rows_are_different_collisions() -> None:
    training, _ = HepmassSim().rows(500, "training")
    test, _ = HepmassSim().rows(500, "test")
    assert not set(map(bytes, training)) & set(map(bytes, test))


def test_a_masss_rows_do_not_depend_on_what_else_was_asked_for() -> None:
    hepmass_sim._pool.cache_clear()
    alone = HepmassSim().task("750-1000").sha256
    hepmass_sim._pool.cache_clear()
    for name in ("1000-750", "500-1500"):
        HepmassSim().task(name)
    HepmassSim(simulation=1).task("750-1000")
    assert HepmassSim().task("750-1000").sha256 == alone


def test_draw_and_simulation_give_other_rows() -> None:
    first, drawn, simulated = (
        HepmassSim(**{**{"n_test": 100}, **change}).task("500-750")
        for change in ({}, {"draw": 1}, {"simulation": 1})
    )
    assert first.sha256 == HepmassSim(n_test=100).task("500-750").sha256
    assert len({first.sha256, drawn.sha256, simulated.sha256}) == 3
    # Another draw takes rows of the same pool, another simulation has none in common with it.
    pool = set(map(bytes, HepmassSim().rows(500, "training")[0]))
    assert set(map(bytes, drawn.Xs)) <= pool
    assert not set(map(bytes, simulated.Xs)) & pool


def test_backgrounds_of_two_masses_are_different_rows_of_one_distribution() -> None:
    rows = {mass: HepmassSim().rows(mass, "test") for mass in (500, 1500)}
    light, heavy = (X[y == 0] for X, y in rows.values())
    assert not np.array_equal(light, heavy)
    # Means differ by chance alone: 27 columns, 4000 rows of standard deviation about one.
    assert np.abs(light.mean(axis=0) - heavy.mean(axis=0)).max() < 4.5 * np.sqrt(2 / 4000)


def test_pools_cannot_be_changed_by_who_reads_them() -> None:
    X, _ = HepmassSim().rows(500, "training")
    with pytest.raises(ValueError, match="read-only"):
        X[0, 0] = 0.0
    task = HepmassSim().task("500-750")
    with pytest.raises(ValueError, match="read-only"):
        task.Xs[:] = 0
    assert HepmassSim().task("500-750").Xs.any()


def test_units_are_those_of_hepmass() -> None:
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


def test_the_frozen_constants_are_those_of_the_reference_sample() -> None:
    measured = measure_reference(20_000)
    assert list(measured) == list(REFERENCE) == list(FEATURES)
    for name, (mean, sd) in REFERENCE.items():
        # A fifth of the rows: standard errors are sd / sqrt(20,000), and about 0.7 of it.
        assert measured[name][0] == pytest.approx(mean, abs=4.5 * sd / np.sqrt(20_000))
        assert measured[name][1] == pytest.approx(sd, rel=0.06)


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="no task '500-500'"):
        HepmassSim().task("500-500")
    for mass, part in ((600, "training"), (500, "validation")):
        with pytest.raises(ValueError, match="training and test rows of the masses"):
            HepmassSim().rows(mass, part)
