"""Claims about few training rows, by made-up records of the learning curve and by hand."""

from __future__ import annotations

import pytest
from record_factory import failed, make_record

from experiments.analysis.paper_claims import (
    CLAIMS,
    COMPETITORS,
    CheckedClaim,
    ClaimVerdict,
    check_claims,
    curve_side,
    published_curve_side,
)
from experiments.cells.curves import load_curve
from experiments.published import published
from experiments.store.records import Record

HOLDS, FAILS, UNCHECKED = ClaimVerdict.HOLDS, ClaimVerdict.FAILS, ClaimVerdict.UNCHECKED
UNDECIDED = ClaimVerdict.UNDECIDED
CURVE = load_curve("moons_rows")
SIZES = tuple(map(str, CURVE.values))
METHODS = ("krda", *COMPETITORS)
ON_CURVES = [claim.id for claim in CLAIMS if claim.curve]

Records = dict[tuple[str, str], Record]


def records_of(means: dict[str, list[float]], spreads: dict[str, float]) -> Records:
    """Five accuracies around a mean for each size and method; others lie at 0.6, spread 0.02."""
    records = {}
    for method in METHODS:
        own = means.get(method, [0.6] * len(SIZES))
        spread = spreads.get(method, 0.02)
        for size, mean in zip(SIZES, own, strict=True):
            accuracies = [mean + spread * step for step in (-1, -0.5, 0, 0.5, 1)]
            records[size, method] = make_record("moons", "40", method, *accuracies)
    return records


def check(records: Records) -> dict[str, CheckedClaim]:
    side = curve_side(CURVE, lambda size, method: records.get((size, method)))
    return {c.claim.id: c for c in check_claims([], {CURVE.name: (CURVE, side)}) if c.claim.curve}


def verdict(records: Records, claim: str) -> ClaimVerdict:
    return check(records)[claim].ours.verdict


def test_the_curve_has_every_method_that_the_claims_need() -> None:
    assert set(METHODS) <= set(CURVE.methods)
    assert ON_CURVES == ["low-data", "stable-over-sizes", "few-samples"]


@pytest.mark.parametrize(
    ("means", "spreads", "expected"),
    [
        ([0.9] * 5, {"krda": 0.01}, HOLDS),
        # What happens with more rows does not count.
        ([0.9, 0.9, 0.5, 0.5, 0.5], {"krda": 0.01}, HOLDS),
        # Behind at one of the two smallest.
        ([0.9, 0.5, 0.9, 0.9, 0.9], {"krda": 0.01}, FAILS),
        # Best, but another one is narrower; equally narrow is not narrower.
        ([0.9] * 5, {"krda": 0.01, "ot": 0.009}, FAILS),
        ([0.9] * 5, {"krda": 0.01, "ot": 0.01}, HOLDS),
        # Tied with the best, for the intervals overlap.
        ([0.59] * 5, {}, HOLDS),
    ],
)
def test_low_data_asks_for_the_best_and_the_narrowest_at_the_smaller_sizes(
    means: list[float], spreads: dict[str, float], expected: ClaimVerdict
) -> None:
    assert verdict(records_of({"krda": means}, spreads), "low-data") is expected


def test_low_data_tells_its_numbers_and_who_is_narrower() -> None:
    found = check(records_of({"krda": [0.9] * 5}, {"krda": 0.01, "ot": 0.0}))["low-data"]
    # 1.242 s, s of one point times (-1, -0.5, 0, 0.5, 1)
    assert found.ours.numbers == (
        "with 200 or 400 rows a domain KRDA is best or tied at 2 of 2 sizes (mean 90.0, the best "
        f"other {' / '.join(label for label in labels())} with 60.0); its interval is ± 1.0, "
        "narrower: OT ± 0.0 around 60.0"
    )
    assert found.title == CURVE.title


def labels() -> list[str]:
    side = curve_side(CURVE, lambda size, method: None)
    return [side.labels[method] for method in COMPETITORS]


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [
        ([0.9, 0.9, 0.9, 0.9, 0.91], [0.5, 0.5, 0.5, 0.5, 0.52], HOLDS),
        ([0.9, 0.9, 0.9, 0.9, 0.91], [0.5, 0.5, 0.5, 0.5, 0.505], FAILS),
        ([0.9, 0.9, 0.92, 0.9, 0.9], [0.5, 0.51, 0.5, 0.5, 0.5], FAILS),
    ],
)
def test_stable_over_sizes_compares_highest_and_lowest_mean(
    own: list[float], other: list[float], expected: ClaimVerdict
) -> None:
    rising = {method: [0.2, 0.3, 0.4, 0.5, 0.6] for method in COMPETITORS}
    assert (
        verdict(records_of(rising | {"krda": own, "sa": other}, {}), "stable-over-sizes")
        is expected
    )


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ([0.9, 0.9, 0.6, 0.6, 0.6], HOLDS),
        ([0.6, 0.6, 0.6, 0.9, 0.9], FAILS),
        # As often: nothing is clear. The size in the middle is in no half.
        ([0.9, 0.9, 0.6, 0.9, 0.9], UNDECIDED),
        ([0.6, 0.6, 0.9, 0.6, 0.6], UNDECIDED),
        ([0.9, 0.6, 0.9, 0.6, 0.6], HOLDS),
    ],
)
def test_few_samples_counts_clear_wins_in_both_halves(
    means: list[float], expected: ClaimVerdict
) -> None:
    assert verdict(records_of({"krda": means}, {}), "few-samples") is expected


@pytest.mark.parametrize(
    ("n_fewer", "n_more", "expected"),
    [
        # p: 2 / 2^6 = 0.03 and 2 / 2^5 = 0.06; 8 of 9 give 0.04, 7 of 8 give 0.07.
        (6, 0, HOLDS),
        (0, 6, FAILS),
        (5, 0, UNDECIDED),
        (8, 1, HOLDS),
        (7, 1, UNDECIDED),
        (1, 0, UNDECIDED),
    ],
)
def test_few_samples_is_undecided_where_the_halves_differ_by_what_chance_may_do(
    n_fewer: int, n_more: int, expected: ClaimVerdict
) -> None:
    # KRDA lies at 0.9 throughout; a method at 0.9 is tied with it, one at 0.6 is clearly below.
    means = {"krda": [0.9] * 5}
    for number, method in enumerate(COMPETITORS):
        fewer, more = number < n_fewer, n_fewer <= number < n_fewer + n_more
        means[method] = [0.6 if fewer else 0.9, 0.9, 0.9, 0.6 if more else 0.9, 0.9]
    found = check(records_of(means, {}))["few-samples"].ours
    assert found.verdict is expected
    assert f"in {n_fewer} with the fewer alone, in {n_more} with the more alone" in found.numbers


@pytest.mark.parametrize("claim", ON_CURVES)
def test_a_record_that_is_missing_or_not_complete_decides_nothing(claim: str) -> None:
    records = records_of({}, {})
    assert verdict(records, claim) is not UNCHECKED
    for method in METHODS:
        key = ("1000", method)
        for less in (
            records | {key: failed(records[key])},
            {other: record for other, record in records.items() if other != key},
        ):
            found = check(less)[claim].ours
            assert found.verdict is UNCHECKED
            assert "not complete" in found.numbers


def test_the_papers_side_is_its_table_at_300_rows_or_none() -> None:
    cells = published("moons")
    side = published_curve_side(CURVE)
    assert side.tasks == ("300",)
    for method in METHODS:
        assert side.mean("300", method) == cells["40", method].mean
        assert side.half_width(method) == cells["40", method].ci95
    found = {c.claim.id: c for c in check_claims([]) if c.claim.curve}
    own = cells["40", "krda"]
    narrower = [m for m in COMPETITORS if cells["40", m].ci95 < own.ci95]
    best = all(own.mean >= cells["40", m].mean for m in COMPETITORS)
    assert best
    assert (found["low-data"].published.verdict is HOLDS) == (not narrower)
    for claim in ("stable-over-sizes", "few-samples"):
        assert found[claim].published.verdict is UNCHECKED
        assert "prints no numbers" in found[claim].published.numbers


def test_without_a_curve_of_ours_nothing_is_said_of_ours() -> None:
    for found in check_claims([]):
        if found.claim.curve:
            assert found.ours.verdict is UNCHECKED
            assert found.ours.numbers == "no learning curve of ours"
