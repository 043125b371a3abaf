"""Each finding is made by its numbers, and is put into words with them."""

import dataclasses
import math

import pytest

from krda.trust.report import Assessment
from krda.trust.statistics import (
    DISAGREEMENT,
    MIN_ROWS,
    SHARE_LEFT,
    WORSE_NATS,
    DensityCheck,
    RefitCheck,
    TransportCheck,
    mean_interval,
)
from studies.trust_levels import density_level, order_level

DENSITIES = tuple(DensityCheck(domain, 30, 1, 2, -1, 0.2) for domain in ("source", "target"))
TRANSPORT = TransportCheck(0.5, 0.005, 0.3, (-0.53, -0.46), (0.26, 0.33), 0.01, {}, 0.1, 15)
STEADY = RefitCheck((0.01, 0.03))
GROWN = {"before": 0.02, "after": 0.03, "change": (0.006, 0.014)}


def of(*shares):
    """The shares of a class among labels, KRDA's predictions and those of the simple methods."""
    return dict(zip(("source", "krda", "source_only", "standardized"), shares, strict=True))


def assessed(transport=None, density=None, **changes):
    """An assessment of a good fit, except for the changes."""
    given = {
        "n_source": 100,
        "n_target": 100,
        "densities": (DENSITIES[0], dataclasses.replace(DENSITIES[1], **(density or {}))),
        "transport": dataclasses.replace(TRANSPORT, **(transport or {})),
        "seeds": STEADY,
        "orders": STEADY,
        "agreement_source_only": 1.0,
        "agreement_standardized": 0.9,
        "classes": {"a": of(1, 1, 1, 1)},
        "source_only": (0, 1, 1),
        "standardized": (0, 1, 1),
    }
    return Assessment(**(given | changes))


def found(*args, **changes):
    return assessed(*args, **changes).findings


def test_numbers_that_are_all_fine_give_no_finding():
    assert found() == ()
    assert assessed().warnings == ()
    assert "no proof" in str(assessed())


def test_a_density_is_worse_than_a_gaussian_beyond_chance_and_a_trifle_only():
    worse = ("worse density",)
    assert found(density={"excess": 0.40, "excess_error": 0.2}) == ()  # t of 29 degrees: 2.05
    assert found(density={"excess": 0.42, "excess_error": 0.2}) == worse
    few = {"excess": 0.42, "excess_error": 0.2, "n_held_out": 5}  # 4 degrees: 2.78
    assert found(density=few) == ()
    assert found(density={"excess": WORSE_NATS, "excess_error": 0.001}) == ()
    assert found(density={"excess": 1.1 * WORSE_NATS, "excess_error": 0.001}) == worse
    assert found(density={"excess": math.inf, "excess_error": math.nan}) == worse
    nan = {"n_held_out": 0, "excess": math.nan, "excess_error": math.nan}
    assert found(density=nan) == ()


def test_densities_and_orders_without_fault_are_blamed_in_one_check_of_twenty():
    for level in (density_level(5), order_level(3)):
        assert level == pytest.approx(0.05, abs=0.012)  # binomial error 0.0035


def test_a_growing_distance_is_found_beyond_its_interval_and_noise_only():
    assert found(GROWN) == ("further",)
    assert found(GROWN | {"change": (-0.03, 0.05)}) == ("undecided",)
    assert found(GROWN | {"before": 0.005}) == ("further",)
    assert found(GROWN | {"before": 0.005, "after": 0.008}) == ("no shift",)


def test_a_shift_of_which_much_is_left_is_found_beyond_the_bound_and_noise_only():
    edge = SHARE_LEFT * TRANSPORT.before
    assert found({"after": edge}) == ()
    assert found({"after": 1.2 * edge}) == ("still far",)
    assert found({"before": 0.02, "after": 0.01}) == ()
    assert found({"before": 0.02, "after": 0.011}) == ("still far",)


def test_standardising_suffices_unless_krda_is_shown_to_be_nearer():
    def suffices(**changes):
        return "standardising suffices" in found(changes)

    unsure = (-0.03, 0.04)
    assert suffices(standardized=0.01)  # within the noise
    assert not suffices(standardized=0.011, lead=unsure)  # out of it, where KRDA is within
    assert suffices(after=0.03, standardized=0.029)
    assert suffices(after=0.03, standardized=0.035, lead=unsure)
    assert not suffices(after=0.03, standardized=0.035, lead=(0.001, 0.009))
    assert not suffices(before=0.009, standardized=0.0)  # nothing to adapt


def test_a_column_that_is_taken_away_from_the_target_is_found_whatever_the_whole_rows_say():
    checked = assessed({"columns": {"income": (0.07, 0.42), "age": (0.5, 0.3), "x": (0.0, 0.09)}})
    assert checked.findings == ("spoilt columns",)
    assert list(checked.transport.spoilt) == ["income"]  # the others: nearer; within noise


def test_the_seed_is_blamed_by_the_mean_of_its_refits():
    assert found(seeds=RefitCheck((0.0, 2 * DISAGREEMENT))) == ()
    assert found(seeds=RefitCheck((0.2, 0.4))) == ("seed decides",)
    assert found(seeds=RefitCheck(())) == ()


def test_the_order_is_blamed_for_what_it_does_beyond_a_seed():
    seeds = RefitCheck((0.04, 0.05, 0.06))
    assert found(seeds=seeds, orders=RefitCheck((0.0, 0.1, 0.19))) == ()
    assert found(seeds=seeds, orders=RefitCheck((0.25, 0.30, 0.35))) == ("order decides",)
    equal = RefitCheck((0.0, 0.0, 0.0))
    assert found(seeds=equal, orders=RefitCheck((0.3,))) == ("order decides",)
    assert found(orders=RefitCheck(())) == ()
    seeds, orders = RefitCheck((0.134, 0.156, 0.119)), RefitCheck((0.160, 0.120, 0.128))
    assert found(seeds=seeds, orders=orders) == ("seed decides",)
    # Too few or too different to say which it is, but more than the bound.
    for s, o in (((0.09,), (0.2,)), ((0.0, 0.1, 0.18), (0.05, 0.12, 0.2)), ((), (0.2, 0.2))):
        either = found(seeds=RefitCheck(s), orders=RefitCheck(o))
        assert either == ("order or seed decides",)


def test_the_interval_of_a_mean_allows_for_rows_that_fits_share():
    values = [[1.0, 2.0, 3.0, 4.0, 5.0], [5.0, 4.0, 3.0, 2.0, 1.0]]
    low, high = mean_interval(values)
    error = math.sqrt(2.5 * (1 / 5 + 1 / 4))  # the same of one split and of two
    assert (low + high) / 2 == pytest.approx(3)
    assert high - 3 == pytest.approx(1.8595 * error, rel=1e-4)  # Student's, 8 degrees
    assert mean_interval(values[0])[1] - 3 == pytest.approx(2.1318 * error, rel=1e-4)  # 4 degrees


@pytest.mark.parametrize(
    ("finding", "number", "given"),
    [
        ("worse density", "target", {"density": {"excess": 1.0}}),
        ("too few rows", str(MIN_ROWS), {"n_source": MIN_ROWS - 1}),
        ("further", "0.0300", {"transport": GROWN}),
        ("no shift", "0.0000", {"transport": {"before": -0.0021}}),
        ("still far", "0.2000", {"transport": {"after": 0.2}}),
        ("undecided", "0.2000", {"transport": {"after": 0.2, "change": (-0.9, 0.3)}}),
        ("spoilt columns", "income", {"transport": {"columns": {"income": (0.1, 0.4)}}}),
        ("standardising suffices", "0.0042", {"transport": {"standardized": 0.0042}}),
        ("order decides", "30.0%", {"orders": RefitCheck((0.25, 0.3, 0.35))}),
        ("order or seed decides", "30.0%",
         {"seeds": RefitCheck(()), "orders": RefitCheck((0.25, 0.35))}),
        ("seed decides", "30.0%", {"seeds": RefitCheck((0.2, 0.4))}),
        ("failed refits", "DivergenceError: lost",
         {"seeds": RefitCheck((0.0,), ("DivergenceError: lost",))}),
        ("far rows", "7 {rows}", {"far_rows": "7 {rows}"}),
        ("missing class", "a {b}", {"classes": {"a {b}": of(0.5, 0, 0, 0)}}),
    ],
)  # fmt: skip
def test_each_finding_has_a_sentence_with_its_numbers(finding, number, given):
    checked = assessed(**given)
    assert checked.findings == (finding,)
    (warning,) = checked.warnings
    assert number in warning
    assert "nan" not in warning
    assert warning[:40] in str(checked)


def test_an_energy_distance_below_zero_is_shown_as_zero_and_kept_as_it_is():
    checked = assessed({"before": -0.0021, "after": -0.00001, "standardized": -0.003})
    assert not any("-0.00" in line.partition("(")[0] for line in str(checked).splitlines())
    assert checked.to_dict()["transport"]["before"] == -0.0021


def test_escape_sequences_in_names_are_shown_in_a_report():
    gaps = {"a\x1b[2J\nb": (0.1, 0.2)}
    report = str(assessed({"columns": gaps}, classes={"\x1b[31m": of(1, 1, 1, 1)}))
    assert "\x1b" not in report
    assert "a\\x1b[2J\\nb (0.10 before" in report
    assert "\\x1b[31m" in report


def test_a_plot_has_each_column_before_and_after():
    pytest.importorskip("matplotlib").use("Agg")
    checked = assessed({"columns": {"income": (0.07, 0.42), "age": (0.5, 0.3)}})
    ax = checked.plot()
    assert [line.get_xdata().tolist() for line in ax.lines] == [[0.5, 0.07], [0.3, 0.42]]
    assert checked.plot(ax) is ax
    assert assessed().plot() is not None
