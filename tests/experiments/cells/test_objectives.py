import dataclasses

import numpy as np
import pytest

from experiments.cells.cell import Cell
from experiments.cells.configuration import cells_of
from experiments.cells.objectives import held_out_nll
from experiments.cells.protocol import Protocol, draw_repetition
from experiments.datasets.base import LockedLabels, unlock

(KRDA,) = cells_of("moons", ("40",), ("krda",), ("protocol=smoke", "method.quick={max_steps: 40}"))


def test_it_is_what_training_minimised_on_the_protocols_rows():
    task, protocol = KRDA.load(), Protocol(**KRDA.config["protocol"])
    expected = []
    for repetition in range(2):
        data = draw_repetition(task, repetition, protocol)
        method = KRDA.make_method(KRDA.seed(repetition))
        method.fit(data.Xs, data.ys, data.Xt)
        expected.append(float(method.history_.held_out_nll.sum(1).min()))
    assert held_out_nll(KRDA) == tuple(expected)


def test_target_labels_do_not_enter(monkeypatch):
    task = KRDA.load()

    def flipped(labels):
        return LockedLabels(1 - unlock(labels))

    other = dataclasses.replace(task, yt=flipped(task.yt), y_test=flipped(task.y_test))
    assert not np.array_equal(unlock(other.yt), unlock(task.yt))
    expected = held_out_nll(KRDA)
    monkeypatch.setattr(Cell, "load", lambda cell: other)
    assert held_out_nll(KRDA) == expected


@pytest.mark.parametrize("method", ["ot", "target_only", "dann"])
def test_methods_without_a_density_are_named(method):
    (cell,) = cells_of("moons", ("40",), (method,), ("protocol=smoke",))
    with pytest.raises(ValueError, match=f"'{method}' fits no density"):
        held_out_nll(cell)
