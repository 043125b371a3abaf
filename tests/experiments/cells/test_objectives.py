import dataclasses

import numpy as np
import pytest

from experiments.cells.cell import Cell
from experiments.cells.configuration import cells_of
from experiments.cells.objectives import held_out_nll
from experiments.cells.protocol import Protocol, draw_repetition
from experiments.datasets.base import LockedLabels, unlock
from krda.parameters import DOMAINS

QUICK = ("protocol=smoke", "method.quick={max_steps: 40}")
(KRDA,) = cells_of("moons", ("40",), ("krda",), QUICK)


@pytest.mark.parametrize("scaling", ["domain", "pooled"])
def test_it_is_that_of_the_fits_of_the_protocol_in_the_units_of_the_data(scaling):
    overrides = (*QUICK, f"method.scaling={scaling}")
    (cell,) = cells_of("moons", ("40",), ("krda",), overrides)
    task, protocol = cell.load(), Protocol(**cell.config["protocol"])
    for repetition, value in enumerate(held_out_nll(cell)):
        data = draw_repetition(task, repetition, protocol)
        method = cell.make_method(cell.seed(repetition))
        method.fit(data.Xs, data.ys, data.Xt)
        # What training minimised, less the log-volume of the scaling of each domain's columns.
        lowest = float(method.history_.held_out_nll.sum(1).min())
        scales = [np.log(method.column_maps_[domain].scale).sum() for domain in DOMAINS]
        assert value == pytest.approx(lowest + sum(scales), abs=1e-5)


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
