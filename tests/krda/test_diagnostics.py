import numpy as np
import pandas as pd
import pytest
from scipy import stats

from krda.diagnostics import column_distances, energy_distance


def samples(n=800, m=600, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(m, d))


def test_column_distances_of_shifted_columns_have_closed_forms():
    X, Y = samples(20_000, 20_000)
    shift = np.array([0.0, 0.5, 2.0])
    found = column_distances(X + shift, Y)
    np.testing.assert_allclose(found, 2 * stats.norm.cdf(shift / 2) - 1, atol=0.02)


def test_energy_distance_in_one_dimension_is_scipys():
    X, Y = samples(300, 200, 1)
    X += 1.0
    n, m, scale = len(X), len(Y), Y.std()
    # scipy gives the square root of the biased form, in which a row's distance to itself counts.
    within = [np.abs(Z - Z.T).sum() / len(Z) ** 2 / (len(Z) - 1) for Z in (X, Y)]
    biased = stats.energy_distance(X[:, 0], Y[:, 0]) ** 2
    assert energy_distance(X, Y) == pytest.approx((biased - sum(within)) / scale)
    assert n != m


def test_energy_distance_sees_dependence_that_columns_do_not_show():
    X, Y = samples(1000, 1000, 2)
    Y[:, 1] = Y[:, 0]
    assert column_distances(X, Y).max() < 0.08
    null = max(abs(energy_distance(*samples(1000, 1000, 2, seed))) for seed in range(1, 20))
    assert energy_distance(X, Y) > 5 * null


def test_columns_of_data_frames_are_compared_by_name():
    frame = pd.DataFrame(samples(m=1)[0] * [1, 10, 100], columns=["a", "b", "c"])
    swapped = frame[["c", "a", "b"]]
    assert energy_distance(frame, swapped) == energy_distance(frame, frame)
    np.testing.assert_array_equal(column_distances(frame, swapped), 0.0)
    with pytest.raises(ValueError, match="same features"):
        energy_distance(frame, frame.rename(columns={"a": "x"}))


@pytest.mark.parametrize("function", [column_distances, energy_distance])
def test_samples_that_do_not_fit_are_refused(function):
    X, Y = samples()
    with pytest.raises(ValueError, match="same columns, got 3 and 2"):
        function(X, Y[:, :2])
    with pytest.raises(ValueError, match="Y contains NaN"):
        function(X, np.where(Y > 2, np.nan, Y))
