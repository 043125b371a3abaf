"""The paper's claims on its own numbers, on made-up ones, and on unfinished ones."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from made_up import OURS, plan_of, runs_of

from experiments.analysis import judges
from experiments.analysis.cells import summarise
from experiments.analysis.claims import check_claims, claims
from experiments.analysis.sides import COMPETITORS, published_side, side_of, timed_side
from experiments.analysis.table import Table
from experiments.catalogue import method_label
from experiments.cells.plan import load_curve
from experiments.published import DATASETS, published

CURVE = load_curve("moons_rows")


def judged(values, dataset="moons", ours=OURS, curve=None):
    """Verdicts by claim and side of one table, and of a learning curve."""
    table = Table(plan_of(dataset, ours), runs_of(values, dataset))
    curves = {}
    if curve is not None:
        keys = [(str(rows), method) for rows in CURVE.values for method in CURVE.methods]
        own = summarise(runs_of(curve), keys, 5)
        curves = {"moons_rows": (CURVE, own.assign(label=own.method.map(method_label)))}
    found = check_claims([table], curves, timed_side())
    return found[found.title.isin(["", table.plan.title, CURVE.title])].set_index(
        ["claim", "judged_on"]
    )


def constant(plan, by_method, default=0.5):
    return {(t, m): [by_method.get(m, default)] * 5 for m in plan.methods for t in plan.tasks}


def test_every_claim_has_words_a_place_and_a_judge_with_a_criterion_or_a_reason():
    assert len({claim.id for claim in claims()}) == len(claims()) == 13
    for claim in claims():
        assert claim.quote
        assert claim.where
        assert (hasattr(judges, claim.judge) and claim.criterion) or (
            not claim.judge and claim.why_not
        )
        assert "{" not in claim.criterion


@pytest.mark.parametrize("dataset", DATASETS)
def test_counts_of_best_or_tied_in_exact_arithmetic(dataset):
    cells = published(dataset)
    methods = [*COMPETITORS, "krda"]
    counts = dict.fromkeys(methods, 0)
    for task in dict.fromkeys(task for task, _ in cells):
        ends = {}
        for m in methods:
            mean, half = (Fraction(str(v)) for v in cells[task, m][:2])
            ends[m] = mean - half, mean, mean + half
        best = max(mean for _, mean, _ in ends.values())
        leaders = [end for end in ends.values() if end[1] == best]
        for m, (low, _, high) in ends.items():
            counts[m] += any(low <= end[2] and end[0] <= high for end in leaders)
    assert published_side(dataset).best_or_tied().to_dict() == counts


def test_verdicts_on_the_papers_own_numbers():
    found = judged({})
    expected = {
        "state-of-the-art": "holds", "others-underperform": "holds", "regularisation": "holds",
        "column-order": "cannot be checked", "high-dimension": "cannot be checked",
        "optimistic-baseline": "holds", "difficulty": "holds", "often-outperforming": "holds",
    }  # fmt: skip
    for claim, verdict in expected.items():
        assert found.verdict[claim, "published"] == verdict, claim


def test_a_perfect_krda_holds_and_the_worst_does_not():
    names = ["state-of-the-art", "others-underperform", "regularisation", "often-outperforming"]
    for accuracy, verdict in ((1.0, "holds"), (0.1, "does not hold")):
        values = constant(plan_of(ours=OURS), {"krda": accuracy, "target_only": 1.0})
        assert {judged(values).verdict[name, "ours"] for name in names} == {verdict}


def test_a_better_row_that_the_paper_lacks_counts_in_the_second_judgement_alone():
    ours = ("quantiles", "ot_linear")
    plan = plan_of(ours=ours)
    found = judged(constant(plan, {"krda": 0.9, "quantiles": 0.95, "target_only": 1.0}), ours=ours)
    assert found.verdict["state-of-the-art", "ours"] == "holds"
    assert found.verdict["state-of-the-art", "all"] == "does not hold"
    assert "Column quantiles" in found.numbers["state-of-the-art", "all"]
    assert found.verdict["regularisation", "all"] == "holds"
    values = constant(plan, {"krda": 0.9, "ot_linear": 0.95, "target_only": 1.0})
    better = judged(values, ours=ours)
    assert better.verdict["regularisation", "ours"] == "holds"
    assert better.verdict["regularisation", "all"] == "does not hold"
    # A table of the paper's methods alone is judged once.
    once = judged(constant(plan_of(), {"krda": 0.9}), ours=())
    assert "all" not in once.index.get_level_values("judged_on")


def test_an_unfinished_cell_does_not_count_and_if_it_is_needed_decides_nothing():
    values = constant(plan_of(ours=OURS), {"quantiles": 1.0, "target_only": 1.0, "krda": 0.9})
    values["40", "quantiles"] = [1.0] * 4 + ["failed: made up"]
    found = judged(values)
    assert found.verdict["state-of-the-art", "all"] == "holds"
    assert "Column quantiles" in found.numbers["state-of-the-art", "all"]
    values["40", "jan"][0] = "diverged: NaN"
    found = judged(values)
    for claim in ("state-of-the-art", "others-underperform", "optimistic-baseline"):
        assert found.verdict[claim, "ours"] == "cannot be checked"
        assert "JAN" in found.numbers[claim, "ours"]


@pytest.mark.parametrize(
    ("difference", "wide", "verdict"),
    [
        (0.3, 0.0, "does not hold"),  # surely large
        (0.0, 0.001, "holds"),  # surely small, intervals overlap
        (0.005, 0.0, "undecided"),  # clear but small
        (0.0, 0.2, "undecided"),  # too wide to say
    ],
)
def test_the_order_of_columns_is_judged_by_the_size_of_the_difference(difference, wide, verdict):
    spread = 0.5 + np.array([-1, -0.5, 0, 0.5, 1]) * wide
    values = constant(plan_of(ours=OURS), {})
    for task in plan_of().tasks:
        values[task, "krda"] = spread.tolist()
        values[task, "krda_reversed"] = (spread + difference).tolist()
    assert judged(values).verdict["column-order", "ours"] == verdict


def test_difficulty_names_where_source_only_rises():
    values = constant(plan_of(ours=OURS), {})
    values["50", "source_only"] = [0.9] * 5
    found = judged(values)
    assert found.verdict["difficulty", "ours"] == "does not hold"
    assert "50 above 40" in found.numbers["difficulty", "ours"]


def test_verdicts_on_simulated_data_name_what_they_stand_in_for():
    found = judged(constant(plan_of("hepmass_sim", OURS), {"krda": 0.9}), "hepmass_sim")
    assert found.stands_in_for["state-of-the-art", "ours"] == "hepmass"


def curve(by_method=None, by_rows=None):
    """Accuracies of the learning curve: constant, but of some methods or numbers of rows."""
    found = {
        (rows, m): (by_method or {}).get(m, 0.5) for rows in CURVE.values for m in CURVE.methods
    }
    return {(str(rows), m): [value] * 5 for (rows, m), value in (found | (by_rows or {})).items()}


WIDE_AT_200 = {("200", "krda"): [0.9, 0.8, 0.9, 1.0, 0.9]}


@pytest.mark.parametrize(
    ("claim", "values", "verdict"),
    [
        ("low-data", curve({"krda": 0.9}), "holds"),
        ("low-data", curve({"krda": 0.4}), "does not hold"),
        # The larger half of the sizes does not count.
        ("low-data", curve({"krda": 0.9}, {(1000, "krda"): 0.1}), "holds"),
        ("low-data", curve({"krda": 0.9}) | WIDE_AT_200, "does not hold"),
        ("stable-over-sizes", curve(by_rows={(200, "krda"): 0.4}), "does not hold"),
        ("stable-over-sizes", curve(), "holds"),
        ("few-samples", curve(by_rows={(n, "krda"): 0.9 for n in (200, 400)}), "holds"),
        ("few-samples", curve(by_rows={(n, "krda"): 0.9 for n in (800, 1000)}), "does not hold"),
        ("few-samples", curve({"krda": 0.9}), "undecided"),
        ("few-samples", curve() | {("200", "ot"): ["failed: made up"]}, "cannot be checked"),
    ],
)
def test_claims_about_few_rows_are_judged_on_the_learning_curve(claim, values, verdict):
    assert judged({}, curve=values).verdict[claim, "ours"] == verdict


@pytest.mark.parametrize(
    ("fit", "transform", "verdict"),
    [((1, 2, 3), (1, 10, 100), "holds"), ((1, 2, 3), (1, 100, 10000), "does not hold"),
     ((1, 100, 10000), (1, 10, 100), "does not hold"), ((1, 2, None), (1, 10, 100), None)],
)  # fmt: skip
def test_cost_is_linear_by_the_slopes_of_the_benchmarks_file(tmp_path, fit, transform, verdict):
    rows = [
        (case, 27, n, 1, "done", seconds, 3)
        for case, times in (("KRDA.fit", fit), ("KRDA.transform", transform))
        for n, seconds in zip((10_000, 100_000, 1_000_000), times, strict=True)
        if seconds is not None
    ]
    columns = ["case", "d", "n", "threads", "status", "seconds", "repetitions"]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "scale.csv", index=False)
    found = check_claims([], {}, timed_side(tmp_path / "scale.csv"))
    found = found.set_index(["claim", "judged_on"])
    assert found.verdict["linear-cost", "ours"] == (verdict or "cannot be checked")
    assert timed_side(tmp_path / "none.csv").missing(["KRDA.fit"]) == ["fit"]


def test_touching_intervals_overlap_in_spite_of_rounding():
    rows = [("a", "krda", 0.1 + 0.2, 0.0), ("a", "ot", 0.2, 0.1)]
    cells = pd.DataFrame(rows, columns=["task", "method", "mean", "ci95"])
    side = side_of(cells.assign(complete=True, label=cells.method))
    assert side.lead()["ot"].eq(0).all()
