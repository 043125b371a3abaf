"""What every method promises, checked on every line of the table in conftest.py.

No method has a ``fit`` of its own (held below), so that what ``fit`` refuses is tested with one.
"""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge

from baselines.reference import SourceOnly
from krda.base import DomainAdaptationClassifier

LABEL_KINDS = {
    "zero_one": np.array([0, 1]),
    "minus_plus": np.array([-1, 1]),
    "floats": np.array([0.0, 1.0]),
    "strings": np.array(["no", "yes"]),
    "objects": np.array(["no", "yes"], dtype=object),
    "booleans": np.array([False, True]),
    "three_integers": np.array([2, -1, 7]),
    "three_strings": np.array(["b", "a", "c"]),
}


def test_every_method_is_fitted_and_checked_by_the_contract_which_takes_no_target_labels(
    make_method,
):
    method = make_method()
    assert isinstance(method, DomainAdaptationClassifier)
    for name in ("fit", "_validate_domains", "_validate_target", "_validate_source"):
        assert getattr(type(method), name) is getattr(DomainAdaptationClassifier, name)
    assert list(inspect.signature(method.fit).parameters) == ["Xs", "ys", "Xt"]
    assert list(inspect.signature(method.predict).parameters) == ["X"]


def test_three_blobs_are_told_apart(make_method, blobs):
    # The source alone is right for 96 % of these rows; no method may come to guessing.
    method = make_method().fit(blobs.Xs, blobs.ys, blobs.Xt)
    assert method.score(blobs.Xt, blobs.yt) > 0.5


@pytest.mark.parametrize("labels", LABEL_KINDS.values(), ids=LABEL_KINDS.keys())
def test_labels_of_any_kind_come_back_as_they_went_in(make_method, blobs, labels):
    codes = blobs.ys % len(labels)
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


def with_value(X, value):
    X = X.copy()
    X[3, 1] = value
    return X


REFUSED = {
    "nan": (lambda X: with_value(X, np.nan), "Input {} contains NaN"),
    "infinite": (lambda X: with_value(X, -np.inf), "Input {} contains infinity"),
    "one more column": (lambda X: np.column_stack([X, X[:, 0]]), "{} has 3 columns, but Xs has 2"),
    "no rows": (lambda X: X[:0], "0 sample"),
    "masked": (lambda X: np.ma.masked_equal(X, X[3, 1]), "{} is a masked array with 1 masked"),
    "text": (lambda X: np.full(X.shape, "a"), "could not convert string to float"),
    "sparse": (csr_array, "[Ss]parse"),
}


@pytest.mark.parametrize(("spoil", "message"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("where", ["Xs", "Xt"])
def test_rows_that_cannot_be_fitted_to_are_refused_by_name(moons, where, spoil, message):
    given = {"Xs": moons.Xs, "Xt": moons.Xt}
    given[where] = spoil(given[where])
    if "columns" in message:
        message = f"Xt has {given['Xt'].shape[1]} columns, but Xs has {given['Xs'].shape[1]}"
    with pytest.raises((ValueError, TypeError), match=message.format(where)):
        SourceOnly().fit(given["Xs"], moons.ys[: given["Xs"].shape[0]], given["Xt"])


def test_rows_that_cannot_be_predicted_are_refused_by_name(make_method, moons):
    method = make_method().fit(moons.Xs, moons.ys, moons.Xt)
    for spoil, message in REFUSED.values():
        with pytest.raises((ValueError, TypeError), match=message.format("X")):
            method.predict(spoil(moons.Xt))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (lambda moons: np.zeros(len(moons.Xs)), "ys has one class only"),
        (lambda moons: moons.ys[:-1], "inconsistent numbers of samples"),
        (lambda moons: moons.Xs[:, 0], "Unknown label type"),
        (lambda moons: np.ma.masked_equal(moons.ys, 1), "ys is a masked array"),
    ],
    ids=["one class", "another length", "continuous", "masked"],
)
def test_labels_that_cannot_be_fitted_to_are_refused(moons, labels, message):
    with pytest.raises(ValueError, match=message):
        SourceOnly().fit(moons.Xs, labels(moons), moons.Xt)


@pytest.mark.filterwarnings("ignore:Columns .* are constant")  # KRDA says what it leaves out
@pytest.mark.parametrize("where", ["source", "target", "both"])
def test_a_constant_column_does_no_harm(make_method, blobs, where):
    Xs, Xt = blobs.Xs.copy(), blobs.Xt.copy()
    if where in ("source", "both"):
        Xs[:, 2] = 3.0
    if where in ("target", "both"):
        Xt[:, 2] = 3.0
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


@pytest.mark.parametrize("names", [list("abcde"), [5, 6, 7, 8, 9]], ids=["names", "numbers"])
def test_columns_of_other_labels_are_refused(make_method, blobs, names):
    Xs, Xt = (pd.DataFrame(X, columns=names) for X in (blobs.Xs, blobs.Xt))
    other = Xt.set_axis([*names[:-1], names[0] * 2], axis=1)
    with pytest.raises(ValueError, match=r"Xt has the columns \[.* same features.* pass arrays"):
        SourceOnly().fit(Xs, blobs.ys, other)
    method = make_method().fit(Xs, blobs.ys, Xt)
    with pytest.raises(ValueError, match=r"X has the columns \["):
        method.predict(other)


@pytest.mark.parametrize("names", [list("abcde"), [5, 6, 7, 8, 9]], ids=["names", "numbers"])
def test_columns_are_matched_by_their_labels_in_any_order(make_method, blobs, names):
    Xs, Xt = (pd.DataFrame(X, columns=names) for X in (blobs.Xs, blobs.Xt))
    swapped = Xt[names[::-1]]
    expected = make_method().fit(Xs, blobs.ys, Xt).predict(Xt)
    np.testing.assert_array_equal(
        make_method().fit(Xs, blobs.ys, swapped).predict(swapped), expected
    )


def test_a_regressor_is_refused_before_any_work(make_method, moons, monkeypatch):
    method = make_method()
    if "classifier" not in method.get_params(deep=False):
        pytest.skip("the method is its own classifier")

    def work(*args):
        raise AssertionError("began to work")

    monkeypatch.setattr(type(method), "_align", work)
    with pytest.raises(ValueError, match="must be a classifier, got Ridge"):
        method.set_params(classifier=Ridge()).fit(moons.Xs, moons.ys, moons.Xt)


def test_fit_leaves_parameters_and_input_alone(make_method, blobs):
    method = make_method()
    before = {name: repr(value) for name, value in method.get_params().items()}
    given = blobs._replace(**{k: v.copy() for k, v in blobs._asdict().items()})
    method.fit(given.Xs, given.ys, given.Xt)
    method.predict(given.Xt)
    assert {name: repr(value) for name, value in method.get_params().items()} == before
    for name, value in blobs._asdict().items():
        np.testing.assert_array_equal(getattr(given, name), value)


def test_a_clone_of_a_fitted_method_is_unfitted_and_fits_alike(make_method, blobs):
    method = make_method().fit(blobs.Xs, blobs.ys, blobs.Xt)
    copy = clone(method)
    assert not hasattr(copy, "classes_")
    copy.fit(blobs.Xs, blobs.ys, blobs.Xt)
    np.testing.assert_array_equal(copy.predict(blobs.Xt), method.predict(blobs.Xt))


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
def test_a_refit_that_fails_leaves_the_method_unfitted(
    make_method, moons, blobs, monkeypatch, error
):
    method = make_method().fit(blobs.Xs, blobs.ys, blobs.Xt)
    if "classifier" in method.get_params(deep=False):
        method.set_params(classifier=Refuses(error))  # after the alignment, at the very end
    else:
        train = type(method)._train

        def train_and_fail(self, *args):
            train(self, *args)
            raise error

        monkeypatch.setattr(type(method), "_train", train_and_fail)
    with pytest.raises(error):
        method.fit(moons.Xs, moons.ys, moons.Xt)
    assert fitted_attributes(method) == set()
    with pytest.raises(NotFittedError):
        method.predict(blobs.Xt)


class Refuses(ClassifierMixin, BaseEstimator):
    """A classifier whose fit takes weights and raises."""

    def __init__(self, error):
        self.error = error

    def fit(self, X, y, sample_weight=None):
        raise self.error


def test_each_row_is_predicted_by_itself(make_method, domains):
    method = make_method().fit(domains.Xs, domains.ys, domains.Xt)
    together = method.predict(domains.Xt)
    order = np.random.default_rng(0).permutation(len(domains.Xt))
    np.testing.assert_array_equal(method.predict(domains.Xt[order]), together[order])
    np.testing.assert_array_equal(method.predict(domains.Xt[:1]), together[:1])


def test_another_classifier_can_be_put_in(make_method, blobs):
    method = make_method()
    if "classifier" not in method.get_params(deep=False):
        pytest.skip("the method is its own classifier")
    chosen = LogisticRegression(max_iter=1000)
    method.set_params(classifier=chosen).fit(blobs.Xs, blobs.ys, blobs.Xt)
    assert isinstance(method.classifier_, LogisticRegression)
    assert method.classifier_ is not chosen
    assert not hasattr(chosen, "classes_")
    assert method.score(blobs.Xt, blobs.yt) > 0.5
