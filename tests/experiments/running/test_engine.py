"""What the engine promises: a failure stays where it is, and nothing finished is lost."""

import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from cell_factory import InProcess, make_cell, n_fits, odd_cell, without_times
from programs import WITH_HELPERS

from experiments.cells.repetitions import run_cell
from experiments.cells.state import cell_state
from experiments.running import engine as engines
from experiments.running.engine import CellError, Engine, LostWorkerError, run_all, work
from experiments.running.progress import RunProgress, estimates, seconds_of
from experiments.store.records import RecordStore


@pytest.fixture
def store(tmp_path):
    return RecordStore(tmp_path / "records")


@pytest.fixture
def engine(store):
    engine = Engine(store)
    yield engine
    engine.stop()


def finish(store, cells):
    """How cells end that are run without worker processes."""
    return [ended for ended in run_all(InProcess(store), cells) if ended is not None]


def statuses(record):
    return [outcome.status for outcome in record.outcomes]


def test_a_dead_worker_costs_its_repetition_which_the_next_run_tries_again(tmp_path, engine, store):
    plan = ("ok", "linger", "exit", "raise", "quit", "ok")
    bad = odd_cell(tmp_path, "10", plan, repetitions=6)
    good = make_cell("dataset.task=20")
    first, ran = engine.run(bad)
    assert ran
    assert statuses(first) == ["done", *["failed"] * 4, "done"]
    for outcome, reason in zip(
        first.unfinished, ("SIGKILL", "exit code 7", "told to fail", "SystemExit"), strict=True
    ):
        assert reason in outcome.error
    assert first.environment["threads"] == 1
    assert cell_state(bad, store).record == first, "it is in the ledger and in the table"
    assert without_times(engine.run(good)[0]) == without_times(run_cell(good))
    second, _ = engine.run(bad)
    assert second.complete, "the next run tries again"
    assert n_fits(tmp_path, "10") == 6 + 6
    assert engine.run(bad) == (second, False)


def test_a_time_limit_costs_one_repetition(tmp_path, engine, monkeypatch):
    # That of the last alone is short, so that a busy machine changes nothing.
    limits = iter([None, None, 0.5, None, None])
    monkeypatch.setattr(Engine, "time_limit", lambda *_: next(limits))
    record, _ = engine.run(odd_cell(tmp_path, "10", ("ok", "ok", 3600)))
    assert engine.run(make_cell("dataset.task=20"))[0].complete
    assert statuses(record) == ["done", "done", "timeout"]
    assert "time limit of 0.5 s" in record.outcomes[2].error


def test_of_repetitions_trained_as_one_program_only_the_one_at_fault_is_lost(tmp_path, engine):
    cell = odd_cell(tmp_path, "10", ("ok", "kill", "ok", "kill", "ok"), method="krda")
    record, _ = engine.run(cell)
    assert statuses(record) == ["done", "failed", "done"]
    assert n_fits(tmp_path, "10") == 2 + 3


def test_the_time_limit_of_a_program_is_that_of_all_its_repetitions(store, monkeypatch):
    limits = []

    def too_slow(self, function, *arguments, timeout_seconds):
        limits.append(timeout_seconds)
        raise LostWorkerError("timeout", "too slow")

    monkeypatch.setattr(Engine, "call", too_slow)
    cell = make_cell(method="krda")
    record, _ = Engine(store, timeout_seconds=8.0).run(cell)
    assert limits == [16.0, 8.0, 8.0]
    assert statuses(record) == ["timeout"] * 2
    Engine(store).run(replace(cell, timeout_seconds=3.0))
    assert limits[3:] == [6.0, 3.0, 3.0]


def test_results_of_another_repetition_or_another_seed_are_refused(store, monkeypatch):
    cell = make_cell()
    good = list(run_cell(cell).outcomes)
    wrong = replace(good[0], seed=good[0].seed + 1)
    for answer in ([good[1]], [wrong], []):
        monkeypatch.setattr(Engine, "call", lambda *a, answer=answer, **k: (answer, {}))
        with pytest.raises(CellError, match="other seeds"):
            Engine(store).run(cell)
    assert len(store.scan()) == 0


def test_a_worker_that_sees_other_code_than_the_run_refuses_the_cell():
    with pytest.raises(CellError, match="changed since the run began"):
        work(make_cell().config, "0" * 64, (0, 1))


def test_a_cell_that_cannot_be_run_is_reported_and_the_others_go_on(store):
    lost = make_cell("dataset.data.path=nowhere.npz", dataset="amazon")
    failed, done = finish(store, [lost, make_cell()])
    assert (failed.cell, failed.record) == (lost, None)
    assert "nowhere.npz should be an intact .npz file" in failed.error
    assert done.record.complete


def test_a_record_that_cannot_be_written_ends_the_run_and_keeps_the_others(store, monkeypatch):
    cells = [make_cell(f"dataset.task={task}") for task in (10, 20, 30)]
    real = RecordStore.write

    def full_after_one(self, record):
        if len(self.scan()) == 1:
            raise OSError(28, "No space left on device")
        return real(self, record)

    monkeypatch.setattr(RecordStore, "write", full_after_one)
    with pytest.raises(OSError, match="No space"):
        finish(store, cells)
    monkeypatch.undo()
    (kept,) = store.scan()
    assert len(finish(store, cells)) == 3
    assert kept in list(store.scan())


def test_a_complete_record_is_read_unless_it_is_to_be_made_again(store):
    cell = make_cell()
    first, _ = InProcess(store).run(cell)
    assert InProcess(store).run(cell) == (first, False)
    again, ran = InProcess(store).run(cell, force=True)
    assert ran
    assert without_times(again) == without_times(first)


def test_a_cell_that_another_run_has_locked_is_put_off_and_its_result_taken(store, monkeypatch):
    monkeypatch.setattr(engines, "BUSY_SECONDS", 0.05)
    theirs, ours = make_cell("dataset.task=10"), make_cell("dataset.task=20")
    engine = InProcess(store)
    record = run_cell(theirs)
    order = []
    lock = engine._lock(theirs).acquire()
    for ended in run_all(engine, [theirs, ours]):
        if ended is not None:
            order.append(ended.cell)
            if ended.cell is ours:
                store.write(record)
                lock.lock.release()
    assert order == [ours, theirs]
    assert cell_state(theirs, store).record == record, "times included: it was not run again"


SCRIPT = """
import sys
from pathlib import Path
import cell_factory
from cell_factory import odd_cell
from experiments.running.engine import run_all
from experiments.store.records import RecordStore

if __name__ == "__main__":
    directory = Path(sys.argv[1])
    cells = [odd_cell(directory, name, ("ok",)) for name in sys.argv[2].split(",")]
    cells += [odd_cell(directory, name, ("wait",)) for name in sys.argv[3].split(",") if name]
    engine = getattr(cell_factory, sys.argv[4])(RecordStore(directory / "records"))
    for ended in run_all(engine, cells):
        assert ended is None or ended.record.complete
"""


def start(engine, directory, names, waiting):
    script = directory / "script.py"
    script.write_text(SCRIPT)
    return subprocess.Popen(
        [sys.executable, script, directory, names, waiting, engine],
        env={**os.environ, "PYTHONPATH": WITH_HELPERS},
        stdout=subprocess.PIPE,
    )


def test_a_killed_run_keeps_what_is_finished_and_its_locks_end_with_it(tmp_path, store):
    process = start("Engine", tmp_path, "10", "20")
    while not n_fits(tmp_path, "20"):
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.communicate(timeout=60)  # Its worker notices, and ends, too.
    assert [(r.task, r.complete) for r in store.scan()] == [("10", True)]
    (tmp_path / "go").touch()
    cells = [odd_cell(tmp_path, "10", ("ok",)), odd_cell(tmp_path, "20", ("wait",))]
    assert [InProcess(store).run(cell)[1] for cell in cells] == [False, True]
    assert n_fits(tmp_path, "10") == 3


@pytest.mark.slow
def test_two_runs_at_once_share_the_cells_and_lose_and_double_none(tmp_path, store, monkeypatch):
    monkeypatch.setattr(engines, "BUSY_SECONDS", 0.05)
    names = ["1", "2", "3"]
    theirs = start("InProcess", tmp_path, "1", ",".join(names[1:]))
    cells = [odd_cell(tmp_path, name, ("ok",) if name == "1" else ("wait",)) for name in names]
    for ended in run_all(InProcess(store), cells):
        assert theirs.poll() in (None, 0)
        # Each waits in a cell of its own; what one has finished, the other reads.
        if ended is None and n_fits(tmp_path, "2") and n_fits(tmp_path, "3"):
            (tmp_path / "go").touch()
    theirs.communicate(timeout=600)
    assert theirs.returncode == 0
    assert [n_fits(tmp_path, name) for name in names] == [3] * 3, "each repetition once"
    found = {record.task: without_times(record) for record in store.scan()}
    assert len(found) == 3
    assert found["1"] == without_times(run_cell(odd_cell(tmp_path, "1", ("ok",))))


def test_the_time_left_follows_from_the_seconds_of_earlier_records(tmp_path, store):
    cells = [make_cell(f"dataset.task={task}") for task in (10, 20, 30)]
    for cell, seconds in zip(cells[:2], (60.0, 180.0), strict=True):
        record = run_cell(cell)
        outcomes = tuple(replace(o, fit_seconds=seconds, predict_seconds=0.0)
                         for o in record.outcomes)  # fmt: skip
        store.write(replace(record, outcomes=outcomes))
    found = estimates([tmp_path, tmp_path / "none"])
    assert [seconds_of(cell, found) for cell in cells] == [120.0, 360.0, float("inf")]
    for n_workers, minutes in ((1, "12.0"), (4, "6.0")):  # of an unknown cell the average
        progress = RunProgress(cells, found, n_workers)
        assert minutes in progress.left()
    assert RunProgress(cells, {}, 1).left() == ""
