"""Means and intervals against scipy, a worked example by hand, and their limits."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from experiments.analysis.intervals import (
    Interval,
    correction_of_shared_rows,
    correction_of_splits,
    mean_and_interval,
    over_tasks,
    overlap,
    ties_with_best,
)

values = st.lists(st.floats(0, 1), min_size=2, max_size=12)


@given(values)
def test_agrees_with_scipys_t_interval(accuracies: list[float]) -> None:
    interval = mean_and_interval(accuracies)
    scale = np.std(accuracies, ddof=1) / math.sqrt(len(accuracies))
    assert interval.mean == pytest.approx(np.mean(accuracies), rel=1e-12, abs=1e-15)
    assert interval.n == len(accuracies)
    if scale > 1e-8:
        low, high = stats.t.interval(0.95, len(accuracies) - 1, np.mean(accuracies), scale)
        assert interval.low == pytest.approx(low, rel=1e-9, abs=1e-12)
        assert interval.high == pytest.approx(high, rel=1e-9, abs=1e-12)


def test_worked_example_with_the_printed_t_table() -> None:
    # Mean 3, squared deviations 4 + 1 + 0 + 1 + 4 = 10, s^2 = 10 / 4, and the tables of Student's
    # distribution give 2.776 (to half of its last digit) for 4 degrees of freedom and 95 %.
    interval = mean_and_interval([1, 2, 3, 4, 5])
    assert interval.mean == 3
    assert interval.half_width == pytest.approx(
        2.776 * math.sqrt(2.5 / 5), abs=5e-4 * math.sqrt(0.5)
    )


@pytest.mark.parametrize(
    ("correction", "expected"),
    # Five repetitions of 90 %: n2 / n1 = 1 / 9, and the ratio the other way round.
    [(correction_of_splits(0.9), 1 / 5 + 1 / 9), (correction_of_shared_rows(0.9), 1 / 5 + 9)],
)
def test_corrected_interval_has_the_variance_of_nadeau_and_bengio(
    correction: float, expected: float
) -> None:
    five = [0.70, 0.71, 0.73, 0.69, 0.72]
    half_width = stats.t.ppf(0.975, 4) * math.sqrt(expected * np.var(five, ddof=1))
    assert mean_and_interval(five).widened(correction) == pytest.approx(half_width, rel=1e-9)


def test_corrected_interval_of_shared_rows_covers_a_mean_over_new_data() -> None:
    generator = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        rows = generator.normal(size=200)
        five = [generator.choice(rows, 180, replace=False).mean() for _ in range(5)]
        interval = mean_and_interval(five)
        covered += abs(interval.mean) <= (interval.widened(correction_of_shared_rows(0.9)) or 0)
    assert 0.92 < covered / 400 < 0.98


def test_without_a_spread_or_without_left_out_rows_nothing_is_corrected() -> None:
    assert mean_and_interval([0.7]).widened(1 / 9) is None
    assert mean_and_interval([0.7, 0.7]).widened(9) == 0
    assert mean_and_interval([0.7, 0.8]).widened(correction_of_shared_rows(1.0)) is None
    same = mean_and_interval([0.7, 0.8])
    assert same.widened(correction_of_splits(1.0)) == same.half_width


def test_interval_over_tasks_is_that_of_the_repetitions_means() -> None:
    tasks = [[0.9, 0.8, 0.7], [0.1, 0.2, 0.6]]
    assert over_tasks(tasks) == pytest.approx(mean_and_interval([0.5, 0.5, 0.65]))
    with pytest.raises(ValueError, match="shorter"):
        over_tasks([[0.9, 0.8], [0.1]])


def test_two_values_use_one_degree_of_freedom() -> None:
    # 12.706 in the tables; s / sqrt(2) is half of the distance.
    assert mean_and_interval([0.4, 0.6]).half_width == pytest.approx(12.706 * 0.1, abs=1e-4)


def test_one_value_has_no_half_width() -> None:
    assert mean_and_interval([0.7]) == Interval(0.7, None, 1)


@pytest.mark.parametrize("accuracy", [0.0, 0.1, 0.7, 1 / 3, 1.0])
@pytest.mark.parametrize("n", [2, 3, 5, 7])
def test_equal_values_have_half_width_exactly_zero(accuracy: float, n: int) -> None:
    assert mean_and_interval([accuracy] * n) == Interval(accuracy, 0.0, n)


@given(values)
def test_order_does_not_matter(accuracies: list[float]) -> None:
    assert mean_and_interval(accuracies) == mean_and_interval(accuracies[::-1])


@pytest.mark.parametrize("accuracies", [[], [0.5, math.nan], [math.inf, 0.5]])
def test_no_values_or_infinite_ones_are_refused(accuracies: list[float]) -> None:
    with pytest.raises(ValueError, match="accurac"):
        mean_and_interval(accuracies)


def test_overlap_includes_touching_and_is_symmetric() -> None:
    left, touching, apart = Interval(1, 0.5, 5), Interval(2, 0.5, 5), Interval(2.1, 0.5, 5)
    assert overlap(left, touching)
    assert overlap(touching, left)
    assert not overlap(left, apart)
    assert not overlap(apart, left)
    assert overlap(left, Interval(1.2, None, 1))


def test_two_subsamples_of_ninety_percent_share_nine_tenths_of_their_rows() -> None:
    generator = np.random.default_rng(0)
    draws = [set(generator.choice(1000, 900, replace=False)) for _ in range(12)]
    shared = [len(a & b) / 1000 for a, b in itertools.combinations(draws, 2)]
    # As the docstring says: 0.9 * 0.9 = 81 % of all rows, 90 % of a subsample's own.
    assert np.mean(shared) == pytest.approx(0.81, abs=0.005)


def test_interval_from_subsamples_of_one_draw_misses_new_data_more_than_it_says() -> None:
    # The mean of normal rows as the statistic: five overlapping 90 % subsamples of one draw.
    generator = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        rows = generator.normal(size=200)
        estimates = [generator.choice(rows, 180, replace=False).mean() for _ in range(5)]
        interval = mean_and_interval(estimates)
        covered += interval.low <= 0 <= interval.high
    assert covered / 400 < 0.6


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 20)), min_size=1, max_size=8))
def test_ties_are_the_intervals_that_overlap_one_of_a_best_mean(cells: list) -> None:
    means, half = np.array(cells).T.round(3)
    intervals = [Interval(m, h, 5) for m, h in zip(means, half, strict=True)]
    best = [i for i in intervals if i.mean == means.max()]
    expected = [any(overlap(i, b) for b in best) for i in intervals]
    assert ties_with_best(means, half).tolist() == expected


def test_a_missing_mean_ties_with_nothing() -> None:
    assert ties_with_best([80.0, math.nan], [1.0, 1.0]).tolist() == [True, False]
