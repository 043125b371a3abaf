import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from cell_factory import make_cell, n_fits, odd_cell, without_times

from experiments import runner
from experiments.cell_claims import Claims
from experiments.cells import cell_state, run_cell
from experiments.estimates import Estimates
from experiments.records import Outcome, RecordStore
from experiments.runner import Job, Run, run_job
from experiments.workers import Event

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def make_run(cells, store, **options):
    return Run(cells, store, Estimates([store]), **({"n_workers": 2} | options))


def finish(cells, store, **options):
    run = make_run(cells, store, **options)
    for _ in run.go():
        pass
    return run


def statuses(cell, store):
    return [outcome.status for outcome in cell_state(cell, store).record.outcomes]


def no_claims(store):
    return not [p for p in store.root.rglob("*") if "claim" in p.name or p.suffix == ".tmp"]


@pytest.fixture
def store(tmp_path):
    return RecordStore(tmp_path / "records")


@pytest.mark.parametrize(
    ("deed", "message"),
    [
        ("kill", "SIGKILL"),
        ("exit", "exit code 7"),
        ("gone", "exit code 0"),
        ("quit", "SystemExit"),
        ("raise", "told to fail"),
    ],
)
def test_what_ends_a_worker_costs_one_repetition_and_no_other(deed, message, tmp_path, store):
    bad = odd_cell(tmp_path, "10", ("ok", deed, "ok"))
    good = [make_cell("dataset.task=20"), make_cell("dataset.task=30")]
    run = finish([bad, *good], store)
    assert statuses(bad, store) == ["done", "failed", "done"]
    assert [(f.cell, f.repetition) for f in run.failures] == [(bad, 1)]
    assert message in run.failures[0].error
    assert (run.n_done, run.n_failed) == (2, 1)
    assert [cell_state(cell, store).state for cell in good] == ["done", "done"]
    assert no_claims(store)


def test_a_time_limit_costs_one_repetition_and_counts_from_its_beginning(tmp_path, store):
    cell = odd_cell(tmp_path, "10", ("ok", 3600, "ok"))
    run = finish([cell], store, timeout_seconds=15.0)
    assert statuses(cell, store) == ["done", "timeout", "done"]
    assert "time limit of 15 s" in run.failures[0].error


def test_a_methods_own_time_limit_holds_where_none_is_given(tmp_path, store):
    cell = odd_cell(tmp_path, "10")
    assert cell.timeout_seconds == 3600
    limited = replace(cell, timeout_seconds=1.0)
    assert limited == cell, "no part of what the cell is"
    assert make_run([limited], store)._job(0).timeout_seconds == 1.0
    assert make_run([limited], store, timeout_seconds=2.0)._job(0).timeout_seconds == 2.0


@pytest.mark.parametrize("method", ["source_only", "krda"])
def test_a_method_that_forks_and_whose_child_comes_back_answers_once_for_its_own_cell(
    method, tmp_path, store
):
    # KRDA trains its repetitions as one program. One worker serves all cells, one after another.
    forking = odd_cell(tmp_path, "10", ("fork",), method=method)
    others = [make_cell("dataset.task=20"), make_cell("dataset.task=70")]
    run = finish([forking, *others], store, n_workers=1)
    assert (run.n_done, run.failures) == (3, [])
    expected = [without_times(run_cell(cell)) for cell in others]
    assert [without_times(cell_state(cell, store).record) for cell in others] == expected
    if method != "krda":  # a child goes on within a program of several fits, and ends after it
        assert n_fits(tmp_path, "10") == 3


def answers(cell, *outcomes):
    """Events as of a worker that reports these outcomes of the first cell of a run."""
    job = Job(cell.config, "", (0, 1), True, 0, None)
    yield from [
        Event("started", job),
        Event("progress", job, result=(0, 1)),
        *(Event("progress", job, result=outcome) for outcome in outcomes),
        Event("done", job),
    ]


def test_results_of_another_repetition_or_another_seed_are_refused(store, monkeypatch):
    cell = make_cell()
    good = run_cell(cell).outcomes
    wrong_seed = replace(good[1], seed=good[1].seed + 1)
    other = replace(good[0], repetition=5)
    monkeypatch.setattr(runner, "run_jobs", lambda *a, **k: answers(cell, good[0], other))
    run = finish([cell], store)
    assert statuses(cell, store) == ["done", "failed"]
    assert "no result" in run.failures[0].error
    again = answers(cell, wrong_seed)
    monkeypatch.setattr(runner, "run_jobs", lambda *a, **k: again)
    run = finish([cell], store)
    assert statuses(cell, store) == ["done", "failed"]
    assert "seed" in run.failures[0].error
    assert cell_state(cell, store).record.outcomes[0].accuracy == good[0].accuracy


def test_a_worker_that_dies_leaving_a_child_behind_costs_one_repetition(tmp_path, store):
    cell = odd_cell(tmp_path, "10", ("linger", "ok", "linger"))
    finish([cell], store, n_workers=1, timeout_seconds=90.0)
    assert statuses(cell, store) == ["failed", "done", "failed"]
    assert "SIGKILL" in cell_state(cell, store).record.outcomes[2].error


def test_failed_repetitions_are_tried_again_in_the_next_run_and_no_others(tmp_path, store):
    cell = odd_cell(tmp_path, "10", ("ok", "kill", "ok", "ok"))
    finish([cell], store)
    first = cell_state(cell, store).record
    run = finish([cell], store)
    assert (run.n_done, run.failures) == (1, [])
    second = cell_state(cell, store).record
    assert n_fits(tmp_path, "10") == 4
    assert [second.outcomes[r] for r in (0, 2)] == [first.outcomes[r] for r in (0, 2)]
    assert finish([cell], store).n_to_run == 0


def test_leaving_a_run_keeps_the_repetitions_that_are_done(tmp_path, store):
    cell = odd_cell(tmp_path, "10", ("ok", "ok", 60, "ok"))
    run = make_run([cell], store)
    n_outcomes = 0
    with contextlib.closing(run.go()) as events:
        for event in events:
            n_outcomes += isinstance(event.result, Outcome)
            if n_outcomes == 2 and n_fits(tmp_path, "10") == 3:
                break
    assert statuses(cell, store) == ["done", "done", "pending"]
    assert cell_state(cell, store).state == "interrupted"
    assert no_claims(store)
    finish([cell], store)
    assert statuses(cell, store) == ["done"] * 3


def reported(event, repetition):
    return isinstance(event.result, Outcome) and event.result.repetition == repetition


def test_leaving_a_run_keeps_the_last_repetition_of_a_cell_as_any_other(
    tmp_path, store, monkeypatch
):
    # Those before it are written as they end, so that it alone is at stake.
    monkeypatch.setattr(runner, "CHECKPOINT_SECONDS", 0.0)
    cell = odd_cell(tmp_path, "10", ("ok",))
    with contextlib.closing(make_run([cell], store).go()) as events:
        for event in events:
            if reported(event, 2):
                break
    assert statuses(cell, store) == ["done"] * 3
    assert no_claims(store)


def test_an_interrupt_amid_the_last_writing_of_a_cell_loses_no_repetition(
    tmp_path, store, monkeypatch
):
    monkeypatch.setattr(runner, "CHECKPOINT_SECONDS", 0.0)
    cell = odd_cell(tmp_path, "10", ("ok",))
    fsync, last, interrupts = os.fsync, [], []

    def interrupted(descriptor):
        if last and not interrupts:
            interrupts.append(descriptor)
            raise KeyboardInterrupt
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", interrupted)

    def go():
        for event in make_run([cell], store).go():
            last.extend([event] * reported(event, 2))

    with pytest.raises(KeyboardInterrupt):
        go()
    assert interrupts
    assert statuses(cell, store) == ["done"] * 3
    assert no_claims(store)


SCRIPT = """
import sys
from pathlib import Path
from cell_factory import odd_cell
from test_runner import finish
from experiments.records import RecordStore

if __name__ == "__main__":
    directory, plan = Path(sys.argv[1]), sys.argv[3].split(",")
    cells = [odd_cell(directory, name, plan) for name in sys.argv[2].split(",")]
    run = finish(cells, RecordStore(directory / "records"))
    print(run.n_before, run.n_done, run.n_failed)
"""


def start(tmp_path, names, plan):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    path = os.pathsep.join([str(HERE), str(ROOT)])
    return subprocess.Popen(
        [sys.executable, script, tmp_path, ",".join(names), ",".join(map(str, plan))],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_a_kill_amid_a_cell_keeps_the_repetitions_that_were_written(tmp_path, store):
    plan = (1.2, 1.2, 60)
    cell = odd_cell(tmp_path, "10", plan)
    process = start(tmp_path, ["10"], plan)
    while n_fits(tmp_path, "10") < 3 or cell_state(cell, store).state == "missing":
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert statuses(cell, store)[0] == "done"
    n_kept = len(cell_state(cell, store).record.accuracies)
    (tmp_path / "10").write_text("")  # The next fits are the first of the plan.
    run = finish([cell], store)
    assert (run.n_done, n_fits(tmp_path, "10")) == (1, 3 - n_kept)


def test_two_runs_at_once_share_the_cells_and_lose_and_double_none(tmp_path, store):
    names = [str(angle) for angle in range(1, 13)]
    plan = ("wait",)
    processes = [start(tmp_path, names, plan) for _ in range(2)]
    # All wait in their first cells until both runs are at work.
    while len({process_of(claim) for claim in store.root.rglob(".*.claim")} - {None}) < 2:
        assert [process.poll() for process in processes] == [None, None]
        time.sleep(0.02)
    (tmp_path / "go").touch()
    outs = [process.communicate(timeout=900)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    for out in outs:
        n_before, n_done, n_failed = map(int, out.split())
        assert (n_before + n_done, n_failed) == (12, 0)
    assert [n_fits(tmp_path, name) for name in names] == [3] * 12, "each repetition once"
    found = {record.task: without_times(record) for record in store.scan()}
    expected = {n: without_times(run_cell(odd_cell(tmp_path, n, plan))) for n in names[:2]}
    assert len(found) == 12
    assert {name: found[name] for name in expected} == expected
    assert no_claims(store)


def process_of(claim):
    """Who claims; None while that is being written or when it is over."""
    with contextlib.suppress(OSError, ValueError):
        return json.loads(claim.read_text())["pid"]
    return None


def test_a_run_takes_over_what_a_killed_one_had_claimed(tmp_path, store):
    cell = odd_cell(tmp_path, "10", (60, "ok"))
    process = start(tmp_path, ["10"], (60, "ok"))
    while not n_fits(tmp_path, "10"):
        assert process.poll() is None
        time.sleep(0.02)
    assert list(store.root.rglob(".*.claim"))
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert finish([cell], store).n_done == 1
    assert no_claims(store)


def test_a_run_waits_for_what_another_has_claimed_and_takes_its_results(store):
    cells = [make_cell(f"dataset.task={task}") for task in (10, 20, 30)]
    paths = [store.path(c.dataset, c.task, c.method, c.config_sha256) for c in cells]
    records = [run_cell(cell) for cell in cells]
    failed = replace(records[1].outcomes[0], status="failed", accuracy=None, error="theirs")
    records[1] = replace(records[1], outcomes=(failed, records[1].outcomes[1]))
    run = make_run(cells, store)
    with Claims() as other:
        assert all(other.acquire(path) for path in paths[:2])
        for event in run.go():
            if run.n_elsewhere == 2 and run.n_done == 1 and event.kind == "tick":
                # The other comes to its end: one cell done, one failed.
                for record, path in zip(records[:2], paths[:2], strict=True):
                    store.write(record)
                    other.release(path)
    assert run.n_done == 2
    assert [(f.cell.task, f.error) for f in run.failures] == [("20", "theirs")]


def test_a_worker_that_sees_other_code_than_the_run_refuses_the_cell():
    cell = make_cell()
    with pytest.raises(RuntimeError, match="changed since the run began"):
        run_job(Job(cell.config, "0" * 64, (0, 1), True, 0, None), print)


def test_a_cell_without_data_fails_and_the_others_go_on(store):
    lost = make_cell("dataset.data.path=nowhere.npz", dataset="amazon")
    good = make_cell()
    run = finish([lost, good], store)
    assert (run.n_done, run.n_failed) == (1, 1)
    assert run.failures[0].repetition is None
    assert "FileNotFoundError" in run.failures[0].error


def test_a_record_that_cannot_be_written_ends_the_run_and_keeps_the_others(store, monkeypatch):
    cells = [make_cell(f"dataset.task={task}") for task in range(10, 50, 5)]
    real, written = RecordStore.write, set()

    def full_after_three(self, record):
        if len(written) == 3 and record.task not in written:
            raise OSError(28, "No space left on device")
        written.add(record.task)
        return real(self, record)

    monkeypatch.setattr(RecordStore, "write", full_after_three)
    with pytest.raises(OSError, match="No space"):
        finish(cells, store)
    monkeypatch.undo()
    assert {record.task for record in store.scan()} == written
    assert no_claims(store)
    kept = {r.task: r.outcomes for r in store.scan() if r.complete}
    run = finish(cells, store)
    assert (run.n_before, run.n_done) == (len(kept), 8 - len(kept))
    assert kept.items() <= {r.task: r.outcomes for r in store.scan()}.items()


def test_long_cells_are_run_first_and_the_time_left_is_that_of_the_cells_left(store):
    cells = [make_cell(f"dataset.task={task}", method=m) for m in ("sa", "ot") for task in (10, 20)]
    seconds = {"sa": 1.0, "ot": 30.0}
    known = RecordStore(store.root.with_name("known"))
    for cell in cells:
        if cell.task == "10":
            record = run_cell(cell)
            outcomes = [replace(o, fit_seconds=seconds[cell.method], predict_seconds=0.0)
                        for o in record.outcomes]  # fmt: skip
            known.write(replace(record, outcomes=tuple(outcomes)))
    run = Run(cells, store, Estimates([known]), n_workers=1)
    assert run.seconds_left() == 2 * 2 * 31
    assert Run(cells, store, Estimates([known]), n_workers=4).seconds_left() == 60, "no cell halves"
    order = []
    for event in run.go():
        if event.kind == "started":
            order.append(event.job.config["method"]["name"])
    assert order == ["ot", "ot", "sa", "sa"]
    assert run.seconds_left() == 0
