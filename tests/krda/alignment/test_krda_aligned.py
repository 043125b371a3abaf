"""KRDA on an aligned source, and the mean of the maps of several orders of the columns."""

import numpy as np
import pytest
from domain_pairs import label_shift
from shifted import QUICK, shifted_task
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from krda import KRDA, AutoAdaptation, KnotheRosenblatt
from krda.alignment.chosen import ChosenAlignment
from krda.alignment.weighting import fit_weighted, thinning
from krda.base import Domains, fit_together

ORDERS = {**QUICK, "column_order": "consensus", "n_orders": 3}


@pytest.mark.parametrize("alignment", ["standardize", "quantiles", "linear", "affine", "auto"])
def test_the_map_is_fitted_to_the_aligned_source_and_applied_to_it(alignment):
    Xs, ys, Xt = shifted_task()
    model = KRDA(alignment=alignment, **QUICK).fit(Xs, ys, Xt)
    aligned = ChosenAlignment.fit(alignment, Xs, ys, Xt, 0)
    assert aligned.weights(ys) is None
    alone = KnotheRosenblatt(**QUICK).fit(aligned(Xs), Xt)
    np.testing.assert_allclose(model.transform(Xs), alone.transform(aligned(Xs)), atol=1e-9)
    plain = SVC().fit(model.transform(Xs), ys)
    np.testing.assert_array_equal(model.predict(Xt), plain.predict(Xt))


def test_class_shares_weight_the_classifier_and_thin_the_rows_of_the_density(monkeypatch):
    Xs, ys, Xt, _ = label_shift()
    seen = {}
    prepare = KnotheRosenblatt._prepare

    def spy(self, source, target):
        seen.update(source=source, target=target)
        return prepare(self, source, target)

    monkeypatch.setattr(KnotheRosenblatt, "_prepare", spy)
    model = KRDA(alignment="auto", **QUICK).fit(Xs, ys, Xt)
    auto = AutoAdaptation().fit(Xs, ys, Xt)
    assert auto.shift_ == "class shares"
    weights = auto.class_shares_[ys] / 0.5
    # All of the more frequent class, and as many of the other as its share asks for.
    kept = Xs[thinning(weights)]
    np.testing.assert_allclose(seen["source"], kept, rtol=1e-14)
    of_first = len(kept) - 80
    assert of_first / len(kept) == pytest.approx(auto.class_shares_[0], abs=0.02)
    plain = SVC().fit(model.transform(Xs), ys, sample_weight=weights)
    np.testing.assert_array_equal(model.predict(Xt), plain.predict(Xt))
    np.testing.assert_array_equal(seen["target"], Xt)


def test_a_classifier_without_weights_gets_fewer_rows_of_some_classes():
    Xs, ys, Xt, _ = label_shift()
    model = KRDA(classifier=KNeighborsClassifier(), alignment="auto", **QUICK).fit(Xs, ys, Xt)
    rows = thinning(model.alignment_.weights(ys))
    assert 0 < len(rows) < len(Xs)
    plain = KNeighborsClassifier().fit(model.transform(Xs)[rows], ys[rows])
    np.testing.assert_array_equal(model.predict(Xt), plain.predict(Xt))


def test_weights_reach_the_last_step_of_a_pipeline():
    Xs, ys, *_ = label_shift()
    weights = np.where(ys == ys[0], 0.2, 1.8)
    found = fit_weighted(make_pipeline(StandardScaler(), SVC()), Xs, ys, weights, "rows")
    rows = StandardScaler().fit_transform(Xs)
    plain = SVC().fit(rows, ys, sample_weight=weights)
    np.testing.assert_array_equal(found[-1].dual_coef_, plain.dual_coef_)


def test_thinned_rows_stand_for_the_weighted_sample():
    kept = thinning(np.array([3.0] * 6 + [1.0] * 6))
    assert kept.tolist() == [0, 1, 2, 3, 4, 5, 6, 11]  # a third of the last, evenly spaced
    assert len(thinning(np.ones(12))) == 12
    # Of the rarest at least two rows stay.
    assert len(thinning(np.array([1.0] * 6 + [1e-6] * 6))) == 8
    assert len(thinning(np.array([1.0] * 11 + [1e-6]))) == 12


def test_a_consensus_is_the_mean_of_maps_in_random_orders():
    Xs, ys, Xt = shifted_task(d=4)
    model = KRDA(**ORDERS).fit(Xs, ys, Xt)
    orders = [tuple(new.column_order_) for new in model.maps_]
    assert len(orders) == 3
    assert len(set(orders)) > 1
    assert all(sorted(order) == [0, 1, 2, 3] for order in orders)
    each = [new.transform(Xs) for new in model.maps_]
    np.testing.assert_allclose(model.transform(Xs), np.mean(each, axis=0))
    assert np.abs(each[0] - each[1]).max() > 0.01
    # Each is the map of its order alone.
    for new in model.maps_:
        alone = KnotheRosenblatt(**new.get_params()).fit(Xs, Xt)
        np.testing.assert_allclose(new.transform(Xs), alone.transform(Xs), atol=0.02)
    assert model.map_ is model.maps_[0]
    assert model.held_out_nll_ == model.maps_[0].held_out_nll_


def test_a_consensus_is_decided_by_its_seed():
    Xs, ys, Xt = shifted_task(d=4)
    first, again, other = (
        KRDA(**{**ORDERS, "random_state": seed}).fit(Xs, ys, Xt) for seed in (0, 0, 1)
    )
    assert first.transform(Xs).tobytes() == again.transform(Xs).tobytes()
    orders = [[new.column_order_.tolist() for new in m.maps_] for m in (first, other)]
    assert orders[0] != orders[1]


@pytest.mark.parametrize("n_orders", [0, -1, 2.5, True, None])
def test_a_number_of_orders_that_cannot_be_is_refused_by_name(n_orders):
    with pytest.raises(ValueError, match="n_orders must be"):
        KRDA(**{**ORDERS, "n_orders": n_orders}).fit(*shifted_task())
    KRDA(n_orders=n_orders, **{**QUICK, "max_steps": 0}).fit(*shifted_task())  # not read


def test_fits_of_a_consensus_together_equal_fits_alone():
    settings = {**ORDERS, "alignment": "auto"}
    tasks = [shifted_task(n=60 + 10 * seed, seed=seed) for seed in range(3)]
    tasks[1][2][0, 0] = np.nan
    methods = [KRDA(**{**settings, "random_state": seed}) for seed in range(3)]
    errors = fit_together(methods, [Domains(*task) for task in tasks])
    assert [type(error) for error in errors] == [type(None), ValueError, type(None)]
    assert not hasattr(methods[1], "maps_")
    for seed in (0, 2):
        Xs, ys, Xt = tasks[seed]
        alone = KRDA(**{**settings, "random_state": seed}).fit(Xs, ys, Xt)
        np.testing.assert_allclose(methods[seed].transform(Xs), alone.transform(Xs), atol=0.02)
        for one, other in zip(methods[seed].maps_, alone.maps_, strict=True):
            np.testing.assert_array_equal(one.column_order_, other.column_order_)


def test_nothing_of_the_fit_is_kept_but_what_the_model_needs():
    Xs, ys, Xt = shifted_task()
    model = KRDA(alignment="auto", **QUICK).fit(Xs, ys, Xt)
    assert not {"_rows_", "_weights_"} & set(vars(model))
