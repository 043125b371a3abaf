"""Two runs of the same cells: digits, intervals and environments are told apart."""

from dataclasses import replace

import pytest
from record_factory import make_record

from experiments.analysis.agreement import (
    agreement,
    agreement_lines,
    environment_difference,
    records_by_cell,
)
from experiments.store.records import RecordStore

FIRST = (0.5, 0.6, 0.7)  # 60 ± 24.8 %


def record(*values, task="40", **changes):
    return replace(make_record("moons", task, "krda", *values), **changes)


@pytest.mark.parametrize(
    ("values", "identical", "beyond", "points"),
    [
        (FIRST, True, False, 0.0),
        ((0.5, 0.6, 0.71), False, False, 1 / 3),
        ((0.9, 0.9, 0.9), False, True, 30.0),  # beyond the wider interval, though without a width
        ((0.7, 0.6, 0.5), False, False, 0.0),  # the same mean of other numbers
    ],
)
def test_a_mean_beyond_its_interval_is_told_from_other_digits(values, identical, beyond, points):
    found = agreement({("moons",) * 3: record(*FIRST)}, {("moons",) * 3: record(*values)}).iloc[0]
    assert (found.identical, found.beyond) == (identical, beyond)
    assert found.points == pytest.approx(points)


def test_records_with_other_repetitions_done_are_not_compared():
    lost = record(0.5, "failed: no luck", 0.7)
    assert agreement({("moons",) * 3: record(*FIRST)}, {("moons",) * 3: lost}).empty


def test_the_difference_of_environments_is_one_line_without_what_moves_no_digit():
    kernels = {"pinned": True, "torch": "AVX2", "mkl": "COMPATIBLE", "blas": ["openblas Haswell"]}
    libraries = {"numpy": "1", "torch": "2"}
    before = {"cpu": "A", "cores": 2, "git_revision": "1", "libraries": libraries}
    now = {"cpu": "B", "cores": 8, "git_revision": "2", "libraries": libraries | {"torch": "3"}}
    line = environment_difference(before, {**now, "kernels": kernels})
    for part in ("processor A / B", "torch 2 / 3", "kernels not recorded / pinned"):
        assert part in line
    for name in ("numpy", "cores", "git"):
        assert name not in line
    assert environment_difference(before, {**before, "cores": 9}) == ""


def test_means_beyond_their_interval_are_counted_apart(tmp_path):
    runs = []
    for cpu, *accuracies in (
        ("A", FIRST, FIRST, FIRST, FIRST),
        ("B", FIRST, (0.5, 0.6, 0.71), (0.9, 0.9, 0.9)),
    ):
        store = RecordStore(tmp_path / cpu / "records")
        for task, values in zip(("10", "20", "30", "40"), accuracies, strict=False):
            store.write(record(*values, task=task, environment={"cpu": cpu}))
        runs.append(records_by_cell(tmp_path / cpu))
    assert agreement_lines(*runs) == [
        "1 cells identical to the last digit",
        "1 with another mean within its interval",
        "1 with a mean beyond its interval",
        "beyond: moons/30 krda: +30.00 points, interval of ± 24.84",
        "environments differ (committed / here): processor A / B (3 cells)",
    ]
