"""Ranks, tests and aggregates against formulas by hand, scipy, and a printed example."""

from __future__ import annotations

import csv
import io
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_factory import failed, make_record, random_records
from rounding import one_decimal
from scipy import stats
from table_plans import ADDITIONS, spec_of

from experiments.analysis.comparisons import (
    Comparison,
    Scores,
    aggregate,
    collect,
    compare,
    compare_ranks,
    comparison_csv,
    comparison_markdown,
    interquartile_mean,
    method_rows,
    omnibus_csv,
    paired_tests,
    pairs_csv,
)
from experiments.published import published
from experiments.reading.tables import TableSpec
from experiments.reading.tables.model import build_table
from experiments.store.records import Record

# Nemenyi test at level 0.05, by number of methods, as printed by Demsar (2006, table 5a).
PRINTED_Q = {3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.949, 8: 3.031, 9: 3.102, 10: 3.164}


def comparison_of(spec: TableSpec, records: dict[tuple[str, str], Record]) -> Comparison:
    table = build_table(spec, lambda task, method: records.get((task, method)))
    return compare(spec.dataset, table, published(spec.dataset))


class TestRanks:
    @pytest.mark.parametrize("k", PRINTED_Q)
    def test_critical_difference_by_the_printed_quantiles(self, k: int) -> None:
        means = np.random.default_rng(k).permuted(np.tile(np.arange(k), (14, 1)), axis=1)
        ranks = compare_ranks(means.astype(float), [str(i) for i in range(k)], "all")
        expected = PRINTED_Q[k] * math.sqrt(k * (k + 1) / (6 * 14))
        assert ranks.critical_difference == pytest.approx(expected, rel=3e-4)

    def test_friedmans_statistic_by_its_formula(self) -> None:
        means = np.random.default_rng(3).normal(size=(12, 5))  # no ties
        ranks = compare_ranks(means, "abcde", "all")
        squares = sum(rank**2 for rank in ranks.average_ranks)
        statistic = 12 * 12 / (5 * 6) * (squares - 5 * 6**2 / 4)
        assert ranks.friedman_statistic == pytest.approx(statistic)
        assert ranks.friedman_p == pytest.approx(stats.chi2.sf(statistic, 4))

    @given(st.integers(2, 15), st.integers(3, 8), st.integers(0, 10**6))
    @settings(max_examples=30, deadline=None)
    def test_difference_in_ranks_and_nemenyis_p_agree(self, n: int, k: int, seed: int) -> None:
        means = np.random.default_rng(seed).normal(size=(n, k)).round(1)
        ranks = compare_ranks(means, [str(i) for i in range(k)], "all")
        assert sum(ranks.average_ranks) == pytest.approx(k * (k + 1) / 2)
        if ranks.nemenyi_p is None:
            return
        assert ranks.critical_difference is not None
        for i, j in itertools.combinations(range(k), 2):
            gap = abs(ranks.average_ranks[i] - ranks.average_ranks[j])
            if abs(gap - ranks.critical_difference) > 1e-6:
                apart = gap > ranks.critical_difference
                assert (ranks.nemenyi_p[i, j] < 0.05) == apart

    def test_highest_accuracy_has_rank_one_and_ties_share(self) -> None:
        means = np.array([[90.0, 80.0, 80.0], [90.0, 95.0, 70.0]])
        assert compare_ranks(means, "abc", "all").average_ranks == (1.5, 1.75, 2.75)

    @pytest.mark.parametrize("shape", [(9, 2), (1, 5)])
    def test_too_few_give_ranks_alone(self, shape: tuple[int, int]) -> None:
        means = np.arange(math.prod(shape), dtype=float).reshape(shape)
        ranks = compare_ranks(means, [str(i) for i in range(shape[1])], "all")
        assert ranks.friedman_p is None
        assert ranks.nemenyi_p is None
        assert len(ranks.average_ranks) == shape[1]

    def test_all_tied_gives_ranks_alone(self) -> None:
        ranks = compare_ranks(np.full((5, 4), 80.0), "abcd", "all")
        assert ranks.average_ranks == (2.5,) * 4
        assert ranks.friedman_p is None

    def test_values_that_are_not_finite_are_refused(self) -> None:
        with pytest.raises(ValueError, match="finite"):
            compare_ranks(np.array([[1.0, np.nan]]), "ab", "all")


def signed_rank_p(difference: np.ndarray) -> float:
    """Two-sided p by going through all signs; zeros keep their ranks and take no side."""
    ranks = stats.rankdata(np.abs(difference))[difference != 0]
    observed = abs(np.sum(ranks * np.sign(difference[difference != 0])))
    signs = np.array(list(itertools.product((-1, 1), repeat=len(ranks))))
    return float(np.mean(np.abs(signs @ ranks) >= observed - 1e-9))


class TestPairedTests:
    @given(st.integers(0, 10**6))
    @settings(max_examples=8, deadline=None)
    def test_p_is_that_of_all_signs(self, seed: int) -> None:
        means = np.random.default_rng(seed).integers(-3, 4, (7, 2)).astype(float)
        (test,) = paired_tests(means, ("krda", "ot"))
        difference = means[:, 0] - means[:, 1]
        assert test.p == pytest.approx(signed_rank_p(difference) if difference.any() else 1.0)
        assert test.p_holm == pytest.approx(test.p)
        assert (test.wins, test.ties, test.losses) == (
            (difference > 0).sum(), (difference == 0).sum(), (difference < 0).sum(),
        )  # fmt: skip
        assert test.median_difference == np.median(difference)
        assert test.smallest_p <= test.p + 1e-12

    def test_winning_everything_gives_the_smallest_p(self) -> None:
        means = np.column_stack([np.arange(9.0) + np.arange(1, 10), np.arange(9.0)])
        (test,) = paired_tests(means, ("krda", "ot"))
        assert test.p == pytest.approx(2 / 2**9)
        assert test.smallest_p == 2 / 2**9

    def test_holm_by_hand(self) -> None:
        base = np.arange(9.0)
        shifts = [np.arange(1, 10), np.array([-1, 2, 3, 4, 5, 6, 7, 8, 9]), np.r_[[-9, -8], 1:8]]
        means = np.column_stack([base, *(base - shift for shift in shifts)])
        tests = paired_tests(means, ("krda", "a", "b", "c"))
        p = sorted(test.p for test in tests)
        assert p[0] < p[1] < p[2]
        adjusted = np.maximum.accumulate([3 * p[0], 2 * p[1], p[2]]).clip(max=1)
        assert sorted(test.p_holm for test in tests) == pytest.approx(adjusted)

    def test_without_krda_there_are_none(self) -> None:
        assert paired_tests(np.zeros((4, 2)), ("ot", "sa")) == ()


class TestAggregates:
    def test_interquartile_mean_by_hand(self) -> None:
        assert interquartile_mean(np.array([100.0, 3, 1, 2, 4, -50, 5, 6])) == (2 + 3 + 4 + 5) / 4

    def test_interval_is_that_of_resampling_within_tasks(self) -> None:
        # Two tasks far apart and constant within: resampling over tasks would move the mean.
        values = np.stack([np.full((2, 5), 10.0), np.full((2, 5), 90.0)])
        for found in aggregate(Scores(("1", "2"), ("krda", "ot"), values, ()), 200):
            assert (found.mean.low, found.mean.value, found.mean.high) == (50.0, 50.0, 50.0)

    def test_width_of_the_mean_is_its_standard_error_with_divisor_n_minus_1(self) -> None:
        values = np.random.default_rng(0).normal(70, 5, (40, 1, 5))
        (found,) = aggregate(Scores(tuple(map(str, range(40))), ("krda",), values, ()), 20000)
        assert found.mean.low is not None
        assert found.mean.high is not None
        error = math.sqrt(np.sum(values.var(axis=2, ddof=1) / 5)) / 40
        ratio = (found.mean.high - found.mean.low) / (2 * 1.96 * error)
        # Without the correction it would be sqrt(4 / 5) = 0.89.
        assert ratio == pytest.approx(1, abs=0.03)

    def test_interval_holds_the_mean_of_independent_repetitions_as_often_as_it_says(self) -> None:
        rng = np.random.default_rng(20211002)
        tasks, n_draws, held, held_if_narrow = tuple("123456789"), 600, 0, 0
        for _ in range(n_draws):
            (found,) = aggregate(Scores(tasks, ("krda",), rng.normal(70, 3, (9, 1, 5)), ()), 500)
            assert found.mean.low is not None
            assert found.mean.high is not None
            held += found.mean.low <= 70 <= found.mean.high
            narrow = math.sqrt(4 / 5) * (
                np.array([found.mean.low, found.mean.high]) - found.mean.value
            )
            held_if_narrow += narrow[0] <= 70 - found.mean.value <= narrow[1]
        # 95 % with a standard error of 0.9; nine tasks estimate the variance with 36 degrees.
        assert held / n_draws >= 0.93
        assert held_if_narrow / n_draws < 0.93

    def test_paired_repetitions_make_the_difference_exact(self) -> None:
        own = np.random.default_rng(1).normal(70, 5, (9, 5))
        scores = Scores(tuple("123456789"), ("krda", "ot"), np.stack([own, own - 3], axis=1), ())
        minus = aggregate(scores, 300)[1].krda_minus
        assert minus is not None
        assert (minus.value, minus.low, minus.high) == pytest.approx((3, 3, 3))

    def test_same_scores_give_the_same_numbers(self) -> None:
        values = np.random.default_rng(2).normal(70, 5, (9, 3, 5))
        scores = Scores(tuple("123456789"), ("krda", "ot", "sa"), values, ())
        assert aggregate(scores, 100) == aggregate(scores, 100)

    def test_one_repetition_has_no_interval(self) -> None:
        (found,) = aggregate(Scores(("1", "2"), ("krda",), np.array([[[1.0]], [[3.0]]]), ()), 10)
        assert (found.mean.value, found.mean.low, found.mean.high) == (2.0, None, None)


class TestComparison:
    def test_every_number_goes_back_to_five_accuracies(self) -> None:
        spec = spec_of("moons", ADDITIONS)
        records = random_records(spec, 8)
        comparison = comparison_of(spec, records)
        methods = [m.name for m in spec.rows if m.name != "target_only"]
        means = {
            method: np.array(
                [100 * np.mean(records[t.name, method].accuracies) for t in spec.tasks]
            )
            for method in methods
        }
        rows = list(csv.DictReader(io.StringIO(comparison_csv([comparison]))))
        assert [row["method"] for row in rows] == methods
        ranks = stats.rankdata(-np.column_stack(list(means.values())).round(8), axis=1).mean(axis=0)
        for row, rank in zip(rows, ranks, strict=True):
            own = means[row["method"]]
            assert float(row["mean"]) == pytest.approx(own.mean(), rel=1e-7)
            values = sorted(
                100 * a for t in spec.tasks for a in records[t.name, row["method"]].accuracies
            )
            assert float(row["iqm"]) == pytest.approx(np.mean(values[11:-11]), rel=1e-7)
            assert float(row["iqm_low"]) <= float(row["iqm"]) <= float(row["iqm_high"])
            assert float(row["rank_all"]) == pytest.approx(rank, rel=1e-7)
            in_paper = row["method"] not in ADDITIONS
            assert row["in_paper"] == str(in_paper).lower()
            if in_paper:
                printed = np.array(
                    [published("moons")[t.name, row["method"]].mean for t in spec.tasks]
                )
                assert float(row["mean_absolute_deviation"]) == pytest.approx(
                    np.abs(own - printed).mean(), rel=1e-6
                )
            else:
                assert row["rank_paper"] == row["rank_published"] == ""
                assert row["mean_absolute_deviation"] == ""
            if row["method"] != "krda":
                difference = (means["krda"] - own).round(8)
                assert int(row["krda_wins"]) == (difference > 0).sum()
                assert float(row["median_difference"]) == pytest.approx(
                    np.median(difference), rel=1e-6, abs=1e-7
                )
        friedman = stats.friedmanchisquare(*(means[m].round(8) for m in methods))
        tests = list(csv.DictReader(io.StringIO(omnibus_csv([comparison]))))
        assert [(t["numbers"], t["family"]) for t in tests] == [
            ("ours", "paper"), ("ours", "all"), ("published", "paper"),
        ]  # fmt: skip
        assert float(tests[1]["friedman"]) == pytest.approx(friedman.statistic, rel=1e-6)
        pairs = list(csv.DictReader(io.StringIO(pairs_csv([comparison]))))
        assert len(pairs) == 2 * math.comb(11, 2) + math.comb(11 + len(ADDITIONS), 2)

    def test_page_says_what_the_csv_says(self) -> None:
        spec = spec_of("moons")
        comparison = comparison_of(spec, random_records(spec, 9))
        text = comparison_markdown([comparison])
        for row in csv.DictReader(io.StringIO(comparison_csv([comparison]))):
            label = comparison.labels[row["method"]]
            (line,) = [line for line in text.splitlines() if line.startswith(f"| {label} |")]
            values = [cell.strip() for cell in line.split("|")][1:-1]
            cells = dict(zip(method_rows(comparison)[0], values, strict=True))
            low, high = float(row["iqm_low"]), float(row["iqm_high"])
            assert (
                cells["IQM"]
                == f"{one_decimal(float(row['iqm']))} [{one_decimal(low)}, {one_decimal(high)}]"
            )
            assert cells["rank"] == f"{float(row['rank_paper']):.2f}"
            assert cells["rank in the paper"] == f"{float(row['rank_published']):.2f}"
            kept = [i for i, task in enumerate(spec.tasks) if task.name != "90"]
            own = comparison.scores.methods.index(row["method"])
            mean = comparison.scores.values[kept, own].mean()
            assert cells["mean, 10° to 80°"].startswith(f"{one_decimal(mean)} [")
            assert float(row["kept_mean"]) == pytest.approx(mean)

    def test_page_explains_its_brackets_and_of_what_krda_is_ahead(self) -> None:
        spec = spec_of("moons")
        comparison = comparison_of(spec, random_records(spec, 9))
        text = comparison_markdown([comparison])
        items = [line for line in text.splitlines() if line.startswith("- ")]
        assert any(i.startswith("- mean: ") and "In brackets the ends" in i for i in items)
        (minus,) = [i for i in items if i.startswith("- KRDA minus (IQM): KRDA's IQM minus the")]
        assert "the other sign" in minus
        assert any("TCA: transfer component analysis (Pan et al., 2011)" in i for i in items)
        head, _ = method_rows(comparison)
        assert head[1:5] == ["mean", "mean, 10° to 80°", "IQM", "KRDA minus (IQM)"]
        krda = next(found for found in comparison.aggregates if found.method == "krda").iqm.value
        for found in comparison.aggregates:
            if found.krda_minus is not None:
                assert found.krda_minus.value == pytest.approx(krda - found.iqm.value)

    def test_method_with_an_unfinished_cell_is_left_out_and_named(self) -> None:
        spec = spec_of("moons")
        records = random_records(spec, 10)
        records["40", "ot"] = failed(records["40", "ot"])
        del records["50", "sa"]
        comparison = comparison_of(spec, records)
        assert {"ot", "sa", "target_only"}.isdisjoint(comparison.scores.methods)
        assert len(comparison.scores.methods) == 9
        text = comparison_markdown([comparison])
        assert "SA: 50° has 0 of 5 repetitions; OT: 40° has 4 of 5 repetitions." in text
        assert "| OT |" not in text

    def test_unfinished_krda_leaves_no_paired_test(self) -> None:
        spec = spec_of("moons")
        records = random_records(spec, 11)
        records["40", "krda"] = failed(records["40", "krda"])
        comparison = comparison_of(spec, records)
        assert comparison.paired == ()
        assert all(found.krda_minus is None for found in comparison.aggregates)
        assert "KRDA: 40° has 4 of 5" in comparison_markdown([comparison])

    def test_empty_store(self) -> None:
        comparison = comparison_of(spec_of("hepmass_sim", ADDITIONS), {})
        assert comparison.scores.methods == ()
        assert comparison.aggregates == ()
        text = comparison_markdown([comparison])
        assert "Source only: 500-750 has 0 of 5 repetitions and 19 other tasks alike" in text
        assert omnibus_csv([comparison]).count("\n") == 1

    def test_fewer_repetitions_than_the_protocols_are_not_complete(self) -> None:
        spec = spec_of("moons")
        records = {
            (t.name, m.name): make_record("moons", t.name, m.name, 0.5, 0.6, 0.7)
            for t in spec.tasks for m in spec.methods
        }  # fmt: skip
        table = build_table(spec, lambda task, method: records[task, method])
        assert collect(table).methods == ()

    def test_simulated_data_are_called_so(self) -> None:
        spec = spec_of("hepmass_sim", ADDITIONS)
        text = comparison_markdown([comparison_of(spec, random_records(spec, 12))])
        assert "simulated" in text
        assert "for orientation" in text
