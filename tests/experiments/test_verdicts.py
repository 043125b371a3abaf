"""The rule by which a cell counts as a reproduction."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.analysis.statistics import Interval
from experiments.analysis.verdicts import (
    WIDEST,
    Judgement,
    Verdict,
    judge,
    measured_shares,
    tolerance,
)
from experiments.cells.plan import load_table

percent = st.floats(0, 100)
width = st.floats(0, 40)


def test_tolerance_by_hand() -> None:
    # p = (1000 * 0.8 + 2) / 1004; the rest is arithmetic.
    p = 802 / 1004
    expected = math.sqrt(3**2 + 4**2 + 1.96**2 * 2 * p * (1 - p) / 1000 * 100**2)
    assert tolerance(82, 3, 78, 4, 1000) == pytest.approx(expected, abs=1e-3)


def test_tolerance_does_not_vanish_at_perfect_accuracy() -> None:
    # One test row of a thousand, rounded away in print, must not be a failure to reproduce.
    assert tolerance(99.9, 0, 100, 0, 1000) > 0.1
    assert judge(Interval(99.9, 0.0, 5), (100, 0), test_rows=1000).verdict is Verdict.REPRODUCED


def test_the_measured_share_scales_the_variance_over_test_rows_alone() -> None:
    whole, quarter = (tolerance(82, 3, 78, 4, 1000, share) for share in (1.0, 0.25))
    assert quarter**2 - 25 == pytest.approx((whole**2 - 25) / 4)


def test_shares_of_moons_are_measured_and_at_most_one() -> None:
    shares = measured_shares("moons")
    assert {task for task, _ in shares} == set(load_table("moons").tasks)
    assert {method for _, method in shares} == set(load_table("moons").paper)
    assert all(0 <= share <= 1 for share in shares.values())
    # Positions on a lattice: the points themselves vary less than independent ones.
    assert shares["90", "source_only"] < 0.2
    assert measured_shares("amazon") == {}


def test_a_share_is_one_where_no_row_was_ever_wrong(tmp_path: Path) -> None:
    path = tmp_path / "test_rows.csv"
    head = "dataset,task,method,fits,draws,test_rows,accuracy,variance\n"
    path.write_text(f"{head}moons,10,krda,2,60,1000,100,0\nmoons,50,krda,2,60,1000,80,0.4\n")
    assert measured_shares("moons", path) == {
        ("10", "krda"): 1.0,
        ("50", "krda"): pytest.approx(0.25),
    }
    assert measured_shares("moons", tmp_path / "none.csv") == {}


@given(percent, width, percent, width)
def test_tolerance_is_at_least_each_half_width_and_symmetric(
    ours: float, half: float, theirs: float, their_half: float
) -> None:
    allowed = tolerance(ours, half, theirs, their_half, 1000)
    assert allowed > max(half, their_half)
    assert allowed == pytest.approx(tolerance(theirs, their_half, ours, half, 1000))


def test_two_scores_of_one_classifier_on_new_test_rows_agree_in_95_percent() -> None:
    generator = np.random.default_rng(0)
    hits = 100 * generator.binomial(1000, 0.8, size=(4000, 2)) / 1000
    verdicts = [judge(Interval(a, 0.0, 5), (b, 0.0), test_rows=1000).verdict for a, b in hits]
    share = verdicts.count(Verdict.REPRODUCED) / len(verdicts)
    assert share == pytest.approx(0.95, abs=0.015)


@given(percent, width, percent, width)
def test_verdict_follows_from_difference_and_tolerance(
    ours: float, half: float, theirs: float, their_half: float
) -> None:
    verdict, difference, allowed = judge(
        Interval(ours, half, 5), (theirs, their_half), test_rows=1000
    )
    assert allowed == tolerance(ours, half, theirs, their_half, 1000)
    assert difference == ours - theirs
    if difference > allowed:
        assert verdict is Verdict.BETTER
    elif difference < -allowed:
        assert verdict is Verdict.WORSE
    elif allowed > WIDEST:
        assert verdict is Verdict.UNDECIDED
    else:
        assert verdict is Verdict.REPRODUCED


def test_agreement_within_a_huge_interval_is_no_reproduction() -> None:
    # KMM at 40 degrees is printed as 53.4 +- 27.3.
    judgement = judge(Interval(60, 1.0, 5), (53.4, 27.3), test_rows=1000)
    assert judgement.verdict is Verdict.UNDECIDED


OURS, THEIRS = Interval(80.0, 1.0, 5), (80.0, 1.0)


@pytest.mark.parametrize(
    ("ours", "theirs", "flags", "expected"),
    [
        (OURS, THEIRS, {}, Verdict.REPRODUCED),
        (OURS, None, {"complete": False, "suspect": True}, Verdict.NO_PUBLISHED),
        (None, None, {"recorded": False, "complete": False}, Verdict.NO_PUBLISHED),
        (None, THEIRS, {"recorded": False, "complete": False}, Verdict.MISSING),
        (None, THEIRS, {"recorded": True, "complete": False}, Verdict.INCOMPLETE),
        (OURS, THEIRS, {"complete": False, "suspect": True}, Verdict.INCOMPLETE),
        (OURS, THEIRS, {"comparable": False, "suspect": True}, Verdict.NOT_COMPARABLE),
        (OURS, THEIRS, {"suspect": True}, Verdict.SUSPECT),
        (Interval(20.0, 1.0, 5), THEIRS, {"suspect": True}, Verdict.SUSPECT),
        (Interval(80.0, None, 1), THEIRS, {}, Verdict.UNDECIDED),
    ],
)
def test_what_decides_first(
    ours: Interval | None,
    theirs: tuple[float, float] | None,
    flags: dict[str, bool],
    expected: Verdict,
) -> None:
    judgement = judge(ours, theirs, test_rows=1000, **flags)
    assert judgement.verdict is expected
    assert (judgement.tolerance is None) == (expected is not Verdict.REPRODUCED)
    has_both = ours is not None and theirs is not None
    assert (judgement.difference is not None) == has_both


def test_judgement_without_numbers() -> None:
    missing = judge(None, THEIRS, recorded=False, complete=False, test_rows=1000)
    assert missing == Judgement(Verdict.MISSING, None, None)
