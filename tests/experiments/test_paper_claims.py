"""Claims: both sides by hand, unfinished cells decide nothing, simulated data judge nobody."""

from __future__ import annotations

import itertools
from decimal import Decimal

import numpy as np
import pytest
from record_factory import failed, make_record, random_records
from table_plans import ADDITIONS, spec_of

from experiments.paper_claims import (
    CLAIMS,
    COMPETITORS,
    CheckedClaim,
    ClaimVerdict,
    Side,
    best_or_tied,
    check_claims,
    claims_markdown,
    our_side,
    published_side,
)
from experiments.published import DATASETS, published_rows
from experiments.records import Record
from experiments.statistics import Interval, mean_and_interval
from experiments.tables.model import Table, build_table


def table_of(dataset: str, records: dict[tuple[str, str], Record]) -> Table:
    spec = spec_of(dataset, ADDITIONS)
    return build_table(spec, lambda task, method: records.get((task, method)))


def random_table(dataset: str, seed: int) -> Table:
    return table_of(dataset, random_records(spec_of(dataset, ADDITIONS), seed))


def find(claims: tuple[CheckedClaim, ...], name: str, dataset: str) -> CheckedClaim:
    (found,) = [c for c in claims if c.claim.id == name and c.dataset == dataset]
    return found


class TestPublishedSide:
    def test_krda_is_best_or_tied_on_all_nine_moons_tasks(self) -> None:
        assert best_or_tied(published_side("moons"), "krda") == 9

    @pytest.mark.parametrize("dataset", DATASETS)
    def test_counts_of_best_or_tied_in_exact_arithmetic(self, dataset: str) -> None:
        cells = {(r.task, r.method): r for r in published_rows(dataset)}
        side = published_side(dataset)
        for method in ("krda", *COMPETITORS):
            count = 0
            for task in side.tasks:
                rivals = {m: cells[task, m] for m in ("krda", *COMPETITORS)}
                top = max(cell.mean for cell in rivals.values())
                own = rivals[method]
                count += any(
                    abs(own.mean - best.mean) <= own.ci95 + best.ci95
                    for best in rivals.values() if best.mean == top
                )  # fmt: skip
            assert best_or_tied(side, method) == count

    def test_touching_intervals_overlap_in_spite_of_rounding(self) -> None:
        # 75.3 + 0.1 and 75.5 - 0.1 differ in binary.
        cells = {("t", "krda"): Interval(75.3, 0.1, 5), ("t", "ot"): Interval(75.5, 0.1, 5)}
        side = Side(("t",), cells, {})
        assert side.overlap("t", "krda", "ot")
        assert Decimal("75.3") + Decimal("0.1") == Decimal("75.5") - Decimal("0.1")

    def test_verdicts_on_the_papers_own_numbers(self) -> None:
        claims = check_claims([])
        verdicts = {(c.claim.id, c.dataset): c.published.verdict for c in claims}
        assert verdicts["state-of-the-art", "moons"] is ClaimVerdict.HOLDS
        assert verdicts["similar-often-better", "hepmass"] is ClaimVerdict.HOLDS
        # SHOT's mean over the tasks of HEPMASS is above KRDA's; SA's, OT's and SHOT's on Amazon.
        for dataset in ("hepmass", "amazon"):
            cells = {(r.task, r.method): float(r.mean) for r in published_rows(dataset)}
            means = {
                m: np.mean([mean for (_, method), mean in cells.items() if method == m])
                for m in ("krda", *COMPETITORS)
            }
            assert max(means, key=lambda m: means[m]) != "krda"
            assert verdicts["others-underperform", dataset] is ClaimVerdict.FAILS
        assert verdicts["column-order", "moons"] is ClaimVerdict.UNCHECKED


class TestOurSide:
    def test_numbers_go_back_to_five_accuracies(self) -> None:
        spec = spec_of("moons", ADDITIONS)
        records = random_records(spec, 3)
        found = find(check_claims([table_of("moons", records)]), "often-outperforming", "moons")
        above = below = 0
        for task, method in itertools.product(spec.tasks, COMPETITORS):
            own = mean_and_interval([100 * a for a in records[task.name, "krda"].accuracies])
            other = mean_and_interval([100 * a for a in records[task.name, method].accuracies])
            above += own.low > other.high
            below += own.high < other.low
        assert f"above in {above}, wholly below in {below}," in found.ours.numbers
        assert (found.ours.verdict is ClaimVerdict.HOLDS) == (above > below)

    @pytest.mark.parametrize(
        "claim", [c for c in CLAIMS if c.check and not c.curve], ids=lambda c: c.id
    )
    def test_unfinished_cell_that_is_needed_decides_nothing(self, claim) -> None:  # type: ignore[no-untyped-def]
        dataset = claim.datasets[0].replace("hepmass", "hepmass_sim")
        records = random_records(spec_of(dataset, ADDITIONS), 4)
        assert find(
            check_claims([table_of(dataset, records)]), claim.id, dataset
        ).ours.verdict is not ClaimVerdict.UNCHECKED  # fmt: skip
        task = spec_of(dataset).tasks[-1].name
        for method in claim.needs:
            for less in (records | {(task, method): failed(records[task, method])}, {
                key: record for key, record in records.items() if key != (task, method)
            }):  # fmt: skip
                found = find(check_claims([table_of(dataset, less)]), claim.id, dataset)
                assert found.ours.verdict is ClaimVerdict.UNCHECKED
                assert "not complete" in found.ours.numbers

    def test_perfect_krda_holds_and_worst_krda_does_not(self) -> None:
        spec = spec_of("amazon", ADDITIONS)
        for own, expected in ((0.99, ClaimVerdict.HOLDS), (0.3, ClaimVerdict.FAILS)):
            records = {
                (t.name, m.name): make_record(
                    "amazon", t.name, m.name, *([own] if m.name == "krda" else [0.6]) * 5
                )
                for t in spec.tasks for m in spec.methods
            }  # fmt: skip
            claims = check_claims([table_of("amazon", records)])
            for name in (
                "state-of-the-art", "others-underperform", "regularisation", "often-outperforming",
            ):  # fmt: skip
                assert find(claims, name, "amazon").ours.verdict is expected

    def test_order_claim_fails_where_reversed_columns_lie_apart(self) -> None:
        records = random_records(spec_of("moons", ADDITIONS), 5)
        for task in spec_of("moons").tasks:
            for method, value in (("krda", 0.9), ("krda_reversed", 0.5), ("krda_random", 0.7)):
                records[task.name, method] = make_record(
                    "moons", task.name, method, *[value] * 5
                )  # fmt: skip
        found = find(check_claims([table_of("moons", records)]), "column-order", "moons")
        assert found.ours.verdict is ClaimVerdict.FAILS
        assert "overlaps on 0 of 9 tasks" in found.ours.numbers
        assert "90.0 as given, 50.0 reversed" in found.ours.numbers

    def test_difficulty_names_where_source_only_rises(self) -> None:
        records = random_records(spec_of("moons"), 6)
        for i, task in enumerate(spec_of("moons").tasks):
            value = 0.9 - 0.05 * i + (0.2 if task.name == "50" else 0)
            records[task.name, "source_only"] = make_record(
                "moons", task.name, "source_only", *[value] * 5
            )  # fmt: skip
        found = find(check_claims([table_of("moons", records)]), "difficulty", "moons")
        assert found.ours.verdict is ClaimVerdict.FAILS
        assert found.ours.numbers.endswith("but rises: 50 above 40")

    def test_complete_cells_alone_count(self) -> None:
        records = random_records(spec_of("moons"), 7)
        records["40", "ot"] = failed(records["40", "ot"])
        assert ("40", "ot") not in our_side(table_of("moons", records)).intervals


class TestPage:
    def test_simulated_data_are_for_orientation(self) -> None:
        claims = check_claims([random_table("hepmass_sim", 8)])
        found = find(claims, "similar-often-better", "hepmass_sim")
        assert found.stands_in_for == "hepmass"
        assert found.published == find(check_claims([]), found.claim.id, "hepmass").published
        text = claims_markdown(claims)
        rows = [
            line for line in text.splitlines()
            if line.startswith("| `") and "simulated" in line.split("|")[2]
        ]  # fmt: skip
        assert len(rows) > 5
        for row in rows:
            assert "for orientation (simulated)" in row or "cannot be checked" in row

    def test_every_claim_is_quoted_with_its_place_and_numbers(self) -> None:
        claims = check_claims([random_table(d, 9) for d in ("moons", "amazon", "hepmass_sim")])
        text = claims_markdown(claims)
        for claim in CLAIMS:
            assert f"## {claim.id}\n\n> " in text
            assert f"`{claim.id}`" in text
            assert claim.where.split(",")[0] in text
            assert bool(claim.criterion) == (claim.check is not None)
        for found in claims:
            if found.claim.check is not None:
                assert found.published.numbers
                assert found.ours.numbers

    def test_same_records_give_the_same_text(self) -> None:
        first, second = (claims_markdown(check_claims([random_table("moons", 1)])) for _ in "ab")
        assert first == second

    def test_trial_run_is_called_so(self) -> None:
        assert "means nothing" in claims_markdown(check_claims([]), ("It means nothing.",))
