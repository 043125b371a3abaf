from dataclasses import replace

import numpy as np
import pytest

from experiments.datasets.base import LockedLabels, Task, unlock
from experiments.datasets.moons import Moons


def test_locked_labels_show_nothing_of_themselves():
    locked = LockedLabels(np.array([3, 1, 4]))
    assert repr(locked) == "LockedLabels(3 labels)"
    assert [name for name in dir(locked) if not name.startswith("_")] == []
    assert not hasattr(locked, "__dict__")
    for reach in (np.asarray, list):
        try:
            got = reach(locked)
        except TypeError:
            continue
        assert got.dtype == object, "an array of the wrapper itself, not of labels"
        assert got.shape == ()


def test_unlocked_labels_cannot_be_changed_and_later_changes_do_not_reach_them():
    y = np.array([0, 1])
    locked = LockedLabels(y)
    y[0] = 7
    assert unlock(locked).tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        unlock(locked)[0] = 5


@pytest.mark.parametrize(
    ("part", "change"),
    [("source", {"ys": np.zeros(3)}), ("target", {"yt": LockedLabels(np.zeros(3))}),
     ("test", {"y_test": LockedLabels(np.zeros(3))}), ("target", {"Xt": np.zeros((300, 5))}),
     ("test", {"X_test": np.zeros((1000, 5))})],
)  # fmt: skip
def test_a_task_whose_parts_do_not_agree_is_refused(part, change):
    with pytest.raises(ValueError, match=f"the {part} rows must have the shape"):
        replace(Moons().task("40"), **change)


def test_a_task_of_plain_arrays_locks_the_labels_of_target_and_test_rows():
    X, y = np.zeros((4, 2)), np.array([0, 1, 0, 1])
    task = Task.lock("toy", "first", source=(X, y), target=(X + 1, 1 - y), test=(X + 2, y))
    assert task.label == "toy/first"
    assert task.Xt[0, 0] == 1
    assert task.X_test[0, 0] == 2
    assert isinstance(task.yt, LockedLabels)
    assert unlock(task.yt).tolist() == [1, 0, 1, 0]
    assert unlock(task.y_test).tolist() == [0, 1, 0, 1]


def test_the_checksum_covers_every_row_and_label():
    task = Moons().task("40")
    changes = {name: getattr(task, name) + 1e-12 for name in ("Xs", "Xt", "X_test")}
    changes |= {"ys": 1 - task.ys}
    changes |= {name: LockedLabels(1 - unlock(getattr(task, name))) for name in ("yt", "y_test")}
    sums = {replace(task, **{name: value}).sha256 for name, value in changes.items()}
    assert len(sums | {task.sha256}) == 1 + 6


def test_no_array_of_a_task_can_be_written_to_nor_follows_the_array_it_came_from():
    task = Moons().task("40")
    rows = np.array(task.Xs)
    task = replace(task, Xs=rows)
    rows[0] = 7
    assert not np.array_equal(task.Xs, rows)
    for name in ("Xs", "ys", "Xt", "X_test"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(task, name)[0] += 1
