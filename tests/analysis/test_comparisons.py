"""Ranks, tests and aggregates against formulas by hand, scipy, and a printed example."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import OURS, plan_of, random_values, runs_of
from scipy import stats

from experiments.analysis.cells import table_cells
from experiments.analysis.comparisons import (
    aggregate,
    average_ranks,
    compare,
    compared,
    holm,
    interquartile_mean,
    left_out,
    omnibus,
    paired_tests,
    rank_tests,
)
from experiments.published import published

# Nemenyi test at level 0.05, by number of methods, as printed by Demsar (2006, table 5a).
PRINTED_Q = {3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.949, 8: 3.031, 9: 3.102, 10: 3.164}


def frame(means, methods=None):
    return pd.DataFrame(means, columns=methods or list(map(str, range(np.shape(means)[1]))))


@pytest.mark.parametrize("k", PRINTED_Q)
def test_critical_difference_by_the_printed_quantiles(k):
    means = np.random.default_rng(k).permuted(np.tile(np.arange(k), (14, 1)), axis=1)
    test = rank_tests(frame(means.astype(float)))
    expected = PRINTED_Q[k] * math.sqrt(k * (k + 1) / (6 * 14))
    assert test["critical_difference"] == pytest.approx(expected, rel=3e-4)


def test_highest_accuracy_has_rank_one_and_ties_share():
    means = frame([[90.0, 80.0, 80.0], [90.0, 95.0, 70.0]])
    assert average_ranks(means).tolist() == [1.5, 1.75, 2.75]


@pytest.mark.parametrize("means", [np.arange(18.0).reshape(9, 2), np.arange(5.0)[None],
                                   np.full((5, 4), 80.0)])  # fmt: skip
def test_too_few_or_all_tied_give_ranks_alone(means):
    assert math.isnan(rank_tests(frame(means))["p"])
    assert len(average_ranks(frame(means))) == means.shape[1]


def signed_rank_p(difference):
    """Two-sided p by going through all signs; zeros keep their ranks and take no side."""
    ranks = stats.rankdata(np.abs(difference))[difference != 0]
    observed = abs(np.sum(ranks * np.sign(difference[difference != 0])))
    signs = np.array(list(itertools.product((-1, 1), repeat=len(ranks))))
    return float(np.mean(np.abs(signs @ ranks) >= observed - 1e-9))


def test_holms_p_values_are_those_of_an_example_worked_by_hand():
    p = pd.Series({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert holm(p).to_dict() == pytest.approx({"d": 0.02, "a": 0.03, "c": 0.06, "b": 0.06})


@given(st.integers(0, 10**6))
@settings(max_examples=8)
def test_p_is_that_of_all_signs(seed):
    means = np.random.default_rng(seed).integers(-3, 4, (7, 2)).astype(float)
    test = paired_tests(frame(means, ["krda", "ot"])).loc["ot"]
    difference = means[:, 0] - means[:, 1]
    assert test.p == pytest.approx(signed_rank_p(difference) if difference.any() else 1.0)
    assert test.p_holm == pytest.approx(test.p)
    assert (test.krda_wins, test.ties, test.krda_losses) == (
        (difference > 0).sum(), (difference == 0).sum(), (difference < 0).sum(),
    )  # fmt: skip
    assert test.median_difference == np.median(difference)
    assert test.smallest_p <= test.p + 1e-12


def test_winning_everything_gives_the_smallest_p():
    means = np.column_stack([np.arange(9.0) + np.arange(1, 10), np.arange(9.0)])
    test = paired_tests(frame(means, ["krda", "ot"])).loc["ot"]
    assert test.p == pytest.approx(2 / 2**9)
    assert test.smallest_p == 2 / 2**9


def test_interquartile_mean_by_hand():
    assert interquartile_mean(np.array([100.0, 3, 1, 2, 4, -50, 5, 6])) == (2 + 3 + 4 + 5) / 4


def test_interval_is_that_of_resampling_within_tasks():
    # Two tasks far apart and constant within: resampling over tasks would move the mean.
    own = np.stack([np.full(5, 10.0), np.full(5, 90.0)])
    found = aggregate(np.stack([own, own]), ["krda", "ot"], 200)
    assert (found[["mean_low", "mean", "mean_high"]] == 50.0).all(axis=None)


def test_width_of_the_mean_is_its_standard_error_with_divisor_n_minus_1():
    values = np.random.default_rng(0).normal(70, 5, (1, 40, 5))
    found = aggregate(values, ["krda"], 20000).loc["krda"]
    error = math.sqrt(np.sum(values.var(axis=2, ddof=1) / 5)) / 40
    # Without the correction it would be sqrt(4 / 5) = 0.89.
    assert (found.mean_high - found.mean_low) / (2 * 1.96 * error) == pytest.approx(1, abs=0.03)


def test_paired_repetitions_make_the_difference_exact():
    own = np.random.default_rng(1).normal(70, 5, (9, 5))
    found = aggregate(np.stack([own, own - 3]), ["krda", "ot"], 300).loc["ot"]
    minus = found[["krda_minus_iqm", "krda_minus_low", "krda_minus_high"]]
    assert minus.tolist() == pytest.approx([3, 3, 3])


def test_one_repetition_has_no_interval():
    found = aggregate(np.array([[[1.0], [3.0]]]), ["krda"], 10).loc["krda"]
    assert found["mean"] == 2.0
    assert math.isnan(found.mean_low)


def test_every_number_goes_back_to_five_accuracies():
    plan = plan_of(ours=OURS)
    values = random_values(plan, 8)
    cells = table_cells(plan, runs_of(values))
    found = compare(cells)
    methods = [m for m in plan.methods if m != "target_only"]
    means = {m: np.array([100 * np.mean(values[t, m]) for t in plan.tasks]) for m in methods}
    assert list(found.index) == methods
    ranks = stats.rankdata(-np.column_stack(list(means.values())).round(8), axis=1).mean(axis=0)
    for (method, row), rank in zip(found.iterrows(), ranks, strict=True):
        own = means[method]
        assert row["mean"] == pytest.approx(own.mean())
        every = sorted(100 * a for task in plan.tasks for a in values[task, method])
        assert row.iqm == pytest.approx(np.mean(every[11:-11]))
        assert row.iqm_low <= row.iqm <= row.iqm_high
        assert row.rank_all == pytest.approx(rank)
        assert row.in_paper == (method not in OURS)
        if row.in_paper:
            printed = np.array([published("moons")[t, method].mean for t in plan.tasks])
            gap = np.abs(own - printed).mean()
            assert row.mean_absolute_deviation == pytest.approx(gap)
        else:
            nothing = ["rank_paper", "rank_published", "mean_absolute_deviation"]
            assert row[nothing].isna().all()
        if method != "krda":
            difference = (means["krda"] - own).round(8)
            assert row.krda_wins == (difference > 0).sum()
            assert row.median_difference == pytest.approx(np.median(difference), abs=1e-7)
            minus = found.iqm["krda"] - row.iqm
            assert row.krda_minus_iqm == pytest.approx(minus)
    friedman = stats.friedmanchisquare(*(means[m].round(8) for m in methods))
    tests = omnibus(cells)
    families = list(zip(tests.numbers, tests.family, strict=True))
    assert families == [("ours", "paper"), ("ours", "all"), ("published", "paper")]
    assert tests.friedman[1] == pytest.approx(friedman.statistic)


def test_method_with_an_unfinished_cell_is_left_out_and_named():
    values = random_values(plan_of(), 10)
    values["40", "ot"][4] = "failed: made up"
    del values["50", "sa"]
    cells = table_cells(plan_of(), runs_of(values))
    assert len(compared(cells)) == 9
    assert {"ot", "sa", "target_only"}.isdisjoint(compared(cells))
    reasons = left_out(cells)
    assert reasons == dict.fromkeys(("SA", "OT"), "8 of 9 tasks are complete")


def test_unfinished_krda_leaves_no_paired_test():
    values = random_values(plan_of(), 11)
    values["40", "krda"][4] = "failed: made up"
    found = compare(table_cells(plan_of(), runs_of(values)))
    assert found[["krda_minus_iqm", "p", "krda_wins"]].isna().all(axis=None)


def test_nothing_is_compared_without_records_or_with_fewer_repetitions():
    three = {key: values[:3] for key, values in random_values(plan_of(), 1).items()}
    for values in ({}, three):
        cells = table_cells(plan_of(), runs_of(values))
        assert compared(cells) == []
        assert compare(cells).empty
        assert not (omnibus(cells).numbers == "ours").any() if len(omnibus(cells)) else True
