import numpy as np
import pytest
from scipy import stats

from krda.preprocessing import Atoms, column_maps, find_atoms, places, row_states

COLUMNS = {
    "flag": lambda rng: rng.integers(0, 2, 400) * 1.0,
    "count": lambda rng: rng.poisson(3.0, 400) * 1.0,
    "uneven values": lambda rng: rng.choice([-7.5, 0.0, 0.1, 1e6], 400, p=[0.1, 0.2, 0.3, 0.4]),
    "zero-inflated": lambda rng: np.where(rng.random(400) < 0.4, 0.0, rng.lognormal(size=400)),
    "clipped at both ends": lambda rng: np.clip(rng.normal(size=400), -1, 1),
    "continuous": lambda rng: rng.normal(size=400),
    "whole numbers without ties": lambda rng: rng.integers(0, 10**6, 400) * 1.0,
}


@pytest.fixture(params=COLUMNS.values(), ids=COLUMNS.keys())
def column(request):
    return request.param(np.random.default_rng(0))


KINDS = {
    "flag": (2, True), "count": (None, True), "uneven values": (4, True),
    "zero-inflated": (1, False), "clipped at both ends": (2, False), "continuous": (0, False),
    "whole numbers without ties": (0, False),
}  # fmt: skip


@pytest.mark.parametrize("kind", COLUMNS)
def test_atoms_are_found_where_they_are_and_nowhere_else(kind):
    x = COLUMNS[kind](np.random.default_rng(0))
    atoms = find_atoms(x)
    n_atoms, discrete = KINDS[kind]
    assert len(atoms.values) == (len(np.unique(x)) if n_atoms is None else n_atoms)
    assert atoms.discrete == discrete


def test_counts_with_a_long_tail_are_discrete():
    x = np.random.default_rng(0).poisson(8, 150) * 1.0
    assert len(np.unique(x)) > len(x) / 10
    assert find_atoms(x).discrete
    assert not find_atoms(x + 0.5).discrete


def random_places(X, seed):
    numbers = places(row_states(X.T, seed))
    return np.column_stack([next(numbers) for _ in X.T])


def test_places_are_uniform_independent_and_belong_to_rows():
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(0, 2, 5000), rng.normal(size=5000)] * 1.0
    V = random_places(X, seed=3)
    for column in V.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(V.T)[0, 1]) < 4 / np.sqrt(5000)
    assert abs(np.corrcoef(V[:, 0], X[:, 1])[0, 1]) < 4 / np.sqrt(5000)
    order = rng.permutation(5000)
    np.testing.assert_array_equal(random_places(X[order], seed=3), V[order])
    assert not np.isclose(random_places(X, seed=4), V).any()


def test_places_of_equal_rows_are_uniform_too():
    V = random_places(np.zeros((5000, 1)), seed=3)
    assert stats.kstest(V[:, 0], "uniform").pvalue > 1e-3
    np.testing.assert_array_equal(V, random_places(-np.zeros((5000, 1)), seed=3))


def test_spreading_and_collapsing_gives_the_same_values(column):
    atoms = find_atoms(column)
    v = np.random.default_rng(1).random(len(column))
    np.testing.assert_allclose(atoms.collapse(atoms.spread(column, v)), column, atol=1e-12)


def test_spreading_keeps_the_order_and_breaks_every_tie_of_an_atom(column):
    z = find_atoms(column).spread(column, np.random.default_rng(1).random(len(column)))
    order = np.argsort(z)
    assert (np.diff(column[order]) >= 0).all()
    assert len(np.unique(z)) == len(z)


def test_ranks_of_spread_rows_are_the_distributional_transform():
    # u = F(x-) + v (F(x) - F(x-)) of a binomial is uniform; the same u comes from the spread
    # rows' own distribution function, which is F between cells and straight within them.
    rng = np.random.default_rng(0)
    x, v = rng.binomial(4, 0.3, 20_000).astype(float), rng.random(20_000)
    law = stats.binom(4, 0.3)
    u = law.cdf(x - 1) + v * law.pmf(x)
    assert stats.kstest(u, "uniform").pvalue > 1e-3
    z = find_atoms(x).spread(x, v)
    cell = np.floor(z)
    np.testing.assert_allclose(law.cdf(cell - 1) + (z - cell) * law.pmf(cell), u)


def test_a_new_value_of_a_discrete_column_counts_as_its_nearest_atom():
    atoms = Atoms(np.array([0.0, 1.0, 10.0]), 1.0, discrete=True)
    x = np.array([-3.0, 0.4, 0.6, 5.4, 5.6, 99.0])
    spread = atoms.spread(x, np.zeros(6))
    np.testing.assert_array_equal(spread, [0, 0, 1, 1, 2, 2])


def test_column_maps_of_rows_without_atoms_only_standardise():
    rng = np.random.default_rng(0)
    Xs, Xt = rng.normal(size=(100, 3)), 3 * rng.normal(size=(80, 3)) + 1
    for spread in (True, False):
        for X, columns in zip((Xs, Xt), column_maps(Xs, Xt, "domain", 0, spread=spread),
                              strict=True):  # fmt: skip
            Z = columns.forward(X, 0)
            np.testing.assert_allclose(Z, (X - X.mean(0)) / X.std(0))
            np.testing.assert_allclose(columns.backward(Z), X)
            np.testing.assert_allclose(columns.log_volume(X), -np.log(X.std(0)).sum())


@pytest.mark.parametrize("atoms", [False, True])
def test_scales_are_those_of_each_domain_or_of_both_which_count_half_each(atoms):
    rng = np.random.default_rng(0)
    Xs, Xt = rng.normal(size=(100, 3)), 3 * rng.normal(size=(80, 3)) + 2
    if atoms:
        Xs[:, 1], Xt[:, 1] = rng.integers(0, 3, 100), rng.integers(1, 4, 80)
    moments = {}
    for scaling in ("domain", "pooled"):
        maps = column_maps(Xs, Xt, scaling, 0)
        Zs, Zt = (columns.forward(X, 0) for columns, X in zip(maps, (Xs, Xt), strict=True))
        moments[scaling] = [[(Z**k).mean(axis=0) for Z in (Zs, Zt)] for k in (1, 2)]
    means, squares = moments["domain"]
    np.testing.assert_allclose(means, 0, atol=1e-12)
    np.testing.assert_allclose(squares, 1)
    means, squares = moments["pooled"]
    np.testing.assert_allclose(np.sum(means, axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.sum(squares, axis=0), 2)


def test_log_volume_is_the_slope_of_the_map_where_there_is_one():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((500, 1)) < 0.4, 0.0, rng.lognormal(size=(500, 1)))
    columns, _ = column_maps(X, X, "domain", 0)
    x = np.array([[0.5], [2.0]])
    slope = (columns.forward(x + 1e-6, 0) - columns.forward(x - 1e-6, 0)) / 2e-6
    np.testing.assert_allclose(columns.log_volume(x), np.log(slope[:, 0]), rtol=1e-6)
    # The cell of an atom has the length exp(log_volume) of the mapped column at constant density.
    cell = columns.atoms[0].width / columns.scale[0]
    np.testing.assert_allclose(columns.log_volume(np.zeros((1, 1))), np.log(cell))


def test_centres_hide_the_place_within_a_cell_and_leave_other_values():
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(0, 3, 300), np.where(rng.random(300) < 0.4, 0, rng.lognormal(size=300))]
    columns, _ = column_maps(X, X, "domain", 0)
    one, other = (columns.forward(X, seed) for seed in (1, 2))
    assert not np.allclose(one, other)
    for i in range(2):
        centres = [columns.conditioning_value(i, Z[:, i]) for Z in (one, other)]
        np.testing.assert_allclose(*centres)
    amounts = X[:, 1] > 0
    np.testing.assert_allclose(columns.conditioning_value(1, one[amounts, 1]), one[amounts, 1])


@pytest.mark.parametrize("spread", [True, False])
def test_a_table_mapped_by_blocks_is_the_table_mapped_in_one_go(spread):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=500), rng.integers(3, size=500), rng.normal(size=500)])
    X[:, 2] *= rng.uniform(size=500) < 0.7  # zero-inflated
    X[300:] = X[:200]  # rows that are told apart by their place
    order = np.array([2, 1, 0])
    columns, _ = column_maps(X[:, order], X[:, order], "domain", 5, spread=spread)
    Z = columns.forward(X[:, order], 5)
    parts = list(columns.forward_blocks(X, order, 5, 64))
    assert [len(part) for _, part in parts] == [64] * 7 + [52]
    np.testing.assert_array_equal(np.vstack([part for _, part in parts]), Z)
    assert columns.has_atoms == spread
