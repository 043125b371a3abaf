"""KnotheRosenblatt: the map alone, without labels."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from shifted import QUICK, shifted_task
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from krda import KRDA, KnotheRosenblatt


def tables(n=200, seed=0):
    return shifted_task(n, seed=seed)[::2]


@pytest.fixture(scope="module")
def fitted():
    return KnotheRosenblatt(**QUICK).fit(*tables())


def test_it_is_the_map_of_krda():
    Xs, Xt = tables()
    model = KRDA(**QUICK).fit(Xs, (Xs[:, 0] > 0).astype(int), Xt)
    assert model.alignment == "none"
    assert not hasattr(model, "alignment_")
    assert model.maps_ == [model.map_]
    alone = KnotheRosenblatt(**QUICK).fit(Xs, Xt)
    np.testing.assert_array_equal(alone.transform(Xs=Xs), model.transform(Xs))
    np.testing.assert_array_equal(alone.log_prob(Xt), model.log_prob(Xt))
    np.testing.assert_array_equal(alone.sample(5, random_state=1), model.sample(5, random_state=1))
    assert alone.held_out_nll_ == model.held_out_nll_


def test_the_inverse_undoes_the_map(fitted):
    Xs, Xt = tables()
    back = fitted.inverse_transform(fitted.transform(Xs))
    inner = (np.abs(Xs) < 2.5).all(axis=1)
    np.testing.assert_allclose(back[inner], Xs[inner], atol=1e-6)
    S = fitted.inverse_transform(Xt)
    np.testing.assert_allclose(S.mean(0), 0.0, atol=0.35)


def test_the_map_sends_held_out_source_rows_to_the_targets_distribution():
    # T#mu = nu, on rows that the fit has not seen. 3 columns and 10 projections at 0.001 / 13 each.
    fit = KnotheRosenblatt(random_state=0).fit(*tables(n=2000))
    fresh, goal = tables(n=500, seed=1)
    T = fit.transform(fresh)
    directions = np.vstack([np.eye(3), np.random.default_rng(0).normal(size=(10, 3))])
    unit = goal.std(axis=0)
    for v in directions:
        assert stats.ks_2samp(T / unit @ v, goal / unit @ v).pvalue > 0.001 / len(directions)
    assert stats.ks_2samp(fresh[:, 0], goal[:, 0]).pvalue < 1e-6  # the test has power


class Broken:
    """A density of two coordinates that maps row 3 to NaN in the second one."""

    n_features = 2

    def inverse_rosenblatt(self, u):
        x = u.clone()
        x[3, 1] = np.nan
        return x


@pytest.mark.filterwarnings("ignore:Columns .* are constant")
@pytest.mark.parametrize(("names", "expected"), [(None, "0"), (["a", "b", "c"], "a")])
def test_an_error_names_the_column_of_the_table_whatever_the_order(names, expected):
    tables_ = [pd.DataFrame(X, columns=names) for X in tables()]
    tables_[0].iloc[:, 1] = 7.0  # the order of the map is 2, 0
    fit = KnotheRosenblatt(column_order="reversed", **QUICK).fit(*tables_)
    fit.densities_["target"] = Broken()
    with pytest.raises(FloatingPointError, match=f"Row 3 .* to nan in column {expected}[.]"):
        fit.transform(tables_[0])


def test_columns_constant_in_a_domain_take_the_mean_of_the_other():
    Xs, Xt = tables()
    Xs[:, 1] = 7.0
    with pytest.warns(UserWarning, match=r"Columns \[1\] are constant"):
        fit = KnotheRosenblatt(**QUICK).fit(Xs, Xt)
    np.testing.assert_allclose(fit.transform(Xs)[:, 1], Xt[:, 1].mean())
    np.testing.assert_allclose(fit.inverse_transform(Xt)[:, 1], 7.0)


def test_counts_come_back_as_the_other_domains_values():
    rng = np.random.default_rng(0)
    Xs, Xt = rng.poisson(1.0, (300, 1)) * 1.0, rng.poisson(3.0, (300, 1)) * 10.0
    fit = KnotheRosenblatt(**QUICK).fit(Xs, Xt)
    assert set(fit.transform(Xs)[:, 0]) <= set(Xt[:, 0])
    assert set(fit.inverse_transform(Xt)[:, 0]) <= set(Xs[:, 0])


def test_a_pipeline_is_refused_with_what_to_do(fitted):
    Xs, _ = tables()
    ys = (Xs[:, 0] > 0).astype(int)
    with pytest.raises(TypeError, match=r"use krda\.KRDA"):
        make_pipeline(KnotheRosenblatt(**QUICK), SVC()).fit(Xs, ys)
    with pytest.raises(TypeError, match=r"use krda\.KRDA"):
        make_pipeline(fitted, SVC().fit(Xs, ys)).predict(Xs)


def test_bad_tables_are_refused_and_a_failed_fit_leaves_nothing():
    Xs, Xt = tables()
    fit = KnotheRosenblatt(**QUICK).fit(Xs, Xt)
    with pytest.raises(ValueError, match="Xt has 2 columns, but Xs has 3"):
        fit.fit(Xs, Xt[:, :2])
    assert not hasattr(fit, "densities_")
    with pytest.raises(ValueError, match="domain must be"):
        KnotheRosenblatt(**QUICK).fit(Xs, Xt).sample(3, "both")
