import os
import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks.timing import (
    Case,
    Limits,
    Measurer,
    NotRun,
    Prepared,
    available_cores,
    require,
    require_memory,
)


def prepare_array(megabytes, path=None):
    def run():
        if path is not None:
            with Path(path).open("a") as file:
                file.write(f"{megabytes}\n")
        return np.ones(int(megabytes * 125_000))

    return Prepared(run, lambda array: {"total": float(array.sum())})


def prepare_threads():
    import torch

    return Prepared(torch.get_num_threads, lambda threads: {"seen": threads})


def prepare_sleep(seconds):
    return Prepared(lambda: time.sleep(seconds))


def prepare_missing():
    require("a_module_that_nobody_has")


def prepare_death():
    return Prepared(lambda: os._exit(9))


def prepare_error():
    return Prepared(lambda: 1 / 0)


def test_peak_memory_is_that_of_the_run_and_no_other_case():
    cases = [Case(f"{size}", prepare_array, {"megabytes": size}) for size in (200, 50)]
    big, small = Measurer(Limits(repetitions=1)).measure(cases)
    assert big["peak_mb"] == pytest.approx(200, abs=20)
    assert small["peak_mb"] == pytest.approx(50, abs=20)
    assert big["total"] == 200 * 125_000


def test_the_repetitions_of_a_group_are_interleaved(tmp_path):
    path = tmp_path / "order"
    cases = [
        Case(f"{k}", prepare_array, {"megabytes": k, "path": str(path)}, {"n": 100}) for k in (1, 2)
    ]
    rows = Measurer(Limits(repetitions=3, seconds=1000)).measure(cases)
    assert path.read_text().split() == ["1", "2"] * 4  # the first of each warms up
    for row in rows:
        assert row["repetitions"] == 3
        assert row["seconds_min"] <= row["seconds"] <= row["seconds_max"]
        assert row["rows_per_second"] == 100 / row["seconds"]


def test_a_case_that_leaves_no_time_for_another_run_counts_its_first(tmp_path):
    path = tmp_path / "order"
    case = Case("once", prepare_array, {"megabytes": 1, "path": str(path)})
    (row,) = Measurer(Limits(repetitions=5, seconds=0)).measure([case])
    assert row["repetitions"] == 1
    assert path.read_text().split() == ["1"]


def test_a_slow_case_ends_its_series_and_nothing_else():
    def cases(n):
        return [
            Case("slow", prepare_sleep, {"seconds": 60}, {"n": n}, series="slow"),
            Case("fast", prepare_sleep, {"seconds": 0}, {"n": n}),
        ]

    measurer = Measurer(Limits(repetitions=1, run_seconds=0.2))
    slow, fast = measurer.measure(cases(10))
    assert slow["status"] == "not run: takes more than 0.2 s"
    assert "seconds" not in slow
    assert fast["status"] == "done"
    slow, _ = measurer.measure(cases(20))
    assert slow["status"] == "not run: takes more than 0.2 s at n = 10 already"


@pytest.mark.parametrize(
    ("prepare", "threads", "reason"),
    [
        (prepare_missing, 1, "not installed"),
        (prepare_death, 1, "its process ended (exit code 9)"),
        (prepare_threads, 1000, f"1000 threads on {len(available_cores())} core"),
    ],
)
def test_what_cannot_be_run_is_a_row_with_the_reason(prepare, threads, reason):
    (row,) = Measurer(Limits()).measure([Case("x", prepare, threads=threads)])
    assert row["status"] == f"not run: {reason}"


def test_an_error_is_told_and_harms_no_other_case():
    cases = [Case("x", prepare_error), Case("y", prepare_sleep, {"seconds": 0})]
    failed, done = Measurer(Limits(repetitions=1)).measure(cases)
    assert failed["status"] == "failed: ZeroDivisionError: division by zero"
    assert done["status"] == "done"


def test_a_case_gets_the_threads_that_it_asks_for():
    (row,) = Measurer(Limits()).measure([Case("x", prepare_threads)])
    assert row["seen"] == row["threads"] == 1


def test_ratios_are_to_the_named_case():
    cases = [
        Case("base", prepare_sleep, {"seconds": 0.01}),
        Case("other", prepare_sleep, {"seconds": 0.05}, compared_to="base"),
        Case("gone", prepare_missing, compared_to="base"),
    ]
    base, other, gone = Measurer(Limits(repetitions=1)).measure(cases)
    assert other["ratio"] == other["seconds"] / base["seconds"]
    assert "ratio" not in base
    assert "ratio" not in gone


def test_matrices_that_do_not_fit_are_refused_before_they_are_allocated():
    with pytest.raises(NotRun, match="a plan would take 80 GB, more than 6 GB"):
        require_memory(80e9, "a plan")
    require_memory(5e9, "a plan")


def prepare_late(deed, path):
    """A case that fails in its second run, or as its result is described."""

    def fail():
        if deed == "die":
            os._exit(9)
        if deed == "hang":
            time.sleep(60)
        if deed == "memory":
            raise MemoryError
        return 1 / 0

    def run():
        with Path(path).open("a") as file:
            file.write("x")
        return fail() if deed != "describe" and Path(path).stat().st_size > 1 else None

    return Prepared(run, lambda result: fail() if deed == "describe" else {})


@pytest.mark.parametrize(
    ("deed", "error"),
    [
        ("raise", "ZeroDivisionError: division by zero"),
        ("die", "its process ended (exit code 9)"),
        ("hang", "a run after the first takes more than 2 s"),
        ("memory", "out of memory"),
        ("describe", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_case_that_fails_after_its_first_run_costs_its_own_row_and_no_other(
    tmp_path, deed, error
):
    cases = [
        Case("x", prepare_late, {"deed": deed, "path": str(tmp_path / "runs")}, {"n": 7}),
        Case("y", prepare_sleep, {"seconds": 0}, compared_to="x"),
    ]
    limits = Limits(repetitions=3, seconds=1000, run_seconds=0.2)
    failed, done = Measurer(limits).measure(cases)
    assert failed == {"case": "x", "n": 7, "threads": 1, "status": f"failed: {error}"}
    assert (done["status"], done["repetitions"]) == ("done", 3)
    assert "ratio" not in done
