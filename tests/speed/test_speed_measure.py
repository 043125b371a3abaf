"""What a row of the measurements says, and that a case that fails costs no other its row."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from speed.measure import Case, Limits, Prepared, measure


def prepare_array(n, path=None):
    def run():
        if path is not None:
            with Path(path).open("a") as file:
                file.write(f"{n}\n")
        return np.ones(125_000 * n)  # n megabytes

    return Prepared(run, lambda array: {"total": float(array.sum())})


def prepare_sleep(seconds):
    return Prepared(lambda: time.sleep(seconds))


def prepare_missing():
    import a_module_that_nobody_has  # noqa: F401


def prepare_failure(deed, run, path):
    """A case that fails in a certain run, or as its result is described."""

    def fail():
        if deed == "die":
            os._exit(9)
        return time.sleep(600) if deed == "hang" else 1 / 0

    def work():
        with Path(path).open("a") as file:
            file.write("x")
        return fail() if Path(path).stat().st_size == run else None

    return Prepared(work, lambda result: fail() if run == 0 else {})


def test_peak_memory_is_that_of_the_run_and_of_no_other_case():
    cases = [Case(f"{size}", prepare_array, {"n": size}) for size in (200, 50)]
    big, small = measure(cases, Limits(repetitions=1))
    assert big["peak_mb"] == pytest.approx(200, abs=20)
    assert small["peak_mb"] == pytest.approx(50, abs=20)
    assert big["total"] == 200 * 125_000


def test_runs_of_a_group_are_interleaved_and_ratios_are_to_the_named_case(tmp_path):
    path = tmp_path / "order"
    cases = [
        Case(f"{k}", prepare_array, {"n": k, "path": str(path)}, compared_to="1") for k in (1, 2)
    ]
    rows = measure(cases, Limits(repetitions=3, seconds=1000))
    assert path.read_text().split() == ["1", "2"] * 4  # the first of each warms up
    for row in rows:
        assert row["repetitions"] == 3
        assert row["seconds_min"] <= row["seconds"] <= row["seconds_max"]
        assert row["rows_per_second"] == row["n"] / row["seconds"]
    assert rows[1]["ratio"] == rows[1]["seconds"] / rows[0]["seconds"]
    assert "ratio" not in rows[0]


def test_a_case_that_takes_too_long_is_not_run_and_no_other_waits_for_it():
    cases = [Case(f"{s}", prepare_sleep, {"seconds": s}) for s in (600, 0)]
    slow, fast = measure(cases, Limits(repetitions=1, run_seconds=1))
    assert slow == {"case": "600", "threads": 1, "status": "not run: takes more than 1 s"}
    assert fast["status"] == "done"


@pytest.mark.parametrize(("threads", "reason"), [(1, "not installed"), (1000, "1000 threads on ")])
def test_what_cannot_be_run_is_a_row_with_the_reason(threads, reason):
    (row,) = measure([Case("x", prepare_missing, threads=threads)], Limits())
    assert row["status"].startswith(f"not run: {reason}")


@pytest.mark.parametrize(
    ("deed", "run", "error"),
    [("raise", 1, "ZeroDivisionError: division by zero"),
     ("raise", 0, "ZeroDivisionError: division by zero"), ("die", 2, "process ended"),
     ("hang", 2, "TimeoutError")],
)  # fmt: skip
def test_a_case_that_fails_costs_its_own_row_and_no_other(tmp_path, deed, run, error):
    arguments = {"deed": deed, "run": run, "path": str(tmp_path / "runs")}
    cases = [
        Case("x", prepare_failure, arguments),
        Case("y", prepare_sleep, {"seconds": 0}, compared_to="x"),
    ]
    failed, done = measure(cases, Limits(repetitions=3, seconds=1000, run_seconds=0.5))
    assert failed["status"].startswith("failed: ")
    assert error in failed["status"]
    assert "seconds" not in failed
    assert (done["status"], done["repetitions"]) == ("done", 3)
    assert "ratio" not in done
