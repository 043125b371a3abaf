"""Two runs of the same cells: digits, intervals and environments are told apart."""

from dataclasses import replace

import pytest
from made_up import plan_of
from record_factory import make_record

from experiments.analysis.agreement import agreement, environment_difference
from experiments.reading.agreement import compare_with_committed
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
    found = agreement(record(*FIRST), record(*values))
    assert (found.identical, found.beyond) == (identical, beyond)
    assert found.points == pytest.approx(points)
    assert found.in_half_widths == pytest.approx(points / found.half_width)


def test_records_with_other_repetitions_done_are_not_compared():
    assert agreement(record(*FIRST), record(0.5, "failed: no luck", 0.7)) is None


def test_the_difference_of_environments_is_one_line_without_what_moves_no_digit():
    kernels = {"pinned": True, "torch": "AVX2", "mkl": "COMPATIBLE", "blas": ["openblas Haswell"]}
    before = {
        "cpu": "A",
        "cores": 2,
        "git_revision": "1",
        "libraries": {"numpy": "1", "torch": "2"},
    }
    now = {"cpu": "B", "cores": 8, "git_revision": "2", "libraries": {"numpy": "1", "torch": "3"}}
    line = environment_difference(before, {**now, "kernels": kernels})
    for part in ("processor A / B", "torch 2 / 3", "kernels not recorded / pinned"):
        assert part in line
    for name in ("numpy", "cores", "git"):
        assert name not in line
    assert environment_difference(before, {**before, "cores": 9}) == ""


def test_reproduce_counts_means_beyond_their_interval_apart(tmp_path, capsys):
    plan = replace(
        plan_of("moons"), tasks=("10", "20", "30"), paper=("krda",),
        overrides=("protocol.n_repetitions=3",),
    )  # fmt: skip
    stores = []
    for cpu, *accuracies in (
        ("A", FIRST, FIRST, FIRST),
        ("B", FIRST, (0.5, 0.6, 0.71), (0.9, 0.9, 0.9)),
    ):
        stores.append(RecordStore(tmp_path / cpu / "records"))
        for cell, values in zip(plan.cells.values(), accuracies, strict=True):
            own = {"config": cell.config, "config_sha256": cell.config_sha256}
            stores[-1].write(record(*values, task=cell.task, environment={"cpu": cpu}, **own))
    committed, ours = stores
    compare_with_committed([plan], ours, committed)
    out = capsys.readouterr().out
    assert "1 cells identical to the last digit, 1 with another mean within" in out
    assert "1 with a mean beyond its interval" in out
    assert "beyond: moons/30 krda" in out
    assert "+30.00 points" in out
    assert "processor A / B (3 cells)" in out
