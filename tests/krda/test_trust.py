"""Each objection is made where it must be and nowhere else; no target label takes part."""

import dataclasses
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

from krda import KRDA, DivergenceError
from krda.assessment import (
    DISAGREEMENT,
    FAR_ABOVE_NOISE,
    WORSE_NATS,
    DensityCheck,
    RefitCheck,
    TransportCheck,
    objections,
)
from krda.diagnostics import column_distances, energy_distance
from krda.trust import _energy_noise, assess

QUICK = {"max_steps": 30, "hidden_size": 10, "n_components": 3, "random_state": 0}

GOOD_DENSITIES = (
    DensityCheck("source", 30, 1.0, 2.0, -1.0, 0.2),
    DensityCheck("target", 30, 1.0, 2.0, -1.0, 0.2),
)
GOOD_TRANSPORT = TransportCheck(0.5, 0.005, 0.3, 0.01, (), 0.1)
STEADY = RefitCheck((0.01, 0.03))


def rotated_moons(n=300, degrees=40):
    angle = np.deg2rad(degrees)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    (Xs, ys), (Xt, _) = (make_moons(n, noise=0.05, random_state=seed) for seed in (1, 2))
    return Xs - [0.5, 0.25], ys, (Xt - [0.5, 0.25]) @ turn


def skewed_task(n=600):
    """Independent columns whose shapes change: more than a mean and a deviation to adapt."""
    rng = np.random.default_rng(0)
    Xs, Xt = rng.normal(size=(n, 2)), np.exp(rng.normal(size=(n, 2)))
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


def test_a_density_is_worse_than_a_gaussian_beyond_two_standard_errors_only():
    source, target = GOOD_DENSITIES
    just = dataclasses.replace(target, excess=0.39, excess_error=0.2)
    assert objected((source, just)) == []
    (sentence,) = objected((source, dataclasses.replace(just, excess=0.41)))
    assert "density of the target is worse than a plain Gaussian by 0.41 ± 0.20" in sentence
    sure = dataclasses.replace(target, excess=WORSE_NATS, excess_error=0.001)
    assert objected((source, sure)) == []
    assert len(objected((source, dataclasses.replace(sure, excess=1.1 * WORSE_NATS)))) == 1
    alone = dataclasses.replace(target, excess=9.0, excess_error=math.nan)  # one row shows nothing
    assert objected((source, alone)) == []


def test_a_growing_distance_is_objected_to_unless_both_are_noise():
    grows = dataclasses.replace(GOOD_TRANSPORT, before=0.02, after=0.03)
    (sentence,) = objected(transport=grows)
    assert "further from the target: energy distance 0.0200 before, 0.0300 after" in sentence
    from_noise = dataclasses.replace(GOOD_TRANSPORT, before=0.005, after=0.03)
    assert "takes the source further" in objected(transport=from_noise)[0]
    noise = dataclasses.replace(GOOD_TRANSPORT, before=0.005, after=0.008)
    (sentence,) = objected(transport=noise)
    assert "no shift" in sentence


def test_a_distance_far_above_the_noise_is_objected_to_beyond_the_bound_only():
    edge = FAR_ABOVE_NOISE * GOOD_TRANSPORT.noise
    assert objected(transport=dataclasses.replace(GOOD_TRANSPORT, after=edge)) == []
    (sentence,) = objected(transport=dataclasses.replace(GOOD_TRANSPORT, after=1.3 * edge))
    assert "still 6 times as far" in sentence


def test_standardising_is_preferred_where_it_comes_as_near_or_within_the_noise():
    for standardized, preferred in ((0.0051, True), (0.0101, False)):  # noise 0.01, KRDA 0.005
        found = objected(transport=dataclasses.replace(GOOD_TRANSPORT, standardized=standardized))
        assert bool(found) == preferred
    blurred = dataclasses.replace(GOOD_TRANSPORT, after=0.03, standardized=0.029)
    (sentence,) = objected(transport=blurred)
    assert "Prefer the same classifier on each table standardised" in sentence
    assert "agrees with KRDA on 90.0 %" in sentence


@pytest.mark.parametrize(("choice", "told"), [("seeds", "The seed"), ("orders", "The order")])
def test_the_worst_disagreement_counts_and_only_beyond_the_bound(choice, told):
    assert objected(**{choice: RefitCheck((0.0, DISAGREEMENT))}) == []
    (sentence,) = objected(**{choice: RefitCheck((0.0, 0.3))})
    assert sentence.startswith(f"{told}")
    assert "30.0 %" in sentence
    assert "one of the two fits is wrong on 15.0 % of the rows" in sentence
    assert objected(**{choice: RefitCheck(())}) == []


def test_failed_refits_are_counted_and_the_first_is_quoted():
    (sentence,) = objected(orders=RefitCheck((0.0,), ("DivergenceError: lost",)))
    assert sentence.startswith("1 of 4 refits failed")
    assert sentence.endswith("DivergenceError: lost")


# Objections, from rows


def test_a_good_fit_meets_no_objection_and_says_that_this_is_no_proof(skewed):
    model, data = skewed
    found = assess(model, *data)
    assert found.warnings == ()
    assert "no proof" in str(found)
    assert found.transport.after < found.transport.noise < found.transport.before
    assert len(found.seeds.disagreement) == 3
    assert len(found.orders.disagreement) == 1  # two columns have one other order


def test_the_order_of_the_columns_is_objected_to_on_rotated_moons():
    data = rotated_moons()
    found = assess(KRDA(random_state=0, max_steps=300).fit(*data), *data, n_refits=1)
    (sentence,) = found.warnings
    assert sentence.startswith("The order of the columns decides")
    assert found.orders.worst > 0.2
    assert found.seeds.worst < 0.05


def test_two_samples_of_one_distribution_have_no_shift():
    rng = np.random.default_rng(0)
    Xs, Xt = rng.normal(size=(2, 200, 2))
    ys = (Xs[:, 0] > 0).astype(int)
    found = assess(KRDA(random_state=0, max_steps=100).fit(Xs, ys, Xt), Xs, ys, Xt, n_refits=0)
    (sentence,) = found.warnings
    assert "no shift of the columns is seen" in sentence


def test_a_density_without_training_is_worse_than_a_gaussian():
    rng = np.random.default_rng(0)
    mix = np.array([[1.0, 0.99], [0.0, 0.1]])
    Xs, Xt = rng.normal(size=(200, 2)) @ mix, rng.normal(size=(200, 2)) @ mix * 3 + 5
    ys = (Xs[:, 0] > 0).astype(int)
    model = KRDA(**(QUICK | {"max_steps": 1})).fit(Xs, ys, Xt)
    found = assess(model, Xs, ys, Xt, n_refits=0)
    assert [w.split(" is worse")[0] for w in found.warnings if "Gaussian" in w] == [
        "The density of the source",
        "The density of the target",
    ]


def test_a_transport_that_scatters_rows_is_objected_to_and_far_rows_are_told(skewed):
    _, (Xs, ys, Xt) = skewed
    model = KRDA(**QUICK).fit(Xs, ys, Xt)
    model._transport = lambda X: 1e6 * X
    found = assess(model, Xs, ys, Xt, n_refits=0)
    assert any("takes the source further" in w for w in found.warnings)
    assert any("rows were carried far outside the target" in w for w in found.warnings)


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

    monkeypatch.setattr(KRDA, "_finish", fail)
    found = assess(model, *data, n_refits=2)
    assert len(found.seeds.failures) == 2
    assert len(found.orders.failures) == 1
    assert math.isnan(found.seeds.worst)
    assert any("3 of 3 refits failed" in w for w in found.warnings)
    assert "none compared, 2 failed" in str(found)


# The numbers


def test_distances_are_those_of_the_diagnostics(skewed):
    model, (Xs, ys, Xt) = skewed
    found = assess(model, Xs, ys, Xt, n_refits=0).transport
    carried = model.transform(Xs)
    assert found.before == pytest.approx(energy_distance(Xs, Xt))
    assert found.after == pytest.approx(energy_distance(carried, Xt))
    naive = (Xs - Xs.mean(0)) / Xs.std(0) * Xt.std(0) + Xt.mean(0)
    assert found.standardized == pytest.approx(energy_distance(naive, Xt))
    after = column_distances(carried, Xt).kolmogorov_smirnov
    assert [c.after for c in found.columns] == pytest.approx(np.sort(after)[::-1].tolist())


def test_the_noise_is_what_fresh_samples_of_the_target_stay_below_in_95_of_100_cases():
    rng = np.random.default_rng(0)
    exceeded = []
    for _ in range(200):
        X, Y = rng.normal(size=(60, 2)), rng.normal(size=(40, 2))
        exceeded.append(energy_distance(X, Y) > _energy_noise(Y, len(X), rng))
    assert 0.01 < np.mean(exceeded) < 0.11  # 0.05 with a binomial error of 0.015


def test_the_noise_of_a_handful_of_rows_is_unknown_and_told():
    assert math.isnan(_energy_noise(np.zeros((3, 1)), 10, np.random.default_rng(0)))
    (sentence,) = objected(transport=dataclasses.replace(GOOD_TRANSPORT, noise=math.nan))
    assert "too few rows" in sentence


def test_the_gaussian_is_compared_on_the_rows_that_training_held_out(quick):
    model, data = quick
    found = assess(model, *data, n_refits=0).densities
    for check in found:
        assert check.nll == model.held_out_nll_[check.domain]
        assert check.n_held_out == 12
        # Paired differences in float64 beside training's own numbers in float32.
        assert check.excess == pytest.approx(check.nll - check.gaussian_nll, abs=1e-3)


def test_the_likelihood_of_a_gaussian_sample_is_its_entropy():
    rng = np.random.default_rng(0)
    Xs, Xt = rng.normal(size=(3000, 2)), 10 * rng.normal(size=(3000, 2))
    ys = (Xs[:, 0] > 0).astype(int)
    model = KRDA(**QUICK, classifier=LogisticRegression()).fit(Xs, ys, Xt)
    source, target = assess(model, Xs, ys, Xt, n_refits=0).densities
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
    prepare = KRDA._prepare

    def watch(self, *domains):
        seen.append((self.random_state, tuple(self.column_order)))
        return prepare(self, *domains)

    monkeypatch.setattr(KRDA, "_prepare", watch)
    assess(model, Xs, ys, Xt, n_refits=9)
    own = tuple(model.column_order_)
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


def test_data_frames_and_arrays_agree(quick):
    model, (Xs, ys, Xt) = quick
    names = ["column 0", "column 1"]
    frames = pd.DataFrame(Xs, columns=names), pd.Series(ys), pd.DataFrame(Xt, columns=names)
    of_frames = KRDA(**QUICK).set_output(transform="pandas").fit(*frames)
    assert assess(of_frames, *frames, n_refits=1) == assess(model, Xs, ys, Xt, n_refits=1)


def test_columns_are_called_by_their_names(quick):
    _, (Xs, ys, Xt) = quick
    frames = [pd.DataFrame(X, columns=["height", "width"]) for X in (Xs, Xt)]
    model = KRDA(**QUICK).fit(frames[0], ys, frames[1])
    found = assess(model, frames[0], ys, frames[1], n_refits=0)
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
        return energy_distance(X, Y)

    monkeypatch.setattr("krda.trust.MAX_ENERGY_ROWS", 50)
    monkeypatch.setattr("krda.trust.energy_distance", watch)
    assess(model, *data, n_refits=0)
    assert set(sizes) == {(50, 50)}


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
