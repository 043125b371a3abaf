import numpy as np
import pytest

from experiments.datasets.base import unlock
from experiments.datasets.moons import Moons, rotate


def test_the_nine_tasks_have_the_papers_sizes():
    tasks = [Moons().task(name) for name in Moons().task_names]
    assert [task.label for task in tasks] == [f"moons/{angle}" for angle in range(10, 100, 10)]
    for task in tasks:
        assert (len(task.Xs), len(task.Xt), len(task.X_test)) == (300, 300, 1000)
        assert np.bincount(task.ys).tolist() == [150, 150]


def test_tasks_differ_by_the_rotation_alone():
    first, second = Moons().task("10"), Moons().task("70")
    np.testing.assert_array_equal(first.Xs, second.Xs)
    np.testing.assert_allclose(rotate(first.Xt, 60), second.Xt, atol=1e-12)
    np.testing.assert_allclose(rotate(first.X_test, 60), second.X_test, atol=1e-12)
    np.testing.assert_array_equal(unlock(first.yt), unlock(second.yt))


def test_a_rotation_is_anticlockwise():
    np.testing.assert_allclose(rotate(np.array([[1.0, 0.0]]), 90), [[0.0, 1.0]], atol=1e-15)


def test_the_data_is_centred_on_the_half_circles():
    Xs = Moons(noise=0.0, n_source=10_000).task("10").Xs
    np.testing.assert_allclose((Xs.min(0) + Xs.max(0)) / 2, 0.0, atol=1e-3)


def test_another_draw_gives_other_rows_and_the_same_draw_the_same_checksum():
    assert Moons().task("40").sha256 == Moons().task("40").sha256
    assert Moons().task("40").sha256 != Moons(draw=1).task("40").sha256
    assert Moons().task("40").sha256 != Moons().task("50").sha256


@pytest.mark.parametrize("name", ["forty", "", "nan", "inf"])
def test_a_name_that_is_no_angle_is_refused(name):
    with pytest.raises(ValueError, match="angle in degrees"):
        Moons().task(name)
