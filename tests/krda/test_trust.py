"""Each objection is made where it must be and nowhere else; no target label takes part."""

import dataclasses
import json
import math
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from krda import KRDA, DivergenceError, KnotheRosenblatt
from krda.assessment import (
    DISAGREEMENT,
    MIN_ROWS,
    N_PARTS,
    SHARE_LEFT,
    WORSE_NATS,
    Assessment,
    ClassShare,
    ColumnGap,
    DensityCheck,
    Difference,
    RefitCheck,
    TransportCheck,
    objections,
)
from krda.diagnostics import energy_distance
from krda.trust import _check_left_out, _energy_distance, _energy_noise, _Splits, assess

QUICK = {"max_steps": 30, "hidden_size": 10, "n_components": 3, "random_state": 0}

GOOD_DENSITIES = (
    DensityCheck("source", 30, 1.0, 2.0, -1.0, 0.2),
    DensityCheck("target", 30, 1.0, 2.0, -1.0, 0.2),
)
GOOD_TRANSPORT = TransportCheck(
    before=0.5,
    after=0.005,
    standardized=0.3,
    change=Difference(-0.495, 0.02, 3),
    lead=Difference(0.295, 0.02, 3),
    noise=0.01,
    columns=(),
    column_noise=0.1,
    n_tried=15,
)
STEADY = RefitCheck((0.01, 0.03))


class StandIn(KRDA):
    """KRDA without any training to speak of, whose transport is another one."""

    def __init__(self, *, classifier=None, column_order="given", random_state=0):
        super().__init__(
            1,
            2,
            classifier=classifier,
            column_order=column_order,
            max_steps=1,
            random_state=random_state,
        )


class Idle(StandIn):
    def _transport(self, X):
        return X.copy()


class Exact(StandIn):
    def _transport(self, X):
        return X - [1.0, 0.0]


class Mirror(StandIn):
    def _transport(self, X):
        return X - [2.0, 0.0]


class Scatter(StandIn):
    def _transport(self, X):
        return 1e6 * X


def shifted_normals(seed, n=100, shift=1.0):
    """A source a standard deviation away from the target, in the first column."""
    Xs, Xt = np.random.default_rng(seed).normal(size=(2, n, 2))
    Xs[:, 0] += shift
    return Xs, np.arange(n) % 2, Xt


def left_out_only(model, data, seed):
    """The part of an assessment that is judged by rows left out: the rest takes longer."""
    Xs, _, Xt = data
    rng = np.random.default_rng(seed)
    return _check_left_out(model.fit(*data), Xs, Xt, 1, rng)[1]


def transport_of(model, data, seed=0, n_refits=1):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows carried far outside
        return assess(model.fit(*data), *data, n_refits=n_refits, random_state=seed)


def rotated_moons(n=300, degrees=40):
    angle = np.deg2rad(degrees)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    (Xs, ys), (Xt, _) = (make_moons(n, noise=0.05, random_state=seed) for seed in (1, 2))
    return Xs - [0.5, 0.25], ys, (Xt - [0.5, 0.25]) @ turn


def skewed_task(n=600):
    """Independent columns whose shapes change: more than a mean and a deviation to adapt."""
    rng = np.random.default_rng(0)
    Xs, Xt = 0.5 * rng.normal(size=(n, 2)), np.exp(rng.normal(size=(n, 2)))
    Xs += rng.choice([-2, 2], size=(n, 2))
    return Xs, (Xs[:, 0] + Xs[:, 1] > 0).astype(int), Xt


@pytest.fixture(scope="module")
def skewed():
    data = skewed_task()
    return KRDA(random_state=0, max_steps=300).fit(*data), data


@pytest.fixture(scope="module")
def quick():
    data = rotated_moons(120)
    return KRDA(**QUICK).fit(*data), data


def objected(densities=GOOD_DENSITIES, transport=GOOD_TRANSPORT, seeds=STEADY, orders=STEADY):
    return list(objections(densities, transport, seeds, orders, 0.9))


# Objections, by the numbers


def test_numbers_that_are_all_fine_meet_no_objection():
    assert objected() == []


def test_a_density_is_worse_than_a_gaussian_beyond_chance_and_a_trifle_only():
    source, target = GOOD_DENSITIES
    just = dataclasses.replace(target, excess=0.40, excess_error=0.2)  # t of 29 degrees: 2.05
    assert objected((source, just)) == []
    (sentence,) = objected((source, dataclasses.replace(just, excess=0.42)))
    assert "density of the target is worse than a plain Gaussian by 0.42 ± 0.20" in sentence
    few = dataclasses.replace(just, excess=0.42, n_held_out=5)  # 4 degrees: 2.78
    assert objected((source, few)) == []
    sure = dataclasses.replace(target, excess=WORSE_NATS, excess_error=0.001)
    assert objected((source, sure)) == []
    assert len(objected((source, dataclasses.replace(sure, excess=1.1 * WORSE_NATS)))) == 1
    boundless = dataclasses.replace(target, excess=math.inf, excess_error=math.nan)
    assert len(objected((source, boundless))) == 1
    none = dataclasses.replace(target, n_held_out=0, excess=math.nan, excess_error=math.nan)
    assert objected((source, none)) == []


@pytest.mark.parametrize("n", [2, 3, 5, 9, 30])
def test_densities_as_good_as_a_gaussian_are_called_worse_in_one_check_of_twenty(n):
    excess = 100 * np.random.default_rng(n).normal(size=(4000, 2, n))  # no trifle
    errors = excess.std(axis=2, ddof=1) / math.sqrt(n)
    told = [
        any(DensityCheck("source", n, 0, 0, m, e).worse for m, e in zip(*check, strict=True))
        for check in zip(excess.mean(axis=2), errors, strict=True)
    ]
    assert np.mean(told) == pytest.approx(0.05, abs=0.012)  # binomial error 0.0035


def test_a_growing_distance_is_objected_to_beyond_its_interval_and_noise_only():
    grows = dataclasses.replace(
        GOOD_TRANSPORT, before=0.02, after=0.03, change=Difference(0.01, 0.002, 3)
    )
    (sentence,) = objected(transport=grows)
    assert "further from the target: energy distance 0.0200 before, 0.0300 after" in sentence
    unsure = dataclasses.replace(grows, change=Difference(0.01, 0.02, 3))
    (sentence,) = objected(transport=unsure)
    assert "nearer to the target is undecided" in sentence
    assert "0.0200 before, 0.0300 after" in sentence
    from_noise = dataclasses.replace(grows, before=0.005)
    assert "takes the source further" in objected(transport=from_noise)[0]
    noise = dataclasses.replace(grows, before=0.005, after=0.008)
    (sentence,) = objected(transport=noise)
    assert "no shift" in sentence


def test_a_shift_of_which_much_is_left_is_objected_to_beyond_the_bound_and_noise_only():
    edge = SHARE_LEFT * GOOD_TRANSPORT.before
    assert objected(transport=dataclasses.replace(GOOD_TRANSPORT, after=edge)) == []
    (sentence,) = objected(transport=dataclasses.replace(GOOD_TRANSPORT, after=1.2 * edge))
    assert "still far from the target: 30% of the energy distance is left" in sentence
    small = dataclasses.replace(GOOD_TRANSPORT, before=0.02, after=0.01)
    assert objected(transport=small) == []
    assert len(objected(transport=dataclasses.replace(small, after=0.011))) == 1


def test_standardising_is_preferred_unless_krda_is_shown_to_be_nearer():
    def preferred(**changes):
        found = objected(transport=dataclasses.replace(GOOD_TRANSPORT, **changes))
        return any("Prefer the same classifier on each table standardised" in w for w in found)

    unsure = Difference(0.005, 0.02, 3)
    assert preferred(standardized=0.01)  # within the noise
    assert not preferred(standardized=0.011, lead=unsure)  # out of it, where KRDA is within
    assert preferred(after=0.03, standardized=0.029)
    assert preferred(after=0.03, standardized=0.035, lead=unsure)
    assert not preferred(after=0.03, standardized=0.035, lead=Difference(0.005, 0.002, 3))
    assert not preferred(before=0.009, standardized=0.0)  # nothing to adapt
    told = objected(transport=dataclasses.replace(GOOD_TRANSPORT, standardized=0.01))
    assert "agrees with KRDA on 90.0 %" in told[0]


def test_no_sentence_calls_a_larger_distance_as_near():
    def said(**changes):
        found = objected(transport=dataclasses.replace(GOOD_TRANSPORT, **changes))
        (sentence,) = [w for w in found if w.startswith("Bringing each column")]
        return sentence

    unsure = said(before=0.5, after=0.0996, standardized=0.2041, noise=0.0629,
                  change=Difference(-0.4, 0.02, 3), lead=Difference(0.1045, 0.09, 3))  # fmt: skip
    assert "0.2041, KRDA 0.0996 (noise 0.0629), and this lead, between -" in unsure
    assert "may be chance" in unsure
    assert "KRDA no smaller one: 0.0300" in said(after=0.03, standardized=0.029)
    assert "0.0080, within the noise" in said(standardized=0.008)


def test_an_energy_distance_below_zero_comes_with_a_word():
    below = dataclasses.replace(
        GOOD_TRANSPORT, before=-0.0021, after=-0.00001, standardized=-0.003, noise=0.01
    )
    (sentence,) = objected(transport=below)
    assert "-0.0021, below 0 by chance" in sentence
    lines = str(an_assessment(transport=below)).splitlines()
    of = {line.split("  ")[1]: line for line in lines if line.startswith("  ") and "0.00" in line}
    assert "below 0 by chance" in of["source as it is"]
    assert "below 0 by chance" in of["columns standardised instead"]
    assert "-" not in of["moved by KRDA"].partition("(")[0]  # no -0.0000


def an_assessment(**changes):
    agreement = (1.0, 0.5, 0.0)
    return Assessment(
        3, 3, **({"densities": GOOD_DENSITIES, "transport": GOOD_TRANSPORT} | changes),
        seeds=RefitCheck((0.5,), (), agreement), orders=STEADY, agreement_source_only=1.0,
        agreement_standardized=1.0, warnings=(), classes=(ClassShare("\x1b[31m", 1, 1, 1, 1),),
        source_only=(0, 1, 1), standardized=(0, 1, 1),
    )  # fmt: skip


def test_escape_sequences_in_names_are_shown_in_a_report():
    gap = ColumnGap("a\x1b[2J\nb", 0.1, 0.2)
    report = str(an_assessment(transport=dataclasses.replace(GOOD_TRANSPORT, columns=(gap,))))
    assert "\x1b" not in report
    assert "a\\x1b[2J\\nb: 0.10 before" in report
    assert "\\x1b[31m" in report


def test_the_seed_is_objected_to_by_the_mean_of_its_refits():
    assert objected(seeds=RefitCheck((0.0, 2 * DISAGREEMENT))) == []
    (sentence,) = objected(seeds=RefitCheck((0.2, 0.4)))
    assert sentence.startswith("The seed decides 30.0 % of the predictions")
    assert "one of two such fits is wrong on 15.0 % of the rows" in sentence
    assert objected(seeds=RefitCheck(())) == []


def test_the_order_is_objected_to_for_what_it_does_beyond_a_seed():
    seeds = RefitCheck((0.04, 0.05, 0.06))
    assert objected(seeds=seeds, orders=RefitCheck((0.0, 0.1, 0.19))) == []
    (sentence,) = objected(seeds=seeds, orders=RefitCheck((0.25, 0.30, 0.35)))
    assert sentence.startswith("The order of the columns decides 25.0 % of the predictions")
    assert "in 30.0 % on average, fits with another seed in 5.0 %" in sentence
    assert "one of two such fits is wrong on 15.0 % of the rows" in sentence
    (sentence,) = objected(seeds=RefitCheck((0.0, 0.0, 0.0)), orders=RefitCheck((0.3,)))
    assert sentence.startswith("The order of the columns decides")
    assert objected(orders=RefitCheck(())) == []


def test_what_any_other_fit_does_is_not_put_down_to_the_order():
    seeds, orders = RefitCheck((0.134, 0.156, 0.119)), RefitCheck((0.160, 0.120, 0.128))
    (sentence,) = objected(seeds=seeds, orders=orders)
    assert sentence.startswith("The seed decides")
    # Too few or too unlike to say which it is, but more than the bound.
    for s, o in (((0.09,), (0.2,)), ((0.0, 0.1, 0.18), (0.05, 0.12, 0.2)), ((), (0.2, 0.2))):
        (sentence,) = objected(seeds=RefitCheck(s), orders=RefitCheck(o))
        assert "or any other fit would, so few refits do not tell" in sentence


@pytest.mark.parametrize("n_orders", [1, 3])
def test_orders_that_do_what_seeds_do_are_told_in_one_check_of_twenty(n_orders):
    rng = np.random.default_rng(n_orders)
    drawn = rng.normal(0.15, 0.03, size=(4000, 3 + n_orders))
    told = [
        any(
            w.startswith("The order")
            for w in objected(seeds=RefitCheck(tuple(x[:3])), orders=RefitCheck(tuple(x[3:])))
        )
        for x in drawn
    ]
    assert np.mean(told) == pytest.approx(0.05, abs=0.012)


def test_the_error_of_a_mean_allows_for_rows_that_fits_share():
    values = [[1.0, 2.0, 3.0, 4.0, 5.0], [5.0, 4.0, 3.0, 2.0, 1.0]]
    found = Difference.of(values)
    assert found.mean == 3
    assert found.error == pytest.approx(math.sqrt(2.5 * (1 / 5 + 1 / 4)))
    assert found == dataclasses.replace(Difference.of(values[:1]), n_splits=2)  # no gain
    low, high = found.interval
    assert (low + high) / 2 == pytest.approx(3)
    assert high - 3 == pytest.approx(1.8595 * found.error, rel=1e-4)  # Student's, 8 degrees
    assert all(map(math.isnan, Difference.of([]).interval))


def test_failed_refits_are_counted_and_the_first_is_quoted():
    (sentence,) = objected(orders=RefitCheck((0.0,), ("DivergenceError: lost",)))
    assert sentence.startswith("1 of 19 refits failed")
    assert sentence.endswith("DivergenceError: lost")


# Objections, from rows


def test_a_good_fit_meets_no_objection_and_says_that_this_is_no_proof(skewed):
    model, data = skewed
    found = assess(model, *data)
    assert found.warnings == ()
    assert "no proof" in str(found)
    assert found.transport.after < SHARE_LEFT * found.transport.before
    assert found.transport.n_fits == 3 * N_PARTS
    assert len(found.seeds.disagreement) == 3
    assert len(found.orders.disagreement) == 1  # two columns have one other order


def test_the_order_of_the_columns_is_objected_to_on_rotated_moons():
    data = rotated_moons()
    found = assess(KRDA(random_state=0, max_steps=300).fit(*data), *data, n_refits=2)
    assert any(w.startswith("The order of the columns decides") for w in found.warnings)
    assert found.orders.mean > 0.2
    assert found.seeds.worst < 0.05


def test_two_samples_of_one_distribution_have_no_shift():
    rng = np.random.default_rng(0)
    Xs, Xt = rng.normal(size=(2, 200, 2))
    ys = (Xs[:, 0] > 0).astype(int)
    found = assess(KRDA(random_state=0, max_steps=100).fit(Xs, ys, Xt), Xs, ys, Xt, n_refits=1)
    assert any("no shift of the columns is seen" in w for w in found.warnings)


def test_a_shift_where_there_is_none_is_seen_in_one_check_of_twenty():
    seen = [left_out_only(Idle(), shifted_normals(k, 60, 0.0), k).shifted for k in range(60)]
    assert np.mean(seen) < 0.12  # 0.05 with a binomial error of 0.022


def test_a_transport_that_does_nothing_is_objected_to_wherever_a_shift_is_seen():
    n_seen = 0
    for k, shift in enumerate([0.0, 0.25, 0.5, 1.0, 4.0] * 4):
        found = transport_of(Idle(), shifted_normals(k, shift=shift), k)
        assert found.transport.after == found.transport.before
        told = "nearer to the target is undecided" if found.transport.shifted else "no shift"
        assert any(told in w for w in found.warnings)
        n_seen += found.transport.shifted
    assert n_seen >= 10


def test_an_exact_transport_is_hardly_ever_objected_to():
    found = [left_out_only(Exact(), shifted_normals(k), k) for k in range(40)]
    assert all(t.shifted for t in found)
    assert not any(t.further for t in found)
    assert np.mean([t.far for t in found]) < 0.11  # after a shift so large, noise is no quarter


def test_a_transport_to_the_other_side_is_hardly_ever_called_further_or_nearer():
    found = [left_out_only(Mirror(), shifted_normals(k), k) for k in range(40)]
    assert all(t.far for t in found)
    assert np.mean([t.further for t in found]) < 0.12
    assert np.mean([t.nearer for t in found]) < 0.12


def test_standardised_tables_are_judged_by_rows_that_gave_no_mean():
    """By its own rows a standardised source is too near; by others, no nearer than it is."""
    fresh, own = [], []
    for k in range(40):
        Xs, ys, Xt = shifted_normals(k, 100, 0.0)
        fresh.append(left_out_only(Idle(), (Xs, ys, Xt), k).standardized)
        naive = (Xs - Xs.mean(0)) / Xs.std(0) * Xt.std(0) + Xt.mean(0)
        own.append(energy_distance(naive, Xt))
    assert np.mean(own) < -0.005
    assert np.mean(fresh) > 0


def test_a_density_without_training_is_worse_than_a_gaussian():
    rng = np.random.default_rng(0)
    mix = np.array([[1.0, 0.99], [0.0, 0.1]])
    Xs, Xt = rng.normal(size=(200, 2)) @ mix, rng.normal(size=(200, 2)) @ mix * 3 + 5
    ys = (Xs[:, 0] > 0).astype(int)
    model = KRDA(**(QUICK | {"max_steps": 1})).fit(Xs, ys, Xt)
    found = assess(model, Xs, ys, Xt, n_refits=1)
    assert [w.split(" is worse")[0] for w in found.warnings if "Gaussian" in w] == [
        "The density of the source",
        "The density of the target",
    ]


def test_a_transport_that_scatters_rows_is_objected_to_and_far_rows_are_told():
    found = transport_of(Scatter(), shifted_normals(0), n_refits=2)
    assert any("takes the source further" in w for w in found.warnings)
    assert any("rows were carried far outside the target" in w for w in found.warnings)


def test_of_small_tables_it_is_said_that_they_are_too_small():
    Xs, ys, Xt = shifted_normals(0, MIN_ROWS)
    assert transport_of(Idle(), (Xs, ys, Xt)).transport.n_fits == N_PARTS
    for data in ((Xs[1:], ys[1:], Xt), (Xs, ys, Xt[1:]), (Xs[:2], ys[:2], Xt[:2])):
        found = transport_of(Idle(), data)
        told = [w for w in found.warnings if "too few to say" in w]
        assert len(told) == 1
        assert f"fewer than {MIN_ROWS} rows" in told[0]
        assert "not compared: a table has fewer than" in str(found)
        assert "nan" not in str(found)


def test_without_refits_nothing_is_claimed_of_densities_and_transport():
    data = shifted_normals(0)
    found = transport_of(Exact(), data, n_refits=0)
    assert found.warnings == ()
    assert found.transport.left_out == "no refits"
    assert math.isnan(found.transport.after)
    assert "not compared: no refits were asked for" in str(found)
    assert "little was compared: ask for refits" in str(found)
    assert "nan" not in str(found)


def test_a_class_that_is_never_predicted_is_told():
    Xs, ys, Xt = rotated_moons(120)
    model = KRDA(**QUICK, classifier=LogisticRegression(C=1e-9, fit_intercept=True))
    keep = np.r_[np.flatnonzero(ys == 0), np.flatnonzero(ys == 1)[:20]]
    model.fit(Xs[keep], ys[keep], Xt)
    found = assess(model, Xs[keep], ys[keep], Xt, n_refits=0)
    assert any(w.startswith("No target row is predicted to be 1.") for w in found.warnings)


def test_a_refit_that_fails_does_not_end_the_check(quick, monkeypatch):
    model, data = quick

    def fail(self, *_):
        raise DivergenceError("the loss became non-finite")

    monkeypatch.setattr(KnotheRosenblatt, "_finish", fail)
    found = assess(model, *data, n_refits=2)
    assert len(found.seeds.failures) == 2
    assert len(found.orders.failures) == 1
    assert len(found.transport.failures) == 2 * N_PARTS
    assert math.isnan(found.seeds.worst)
    assert any("13 of 13 refits failed" in w for w in found.warnings)
    assert "none compared, 2 failed" in str(found)
    assert "not compared: the fits to parts of the tables failed" in str(found)


def test_a_split_with_a_fit_that_fails_does_not_count():
    class Fragile(Exact):
        def _transport(self, X):
            if len(X) == 20 and self.seed_ == unlucky:
                raise FloatingPointError("carried nowhere")
            return super()._transport(X)

    data, seen, unlucky = shifted_normals(0), [], None

    class Watched(Exact):
        def _transport(self, X):
            seen.extend([self.seed_] if len(X) == 20 else [])
            return super()._transport(X)

    whole = transport_of(Watched(), data, n_refits=3)
    unlucky = seen[7]
    found = transport_of(Fragile(), data, n_refits=3)
    assert found.transport.failures == ("FloatingPointError: carried nowhere",)
    assert whole.transport.n_fits == 3 * N_PARTS
    assert found.transport.n_fits == 2 * N_PARTS
    assert found.densities[0].n_held_out == 100
    assert any("1 of 19 refits failed" in w for w in found.warnings)


# The numbers


def test_distances_are_those_of_the_diagnostics_in_fixed_units():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 3)), rng.normal(size=(40, 3)) * [1, 5, 9] + 1
    unit = Y.std(0)
    assert _energy_distance(X / unit, Y / unit) == pytest.approx(energy_distance(X, Y))


@pytest.mark.parametrize("n_splits", [1, 3])
def test_the_noise_is_what_parts_of_fresh_samples_stay_below_in_95_of_100_cases(n_splits):
    rng = np.random.default_rng(0)
    exceeded = []
    for _ in range(200):
        X, Y = rng.normal(size=(60, 2)), rng.normal(size=(50, 2))
        parts = [_Splits(len(Z), n_splits, rng) for Z in (X, Y)]
        distances = [
            _energy_distance(X[parts[0].part(k).judged], Y[parts[1].part(k).judged])
            for k in range(n_splits * N_PARTS)
        ]
        exceeded.append(np.mean(distances) > _energy_noise(Y, 12, 10, n_splits, rng))
    assert 0.01 < np.mean(exceeded) < 0.11  # 0.05 with a binomial error of 0.015


@pytest.mark.parametrize("n", [50, 53, 2000, 2109])
def test_fits_see_every_row_but_those_left_out_and_are_judged_by_these_alone(n):
    splits = _Splits(n, 2, np.random.default_rng(0))
    for split in range(2):
        parts = [splits.part(split * N_PARTS + k) for k in range(N_PARTS)]
        judged = np.concatenate([part.judged for part in parts])
        assert len(judged) == len(set(judged)) == min(n, 2000) // N_PARTS * N_PARTS
        assert set(judged) <= set(splits.chosen)
        assert len({(len(p.fitted), len(p.judged)) for p in parts}) == 1
        for part in parts:
            assert not set(part.fitted) & set(part.judged)
            assert len(part.fitted) >= 0.8 * n
    assert not np.array_equal(splits.part(0).judged, splits.part(N_PARTS).judged)


def test_a_fit_is_judged_by_rows_that_it_did_not_see(monkeypatch):
    Xs, ys, Xt = shifted_normals(0)
    seen, asked = {}, {}

    class Watched(Exact):
        def _prepare(self, source, target):
            self.rows_ = {tuple(row) for row in np.vstack([source, target])}
            seen[self.random_state] = len(source)
            return super()._prepare(source, target)

        def _transport(self, X):
            if len(X) == 20:
                asked[self.random_state] = {tuple(row) for row in X} & self.rows_
            return super()._transport(X)

    model = Watched().fit(Xs, ys, Xt)
    monkeypatch.setattr("krda.trust._refit", lambda *_: RefitCheck(()))
    assess(model, Xs, ys, Xt, n_refits=2)
    assert len(asked) == 2 * N_PARTS  # each has a seed of its own
    assert all(seen[seed] == 80 and not common for seed, common in asked.items())


def test_densities_are_judged_by_every_row_once(quick):
    model, data = quick
    for check in assess(model, *data, n_refits=2).densities:
        assert check.n_held_out == 120
        assert check.excess == pytest.approx(check.nll - check.gaussian_nll)


def test_the_likelihood_of_a_gaussian_sample_is_its_entropy():
    rng = np.random.default_rng(0)
    Xs, Xt = rng.normal(size=(3000, 2)), 10 * rng.normal(size=(3000, 2))
    ys = (Xs[:, 0] > 0).astype(int)
    model = KRDA(**QUICK, classifier=LogisticRegression()).fit(Xs, ys, Xt)
    source, target = assess(model, Xs, ys, Xt, n_refits=1).densities
    entropy = math.log(2 * math.pi * math.e)
    assert source.gaussian_nll == pytest.approx(entropy, abs=0.15)
    assert target.gaussian_nll == pytest.approx(entropy + 2 * math.log(10), abs=0.15)


def test_counts_and_constant_columns_are_taken_as_the_model_takes_them():
    rng = np.random.default_rng(0)
    Xs = np.column_stack([rng.normal(size=150), rng.poisson(2, 150), np.full(150, 4.0)])
    Xt = np.column_stack([rng.normal(size=150) + 5, rng.poisson(4, 150), rng.normal(size=150)])
    ys = (Xs[:, 0] > 0).astype(int)
    with pytest.warns(UserWarning, match=r"Columns \[2\] are constant"):
        model = KRDA(**QUICK).fit(Xs, ys, Xt)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = assess(model, Xs, ys, Xt, n_refits=2)
    assert [c.name for c in found.transport.columns] in (
        ["column 0", "column 1"],
        ["column 1", "column 0"],
    )
    assert all(np.isfinite([d.gaussian_nll, d.excess]).all() for d in found.densities)
    assert len(found.orders.disagreement) == 1


def test_agreements_are_with_the_models_classifier_on_simple_tables(quick):
    Xs, ys, Xt = quick[1]
    model = KRDA(**QUICK, classifier=SVC(C=3.0)).fit(Xs, ys, Xt)
    found = assess(model, Xs, ys, Xt, n_refits=0)
    predicted = model.predict(Xt)
    plain = SVC(C=3.0).fit(Xs, ys).predict(Xt)
    scaled = SVC(C=3.0).fit(StandardScaler().fit_transform(Xs), ys)
    scaled = scaled.predict(StandardScaler().fit_transform(Xt))
    assert found.agreement_source_only == np.mean(plain == predicted)
    assert found.agreement_standardized == np.mean(scaled == predicted)
    assert found.agreement_source_only < 1


def test_one_refit_is_the_fit_with_the_columns_reversed(quick):
    model, (Xs, ys, Xt) = quick
    found = assess(model, Xs, ys, Xt, n_refits=1)
    other = KRDA(**QUICK, column_order="reversed").fit(Xs, ys, Xt)
    assert found.orders.disagreement == (np.mean(other.predict(Xt) != model.predict(Xt)),)


def test_column_orders_differ_from_the_models_and_from_each_other(monkeypatch):
    rng = np.random.default_rng(0)
    Xs, Xt = rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + 1
    ys = (Xs[:, 0] > 0).astype(int)
    model = KRDA(**QUICK, column_order="random").fit(Xs, ys, Xt)
    seen = []
    prepare = KnotheRosenblatt._prepare

    def watch(self, *domains):
        if len(domains[0]) == 60:
            seen.append((self.random_state, tuple(self.column_order)))
        else:  # one of those judged by what they do not see
            assert tuple(self.column_order) == own
        return prepare(self, *domains)

    own = tuple(model.column_order_)
    monkeypatch.setattr(KnotheRosenblatt, "_prepare", watch)
    assess(model, Xs, ys, Xt, n_refits=9)
    seeds = [seed for seed, order in seen if order == own]
    orders = [order for _, order in seen if order != own]
    assert len(seeds) == len(set(seeds)) == 9
    assert model.seed_ not in seeds
    assert len(orders) == len(set(orders)) == 5  # all that three columns have
    assert orders[0] == own[::-1]


# The contract


def test_the_outcome_is_the_same_again_and_leaves_the_model_as_it_was(quick):
    model, data = quick
    before = model.predict(data[2])
    first = assess(model, *data, n_refits=2)
    assert assess(model, *data, n_refits=2) == first
    assert assess(model, *data, n_refits=2, random_state=1) != first
    np.testing.assert_array_equal(model.predict(data[2]), before)


@pytest.mark.parametrize("n_refits", [0, 1])
@pytest.mark.parametrize("kind", [int, bool, str, object])
def test_an_assessment_is_written_as_json(quick, n_refits, kind):
    _, (Xs, ys, Xt) = quick
    labels = ys.astype(kind) if kind is not object else ys.astype(str).astype(object)
    found = assess(KRDA(**QUICK).fit(Xs, labels, Xt), Xs, labels, Xt, n_refits=n_refits)
    read = json.loads(json.dumps(dataclasses.asdict(found)))
    assert read["source_only"] == list(found.source_only)
    # NaN is no JSON.
    strict = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (strict["transport"]["before"] is None) == (n_refits == 0)
    assert strict["classes"] == read["classes"]


def test_data_frames_and_arrays_agree(quick):
    model, (Xs, ys, Xt) = quick
    names = ["column 0", "column 1"]
    frames = pd.DataFrame(Xs, columns=names), pd.Series(ys), pd.DataFrame(Xt, columns=names)
    of_frames = KRDA(**QUICK).fit(*frames)
    assert assess(of_frames, *frames, n_refits=1) == assess(model, Xs, ys, Xt, n_refits=1)


def test_columns_are_called_by_their_names(quick):
    _, (Xs, ys, Xt) = quick
    frames = [pd.DataFrame(X, columns=["height", "width"]) for X in (Xs, Xt)]
    model = KRDA(**QUICK).fit(frames[0], ys, frames[1])
    found = assess(model, frames[0], ys, frames[1], n_refits=1)
    assert {c.name for c in found.transport.columns} == {"height", "width"}
    assert "height: " in str(found)


def test_a_pipeline_and_text_labels_work(quick):
    _, (Xs, ys, Xt) = quick
    text = np.where(ys == 0, "upper", "lower")
    classifier = make_pipeline(StandardScaler(), LogisticRegression())
    model = KRDA(**QUICK, classifier=classifier).fit(Xs, text, Xt)
    assert len(assess(model, Xs, text, Xt, n_refits=2).seeds.disagreement) == 2


def test_large_tables_are_compared_on_a_bounded_number_of_rows(quick, monkeypatch):
    model, data = quick
    sizes = []

    def watch(X, Y):
        sizes.append((len(X), len(Y)))
        return _energy_distance(X, Y)

    monkeypatch.setattr("krda.trust.MAX_JUDGED_ROWS", 50)
    monkeypatch.setattr("krda.trust._energy_distance", watch)
    found = assess(model, *data, n_refits=1)
    assert set(sizes) == {(10, 10)}
    assert {d.n_held_out for d in found.densities} == {50}


def test_large_tables_are_fitted_one_after_another_to_the_same_outcome(quick, monkeypatch):
    model, data = quick
    together = assess(model, *data, n_refits=1)
    monkeypatch.setattr("krda.trust._TOGETHER", 1)
    assert assess(model, *data, n_refits=1) == together


def test_labels_have_no_part_in_what_is_said_of_densities_and_transport():
    Xs, ys, Xt = shifted_normals(0)
    rare = np.zeros(len(Xs), dtype=int)
    rare[0] = 1  # in no fit to parts but those that see this row
    found = [transport_of(Exact(), (Xs, labels, Xt)) for labels in (ys, rare)]
    assert found[0].transport == found[1].transport
    assert found[0].densities == found[1].densities
    assert found[0].transport.failures == ()


def test_other_rows_than_those_of_the_fit_are_refused(quick):
    model, (Xs, ys, Xt) = quick
    with pytest.raises(ValueError, match="target rows are not those that the model was fitted to"):
        assess(model, Xs, ys, Xt[::-1])
    with pytest.raises(ValueError, match="source rows are not those that the model was fitted to"):
        assess(model, Xs + 0.5, ys, Xt)


def test_what_cannot_be_checked_is_refused(quick):
    model, (Xs, ys, Xt) = quick
    with pytest.raises(TypeError, match=r"must be a fitted krda\.KRDA, got SVC"):
        assess(SVC(), Xs, ys, Xt)
    with pytest.raises(NotFittedError):
        assess(KRDA(), Xs, ys, Xt)
    with pytest.raises(ValueError, match="Xt has 1 columns, but Xs has 2"):
        assess(model, Xs, ys, Xt[:, :1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        assess(model, Xs, ys[:-1], Xt)
    for wrong in (-1, 1.5, True):
        with pytest.raises(ValueError, match="n_refits must be an integer of at least 0"):
            assess(model, Xs, ys, Xt, n_refits=wrong)


def test_the_estimator_needs_none_of_it():
    code = "import sys, krda; print([m for m in sys.modules if m.startswith('krda.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "krda.estimator" in done.stdout
    for module in ("krda.trust", "krda.assessment", "krda.tables", "krda.diagnostics"):
        assert module not in done.stdout


def test_a_column_that_is_taken_away_from_the_target_is_objected_to_whatever_the_whole_rows_say():
    gaps = (ColumnGap("income", 0.07, 0.42), ColumnGap("age", 0.5, 0.3), ColumnGap("x", 0.0, 0.09))
    check = dataclasses.replace(GOOD_TRANSPORT, columns=gaps)
    (sentence,) = objections(GOOD_DENSITIES, check, STEADY, STEADY, 0.9)
    assert "income (0.07 before, 0.42 after)" in sentence
    assert "age" not in sentence  # nearer than before
    assert "x (" not in sentence  # within noise


def test_shares_of_classes_are_those_of_labels_and_predictions():
    Xs, ys = make_moons(90, noise=0.05, random_state=0)
    Xt = Xs + 0.5
    model = KRDA(**QUICK).fit(Xs, ys, Xt)
    found = assess(model, Xs, ys, Xt, n_refits=0)
    for share, label in zip(found.classes, model.classes_, strict=True):
        assert share.source == np.mean(ys == label)
        assert share.krda == np.mean(model.predict(Xt) == label)
        assert share.source_only == np.mean(found.source_only == label)
        assert share.standardized == np.mean(found.standardized == label)
    assert np.isnan(found.refits_agree).all()
    assert "Which shares have the classes?" in str(found)


def test_rows_on_which_refits_agree_add_up_to_the_shares_that_differ():
    Xs, ys = make_moons(90, noise=0.05, random_state=0)
    model = KRDA(**QUICK).fit(Xs, ys, Xs + 0.5)
    found = assess(model, Xs, ys, Xs + 0.5, n_refits=2)
    n = [len(check.disagreement) for check in (found.seeds, found.orders)]
    expected = (n[0] * found.seeds.mean + n[1] * found.orders.mean) / sum(n)
    assert np.mean(1 - found.refits_agree) == pytest.approx(expected)
