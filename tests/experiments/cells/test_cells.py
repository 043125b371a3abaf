import asyncio
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from cell_factory import make_cell, without_times

from experiments.cells import repetitions
from experiments.cells.cell import Cell
from experiments.cells.repetitions import lost_outcome, record_of, run_cell
from experiments.cells.state import cell_state, state_of
from experiments.status import show_status
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


def failing_cell(monkeypatch, error):
    """A cell of four repetitions, of which the second fails."""
    made = []

    def make(self, seed):
        made.append(seed)
        if len(made) == 2:
            raise error
        return real(self, seed)

    real = Cell.make_method
    monkeypatch.setattr(Cell, "make_method", make)
    return make_cell("protocol.n_repetitions=4")


def test_an_error_names_the_place_in_the_repository_and_no_absolute_path():
    record = run_cell(make_cell("+classifier.C=-1"))
    error = record.outcomes[0].error
    assert "InvalidParameterError" in error
    assert "[krda/base.py:" in error
    assert str(repetitions._ROOT) not in dumps(record)


@pytest.mark.parametrize(
    ("error", "status", "expected"),
    [
        (ValueError("x\udce9.csv\nand \x1b[31mred\u202e"), "failed",
         r"ValueError: x\udce9.csv and \x1b[31mred"),
        (ValueError("y" * 5_000_000), "failed", "more characters]"),
        (SystemExit(0), "failed", "SystemExit"),
        (asyncio.CancelledError("by itself"), "failed", "CancelledError"),
        (DivergenceError("non-finite in epoch 3"), "diverged", "non-finite in epoch 3"),
    ],
)  # fmt: skip
def test_any_error_is_a_line_of_the_record_and_stops_nothing(error, status, expected, monkeypatch):
    record = run_cell(failing_cell(monkeypatch, error))
    assert [o.status for o in record.outcomes] == ["done", status, "done", "done"]
    text = record.outcomes[1].error
    assert expected in text
    assert text.isprintable()
    assert len(text) <= 2000
    assert "test_cells.py" in text, "the place is told in any case"
    assert not record.complete
    assert len(record.accuracies) == 3


def test_a_record_whose_seeds_or_checksums_contradict_its_identity_is_damaged_and_named(
    tmp_path, capsys
):
    store, cell = RecordStore(tmp_path), make_cell()
    record = run_cell(cell)
    seeds = tuple(replace(o, seed=o.seed + 1) for o in record.outcomes)
    for changes in ({"outcomes": seeds}, {"data_sha256": "ab" * 32}, {"code_fingerprint": "ab"}):
        path = store.write(replace(record, **changes))
        assert cell_state(cell, store).state == "damaged"
        plan = SimpleNamespace(name="plan", cells={(cell.task, cell.method): cell})
        # Without --check the data are not loaded, and the record's own checksum is trusted.
        for check in (True,) if "data_sha256" in changes else (False, True):
            assert show_status([plan], store, check=check) == 1
            assert f"damaged: {path}" in capsys.readouterr().out
    store.write(record)
    assert cell_state(cell, store).state == "done"


def test_data_that_cannot_be_loaded_is_a_state_and_no_crash(tmp_path):
    lost = make_cell("dataset.data.path=nowhere.npz", dataset="amazon")
    assert cell_state(lost, RecordStore(tmp_path)).state == "missing"

    def no_data(cell):
        raise FileNotFoundError("no such file")

    found = state_of(make_cell(), run_cell(make_cell()), no_data)
    assert found.state == "unavailable"
    assert "no such file" in found.reason


def test_the_state_of_a_cell_follows_its_record(tmp_path, monkeypatch):
    store, cell = RecordStore(tmp_path), make_cell()
    assert cell_state(cell, store).state == "missing"
    record = run_cell(cell)
    path = store.write(record)
    assert cell_state(cell, store).state == "done"
    assert cell_state(cell, store).record == record
    path.write_text(path.read_text().replace('"accuracy": 1', '"accuracy": 0', 1) + " ")
    assert cell_state(cell, store).state == "damaged"
    lost = [lost_outcome(cell, r, "timeout", "too slow") for r in range(cell.n_repetitions)]
    store.write(record_of(cell, cell.data_sha256(), lost, {}))
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
        identity(), identity(code="0" * 64), identity(libraries={"numpy": "0"}),
        make_cell().identity("cd"), make_cell("+classifier.C=2").identity("ab"),
    }  # fmt: skip
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
