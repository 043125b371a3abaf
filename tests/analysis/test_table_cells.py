"""The cells of a table: every number goes back to its accuracies; nothing unfinished looks done."""

import math
from dataclasses import replace

import numpy as np
import pytest
from made_up import OURS, plan_of, random_values, runs_of
from scipy import stats

from experiments.analysis.cells import cells_csv, means_of_table, table_cells
from experiments.analysis.table import Table
from experiments.published import METHODS, published
from experiments.reading.results import paper_shaped

PLAN = replace(
    plan_of(ours=("quantiles",)), tasks=("10", "20"), paper=("source_only", "krda", "ot"), aside=()
)
FIVE = [0.70, 0.72, 0.71, 0.73, 0.69]


def cell(values, key=("10", "krda"), **options):
    cells = table_cells(PLAN, runs_of(values), **options)
    return cells[(cells.task == key[0]) & (cells.method == key[1])].iloc[0]


@pytest.mark.parametrize("dataset", ["moons", "amazon", "hepmass_sim"])
def test_every_number_goes_back_to_five_accuracies_and_the_published_value(dataset):
    plan = plan_of(dataset, OURS)
    values = random_values(plan, 5)
    cells = table_cells(plan, runs_of(values, dataset))
    assert list(cells.method.unique()) == [*METHODS.values(), *OURS]
    for row in cells.itertuples():
        five = 100 * np.array(values[row.task, row.method])
        half = stats.t.ppf(0.975, 4) * five.std(ddof=1) / np.sqrt(5)
        assert row.mean == pytest.approx(five.mean())
        assert row.ci95 == pytest.approx(half)
        assert row.ci95_nadeau_bengio == pytest.approx(half * math.sqrt(1 + 5 / 9))
        assert row.ci95_shared_rows == pytest.approx(half * math.sqrt(1 + 5 * 9))
        there = published(dataset).get((row.task, row.method))
        assert row.in_paper == (there is not None)
        if there is not None:
            assert row.published_mean == there.mean
            assert row.difference == pytest.approx(five.mean() - there.mean)
        if dataset == "hepmass_sim":
            assert row.verdict in ("other data", "no published value")


def test_a_lost_repetition_is_counted_and_never_looks_finished():
    found = cell({("10", "krda"): [0.9, 0.9, "failed: no luck", 0.9, 0.9]})
    assert (found.n_done, found.n_repetitions, found.complete) == (4, 5, False)
    assert found.verdict == "incomplete"
    assert not found.bold
    # A record that never held all repetitions is incomplete, too; one with more counts them all.
    assert not cell({("10", "krda"): [0.9] * 3}).complete
    assert cell({("10", "krda"): [0.9] * 7}).n_repetitions == 7
    single = cell({("10", "krda"): [0.9]}, repetitions=1)
    assert single.complete
    assert math.isnan(single.ci95)
    nothing = cell({("20", "krda"): FIVE})
    assert (nothing.verdict, nothing.recorded) == ("missing", False)
    assert math.isnan(nothing["mean"])


def test_bold_is_what_overlaps_the_best_complete_competitor():
    values = {
        ("10", "source_only"): [1.0] * 5,  # no competitor
        ("10", "krda"): FIVE,
        ("10", "ot"): [a + 0.01 for a in FIVE],
        ("10", "quantiles"): [0.99, 0.99, 0.99, 0.99, "failed: made up"],
        ("20", "krda"): [0.5] * 5,
        ("20", "ot"): [0.5] * 5,
        ("20", "quantiles"): [0.4] * 5,
    }
    cells = table_cells(PLAN, runs_of(values))
    bold = set(zip(cells.task[cells.bold], cells.method[cells.bold], strict=True))
    assert bold == {("10", "krda"), ("10", "ot"), ("20", "krda"), ("20", "ot")}


def test_suspect_values_are_marked_in_the_order_of_their_anomalies():
    table = Table(plan_of(), runs_of(random_values(plan_of(), 1)))
    cells, marks = table.cells, {anomaly.id: mark for anomaly, mark in table.anomalies}
    assert [mark for mark in marks.values() if mark] == ["a", "b", "c"]
    kmm = cells[cells.method == "kmm"]
    assert kmm.suspect.all()
    assert (kmm.verdict == "published value suspect").all()
    assert all("kmm-moons-chance" in ids for ids in kmm.anomalies)


def test_means_are_over_the_tasks_and_without_those_aside():
    plan = plan_of()
    values = random_values(plan, 4)
    values["40", "ot"][0] = "timeout: 600 s"
    del values["50", "sa"]
    cells = table_cells(plan, runs_of(values))
    means = means_of_table(cells, "without 90°")
    assert list(means) == ["mean", "without 90°"]
    krda = np.array([values[task, "krda"] for task in plan.tasks]) * 100
    row = means["mean"].loc["krda"]
    assert row.ours == pytest.approx(krda.mean())
    half = stats.t.ppf(0.975, 4) * krda.mean(axis=0).std(ddof=1) / np.sqrt(5)
    assert row.ours_ci95 == pytest.approx(half)
    kept = means["without 90°"].ours["krda"]
    assert kept == pytest.approx(krda[:-1].mean())
    assert means["mean"].incomplete["ot"]
    assert math.isnan(means["mean"].ours_ci95["ot"])
    assert means["mean"].n_ours["sa"] == 8
    differences = cells[cells.method == "sa"].difference.dropna()
    assert means["mean"].absolute["sa"] == pytest.approx(differences.abs().mean())


@pytest.mark.parametrize("part", [None, "main", "appendix"])
@pytest.mark.parametrize("dataset", ["moons", "amazon", "hepmass_sim"])
def test_a_table_has_the_papers_cells_and_bold_print(dataset, part):
    plan = plan_of(dataset, OURS)
    if part:
        (plan,) = (one for one in paper_shaped(plan) if one.part == part)
    cells = table_cells(plan, runs_of({}))
    assert cells.in_paper.all() == bool(part)
    found = {
        (row.task, row.method): (row.published_mean, row.published_ci95, row.published_bold)
        for row in cells[cells.in_paper].itertuples()
    }
    assert found == {k: (c.mean, c.ci95, c.bold) for k, c in published(dataset, part).items()}


def test_of_other_data_the_papers_methods_come_first_and_nothing_is_judged():
    plan = replace(plan_of(), dataset="csv", paper=(), ours=("quantiles", "krda", "my_method"))
    cells = table_cells(plan, runs_of(random_values(plan, 2)))
    assert list(cells.method.unique()) == ["krda", "quantiles", "my_method"]
    assert list(cells.in_paper) == [True] * 9 + [False] * 18
    assert set(cells.verdict) == {"no published value"}


def test_the_public_columns_hold_the_accuracies_and_ids():
    cells = table_cells(PLAN, runs_of({("10", "krda"): [1.0, 1 / 3, "failed: x", 0.5]}))
    written = cells_csv(cells)
    assert written.accuracies[2] == "100.0;33.33333333;50.0"
    assert written.n_done[2] == 3
    assert written.anomalies[2].split(";") == list(cells.anomalies[2])
    assert written.anomalies.iloc[-1] == "", "not in the paper"
