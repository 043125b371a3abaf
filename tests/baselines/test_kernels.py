"""The kernels and the median rule."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from baselines import kernels
from baselines.kernels import make_kernel, median_bandwidth


def test_the_median_rule_is_its_formula_over_rows_that_differ():
    rows = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])  # distances 5, 1, sqrt(18)
    assert median_bandwidth(rows) == pytest.approx(1 / (2 * 18))
    assert median_bandwidth(np.array([[0.0]] * 10 + [[2.0]])) == pytest.approx(1 / 8)


def test_the_median_of_a_large_table_is_that_of_a_fixed_draw_from_all_of_it(monkeypatch):
    monkeypatch.setattr(kernels, "_MEDIAN_ROWS", 500)
    # In order, so that a draw from one end would see a tenth of the range.
    rows = np.sort(np.random.default_rng(0).normal(size=(5000, 1)), axis=0)
    drawn = median_bandwidth(rows)
    assert drawn == median_bandwidth(rows)
    # Half of the inverse squared median; the median of 500 rows is good to some percent.
    assert drawn == pytest.approx(1 / (2 * np.median(pdist(rows)) ** 2), rel=0.15)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("rows", [np.ones((4, 2)), 1e200 * np.eye(3)])
def test_rows_without_a_usable_distance_are_refused(rows):
    with pytest.raises(ValueError, match=r"needs rows that differ.* scale the columns"):
        median_bandwidth(rows)


def test_kernels_are_their_formulas():
    X, Y = np.array([[1.0, 2.0]]), np.array([[0.0, 0.0], [1.0, 1.0]])
    rbf, gamma = make_kernel("rbf", 0.5, X)
    assert gamma == 0.5
    np.testing.assert_allclose(rbf(X, Y), [[np.exp(-2.5), np.exp(-0.5)]])
    np.testing.assert_allclose(make_kernel("linear", 0.5, X)[0](X, Y), [[0.0, 3.0]])


@pytest.mark.parametrize("wrong", ["scale", 0, np.inf, None, True])
def test_anything_else_is_refused(wrong):
    with pytest.raises(ValueError, match=r"gamma .* must be"):
        make_kernel("rbf", wrong, np.eye(3))
    with pytest.raises(ValueError, match=r"kernel must be 'rbf' or 'linear'"):
        make_kernel(str(wrong), 1.0, np.eye(3))
