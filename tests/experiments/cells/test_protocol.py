from dataclasses import replace

import numpy as np
import pytest
from cell_factory import make_cell

from baselines.reference import SourceOnly
from experiments.catalogue import config_names
from experiments.cells import protocol
from experiments.cells.protocol import Protocol, draw_repetition, measure, measure_together
from experiments.datasets.base import LockedLabels, Task, unlock
from experiments.datasets.moons import Moons

TASK = Moons().task("40")


def row_numbers(rows, of):
    return [int(np.flatnonzero((of == row).all(1))[0]) for row in rows]


def test_a_repetition_draws_ninety_percent_of_each_domain_without_replacement():
    data = draw_repetition(TASK, 0, Protocol())
    for rows, all_rows in ((data.Xs, TASK.Xs), (data.Xt, TASK.Xt)):
        numbers = row_numbers(rows, all_rows)
        assert len(set(numbers)) == len(numbers) == 270
    np.testing.assert_array_equal(data.ys, TASK.ys[row_numbers(data.Xs, TASK.Xs)])
    np.testing.assert_array_equal(unlock(data.yt), unlock(TASK.yt)[row_numbers(data.Xt, TASK.Xt)])
    np.testing.assert_array_equal(data.X_test, TASK.X_test)


def test_repetitions_draw_other_rows_and_the_same_repetition_the_same():
    draws = [draw_repetition(TASK, r, Protocol()).Xs for r in (0, 1, 0)]
    np.testing.assert_array_equal(draws[0], draws[2])
    assert not np.array_equal(draws[0], draws[1])


def test_a_bound_on_the_rows_cuts_every_part():
    data = draw_repetition(TASK, 0, Protocol(max_rows=50))
    assert {len(data.Xs), len(data.Xt), len(data.X_test), len(data.y_test)} == {50}


@pytest.mark.parametrize(
    ("name", "values"),
    [("n_repetitions", (0, -1, 1.5, 2.0, True, "3", None)),
     ("source_fraction", (0.0, 1.1, -0.5, "abc", None, True, float("nan"))),
     ("target_fraction", (0, 2, "1", [0.9])), ("max_rows", (0, -5, 1.5, True, "all"))],
)  # fmt: skip
def test_a_protocol_that_cannot_be_run_is_refused(name, values):
    for value in values:
        with pytest.raises(ValueError, match=name):
            Protocol(**{name: value})


def test_accuracy_is_the_share_of_right_labels_balanced_the_mean_of_the_classes_recalls():
    rows = np.array([[0.0], [1.0], [2.0], [3.0]])
    test = (np.array([[0.0], [0.1], [0.2], [2.9], [0.0]]), np.array(["a", "a", "a", "b", "b"]))
    source = (rows, np.array(["a", "a", "b", "b"]))
    data = Task.lock("toy", "first", source=source, target=source, test=test)
    found = measure(lambda seed: SourceOnly(), data, 0)
    assert found.accuracy == pytest.approx(4 / 5)
    assert found.balanced_accuracy == pytest.approx((1 + 1 / 2) / 2)


def test_predictions_of_the_wrong_shape_are_an_error():
    class Wrong(SourceOnly):
        def predict(self, X):
            return super().predict(X)[:-1]

    data = draw_repetition(TASK, 0, Protocol())
    with pytest.raises(ValueError, match="one label a row"):
        measure(lambda seed: Wrong(), data, 0)


@pytest.mark.parametrize("labels", [(0, 1), (1, 2), ("no", "yes")])
@pytest.mark.parametrize(
    "predict",
    [
        lambda y: [str(value) + "." for value in y],
        lambda y: [0.1 if value == y[0] else 0.6 for value in y],
        lambda y: [7 if value == y[0] else 8 for value in y],
        lambda y: [None] * len(y),
        lambda y: [*y[:-1], "0"],
        lambda y: np.array([[], *y[1:]], dtype=object),
        lambda y: [np.nan] * len(y),
    ],
)
def test_predictions_that_are_no_labels_of_the_training_rows_are_an_error(predict, labels):
    class Odd(SourceOnly):
        def predict(self, X):
            return predict(super().predict(X).tolist())

    data = draw_repetition(labelled(labels), 0, Protocol())
    with pytest.raises(ValueError, match=r"labels of its training rows.* rows"):
        measure(lambda seed: Odd(), data, 0)
    (outcome,) = measure_together(lambda seed: Odd(), [data], [0])
    assert isinstance(outcome, ValueError)


@pytest.mark.parametrize("kind", [float, object, bool])
def test_predictions_that_equal_labels_count_whatever_their_type(kind):
    class Other(SourceOnly):
        def predict(self, X):
            return super().predict(X).astype(kind)

    data = draw_repetition(TASK, 0, Protocol())
    found = [measure(lambda seed, m=m: m(), data, 0).accuracy for m in (Other, SourceOnly)]
    assert found[0] == found[1] > 0.5


def labelled(labels):
    """The task with other labels for its classes 0 and 1."""
    names = np.array(labels)
    return replace(
        TASK, ys=names[TASK.ys],
        yt=LockedLabels(names[unlock(TASK.yt)]), y_test=LockedLabels(names[unlock(TASK.y_test)]),
    )  # fmt: skip


class Changing(SourceOnly):
    """Changes the rows that it is to predict."""

    def predict(self, X):
        predictions = super().predict(X)
        X -= 1
        return predictions


class Forcing(Changing):
    """Changes all arrays that it is given, and makes them writeable before."""

    def fit(self, Xs, ys, Xt):
        super().fit(Xs, ys, Xt)
        for array in (Xs, ys, Xt):
            force(array)
            array -= 1
        return self

    def predict(self, X):
        force(X)
        return super().predict(X)


def force(array):
    (array if array.base is None else array.base).setflags(write=True)
    array.setflags(write=True)


def test_a_method_that_changes_its_input_fails_and_moves_no_other_methods_numbers():
    task = Moons().task("40")

    def accuracies():
        draws = [draw_repetition(task, r, Protocol()) for r in range(2)]
        return [measure(lambda seed: SourceOnly(), data, 0).accuracy for data in draws]

    before = accuracies()
    with pytest.raises(ValueError, match="read-only"):
        measure(lambda seed: Changing(), draw_repetition(task, 0, Protocol()), 0)
    assert accuracies() == before
    # One that forces its way in harms the copy that it was given.
    measure(lambda seed: Forcing(), draw_repetition(task, 0, Protocol()), 0)
    assert accuracies() == before
    assert task.sha256 == Moons().task("40").sha256


@pytest.mark.parametrize("method", config_names("method"))
def test_no_method_but_target_only_can_reach_target_labels(method, monkeypatch):
    labels, test = unlock(TASK.yt), (TASK.X_test[:50], LockedLabels(unlock(TASK.y_test)[:50]))
    drawn = []
    for yt in (labels, np.random.default_rng(0).permutation(labels)):
        data = draw_repetition(replace(TASK, yt=LockedLabels(yt)), 0, Protocol(max_rows=60))
        drawn.append(replace(data, X_test=test[0], y_test=test[1]))
    opened, models = [], []

    def spy(labels):
        opened.append(len(labels))
        return unlock(labels)

    def make(seed):
        models.append(make_cell(method=method).make_method(seed))
        return models[-1]

    monkeypatch.setattr(protocol, "unlock", spy)
    for data in drawn:
        measure(make, data, 1)
    # 'Target only' must notice permuted labels: it is the proof that the test can fail.
    same = np.array_equal(*(model.predict(TASK.X_test) for model in models))
    assert same == (method != "target_only")
    # Labels are opened for scoring.
    assert opened == ([60, 50] if method == "target_only" else [50]) * 2
