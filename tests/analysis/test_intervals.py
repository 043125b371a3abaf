"""Means and intervals against scipy, a worked example by hand, and their limits."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from experiments.analysis.intervals import (
    Interval,
    correction_of_shared_rows,
    correction_of_splits,
    mean_and_interval,
    over_tasks,
    ties_with_best,
)


@settings(max_examples=100)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=12))
def test_agrees_with_scipys_t_interval_in_any_order(accuracies):
    interval = mean_and_interval(accuracies)
    scale = np.std(accuracies, ddof=1) / math.sqrt(len(accuracies))
    assert interval.mean == pytest.approx(np.mean(accuracies), rel=1e-12, abs=1e-15)
    assert interval == mean_and_interval(accuracies[::-1])
    if scale > 1e-8:
        low, high = stats.t.interval(0.95, len(accuracies) - 1, np.mean(accuracies), scale)
        assert interval.mean - interval.half_width == pytest.approx(low, rel=1e-9, abs=1e-12)
        assert interval.mean + interval.half_width == pytest.approx(high, rel=1e-9, abs=1e-12)


def test_worked_example_with_the_printed_t_table():
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
def test_corrected_interval_has_the_variance_of_nadeau_and_bengio(correction, expected):
    five = [0.70, 0.71, 0.73, 0.69, 0.72]
    half_width = stats.t.ppf(0.975, 4) * math.sqrt(expected * np.var(five, ddof=1))
    assert mean_and_interval(five).widened(correction) == pytest.approx(half_width, rel=1e-9)


def test_of_new_data_the_interval_covers_too_little_and_the_corrected_one_what_it_says():
    # The mean of normal rows as the statistic: five overlapping 90 % subsamples of one draw.
    generator = np.random.default_rng(0)
    plain = corrected = 0
    for _ in range(400):
        rows = generator.normal(size=200)
        five = [generator.choice(rows, 180, replace=False).mean() for _ in range(5)]
        interval = mean_and_interval(five)
        plain += abs(interval.mean) <= interval.half_width
        corrected += abs(interval.mean) <= interval.widened(correction_of_shared_rows(0.9))
    assert plain / 400 < 0.6
    assert 0.92 < corrected / 400 < 0.98


def test_without_a_spread_or_without_left_out_rows_nothing_is_corrected():
    assert math.isnan(mean_and_interval([0.7]).widened(1 / 9))
    assert mean_and_interval([0.7, 0.7]).widened(9) == 0
    assert math.isnan(mean_and_interval([0.7, 0.8]).widened(correction_of_shared_rows(1.0)))
    same = mean_and_interval([0.7, 0.8])
    assert same.widened(correction_of_splits(1.0)) == same.half_width


def test_interval_over_tasks_is_that_of_the_repetitions_means():
    tasks = [[0.9, 0.8, 0.7], [0.1, 0.2, 0.6]]
    assert over_tasks(tasks) == pytest.approx(mean_and_interval([0.5, 0.5, 0.65]))
    with pytest.raises(ValueError, match="shorter"):
        over_tasks([[0.9, 0.8], [0.1]])


@pytest.mark.parametrize("accuracy", [0.0, 0.1, 1 / 3])
def test_equal_values_have_half_width_exactly_zero_and_a_single_one_none(accuracy):
    assert mean_and_interval([accuracy]) == Interval(accuracy, math.nan, 1)
    for n in (2, 3, 7):
        assert mean_and_interval([accuracy] * n) == Interval(accuracy, 0.0, n)


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 20)), min_size=1, max_size=8))
def test_ties_are_the_intervals_that_touch_or_overlap_one_of_a_best_mean(cells):
    best = [(m, h) for m, h in cells if m == max(m for m, _ in cells)]
    expected = [any(m + h >= top - half for top, half in best) for m, h in cells]
    # Tenths, so that rounding could make a gap.
    means, half = np.array(cells).T / 10
    assert ties_with_best(means, half).tolist() == expected
    assert ties_with_best([80.0, math.nan], [1.0, 1.0]).tolist() == [True, False]
