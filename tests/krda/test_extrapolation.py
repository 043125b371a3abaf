"""Rows that are transported where no target row ever was are reported, and no others."""

import warnings

import numpy as np
import pytest
from scipy import stats

from krda import KRDA
from krda.extrapolation import FAR_WIDTHS, describe_far_rows

RANGE = np.array([[0.0, -1.0, 5.0], [2.0, 1.0, 5.0]])
ORDER = np.array([1, 0])  # the third column is constant and was not transported


def describe(transported, *, training=False):
    return describe_far_rows(np.array(transported), RANGE, ORDER, training=training)


def heavy_tailed_task(n=100, d=4):
    rng = np.random.default_rng(1)
    Xs, Xt = rng.standard_t(3, size=(n, d)), 2 * rng.standard_t(3, size=(n, d)) + 1
    Xs[:, 1] += Xs[:, 0]
    Xt[:, 1] -= Xt[:, 0]
    return Xs, (Xs[:, 0] > 0).astype(int), Xt


@pytest.mark.parametrize("side", [-1, 1])
def test_the_limit_is_ten_widths_beyond_the_range_of_a_transported_column_on_either_side(side):
    edge = 1.0 + side * (1.0 + 2.0 * FAR_WIDTHS)  # of the first column: 0 to 2, width 2
    assert describe([[edge, 0.0, 1e30]]) is None
    message = describe([[edge + side * 1e-6, 0.0, 5.0]])
    assert message is not None
    assert "1 of 1 rows were transported far outside" in message


def test_the_message_names_rows_columns_in_their_order_and_what_was_expected():
    message = describe([[1.0, 0.0, 5.0], [1e14, 0.5, 5.0], [-3e9, 7e3, 5.0]])
    assert message is not None
    assert message.startswith("2 of 3 rows")
    assert "columns [1, 0]" in message
    assert "first row 2: column 1 at 7e+03, target rows within -1 to 1" in message
    assert "clip" in message
    rows = np.array([[1.0, 7e3, 5.0]])
    names = ["age", "income", "flag"]
    named = describe_far_rows(rows, RANGE, ORDER, training=False, names=names)
    assert "columns ['income'] " in str(named)


def test_a_range_as_wide_as_numbers_go_is_never_left():
    full = np.array([[-1e308], [1e308]])
    assert describe_far_rows(np.array([[1.7e308]]), full, np.array([0]), training=False) is None


def test_transform_warns_of_rows_unlike_the_fits_and_changes_no_value():
    Xs, ys, Xt = heavy_tailed_task()
    model = KRDA(random_state=0).fit(Xs, ys, Xt)
    np.testing.assert_array_equal(model.ranges_["target"], [Xt.min(axis=0), Xt.max(axis=0)])
    model.transform(Xs)
    with pytest.warns(UserWarning, match="fit with rows like them") as caught:
        far = model.transform(50 * Xs)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(far, model._transport(50 * Xs))
    # What the warning is for: no one would see these values in a long table.
    assert np.abs(far).max() > 1e6 * np.abs(Xt).max()


def test_a_fit_warns_once_of_its_own_rows(monkeypatch):
    Xs, ys, Xt = heavy_tailed_task()
    transport = KRDA._transport

    def lose_a_row(self, X):
        transported = transport(self, X)
        transported[7, 2] = 1e14
        return transported

    monkeypatch.setattr(KRDA, "_transport", lose_a_row)
    with pytest.warns(UserWarning, match=r"first row 7: column 2 .* and fit again") as caught:
        KRDA(max_steps=5, random_state=0).fit(Xs, ys, Xt)
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize("distribution", [stats.norm(), stats.uniform(), stats.expon()])
@pytest.mark.parametrize("n", [30, 300])
def test_new_rows_of_ordinary_tables_give_no_warning(distribution, n):
    rng = np.random.default_rng(0)
    Xs, Xt, new = (distribution.rvs((rows, 3), random_state=rng) for rows in (n, n, 1000))
    for X, slope in ((Xs, 1.0), (Xt, -2.0), (new, 1.0)):
        X[:, 1] += slope * X[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KRDA(random_state=0, max_steps=200).fit(Xs, Xs[:, 0] > 0.5, Xt).transform(new)
