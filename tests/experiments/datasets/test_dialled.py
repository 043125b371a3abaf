import numpy as np
import pytest

from experiments.datasets.base import unlock
from experiments.datasets.dialled import KINDS, STRENGTHS, Dialled, rotate


def test_every_kind_is_dialled_in_five_steps():
    assert len(Dialled.task_names) == len(set(Dialled.task_names)) == 15
    assert Dialled.task_names[:2] == ("rotation-0.00", "rotation-0.25")
    for name in Dialled.task_names:
        task = Dialled().task(name)
        assert task.Xs.shape == task.Xt.shape == (300, 8)
        assert task.X_test.shape == (1000, 8)
    with pytest.raises(ValueError, match="no task 'warp-0"):
        Dialled().task("warp-0.3")


def test_strength_zero_is_no_shift_and_every_kind_of_it_the_same_data():
    first, *others = (Dialled().task(f"{kind}-0.00") for kind in KINDS)
    for other in others:
        np.testing.assert_array_equal(other.Xt, first.Xt)
        np.testing.assert_array_equal(other.X_test, first.X_test)
    standard_error = np.sqrt(1 / 300 + 1 / 1000)
    assert np.abs(first.Xs.mean(axis=0) - first.X_test.mean(axis=0)).max() < 4 * standard_error
    # The same distribution: columns have mean 0 and deviation 1 there.
    assert np.abs(first.X_test.mean(axis=0)).max() < 4 / np.sqrt(1000)
    np.testing.assert_allclose(first.X_test.std(axis=0), 1, atol=0.1)


def test_the_tasks_of_a_kind_differ_by_the_shift_alone():
    none, half, full = (Dialled().task(f"rotation-{s}") for s in ("0.00", "0.50", "1.00"))
    np.testing.assert_array_equal(none.Xs, full.Xs)
    np.testing.assert_array_equal(unlock(none.yt), unlock(full.yt))
    np.testing.assert_allclose(rotate(none.Xt, 0.5), half.Xt)
    np.testing.assert_allclose(full.Xt[:, 0], -none.Xt[:, 1])
    np.testing.assert_allclose(full.Xt[:, 1], none.Xt[:, 0])


def test_a_warp_keeps_the_order_of_every_column():
    none = Dialled().task("warp-0.00").X_test
    for strength in STRENGTHS[1:]:
        warped = Dialled().task(f"warp-{strength}").X_test
        np.testing.assert_array_equal(warped.argsort(axis=0), none.argsort(axis=0))
        assert np.abs(warped - none).mean() > 0.1


def test_the_share_of_class_one_rises_in_the_target_alone():
    for strength in STRENGTHS:
        task = Dialled().task(f"shares-{strength}")
        assert np.mean(unlock(task.y_test)) == pytest.approx(0.5 + 0.4 * float(strength), abs=0.05)
        assert np.mean(task.ys) == pytest.approx(0.5, abs=0.1)


def test_the_same_draw_gives_the_same_rows_and_another_one_others():
    sums = {Dialled(draw=draw).task("warp-0.50").sha256 for draw in (0, 0, 1)}
    assert len(sums) == 2
