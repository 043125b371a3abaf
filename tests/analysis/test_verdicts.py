"""The rule by which a cell counts as a reproduction."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import OURS as OURS_METHODS
from made_up import plan_of, random_values, runs_of

from experiments.analysis.cells import table_cells
from experiments.analysis.verdicts import (
    WIDEST,
    Verdict,
    judge,
    measured_shares,
    placebo,
    tolerance,
    worth,
)
from experiments.cells.plan import load_table
from experiments.published import METHODS, published

percent = st.floats(0, 100)
width = st.floats(0, 40)


def cells_with(ours, theirs, **flags):
    """Cells with two means and their half-widths."""
    usual = {"recorded": True, "complete": True, "comparable": True, "suspect": False}
    columns = {
        "mean": ours[0], "ci95": ours[1], "published_mean": theirs[0], "published_ci95": theirs[1],
        "test_rows": 1000, "test_share": 1.0, **usual | flags,
    }  # fmt: skip
    n = np.size(ours[0])
    return pd.DataFrame({name: np.broadcast_to(value, n) for name, value in columns.items()})


def judged(ours, theirs, **flags):
    """The rule on one cell: verdict, difference, tolerance."""
    return tuple(judge(cells_with(ours, theirs, **flags)).iloc[0])


def test_tolerance_by_hand():
    # p = (1000 * 0.8 + 2) / 1004; the rest is arithmetic.
    p = 802 / 1004
    expected = math.sqrt(3**2 + 4**2 + 1.96**2 * 2 * p * (1 - p) / 1000 * 100**2)
    assert tolerance(cells_with((82, 3), (78, 4)))[0] == pytest.approx(expected, abs=1e-3)
    # The measured share scales the variance over the test rows alone.
    quarter = tolerance(cells_with((82, 3), (78, 4), test_share=0.25))[0]
    assert quarter**2 - 25 == pytest.approx((expected**2 - 25) / 4, rel=1e-4)


def test_tolerance_does_not_vanish_at_perfect_accuracy():
    # One test row of a thousand, rounded away in print, must not be a failure to reproduce.
    assert judged((99.9, 0), (100, 0))[0] == Verdict.REPRODUCED


def test_shares_of_moons_are_measured_and_at_most_one(tmp_path):
    shares = measured_shares("moons")
    assert {task for task, _ in shares} == set(load_table("moons").tasks)
    assert {method for _, method in shares} == set(load_table("moons").paper)
    assert all(0 <= share <= 1 for share in shares.values())
    # Positions on a lattice: the points themselves vary less than independent ones.
    assert shares["90", "source_only"] < 0.2
    assert measured_shares("amazon") == measured_shares("moons", tmp_path / "none.csv") == {}
    path = tmp_path / "test_rows.csv"
    head = "dataset,task,method,fits,draws,test_rows,accuracy,variance\n"
    path.write_text(f"{head}moons,10,krda,2,60,1000,100,0\nmoons,50,krda,2,60,1000,80,0.4\n")
    assert measured_shares("moons", path) == {
        ("10", "krda"): 1.0,  # no row was ever wrong
        ("50", "krda"): pytest.approx(0.25),
    }


@settings(max_examples=100)
@given(percent, width, percent, width)
def test_verdict_follows_from_difference_and_tolerance(ours, half, theirs, their_half):
    verdict, difference, allowed = judged((ours, half), (theirs, their_half))
    assert allowed > max(half, their_half)
    assert allowed == pytest.approx(judged((theirs, their_half), (ours, half))[2])
    assert difference == ours - theirs
    if difference > allowed:
        assert verdict == Verdict.BETTER
    elif difference < -allowed:
        assert verdict == Verdict.WORSE
    else:
        # Agreement within a huge interval is no reproduction.
        assert verdict == (Verdict.UNDECIDED if allowed > WIDEST else Verdict.REPRODUCED)


def test_two_scores_of_one_classifier_on_new_test_rows_agree_in_95_percent():
    generator = np.random.default_rng(0)
    hits = 100 * generator.binomial(1000, 0.8, size=(4000, 2)) / 1000
    cells = cells_with((hits[:, 0], 0.0), (hits[:, 1], 0.0))
    share = (judge(cells).verdict == Verdict.REPRODUCED).mean()
    assert share == pytest.approx(0.95, abs=0.015)


OURS, THEIRS, NONE = (80.0, 1.0), (80.0, 1.0), (math.nan, math.nan)


@pytest.mark.parametrize(
    ("ours", "theirs", "flags", "expected"),
    [
        (OURS, THEIRS, {}, Verdict.REPRODUCED),
        (OURS, NONE, {"complete": False, "suspect": True}, Verdict.NO_PUBLISHED),
        (NONE, NONE, {"recorded": False, "complete": False}, Verdict.NO_PUBLISHED),
        (NONE, THEIRS, {"recorded": False, "complete": False}, Verdict.MISSING),
        (NONE, THEIRS, {"recorded": True, "complete": False}, Verdict.INCOMPLETE),
        (OURS, THEIRS, {"complete": False, "suspect": True}, Verdict.INCOMPLETE),
        (OURS, THEIRS, {"comparable": False, "suspect": True}, Verdict.NOT_COMPARABLE),
        (OURS, THEIRS, {"suspect": True}, Verdict.SUSPECT),
        ((80.0, math.nan), THEIRS, {}, Verdict.UNDECIDED),
    ],
)
def test_what_decides_first(ours, theirs, flags, expected):
    verdict, difference, allowed = judged(ours, theirs, **flags)
    assert verdict == expected
    assert math.isnan(allowed) == (expected is not Verdict.REPRODUCED)
    assert math.isnan(difference) == (NONE in (ours, theirs))


def cells_of(values, plan=None):
    return table_cells(plan or plan_of(), runs_of(values))


def reproducing(plan, methods):
    """Ours equal to the published means."""
    printed = published(plan.dataset)
    return {(t, m): [printed[t, m].mean / 100] * 5 for m in methods for t in plan.tasks}


def test_placebo_counts_are_the_rule_applied_to_each_row_and_column():
    plan = plan_of(ours=OURS_METHODS)
    cells = cells_of(random_values(plan, 3), plan)
    found = placebo(cells)
    by_key = cells.set_index(["method", "task"])
    for row in found.sample(40, random_state=0).itertuples():
        ours, theirs = by_key.loc[row.row].copy(), by_key.loc[row.published_column]
        theirs = theirs[~theirs.suspect]
        pair = theirs.assign(mean=ours["mean"], ci95=ours.ci95)
        allowed = tolerance(pair)
        inside = (pair["mean"] - theirs.published_mean).abs() <= allowed
        assert row.cells == len(theirs)
        assert row.within_tolerance == inside.sum()
        assert row.reproduced == (inside & (allowed <= WIDEST)).sum()


def test_own_counts_of_the_placebo_are_the_tables_verdicts():
    cells = cells_of(reproducing(plan_of(), METHODS.values()))
    found = placebo(cells)
    own = found[found.row == found.published_column].set_index("row").reproduced
    counts = (cells.verdict == "reproduced").groupby(cells.method).sum()
    assert own.to_dict() == {method: counts[method] for method in own.index}
    # Columns whose values are all suspect judge nobody.
    assert set(METHODS.values()) - set(own.index) == {"sa", "kmm", "dan"}


def test_a_column_is_telling_if_its_own_row_alone_passes():
    plan = plan_of("amazon")
    near = worth(placebo(cells_of(reproducing(plan, METHODS.values()), plan)))
    assert near.telling["krda"] == "not telling"  # Amazon's columns are within the tolerance
    values = reproducing(plan_of(), METHODS.values())
    values |= {(task, "shot"): [0.99] * 5 for task in plan_of().tasks}
    moons = worth(placebo(cells_of(values)))
    assert moons.telling["krda"] == "telling"
    assert moons.telling["shot"] == "nothing reproduced"


def test_incomplete_rows_and_simulated_data_have_no_placebo():
    values = reproducing(plan_of(), METHODS.values())
    values["40", "ot"] = [0.9] * 4 + ["failed: made up"]
    found = placebo(cells_of(values))
    assert "ot" not in {*found.row, *found.published_column}
    simulated = plan_of("hepmass_sim")
    assert placebo(cells_of(random_values(simulated, 1), simulated)).empty
