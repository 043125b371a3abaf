import sys

import pytest

from experiments import isolation
from experiments.configuration import cells_of
from experiments.isolation import LostCellError, run_isolated
from experiments.records import RecordStore
from experiments.run import run_or_read

(CELL,) = cells_of("moons", ("40",), ("source_only",), ("protocol=smoke",))


def test_an_isolated_cell_leaves_the_record_of_any_other(tmp_path):
    isolated, plain = (RecordStore(tmp_path / name) for name in ("isolated", "plain"))
    record = run_isolated(CELL, isolated)
    assert record.accuracies == run_or_read(CELL, plain)[0].accuracies
    assert run_or_read(CELL, isolated) == (record, False)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL"),
        ("raise SystemExit(3)", "ended with exit code 3"),
        ("pass", "ended with exit code 0"),
    ],
)
def test_the_loss_of_its_process_is_told(tmp_path, monkeypatch, code, message):
    monkeypatch.setattr(isolation, "_COMMAND", (sys.executable, "-c", code))
    with pytest.raises(LostCellError, match=message):
        run_isolated(CELL, RecordStore(tmp_path))


def test_a_time_limit_ends_it(tmp_path):
    with pytest.raises(LostCellError, match=r"the time limit of 0\.01 s was exceeded"):
        run_isolated(CELL, RecordStore(tmp_path), timeout_seconds=0.01)
    assert RecordStore(tmp_path).scan().records == ()
