"""Repetitions that are trained as one program, as KRDA's are."""

from dataclasses import replace

import pytest
from cell_factory import n_fits, odd_cell, without_times

from experiments import reproduce
from experiments.cells.cell import run_cell, run_repetitions
from experiments.cells.plan import load_table
from experiments.running import runner
from experiments.running.estimates import Estimates
from experiments.running.runner import Run
from experiments.running.workers import Event
from experiments.store.records import RecordStore
from krda import KRDA


@pytest.fixture
def programs(monkeypatch):
    """How many models each program trained, in the order in which they were started."""
    sizes = []
    real = KRDA._fit_together.__func__

    def counting(cls, methods, domains):
        sizes.append(len(methods))
        return real(cls, methods, domains)

    monkeypatch.setattr(KRDA, "_fit_together", classmethod(counting))
    return sizes


def cell_of(tmp_path, *plan):
    return odd_cell(tmp_path, "10", plan or ("ok",), method="krda")


def run(cell, tmp_path, **options):
    store = RecordStore(tmp_path / "records")
    run = Run([cell], store, Estimates(()), n_workers=1, **options)
    for _ in run.go():
        pass
    return run, store.get(cell.dataset, cell.task, cell.method, cell.config_sha256)


def test_the_repetitions_are_one_program_and_its_time_is_divided(tmp_path, programs):
    record = run_cell(cell_of(tmp_path))
    assert record.complete
    assert programs == [3]
    assert len({o.fit_seconds for o in record.outcomes}) == 1


def test_a_resumed_cell_trains_what_is_left_and_ends_with_the_same_record(tmp_path, programs):
    cell, records = cell_of(tmp_path), []
    whole = run_cell(cell, checkpoint=records.append)
    assert without_times(run_cell(cell, records[0])) == without_times(whole)
    assert programs == [3, 2]


def test_one_after_another_gives_the_same_outcomes(tmp_path, programs):
    cell = cell_of(tmp_path)
    alone = list(run_repetitions(cell, (0, 1, 2), together=False))
    assert programs in ([], [1, 1, 1])
    assert [o.accuracy for o in alone] == list(run_cell(cell).accuracies)


def test_an_error_of_one_model_is_its_own(tmp_path, programs):
    record = run_cell(cell_of(tmp_path, "ok", "raise", "ok"))
    assert [o.status for o in record.outcomes] == ["done", "failed", "done"]
    assert "told to fail" in record.outcomes[1].error
    assert programs == [3]


def test_an_error_of_the_whole_lets_each_repetition_run_alone(tmp_path, monkeypatch):
    def fail(cls, methods, domains):
        raise MemoryError("too many models")

    real = run_cell(cell_of(tmp_path))
    monkeypatch.setattr(KRDA, "_fit_together", classmethod(fail))
    assert run_cell(cell_of(tmp_path)).accuracies == real.accuracies


def break_training_together(monkeypatch):
    def broken(cls, methods, domains):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(KRDA, "_fit_together", classmethod(broken))


def test_the_record_says_why_its_repetitions_ran_alone(tmp_path, monkeypatch):
    together = run_cell(cell_of(tmp_path))
    assert not any("together_error" in where for where in together.environments)
    break_training_together(monkeypatch)
    alone = run_cell(cell_of(tmp_path))
    for where in alone.environments:
        assert where["together_error"].startswith("ZeroDivisionError: a bug")


def test_a_run_says_which_cells_ran_alone_and_why(tmp_path, monkeypatch, capsys):
    def in_this_process(function, jobs, **options):
        # Workers of their own would not see the method that is broken here.
        for job in filter(None, jobs):
            yield Event("started", job)
            reports = []
            function(job, reports.append)
            yield from (Event("progress", job, report) for report in reports)
            yield Event("done", job)

    def small_table(name, overrides):
        return replace(load_table(name, overrides), tasks=("10", "20"), paper=("krda",), ours=())

    monkeypatch.setattr(runner, "run_jobs", in_this_process)
    monkeypatch.setattr(reproduce, "load_table", small_table)
    monkeypatch.setattr(reproduce, "render", lambda *arguments: 0)
    options = ["--protocol", "smoke", "--table", "moons", "--method", "krda", "--results"]
    assert reproduce.main([*options, str(tmp_path / "together")]) == 0
    assert "one after another" not in capsys.readouterr().out
    break_training_together(monkeypatch)
    assert reproduce.main([*options, str(tmp_path / "alone")]) == 0
    out = capsys.readouterr().out
    assert "Repetitions ran one after another, for training them together failed:" in out
    for task in ("10", "20"):
        assert f"  moons/{task} krda: ZeroDivisionError: a bug" in out
    contents = [
        [without_times(r) for r in RecordStore(tmp_path / name / "records").scan()]
        for name in ("together", "alone")
    ]
    assert contents[0] == contents[1]


def test_a_program_that_dies_lets_each_repetition_run_alone(tmp_path):
    done, record = run(cell_of(tmp_path, "ok", "kill", "ok"), tmp_path)
    assert record.complete
    assert done.failures == []
    assert n_fits(tmp_path, "10") == 2 + 3


def test_the_repetition_at_fault_is_then_lost_alone(tmp_path):
    done, record = run(cell_of(tmp_path, "ok", "kill", "ok", "kill", "ok"), tmp_path)
    assert [o.status for o in record.outcomes] == ["done", "failed", "done"]
    assert [f.repetition for f in done.failures] == [1]
    assert n_fits(tmp_path, "10") == 2 + 3


def test_the_time_limit_of_a_program_is_that_of_all_its_repetitions(tmp_path):
    # Twelve seconds for the three of them.
    done, record = run(cell_of(tmp_path, 4), tmp_path, timeout_seconds=8.0)
    assert record.complete
    assert done.failures == []
    assert n_fits(tmp_path, "10") == 3


def test_a_program_that_takes_too_long_lets_each_repetition_run_alone(tmp_path):
    done, record = run(cell_of(tmp_path, 60, "ok"), tmp_path, timeout_seconds=5.0)
    assert record.complete
    assert done.failures == []
    assert n_fits(tmp_path, "10") == 1 + 3
