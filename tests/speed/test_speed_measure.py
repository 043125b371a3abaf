"""What a row of the measurements says, and that a case that fails costs no other its row."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from speed.measure import (
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


def prepare_failure(deed, run, path):
    """A case that fails in a certain run, or as its result is described."""

    def fail():
        if deed == "die":
            os._exit(9)
        if deed == "hang":
            time.sleep(600)
        return 1 / 0

    def work():
        with Path(path).open("a") as file:
            file.write("x")
        return fail() if Path(path).stat().st_size == run else None

    return Prepared(work, lambda result: fail() if run == 0 else {})


def test_peak_memory_is_that_of_the_run_and_of_no_other_case():
    cases = [Case(f"{size}", prepare_array, {"megabytes": size}) for size in (200, 50)]
    big, small = Measurer(Limits(repetitions=1)).measure(cases)
    assert big["peak_mb"] == pytest.approx(200, abs=20)
    assert small["peak_mb"] == pytest.approx(50, abs=20)
    assert big["total"] == 200 * 125_000


def test_runs_of_a_group_are_interleaved_and_ratios_are_to_the_named_case(tmp_path):
    path = tmp_path / "order"
    cases = [
        Case(f"{k}", prepare_array, {"megabytes": k, "path": str(path)}, {"n": 100},
             compared_to="1")
        for k in (1, 2)
    ]  # fmt: skip
    rows = Measurer(Limits(repetitions=3, seconds=1000)).measure(cases)
    assert path.read_text().split() == ["1", "2"] * 4  # the first of each warms up
    for row in rows:
        assert row["repetitions"] == 3
        assert row["seconds_min"] <= row["seconds"] <= row["seconds_max"]
        assert row["rows_per_second"] == 100 / row["seconds"]
    assert rows[1]["ratio"] == rows[1]["seconds"] / rows[0]["seconds"]
    assert "ratio" not in rows[0]


def test_a_case_that_leaves_no_time_for_another_run_counts_its_first(tmp_path):
    path = tmp_path / "order"
    case = Case("once", prepare_array, {"megabytes": 1, "path": str(path)})
    (row,) = Measurer(Limits(repetitions=5, seconds=0)).measure([case])
    assert row["repetitions"] == 1
    assert path.read_text().split() == ["1"]


def test_a_slow_case_ends_its_series_and_nothing_else():
    def cases(n):
        return [
            Case("slow", prepare_sleep, {"seconds": 600}, {"n": n}, series="slow"),
            Case("fast", prepare_sleep, {"seconds": 0}, {"n": n}),
        ]

    measurer = Measurer(Limits(repetitions=1, run_seconds=1))
    slow, fast = measurer.measure(cases(10))
    assert slow["status"] == "not run: takes more than 1 s"
    assert "seconds" not in slow
    assert fast["status"] == "done"
    slow, _ = measurer.measure(cases(20))
    assert slow["status"] == "not run: takes more than 1 s at n = 10 already"


@pytest.mark.parametrize(
    ("prepare", "threads", "reason"),
    [
        (prepare_missing, 1, "not installed"),
        (prepare_threads, 1000, f"1000 threads on {len(available_cores())} core"),
    ],
)
def test_what_cannot_be_run_is_a_row_with_the_reason(prepare, threads, reason):
    (row,) = Measurer(Limits()).measure([Case("x", prepare, threads=threads)])
    assert row["status"] == f"not run: {reason}"


def test_a_case_gets_the_threads_that_it_asks_for():
    (row,) = Measurer(Limits()).measure([Case("x", prepare_threads)])
    assert row["seen"] == row["threads"] == 1


def test_matrices_that_do_not_fit_are_refused_before_they_are_allocated():
    with pytest.raises(NotRun, match="a plan would take 80 GB, more than 6 GB"):
        require_memory(80e9, "a plan")
    require_memory(5e9, "a plan")


@pytest.mark.parametrize("run", [1, 2, 0], ids=["first run", "second run", "description"])
@pytest.mark.parametrize(
    ("deed", "error"), [("raise", "ZeroDivisionError: division by zero"), ("die", "process ended")]
)
def test_a_case_that_fails_costs_its_own_row_and_no_other(tmp_path, deed, run, error):
    arguments = {"deed": deed, "run": run, "path": str(tmp_path / "runs")}
    cases = [
        Case("x", prepare_failure, arguments, {"n": 7}),
        Case("y", prepare_sleep, {"seconds": 0}, compared_to="x"),
    ]
    failed, done = Measurer(Limits(repetitions=3, seconds=1000)).measure(cases)
    assert set(failed) == {"case", "n", "threads", "status"}
    assert failed["status"].startswith("failed: ")
    assert error in failed["status"]
    assert (done["status"], done["repetitions"]) == ("done", 3)
    assert "ratio" not in done


def test_a_case_that_hangs_after_its_first_run_is_ended(tmp_path):
    arguments = {"deed": "hang", "run": 2, "path": str(tmp_path / "runs")}
    limits = Limits(repetitions=2, seconds=1000, run_seconds=0.5)
    (row,) = Measurer(limits).measure([Case("x", prepare_failure, arguments)])
    assert row["status"].startswith("failed: TimeoutError")
