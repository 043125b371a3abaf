"""The check of a fit: what it finds in rows, and what it refuses."""

import json
import math
import warnings
from itertools import islice

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
from krda.diagnostics import energy_distance
from krda.trust.check import _check_left_out, _energy_noise, _folds, assess
from krda.trust.statistics import MIN_ROWS, N_PARTS, SHARE_LEFT
from studies.trust_levels import Shift, checks, moves

QUICK = {"max_steps": 30, "hidden_size": 10, "n_components": 3, "random_state": 0}
Exact = moves(-1)


def shifted_normals(seed, n=100, shift=1.0):
    """A source a standard deviation away from the target, in the first column."""
    Xs, Xt = np.random.default_rng(seed).normal(size=(2, n, 2))
    Xs[:, 0] += shift
    return Xs, np.arange(n) % 2, Xt


def assess_quietly(kind, data, seed=0, n_refits=1):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows transported far outside
        model = kind(1, 2, max_steps=1, random_state=0).fit(*data)
        return assess(model, *data, n_refits=n_refits, random_state=seed)


def rotated_moons(n=300, degrees=40):
    angle = np.deg2rad(degrees)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    (Xs, ys), (Xt, _) = (make_moons(n, noise=0.05, random_state=seed) for seed in (1, 2))
    return Xs - [0.5, 0.25], ys, (Xt - [0.5, 0.25]) @ turn


@pytest.fixture(scope="module")
def quick():
    data = rotated_moons(120)
    return KRDA(**QUICK).fit(*data), data


def test_a_good_fit_gives_no_finding():
    rng = np.random.default_rng(0)
    # Independent columns whose shapes change: more than a mean and a deviation to adapt.
    Xs, Xt = 0.5 * rng.normal(size=(600, 2)), np.exp(rng.normal(size=(600, 2)))
    Xs += rng.choice([-2, 2], size=(600, 2))
    data = Xs, (Xs[:, 0] + Xs[:, 1] > 0).astype(int), Xt
    checked = assess(KRDA(random_state=0, max_steps=300).fit(*data), *data)
    assert checked.findings == ()
    assert checked.transport.after < SHARE_LEFT * checked.transport.before
    assert checked.transport.n_fits == 3 * N_PARTS
    assert len(checked.seeds.disagreement) == 3
    assert len(checked.orders.disagreement) == 1  # two columns have one other order


def test_the_order_of_the_columns_decides_on_rotated_moons():
    data = rotated_moons()
    checked = assess(KRDA(random_state=0, max_steps=300).fit(*data), *data, n_refits=2)
    assert "order decides" in checked.findings
    assert checked.orders.mean > 0.2
    assert max(checked.seeds.disagreement) < 0.05


def known(model, shift, n=40):
    """Check a known transport of shifted normal tables, several times."""
    return list(islice(checks(model, shift, (100, 2), 1), n))


def test_a_transport_that_does_nothing_is_found_wherever_a_shift_is_seen():
    found = [t for shift in (0.0, 0.25, 0.5, 1.0, 4.0) for t in known(moves(0), shift, 4)]
    for t in found:
        assert t.after == t.before
        assert (t.far and not t.nearer and not t.further) == t.shifted
    assert sum(t.shifted for t in found) >= 10


def test_an_exact_transport_is_hardly_ever_blamed():
    found = known(moves(-1), 1)
    assert all(t.shifted for t in found)
    assert not any(t.further for t in found)
    assert np.mean([t.far for t in found]) < 0.11  # after a shift so large, noise is no quarter


def test_a_transport_to_the_other_side_is_hardly_ever_called_further_or_nearer():
    found = known(moves(-2), 1)
    assert sum(t.far for t in found) == 39  # of 40
    assert np.mean([t.further for t in found]) < 0.12
    assert np.mean([t.nearer for t in found]) < 0.12


def test_a_density_without_training_is_worse_than_a_gaussian():
    rng = np.random.default_rng(0)
    mix = np.array([[1.0, 0.99], [0.0, 0.1]])
    Xs, Xt = rng.normal(size=(200, 2)) @ mix, rng.normal(size=(200, 2)) @ mix * 3 + 5
    ys = (Xs[:, 0] > 0).astype(int)
    checked = assess(KRDA(**QUICK | {"max_steps": 1}).fit(Xs, ys, Xt), Xs, ys, Xt, n_refits=1)
    assert "worse density" in checked.findings
    assert all(density.worse for density in checked.densities)


def test_a_transport_that_scatters_rows_and_far_rows_are_found():
    class Scatter(Shift):
        def _transport(self, X):
            return 1e6 * X

    checked = assess_quietly(Scatter, shifted_normals(0), n_refits=2)
    assert {"further", "far rows"} <= set(checked.findings)
    assert any("column 0" in w for w in checked.warnings)


def test_of_small_tables_it_is_said_that_they_are_too_small():
    Xs, ys, Xt = shifted_normals(0, MIN_ROWS)
    assert assess_quietly(moves(0), (Xs, ys, Xt)).transport.n_fits == N_PARTS
    for data in ((Xs[1:], ys[1:], Xt), (Xs, ys, Xt[1:]), (Xs[:2], ys[:2], Xt[:2])):
        checked = assess_quietly(moves(0), data)
        assert "too few rows" in checked.findings
        assert "nan" not in str(checked)


def test_without_refits_nothing_is_claimed_of_densities_and_transport():
    checked = assess_quietly(Exact, shifted_normals(0), n_refits=0)
    assert checked.findings == ()
    assert math.isnan(checked.transport.after)
    assert "were not compared" in str(checked)
    assert "little was compared: ask for refits" in str(checked)
    assert "nan" not in str(checked)


def test_a_refit_that_fails_does_not_end_the_check(quick, monkeypatch):
    model, data = quick

    def fail(self, *_):
        raise DivergenceError("the loss became non-finite")

    monkeypatch.setattr(KnotheRosenblatt, "_finish", fail)
    checked = assess(model, *data, n_refits=2)
    assert len(checked.seeds.failures) == 2
    assert len(checked.orders.failures) == 1
    assert len(checked.transport.failures) == 2 * N_PARTS
    assert math.isnan(checked.seeds.mean)
    assert "failed refits" in checked.findings
    assert "were not compared" in str(checked)


# The numbers


@pytest.mark.parametrize("n_splits", [1, 3])
def test_the_noise_is_what_parts_of_fresh_samples_stay_below_in_95_of_100_cases(n_splits):
    rng = np.random.default_rng(0)
    exceeded = []
    for _ in range(200):
        tables = rng.normal(size=(60, 2)), rng.normal(size=(50, 2))
        splits = [_folds(X, rng.permutation(len(X)), n_splits, rng) for X in tables]
        distances = [
            energy_distance(source.judged, target.judged, unit=1.0)
            for both in zip(*splits, strict=True)
            for source, target in zip(*both, strict=True)
        ]
        exceeded.append(np.mean(distances) > _energy_noise(tables[1], 12, 10, n_splits, rng))
    assert 0.01 < np.mean(exceeded) < 0.11  # 0.05 with a binomial error of 0.015


def test_a_fit_is_judged_by_rows_that_it_did_not_see(monkeypatch):
    seen, asked = {}, {}
    prepare = KnotheRosenblatt._prepare

    def watch(self, *domains):
        seen[self.random_state] = [{tuple(row) for row in X} for X in domains]
        return prepare(self, *domains)

    class Watched(Exact):
        def _transport(self, X):
            if len(X) == 20:
                asked[self.random_state] = {tuple(row) for row in X}
            return super()._transport(X)

    monkeypatch.setattr(KnotheRosenblatt, "_prepare", watch)
    assess_quietly(Watched, shifted_normals(0))
    assert len(asked) == N_PARTS  # each has a seed of its own
    for seed, rows in asked.items():
        assert [len(table) for table in seen[seed]] == [80, 80]
        assert not rows & set.union(*seen[seed])


def test_the_likelihood_of_a_gaussian_sample_is_its_entropy():
    rng = np.random.default_rng(0)
    Xs, Xt = rng.normal(size=(3000, 2)), 10 * rng.normal(size=(3000, 2))
    ys = (Xs[:, 0] > 0).astype(int)
    model = KRDA(**QUICK, classifier=LogisticRegression()).fit(Xs, ys, Xt)
    (source, target), _ = _check_left_out(model, Xs, Xt, 1, np.random.default_rng(0))
    entropy = math.log(2 * math.pi * math.e)
    assert source.gaussian_nll == pytest.approx(entropy, abs=0.15)
    assert target.gaussian_nll == pytest.approx(entropy + 2 * math.log(10), abs=0.15)
    assert source.n_held_out == 2000  # at most, of large tables


def test_counts_and_constant_columns_are_taken_as_the_model_takes_them():
    rng = np.random.default_rng(0)
    Xs = np.column_stack([rng.normal(size=150), rng.poisson(2, 150), np.full(150, 4.0)])
    Xt = np.column_stack([rng.normal(size=150) + 5, rng.poisson(4, 150), rng.normal(size=150)])
    ys = (Xs[:, 0] > 0).astype(int)
    with pytest.warns(UserWarning, match=r"Columns \[2\] are constant"):
        model = KRDA(**QUICK).fit(Xs, ys, Xt)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checked = assess(model, Xs, ys, Xt, n_refits=2)
    assert set(checked.transport.columns) == {"column 0", "column 1"}
    assert all(np.isfinite([d.gaussian_nll, d.excess]).all() for d in checked.densities)
    assert len(checked.orders.disagreement) == 1


def test_the_predictions_of_simple_methods_are_those_of_the_models_classifier(quick):
    Xs, ys, Xt = quick[1]
    model = KRDA(**QUICK, classifier=SVC(C=3.0)).fit(Xs, ys, Xt)
    checked = assess(model, Xs, ys, Xt, n_refits=0)
    predicted = model.predict(Xt)
    plain = SVC(C=3.0).fit(Xs, ys).predict(Xt)
    scaled = SVC(C=3.0).fit(StandardScaler().fit_transform(Xs), ys)
    scaled = scaled.predict(StandardScaler().fit_transform(Xt))
    assert checked.source_only == tuple(plain)
    assert checked.standardized == tuple(scaled)
    assert checked.agreement_source_only == np.mean(plain == predicted) < 1
    assert checked.agreement_standardized == np.mean(scaled == predicted)
    for label in model.classes_:
        shares = [np.mean(y == label) for y in (ys, predicted, plain, scaled)]
        assert list(checked.classes[str(label)].values()) == shares
    assert np.isnan(checked.refits_agree).all()


def test_column_orders_differ_from_the_models_and_from_each_other(monkeypatch):
    rng = np.random.default_rng(0)
    Xs, Xt = rng.normal(size=(45, 3)), rng.normal(size=(45, 3)) + 1  # too few for parts
    ys = (Xs[:, 0] > 0).astype(int)
    model = KRDA(**QUICK, column_order="random").fit(Xs, ys, Xt)
    own = tuple(model.column_order_)
    made = []
    prepare = KnotheRosenblatt._prepare

    def watch(self, *domains):
        made.append((self.random_state, tuple(self.column_order)))
        return prepare(self, *domains)

    monkeypatch.setattr(KnotheRosenblatt, "_prepare", watch)
    assess(model, Xs, ys, Xt, n_refits=9)
    seeds = [seed for seed, order in made if order == own]
    orders = [order for _, order in made if order != own]
    assert len(seeds) == len(set(seeds)) == 9
    assert model.seed_ not in seeds
    assert len(orders) == len(set(orders)) == 5  # all that three columns have
    assert orders[0] == own[::-1]


def test_rows_on_which_refits_agree_add_up_to_the_shares_that_differ(quick):
    model, data = quick
    checked = assess(model, *data, n_refits=2)
    n = [len(check.disagreement) for check in (checked.seeds, checked.orders)]
    expected = (n[0] * checked.seeds.mean + n[1] * checked.orders.mean) / sum(n)
    assert np.mean(1 - checked.refits_agree) == pytest.approx(expected)


# The contract


def test_the_outcome_is_the_same_again_and_leaves_the_model_as_it_was(quick):
    model, data = quick
    before = model.predict(data[2])
    first = assess(model, *data, n_refits=2)
    assert assess(model, *data, n_refits=2) == first
    assert assess(model, *data, n_refits=2, random_state=1) != first
    np.testing.assert_array_equal(model.predict(data[2]), before)


@pytest.mark.parametrize(("n_refits", "kind"), [(0, int), (0, bool), (1, str)])
def test_an_assessment_is_written_as_json(quick, n_refits, kind):
    _, (Xs, ys, Xt) = quick
    labels = ys.astype(kind)
    classifier = make_pipeline(StandardScaler(), LogisticRegression())
    model = KRDA(**QUICK, classifier=classifier).fit(Xs, labels, Xt)
    checked = assess(model, Xs, labels, Xt, n_refits=n_refits)
    read = json.loads(json.dumps(checked.to_dict(), allow_nan=False))  # NaN is no JSON
    assert read["source_only"] == list(checked.source_only)
    assert read["warnings"] == list(checked.warnings)
    assert (read["transport"]["before"] is None) == (n_refits == 0)


def test_data_frames_and_arrays_agree_and_columns_are_called_by_their_names(quick):
    model, (Xs, ys, Xt) = quick
    names = ["height", "width"]
    frames = pd.DataFrame(Xs, columns=names), pd.Series(ys), pd.DataFrame(Xt, columns=names)
    of_frames = assess(KRDA(**QUICK).fit(*frames), *frames, n_refits=1)
    of_arrays = assess(model, Xs, ys, Xt, n_refits=1)
    assert of_frames.densities == of_arrays.densities
    assert of_frames.transport.before == of_arrays.transport.before
    assert set(of_frames.transport.columns) == set(names)


def test_labels_have_no_part_in_what_is_said_of_densities_and_transport():
    Xs, ys, Xt = shifted_normals(0)
    rare = np.zeros(len(Xs), dtype=int)
    rare[0] = 1  # in no fit to parts but those that see this row
    checks = [assess_quietly(Exact, (Xs, labels, Xt)) for labels in (ys, rare)]
    assert checks[0].transport == checks[1].transport
    assert checks[0].densities == checks[1].densities
    assert checks[0].transport.failures == ()


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
