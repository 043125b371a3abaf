"""Optimal transport against POT's solvers; what is no plan is refused."""

import numpy as np
import ot
import pytest
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from baselines.optimal_transport import OptimalTransport

ENTROPIC = {"reg_e": 0.1, "norm": "max"}


def uniform(X):
    return np.full(len(X), 1 / len(X))


def squared_distances(domains):
    return cdist(domains.Xs, domains.Xt, "sqeuclidean")


def barycentres(plan, Xt):
    return plan @ Xt / plan.sum(axis=1, keepdims=True)


def test_emd_is_the_barycentric_map_of_the_exact_plan(domains):
    method = OptimalTransport().fit(domains.Xs, domains.ys, domains.Xt)
    plan = ot.emd(uniform(domains.Xs), uniform(domains.Xt), squared_distances(domains))
    np.testing.assert_allclose(method.transform(domains.Xs), barycentres(plan, domains.Xt))
    plain = SVC().fit(barycentres(plan, domains.Xt), domains.ys)
    np.testing.assert_array_equal(method.predict(domains.Xt), plain.predict(domains.Xt))
    assert method.misplaced_mass_ < 1e-12


def test_sinkhorn_is_the_barycentric_map_of_the_entropic_plan(domains):
    method = OptimalTransport("sinkhorn", **ENTROPIC).fit(domains.Xs, domains.ys, domains.Xt)
    cost = squared_distances(domains)
    given = uniform(domains.Xs), uniform(domains.Xt), cost / cost.max(), 0.1
    plan = ot.sinkhorn(*given, numItermax=5000, stopThr=1e-13)
    np.testing.assert_allclose(method.transport_.coupling_, plan, atol=1e-8)
    np.testing.assert_allclose(
        method.transform(domains.Xs), barycentres(plan, domains.Xt), atol=1e-5
    )
    assert 0 < method.misplaced_mass_ < 1e-6


@pytest.mark.filterwarnings("ignore:Sinkhorn did not converge")  # of the reference call
def test_the_class_term_is_pots(domains):
    method = OptimalTransport("sinkhorn_lpl1", reg_cl=0.05, **ENTROPIC)
    method.fit(domains.Xs, domains.ys, domains.Xt)
    cost = squared_distances(domains)
    plan = ot.da.sinkhorn_lpl1_mm(
        uniform(domains.Xs), domains.ys, uniform(domains.Xt), cost / cost.max(), 0.1, eta=0.05,
        numInnerItermax=2000, stopInnerThr=1e-8,
    )  # fmt: skip
    np.testing.assert_allclose(method.transform(domains.Xs), barycentres(plan, domains.Xt))


def test_the_label_minus_one_is_a_label_like_any_other(moons):
    def moved(ys):
        method = OptimalTransport("sinkhorn_lpl1", reg_cl=0.5, **ENTROPIC)
        return method.fit(moons.Xs, ys, moons.Xt).transform(moons.Xs)

    np.testing.assert_array_equal(moved(2 * moons.ys - 1), moved(moons.ys))


def test_new_rows_move_as_their_nearest_training_row(moons):
    method = OptimalTransport().fit(moons.Xs, moons.ys, moons.Xt)
    new = moons.Xs[:5] + 1e-6
    np.testing.assert_allclose(
        method.transform(new), method.transform(moons.Xs)[:5] + 1e-6, atol=1e-12
    )


def test_too_few_pivots_are_an_error(moons):
    with pytest.raises(FloatingPointError, match=r"not solved to optimality.*raise max_iter"):
        OptimalTransport(max_iter=1).fit(moons.Xs, moons.ys, moons.Xt)


@pytest.mark.parametrize("transport", ["sinkhorn", "sinkhorn_lpl1"])
def test_a_plan_that_did_not_converge_is_an_error(moons, transport, monkeypatch):
    monkeypatch.setattr("baselines.optimal_transport._INNER_STEPS", 2)
    method = OptimalTransport(transport, reg_e=1e-3, max_iter=2)
    with pytest.raises(FloatingPointError, match=r"did not converge.*of the mass.*raise reg_e"):
        method.fit(moons.Xs, moons.ys, moons.Xt)


def test_underflow_is_an_error_and_no_row_at_the_origin(moons):
    # exp(-cost / reg) is zero everywhere; POT alone would warn and return rows of zeros.
    method = OptimalTransport("sinkhorn_lpl1", reg_e=1e-9)
    with pytest.raises(FloatingPointError, match="sinkhorn_lpl1 plan"):
        method.fit(moons.Xs, moons.ys, moons.Xt + 10)


def test_a_row_out_of_reach_of_the_entropic_map_is_an_error(moons):
    method = OptimalTransport("sinkhorn").fit(moons.Xs, moons.ys, moons.Xt)
    with pytest.raises(FloatingPointError, match="transported source"):
        method.transform(moons.Xs + 1e3)


@pytest.mark.parametrize(
    "wrong", [{"transport": "gromov"}, {"reg_e": 0.0}, {"reg_cl": -1.0}], ids=str
)
def test_wrong_parameters_are_refused_by_name(moons, wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must"):
        OptimalTransport(**wrong).fit(moons.Xs, moons.ys, moons.Xt)


def test_it_agrees_with_skada(domains):
    skada = pytest.importorskip("skada")
    X = np.concatenate([domains.Xs, domains.Xt])
    which = np.repeat([1, -2], [len(domains.Xs), len(domains.Xt)])
    y = np.concatenate([domains.ys, np.full(len(domains.Xt), -1)])
    theirs = np.asarray(skada.OTMappingAdapter().fit_transform(X, y, sample_domain=which))
    ours = OptimalTransport().fit(domains.Xs, domains.ys, domains.Xt).transform(domains.Xs)
    np.testing.assert_allclose(ours, theirs[: len(ours)], atol=1e-10)
