import asyncio
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from cell_factory import make_cell, without_times

from experiments.cells import repetitions
from experiments.cells.cell import Cell
from experiments.cells.repetitions import lost_outcome, record_of, run_cell
from experiments.cells.state import cell_state, state_of
from experiments.store.records import RecordStore, dumps
from krda.density.training import DivergenceError


@pytest.mark.parametrize("method", ["krda_random", "ot", "dann", "shot", "kmm"])
def test_two_runs_of_a_cell_give_the_same_record_apart_from_times(method):
    cell = make_cell(method=method)
    first = run_cell(cell)
    assert first.complete
    # Neither what ran before nor global seeds matter.
    np.random.seed(123)
    torch.manual_seed(123)
    run_cell(make_cell(method="dan"))
    assert without_times(run_cell(cell)) == without_times(first)


class Failing:
    """Stands in for a method: fails in the repetitions that it is told to."""

    def __init__(self, errors, real):
        self.errors, self.real, self.n = errors, real, -1

    def __call__(self, seed):
        self.n += 1
        if self.n in self.errors:
            raise self.errors[self.n]
        return self.real(seed)


def failing_cell(monkeypatch, errors):
    cell = make_cell("protocol.n_repetitions=4")
    factory = Failing(errors, Cell.make_method.__get__(cell))
    monkeypatch.setattr(Cell, "make_method", lambda self, seed: factory(seed))
    return cell


def test_a_repetition_that_fails_is_recorded_and_the_others_go_on(monkeypatch):
    errors = {1: ValueError("too small"), 2: DivergenceError("non-finite in epoch 3")}
    record = run_cell(failing_cell(monkeypatch, errors))
    assert [o.status for o in record.outcomes] == ["done", "failed", "diverged", "done"]
    assert record.outcomes[1].error.startswith("ValueError: too small")
    assert "non-finite in epoch 3" in record.outcomes[2].error
    assert not record.complete
    assert len(record.accuracies) == 2


def test_an_error_names_the_place_in_the_repository_and_no_absolute_path():
    cell = make_cell("+classifier.C=-1")
    record = run_cell(cell)
    error = record.outcomes[0].error
    assert "InvalidParameterError" in error
    assert "[krda/base.py:" in error
    assert str(repetitions._ROOT) not in dumps(record)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            ValueError("x\udce9.csv\nand \x1b[31mred\u202e"),
            r"ValueError: x\udce9.csv and \x1b[31mred",
        ),
        (ValueError("y" * 5_000_000), "more characters]"),
        (SystemExit(0), "SystemExit"),
        (asyncio.CancelledError("by itself"), "CancelledError"),
    ],
)
def test_any_error_of_a_method_becomes_a_line_of_the_record_and_stops_nothing(
    error, expected, monkeypatch
):
    record = run_cell(failing_cell(monkeypatch, {1: error}))
    assert [o.status for o in record.outcomes] == ["done", "failed", "done", "done"]
    text = record.outcomes[1].error
    assert expected in text
    assert text.isprintable()
    assert len(text) <= 2000
    assert "test_cells.py" in text, "the place is told in any case"


def test_a_record_whose_seeds_or_checksums_contradict_its_identity_is_damaged(tmp_path):
    store, cell = RecordStore(tmp_path), make_cell()
    record = run_cell(cell)
    seeds = tuple(replace(o, seed=o.seed + 1) for o in record.outcomes)
    for changes in ({"outcomes": seeds}, {"data_sha256": "ab" * 32}, {"code_fingerprint": "ab"}):
        store.write(replace(record, **changes))
        assert cell_state(cell, store).state == "damaged"
    store.write(record)
    assert cell_state(cell, store).state == "done"


def test_data_that_cannot_be_loaded_is_a_state_and_no_crash(tmp_path):
    cell = make_cell("dataset.data.path=nowhere.npz", dataset="amazon")
    assert cell_state(cell, RecordStore(tmp_path)).state == "missing"
    store, good = RecordStore(tmp_path), make_cell()
    store.write(run_cell(good))
    lost = make_cell()

    def no_data(cell):
        raise FileNotFoundError("no such file")

    found = state_of(lost, store.scan().records[0], no_data)
    assert found.state == "unavailable"
    assert "no such file" in found.reason


def lost_record(cell, status, error):
    outcomes = [lost_outcome(cell, r, status, error) for r in range(cell.n_repetitions)]
    return record_of(cell, cell.data_sha256(), outcomes, {})


def test_the_state_of_a_cell_follows_its_record(tmp_path, monkeypatch):
    store, cell = RecordStore(tmp_path), make_cell()
    assert cell_state(cell, store).state == "missing"
    record = run_cell(cell)
    path = store.write(record)
    assert cell_state(cell, store).state == "done"
    assert cell_state(cell, store).record == record
    path.write_text(path.read_text().replace('"accuracy": 1', '"accuracy": 0', 1) + " ")
    assert cell_state(cell, store).state == "damaged"
    store.write(lost_record(cell, "timeout", "too slow"))
    assert cell_state(cell, store).state == "failed"
    store.write(record)
    changed = make_cell()
    monkeypatch.setitem(changed.__dict__, "code", "0" * 64)
    assert cell_state(changed, store).state == "stale"


def test_the_identity_covers_config_data_code_and_libraries():
    def identity(**changes):
        cell = make_cell()
        cell.__dict__.update(changes)
        return cell.identity("ab")

    identities = {
        identity(),
        identity(code="0" * 64),
        identity(libraries={"numpy": "0"}),
        make_cell().identity("cd"),
        make_cell("+classifier.C=2").identity("ab"),
    }
    assert len(identities) == 5


def test_a_record_says_where_it_comes_from():
    record = run_cell(make_cell(method="krda"))
    environment = record.environment
    assert environment["threads"] == 1
    assert set(environment) >= {
        "python", "cpu", "cores", "git_revision", "git_clean", "krda", "libraries"
    }  # fmt: skip
    assert {"numpy", "scikit-learn", "torch"} <= set(environment["libraries"])
    assert record.config["method"]["classifier"]["_target_"] == "sklearn.svm.SVC"
    json.dumps(record.config, allow_nan=False)
