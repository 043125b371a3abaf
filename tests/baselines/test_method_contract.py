"""What every method promises, checked on every line of the table in conftest.py.

No method has a ``fit`` of its own (held below): what ``fit`` refuses, and how it finds columns by
their names, is tested in tests/krda.
"""

import inspect

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from baselines.optimal_transport import OptimalTransport
from krda.base import DomainAdaptationClassifier


def test_every_method_is_fitted_and_checked_by_the_contract_which_takes_no_target_labels(
    make_method,
):
    method = make_method()
    assert isinstance(method, DomainAdaptationClassifier)
    for name in ("fit", "_validate_domains", "_validate_target", "_validate_source"):
        assert getattr(type(method), name) is getattr(DomainAdaptationClassifier, name)
    assert list(inspect.signature(method.fit).parameters) == ["Xs", "ys", "Xt"]
    assert list(inspect.signature(method.predict).parameters) == ["X"]


def test_labels_come_back_as_they_went_in(make_method, blobs):
    labels, codes = np.array(["b", "a", "c"]), blobs.ys
    method = make_method().fit(blobs.Xs, labels[codes], blobs.Xt)
    predicted = method.predict(blobs.Xt)
    assert predicted.shape == (len(blobs.Xt),)
    assert predicted.dtype == labels.dtype
    np.testing.assert_array_equal(method.classes_, np.unique(labels))
    assert set(predicted) <= set(labels)
    # Naming the classes otherwise, in the same order, changes nothing else.
    ranks = np.argsort(np.argsort(labels))
    numbered = make_method().fit(blobs.Xs, ranks[codes], blobs.Xt)
    np.testing.assert_array_equal(
        np.searchsorted(method.classes_, predicted), numbered.predict(blobs.Xt)
    )


def test_labels_may_be_truth_values(blobs):
    truth = blobs.ys == 1
    method = OptimalTransport().fit(blobs.Xs, truth, blobs.Xt)
    assert method.classes_.tolist() == [False, True]
    predicted = method.predict(blobs.Xt)
    assert predicted.dtype == bool
    numbered = OptimalTransport().fit(blobs.Xs, truth.astype(int), blobs.Xt)
    np.testing.assert_array_equal(predicted, numbered.predict(blobs.Xt))


def with_value(X, value):
    X = X.copy()
    X[3, 1] = value
    return X


REFUSED = {
    "nan": (lambda X: with_value(X, np.nan), "Input X contains NaN"),
    "infinite": (lambda X: with_value(X, -np.inf), "Input X contains infinity"),
    "one more column": (lambda X: np.column_stack([X, X[:, 0]]), "X has 3 columns, but Xs has 2"),
    "no rows": (lambda X: X[:0], "0 sample"),
    "masked": (lambda X: np.ma.masked_equal(X, X[3, 1]), "X is a masked array with 1 masked"),
    "text": (lambda X: np.full(X.shape, "a"), "could not convert string to float"),
    "sparse": (csr_array, "[Ss]parse"),
}


def test_rows_that_cannot_be_predicted_are_refused_by_name(make_method, moons):
    method = make_method().fit(moons.Xs, moons.ys, moons.Xt)
    for spoil, message in REFUSED.values():
        with pytest.raises((ValueError, TypeError), match=message):
            method.predict(spoil(moons.Xt))


@pytest.mark.filterwarnings("ignore:Columns .* are constant")  # KRDA says what it leaves out
@pytest.mark.parametrize("where", ["source", "target"])
def test_a_constant_column_does_no_harm(make_method, blobs, where):
    Xs, Xt = blobs.Xs.copy(), blobs.Xt.copy()
    (Xs if where == "source" else Xt)[:, 2] = 3.0
    predicted = make_method().fit(Xs, blobs.ys, Xt).predict(Xt)
    assert np.mean(predicted == blobs.yt) > 0.5


@pytest.mark.parametrize("kind", ["collinear", "more columns than rows"])
def test_dependent_columns_do_no_harm(make_method, blobs, kind):
    mix = np.random.default_rng(0).normal(size=(5, 30))
    mix = mix[:, :7] if kind == "collinear" else mix
    every = 1 if kind == "collinear" else 3
    Xs, Xt = blobs.Xs[::every] @ mix, blobs.Xt[::every] @ mix
    predicted = make_method().fit(Xs, blobs.ys[::every], Xt).predict(blobs.Xt @ mix)
    assert np.mean(predicted == blobs.yt) > 0.5


def test_fit_leaves_parameters_and_input_alone(make_method, blobs):
    method = make_method()
    before = {name: repr(value) for name, value in method.get_params().items()}
    given = blobs._replace(**{k: v.copy() for k, v in blobs._asdict().items()})
    method.fit(given.Xs, given.ys, given.Xt)
    method.predict(given.Xt)
    assert {name: repr(value) for name, value in method.get_params().items()} == before
    for name, value in blobs._asdict().items():
        np.testing.assert_array_equal(getattr(given, name), value)


def fitted_attributes(method):
    return {name for name in vars(method) if name.endswith("_")}


def test_a_refit_forgets_the_first_data(make_method, moons, blobs):
    method = make_method().fit(moons.Xs, moons.ys, moons.Xt)
    method.left_over_ = "of the first fit"
    method.fit(blobs.Xs, blobs.ys, blobs.Xt)
    fresh = make_method().fit(blobs.Xs, blobs.ys, blobs.Xt)
    assert fitted_attributes(method) == fitted_attributes(fresh)
    np.testing.assert_array_equal(method.predict(blobs.Xt), fresh.predict(blobs.Xt))


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_refit_that_fails_leaves_the_method_unfitted(blobs, monkeypatch, error):
    method = OptimalTransport().fit(blobs.Xs, blobs.ys, blobs.Xt)

    def half_a_fit(self, *given):
        self.half_made_ = True
        raise error

    monkeypatch.setattr(type(method), "_fit", half_a_fit)
    with pytest.raises(error):
        method.fit(blobs.Xs, blobs.ys, blobs.Xt)
    assert fitted_attributes(method) == set()
    with pytest.raises(NotFittedError):
        method.predict(blobs.Xt)


def test_each_row_is_predicted_by_itself(make_method, moons):
    method = make_method().fit(moons.Xs, moons.ys, moons.Xt)
    together = method.predict(moons.Xt)
    order = np.random.default_rng(0).permutation(len(moons.Xt))
    np.testing.assert_array_equal(method.predict(moons.Xt[order]), together[order])
    np.testing.assert_array_equal(method.predict(moons.Xt[:1]), together[:1])
