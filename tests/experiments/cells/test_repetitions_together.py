"""Repetitions that are trained as one program, as KRDA's are."""

import pytest
from cell_factory import odd_cell

from experiments.cells.repetitions import run_cell, run_repetitions
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


def test_the_repetitions_are_one_program_and_its_time_is_divided(tmp_path, programs):
    record = run_cell(cell_of(tmp_path))
    assert record.complete
    assert programs == [3]
    assert len({o.fit_seconds for o in record.outcomes}) == 1


def test_one_after_another_gives_the_same_outcomes(tmp_path, programs):
    cell = cell_of(tmp_path)
    alone = [run_repetitions(cell, [r])[0].accuracy for r in range(3)]
    assert programs in ([], [1, 1, 1])
    assert alone == list(run_cell(cell).accuracies)


def test_after_an_error_of_the_whole_each_repetition_runs_alone(tmp_path, monkeypatch, capsys):
    def broken(cls, methods, domains):
        raise MemoryError("too many models")

    together = run_cell(cell_of(tmp_path))
    monkeypatch.setattr(KRDA, "_fit_together", classmethod(broken))
    alone = run_cell(cell_of(tmp_path))
    assert alone.accuracies == together.accuracies
    assert "MemoryError: too many models" in capsys.readouterr().err
