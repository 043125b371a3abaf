import os
import signal

import pytest

import experiments.run as run
from experiments.configuration import cells_of
from experiments.records import RecordStore

(CELL,) = cells_of("moons", ("40",), ("source_only",), ("protocol=smoke",))


def be_killed(cell, root, force):
    os.kill(os.getpid(), signal.SIGKILL)


def end(cell, root, force):
    raise SystemExit(3)


def test_an_isolated_cell_leaves_the_record_of_any_other(tmp_path):
    isolated, plain = (RecordStore(tmp_path / name) for name in ("isolated", "plain"))
    record, ran = run.run_isolated(CELL, isolated)
    assert ran
    assert record.accuracies == run.run_or_read(CELL, plain)[0].accuracies
    assert run.run_isolated(CELL, isolated) == (record, False)


@pytest.mark.parametrize(
    ("child", "message"), [(be_killed, "was ended by SIGKILL"), (end, "ended with exit code 3")]
)
def test_the_death_of_its_process_is_told(tmp_path, monkeypatch, child, message):
    monkeypatch.setattr(run, "_run_in_child", child)
    with pytest.raises(run.LostCellError, match=message):
        run.run_isolated(CELL, RecordStore(tmp_path))


def test_a_time_limit_ends_it_and_leaves_no_process(tmp_path):
    with pytest.raises(run.LostCellError, match=r"the time limit of 0\.01 s was exceeded"):
        run.run_isolated(CELL, RecordStore(tmp_path), timeout_seconds=0.01)
    assert RecordStore(tmp_path).scan().records == ()
