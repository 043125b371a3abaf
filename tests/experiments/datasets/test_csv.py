import numpy as np
import pandas as pd
import pytest

from experiments.cells.configuration import cells_of
from experiments.cells.protocol import Protocol, draw_repetition
from experiments.cells.repetitions import run_cell
from experiments.datasets.base import unlock
from experiments.datasets.csv import Csv


@pytest.fixture
def files(tmp_path):
    """A source and a target whose only column of numbers is moved, with a text column of noise."""
    rng = np.random.default_rng(0)
    paths = {}
    for name, offset in (("source", 0.0), ("target", 10.0)):
        y = rng.integers(0, 2, 60)
        frame = pd.DataFrame({"size": offset + 4 * y + rng.normal(size=60)})
        frame["plan"] = rng.choice(["basic", "full"], 60)
        frame["label"] = np.where(y, "yes", "no")
        paths[name] = str(tmp_path / f"{name}.csv")
        frame.to_csv(paths[name], index=False)
    return paths


def test_two_files_are_a_task_with_target_labels_locked_and_columns_in_common_units(files):
    task = Csv(**files, label="label").task("own")
    assert task.Xs.shape == task.Xt.shape == (60, 3)
    np.testing.assert_allclose(np.concatenate([task.Xs, task.Xt]).mean(axis=0), 0, atol=1e-12)
    target = pd.read_csv(files["target"])
    order = np.argsort(task.Xt[:, 0])  # by size, increasing; the task has its own order
    assert unlock(task.yt)[order].tolist() == target.sort_values("size")["label"].tolist()
    np.testing.assert_array_equal(task.X_test, task.Xt)
    assert task.sha256 == Csv(**files, label="label").task("own").sha256


def test_a_part_of_the_rows_of_a_sorted_file_is_a_random_part(files):
    pd.read_csv(files["target"]).sort_values("label").to_csv(files["target"], index=False)
    task = Csv(**files, label="label", drop="plan").task("own")
    assert task.Xt.shape == (60, 1)
    assert set(unlock(draw_repetition(task, 0, Protocol(max_rows=20)).y_test)) == {"no", "yes"}


def test_a_target_without_labels_is_scored_by_agreement_with_the_source_as_it_is(files):
    pd.read_csv(files["target"]).drop(columns="label").to_csv(files["target"], index=False)
    with pytest.raises(ValueError, match="score=agreement"):
        Csv(**files, label="label").task("own")
    data = [f"dataset.data.{key}={value}" for key, value in files.items()]
    overrides = [*data, "dataset.data.label=label", "dataset.data.score=agreement"]
    plain, moved = cells_of("csv", ["own"], ["source_only", "standardize"], overrides)
    assert np.mean([o.accuracy for o in run_cell(plain).outcomes]) > 0.95
    assert np.mean([o.accuracy for o in run_cell(moved).outcomes]) < 0.7


def test_a_target_label_that_the_source_has_not_is_refused(files):
    frame = pd.read_csv(files["target"])
    for label in ("maybe", None):
        frame.loc[7, "label"] = label
        frame.to_csv(files["target"], index=False)
        with pytest.raises(ValueError, match="row 8"):
            Csv(**files, label="label").task("own")
