import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse, stats
from shifted import QUICK, shifted_task
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from krda import KRDA


@pytest.fixture(scope="module")
def fitted():
    Xs, ys, Xt = shifted_task()
    return KRDA(**QUICK).fit(Xs, ys, Xt), Xs, ys, Xt


def test_adaptation_classifies_a_target_that_the_source_classifier_cannot():
    Xs, ys, Xt = shifted_task(n=600)
    y_target = (Xt[:, 0] > 10).astype(int)
    adapted = KRDA(random_state=0, max_steps=150).fit(Xs, ys, Xt)
    assert SVC().fit(Xs, ys).score(Xt, y_target) < 0.6
    assert adapted.score(Xt, y_target) > 0.9


def test_same_seed_same_bytes_other_seed_other_rows():
    Xs, ys, Xt = shifted_task()
    first, second = (KRDA(**QUICK).fit(Xs, ys, Xt).transform(Xs) for _ in range(2))
    other = KRDA(**{**QUICK, "random_state": 1}).fit(Xs, ys, Xt).transform(Xs)
    assert first.tobytes() == second.tobytes()
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("scaling", ["domain", "pooled"])
def test_the_map_is_equivariant_under_units_of_measurement(scaling):
    Xs, ys, Xt = shifted_task()
    unit = np.array([1000.0, 0.01, 1.0])
    plain = KRDA(scaling=scaling, **QUICK).fit(Xs, ys, Xt).transform(Xs)
    scaled = KRDA(scaling=scaling, **QUICK).fit(Xs * unit, ys, Xt * unit).transform(Xs * unit)
    np.testing.assert_allclose(scaled / unit, plain, rtol=1e-2, atol=1e-2)


def test_torchs_global_defaults_change_nothing():
    X = np.random.default_rng(0).normal(size=(60, 2))

    def numbers():
        model = KRDA(max_steps=8, random_state=0, column_order="random")
        model.fit(X, X[:, 0] > 0, 3 * X + 1)
        found = model.transform(X), model.sample(5, random_state=0), model.log_prob(X)
        return [array.tobytes() for array in found], model.held_out_nll_

    expected = numbers()
    try:
        torch.set_default_dtype(torch.float64)
        torch.set_default_device("meta")
        assert numbers() == expected
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("n", [-1, 2.5, True, "3"])
def test_the_number_of_samples_is_checked(fitted, n):
    with pytest.raises(ValueError, match="n must be an integer of at least 1"):
        fitted[0].sample(n)


@pytest.mark.parametrize("scaled", [False, True])
def test_columns_that_are_mostly_offset_are_named(scaled):
    Xs, ys, Xt = shifted_task()
    offset = np.array([0.0, 1e9, 0.0])
    classifier = make_pipeline(StandardScaler(), SVC()) if scaled else SVC()
    with pytest.warns(UserWarning, match=r"Columns \[1\]") as caught:
        KRDA(classifier=classifier, **QUICK).fit(Xs + offset, ys, Xt + offset)
    assert any("StandardScaler" in str(w.message) for w in caught) is not scaled


@pytest.mark.parametrize(
    ("order", "expected"), [("given", [0, 1, 2]), ("reversed", [2, 1, 0]), ([1, 2, 0], [1, 2, 0])]
)
def test_columns_enter_in_the_order_asked_for_and_come_back_in_their_own(order, expected):
    Xs, ys, Xt = shifted_task()
    model = KRDA(column_order=order, **QUICK).fit(Xs, ys, Xt)
    np.testing.assert_array_equal(model.column_order_, expected)
    T = model.transform(Xs)
    # Each column has its own location, 10 times over its own scale: no mix-up goes unseen.
    np.testing.assert_allclose(T.mean(0), Xt.mean(0), rtol=0.25)
    # The first column in the order is moved by its own quantiles alone: ranks stay.
    first = expected[0]
    assert stats.spearmanr(Xs[:, first], T[:, first]).statistic > 1 - 1e-9


@pytest.mark.filterwarnings("ignore:Columns .* are constant")
@pytest.mark.parametrize("where", ["both", "source", "target"])
def test_a_constant_column_is_set_to_the_targets_mean_and_disturbs_nothing(where):
    Xs, ys, Xt = shifted_task()
    # With its default gamma="scale" the machine would look at the variance over all columns.
    model = KRDA(classifier=SVC(gamma=0.1), **QUICK)
    without = clone(model).fit(Xs, ys, Xt)
    Xs4, Xt4 = (np.insert(X, 1, X[:, 0] ** 2, axis=1) for X in (Xs, Xt))
    if where in ("both", "source"):
        Xs4[:, 1] = 7.0
    if where in ("both", "target"):
        Xt4[:, 1] = 0.1
    T = model.fit(Xs4, ys, Xt4).transform(Xs4)
    np.testing.assert_array_equal(model.constant_columns_, [1])
    np.testing.assert_array_equal(model.predict(Xt4), without.predict(Xt))
    np.testing.assert_allclose(T[:, 1], Xt4[:, 1].mean())
    np.testing.assert_array_equal(T[:, [0, 2, 3]], without.transform(Xs))
    assert np.isfinite(model.sample(5)).all()


def test_warnings_call_columns_by_their_names():
    rng = np.random.default_rng(0)
    Xs = pd.DataFrame({"age": rng.normal(size=60), "flag": np.ones(60)})
    with pytest.warns(UserWarning, match=r"Columns \['flag'\] are constant"):
        KRDA(max_steps=5).fit(Xs, Xs["age"] > 0, Xs + 1)


def test_outliers_that_squeeze_a_column_are_named():
    Xs, ys, Xt = shifted_task()
    Xt[0, 2] = 1e5
    with pytest.warns(UserWarning, match=r"Columns \[2\] of the target have outliers"):
        KRDA(**QUICK).fit(Xs, ys, Xt)


def flagged_task(n, share, seed):
    """A flag that is set in ``share`` of the rows, and an amount that is larger where it is set."""
    rng = np.random.default_rng(seed)
    flag = (rng.random(n) < share).astype(float)
    return np.c_[flag, rng.normal(size=n) + 4 * flag, rng.poisson(2, size=n)]


def test_transported_flags_and_counts_take_the_targets_values_in_the_targets_proportions():
    Xs, Xt = flagged_task(1000, 0.3, 0), flagged_task(1000, 0.7, 1) * [1, 1, 3]
    model = KRDA(random_state=0, max_steps=300).fit(Xs, Xs[:, 0], Xt)
    T = model.transform(Xs)
    assert set(T[:, 0]) == {0.0, 1.0}
    # Standard error of a share of 1000 rows: 0.015; the fit adds about as much.
    assert T[:, 0].mean() == pytest.approx(Xt[:, 0].mean(), abs=0.06)
    assert set(T[:, 2]) <= set(Xt[:, 2])
    assert T[:, 2].mean() == pytest.approx(Xt[:, 2].mean(), abs=0.6)
    # No flag that was set is cleared, since more are to be set: quantiles are matched.
    assert T[Xs[:, 0] == 1, 0].mean() > 0.97
    # What depends on the flag depends on the transported flag.
    drawn = model.sample(2000, random_state=0)
    assert set(drawn[:, 0]) == {0.0, 1.0}
    assert set(drawn[:, 2]) <= set(Xt[:, 2])
    assert drawn[:, 0].mean() == pytest.approx(0.7, abs=0.06)
    for value in (0.0, 1.0):
        mine, theirs = T[T[:, 0] == value, 1], Xt[Xt[:, 0] == value, 1]
        assert mine.mean() == pytest.approx(theirs.mean(), abs=0.4)


def test_log_density_of_a_discrete_column_is_a_log_probability():
    rng = np.random.default_rng(0)
    Xs, Xt = rng.poisson(1.0, size=(500, 1)) * 1.0, rng.poisson(3.0, size=(500, 1)) * 10.0
    model = KRDA(random_state=0, max_steps=200).fit(Xs, np.arange(500) % 2, Xt)
    values, counts = np.unique(Xt, return_counts=True)
    # Averaged over places in the cell, the density there is the cell's probability.
    probability = [np.exp(model.log_prob(np.full((2000, 1), v))).mean() for v in values]
    assert sum(probability) == pytest.approx(1.0, abs=0.05)
    np.testing.assert_allclose(probability, counts / 500, atol=0.05)


def test_rows_are_transported_one_by_one_whatever_follows_them():
    Xs, Xt = flagged_task(200, 0.3, 0), flagged_task(200, 0.7, 1)
    model = KRDA(**QUICK).fit(Xs, Xs[:, 0], Xt)
    T = model.transform(Xs)
    order = np.random.default_rng(2).permutation(200)
    one_by_one = np.vstack([model.transform(row[None]) for row in Xs[:50]])
    # Some rounding differs with the number of rows in a product; the atoms do not.
    np.testing.assert_allclose(model.transform(Xs[order]), T[order], atol=1e-6)
    np.testing.assert_allclose(one_by_one, T[:50], atol=1e-6)
    np.testing.assert_array_equal(one_by_one[:, [0, 2]], T[:50][:, [0, 2]])


@pytest.mark.filterwarnings("error")
def test_untrained_krda_standardises_each_column_and_does_no_more():
    Xs, ys, Xt = shifted_task()
    Z = (Xs - Xs.mean(0)) / Xs.std(0)
    by_hand, inner = Z * Xt.std(0) + Xt.mean(0), (np.abs(Z) < 2.5).all(axis=1)
    for order in ("given", "reversed"):
        method = KRDA(max_steps=0, column_order=order, random_state=0).fit(Xs, ys, Xt)
        np.testing.assert_allclose(method.transform(Xs)[inner], by_hand[inner], atol=1e-6)
        assert method.history_.best_step == 0
        assert method.history_.steps.tolist() == [0]
        assert method.history_.train_nll.isnan().all()
        assert np.isfinite(list(method.held_out_nll_.values())).all()


def test_samples_and_log_density_are_in_the_inputs_units(fitted):
    model, _, _, Xt = fitted
    drawn = model.sample(2000, "target", random_state=0)
    np.testing.assert_allclose(drawn.mean(0), Xt.mean(0), rtol=0.15)
    # Importance weights under a broad Gaussian average to one only if units are accounted for.
    proposal = stats.multivariate_normal(Xt.mean(0), 3 * np.cov(Xt.T))
    X = proposal.rvs(20_000, random_state=0)
    weights = np.exp(model.log_prob(X, "target") - proposal.logpdf(X))
    assert weights.mean() == pytest.approx(1.0, abs=5 * weights.std() / np.sqrt(len(X)))


def _with(array, value):
    changed = array.copy()
    changed[3, 1] = value
    return changed


BAD_INPUT = {
    "NaN in the target": (lambda s, y, t: (s, y, _with(t, np.nan)), ValueError, "Xt contains NaN"),
    "infinity in the target": (lambda s, y, t: (s, y, _with(t, -np.inf)), ValueError, "infinity"),
    "another number of columns": (
        lambda s, y, t: (s, y, t[:, :2]), ValueError, "Xt has 2 columns, but Xs has 3"),
    "a target of one row": (lambda s, y, t: (s, y, t[:1]), ValueError, "Xt.* 1 sample"),
    "a source of one row": (lambda s, y, t: (s[:1], y[:1], t), ValueError, "Xs.* 1 sample"),
    "no columns": (lambda s, y, t: (s[:, :0], y, t[:, :0]), ValueError, "0 feature"),
    "one class": (lambda s, y, t: (s, np.zeros_like(y), t), ValueError, "one class only"),
    "a sparse target": (lambda s, y, t: (s, y, sparse.csr_array(t)), TypeError, "dense"),
    "labels of another length": (lambda s, y, t: (s, y[:-1], t), ValueError, "ys: .*inconsistent"),
    "continuous labels": (lambda s, y, t: (s, y + 0.5 * s[:, 0], t), ValueError, "label type"),
    "a flat source": (lambda s, y, t: (s[:, 0], y, t), ValueError, "2D array"),
    "nothing but constants": (
        lambda s, y, t: (np.ones_like(s), y, t), ValueError, "Every column is constant"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_refused_with_a_clear_error(case):
    spoil, error, message = BAD_INPUT[case]
    with pytest.raises(error, match=message):
        KRDA(**QUICK).fit(*spoil(*shifted_task()))


@pytest.mark.parametrize("method", ["predict", "transform", "log_prob"])
def test_an_unfitted_model_says_so(method):
    with pytest.raises(NotFittedError):
        getattr(KRDA(), method)(np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_components", 0), ("hidden_size", 2.5), ("column_order", "sideways"),
     ("column_order", [0, 0, 1]), ("scaling", "none"), ("sigma_floor", -1.0), ("eps", 0.5),
     ("quantile_method", "secant"), ("spread_atoms", "no"), ("hidden_size", True),
     ("validation_fraction", 1.5), ("max_steps", -1), ("learning_rate", np.inf),
     ("learning_rate", "a"), ("learning_rate", 0.0), ("learning_rate", np.nan), ("batch_size", 0),
     ("validation_fraction", 1.0), ("validation_fraction", 0.0), ("patience", 0),
     ("max_steps", 2.5), ("alignment", "sideways"), ("alignment", "Auto"), ("alignment", None),
     ("alignment", True), ("device", "cuda:99"), ("eps", 1e-17)],
)  # fmt: skip
def test_parameters_that_cannot_work_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        KRDA(**{**QUICK, name: value}).fit(*shifted_task())


def test_krda_works_where_neither_numba_nor_anything_of_the_benchmark_is_installed():
    code = """
import importlib.machinery, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in ("hydra", "omegaconf", "ot", "pandas", "matplotlib", "dalib", "pooch", "numba"):
            return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):
        raise ModuleNotFoundError(spec.name)

    def exec_module(self, module):
        pass

sys.meta_path.insert(0, Missing())
import numpy, krda
krda.KRDA
optional = ("krda.adaptation", "krda.command", "krda.diagnostics", "krda._fast")
assert not [name for name in sys.modules if name.startswith(optional)]
from krda import _switch
assert "krda.density.mixture.quantile" not in _switch.fast_functions()
assert "krda.density.training.fit_maximum_likelihood" in _switch.fast_functions()
X = numpy.random.default_rng(0).normal(size=(20, 2))
print(krda.KRDA(max_steps=2).fit(X, X[:, 0] > 0, X + 1).predict(X).shape)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(20,)"
