"""Bandwidth rules and Gram matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from baselines import kernels
from baselines.kernels import bandwidth, check_kernel, gram


def test_the_median_rule_is_its_formula():
    rows = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])  # distances 5, 1, sqrt(18)
    assert bandwidth("median", rows) == pytest.approx(1 / (2 * 18))


def test_the_median_is_over_rows_that_differ():
    rows = np.array([[0.0]] * 10 + [[2.0]])
    assert bandwidth("median", rows) == pytest.approx(1 / 8)


def test_the_scale_rule_is_that_of_scikit_learn():
    rows = np.random.default_rng(0).normal(size=(20, 3))
    assert bandwidth("scale", rows) == pytest.approx(1 / (3 * rows.var()))


def test_the_median_of_a_large_table_is_that_of_a_fixed_draw_from_all_of_it(monkeypatch):
    monkeypatch.setattr(kernels, "_MEDIAN_ROWS", 500)
    # In order, so that a draw from one end would see a tenth of the range.
    rows = np.sort(np.random.default_rng(0).normal(size=(5000, 1)), axis=0)
    drawn = bandwidth("median", rows)
    assert drawn == bandwidth("median", rows)
    # Half of the inverse squared median; the median of 500 rows is good to some percent.
    assert drawn == pytest.approx(1 / (2 * np.median(pdist(rows)) ** 2), rel=0.15)


@pytest.mark.parametrize("wrong", ["auto", 0, -1.0, np.inf, np.nan, None, True])
def test_anything_else_is_refused(wrong):
    with pytest.raises(ValueError, match="gamma must be"):
        bandwidth(wrong, np.eye(3))


@pytest.mark.parametrize("rule", ["median", "scale"])
def test_rows_that_are_all_the_same_give_no_bandwidth(rule):
    with pytest.raises(ValueError, match="all 4 rows are the same"):
        bandwidth(rule, np.ones((4, 2)))


def test_gram_matrices_are_their_formulas():
    X, Y = np.array([[1.0, 2.0]]), np.array([[0.0, 0.0], [1.0, 1.0]])
    np.testing.assert_allclose(gram("rbf", X, Y, 0.5), [[np.exp(-2.5), np.exp(-0.5)]])
    np.testing.assert_allclose(gram("linear", X, Y, np.nan), [[0.0, 3.0]])


def test_an_unknown_kernel_is_refused():
    with pytest.raises(ValueError, match="kernel must be one of rbf, linear"):
        check_kernel("cosine")


@pytest.mark.parametrize("rule", ["median", "scale"])
@pytest.mark.parametrize("unit", [1e-200, 1e200])
@pytest.mark.filterwarnings("ignore:overflow")
def test_distances_beyond_double_precision_are_not_called_equal_rows(rule, unit):
    rows = unit * np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match="Scale the columns"):
        bandwidth(rule, rows)
