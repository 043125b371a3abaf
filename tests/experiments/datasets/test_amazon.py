"""The Amazon tasks and the committed encodings."""

import numpy as np
import pytest

from experiments.catalogue import config_names
from experiments.cells.configuration import cells_of
from experiments.cells.repetitions import run_cell
from experiments.datasets.amazon import DEFAULT_PATH, Amazon, read_arrays, read_metadata
from experiments.datasets.base import unlock
from experiments.datasets.raw import raw_files

N_TEST = {"B": 4465, "D": 3586, "E": 5681, "K": 5945}


def test_tasks_are_the_twelve_of_the_paper_in_its_order_with_its_shapes_and_labels():
    names = "B-D B-E B-K D-B D-E D-K E-B E-D E-K K-B K-D K-E"
    assert " ".join(Amazon().task_names) == names
    with pytest.raises(ValueError, match=r"expected one of B-D, B-E, .*, K-E"):
        Amazon().task("B-B")
    for task in map(Amazon().task, Amazon().task_names):
        target = task.name[-1]
        assert task.label == f"amazon/{task.name}"
        assert task.Xs.shape == task.Xt.shape == (2000, 5)
        assert task.X_test.shape == (N_TEST[target], 5)
        assert task.Xs.dtype == task.Xt.dtype == task.X_test.dtype == np.float64
        for labels in (task.ys, unlock(task.yt), unlock(task.y_test)):
            assert labels.dtype == np.int64
            assert set(np.unique(labels)) == {0, 1}
        assert task.ys.sum() == unlock(task.yt).sum() == 1000


def test_a_task_takes_all_rows_from_the_source_encoder():
    arrays = read_arrays(DEFAULT_PATH)
    task = Amazon().task("E-K")
    assert np.array_equal(task.Xs, arrays["X_E_E_train"])
    assert np.array_equal(task.Xt, arrays["X_E_K_train"])
    assert np.array_equal(task.X_test, arrays["X_E_K_test"])
    assert np.array_equal(task.ys, arrays["y_E_train"])
    assert np.array_equal(unlock(task.yt), arrays["y_K_train"])
    assert np.array_equal(unlock(task.y_test), arrays["y_K_test"])


def test_committed_encodings_are_bounded_and_vary_in_every_column():
    arrays = read_arrays(DEFAULT_PATH)
    for key, rows in arrays.items():
        if key.startswith("X_"):
            assert rows.dtype == np.float32
            assert np.abs(rows).max() <= 1  # neither NaN nor infinite
            assert rows.std(axis=0).min() > 0.1
            # No atom: hardly any rows share a number, though tanh saturates and rows repeat.
            for column in rows.T:
                assert np.unique(column, return_counts=True)[1].max() < 0.01 * len(rows)


def test_the_committed_file_names_the_raw_files_it_was_made_from():
    metadata = read_metadata()
    assert metadata["raw_sha256"] == {file.name: file.sha256 for file in raw_files("amazon")}
    assert metadata["seed"] == 0
    assert set(metadata["versions"]) == {"python", "numpy", "scipy", "scikit-learn", "torch"}


@pytest.mark.parametrize("damage", ["truncated", "flipped", "other", "absent"])
def test_a_file_that_is_not_the_encodings_says_how_to_make_it(tmp_path, damage):
    content = DEFAULT_PATH.read_bytes()
    start = content.index(b"X_B_B_train.npy")
    path = tmp_path / "encodings.npz"
    if damage == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        path.write_bytes(content[: start + 5000] + bytes(64) + content[start + 5064 :])
    elif damage == "other":
        np.savez(path, a=np.zeros(3))
    with pytest.raises(ValueError, match=r"scripts/encode_amazon\.py") as caught:
        Amazon(path).task("B-D")
    assert str(path) in str(caught.value)


@pytest.fixture(scope="module")
def dead_units(tmp_path_factory):
    """Encodings with columns that are constant in the source, the target, or both.

    As ReLU makes them, test rows may vary where training rows do not. A sum of 0.1 is rounded, so
    that its standard deviation is not exactly 0.
    """
    arrays = read_arrays(DEFAULT_PATH)
    arrays["X_B_B_train"][:, [0, 1, 4]] = 0.1
    arrays["X_B_K_train"][:, [2, 4]] = 0.1
    arrays["X_B_K_train"][:, 1] = 0.3
    arrays["X_B_K_test"][:, 4] = 0.1
    path = tmp_path_factory.mktemp("dead") / "encodings.npz"
    np.savez(path, allow_pickle=False, **arrays)
    return path


@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore:Columns .* are constant")
@pytest.mark.parametrize("method", [m for m in config_names("method") if m != "target_only"])
def test_dead_units_make_no_method_fail(dead_units, method):
    overrides = (f"dataset.data.path={dead_units}", "protocol=smoke", "protocol.max_rows=100")
    (cell,) = cells_of("amazon", ["B-K"], [method], (*overrides, "protocol.n_repetitions=1"))
    assert [outcome.error for outcome in run_cell(cell).outcomes] == [None]
