import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from baselines.naive import DomainStandardization
from baselines.reference import SourceOnly
from krda import KRDA
from krda.base import Domains, fit_together


def domains(seed, n=40, d=2):
    rng = np.random.default_rng(seed)
    Xs = rng.normal(size=(n, d))
    return Domains(Xs, (Xs[:, 0] > 0).astype(int), 2 * rng.normal(size=(n, d)) + 1)


def test_methods_without_a_common_program_are_fitted_one_after_another():
    # Equal by their parts, which are objects of their own.
    methods = [DomainStandardization(make_pipeline(StandardScaler(), SVC())) for _ in range(2)]
    given = [domains(0), domains(1)]
    assert fit_together(methods, given) == [None, None]
    assert fit_together([], []) == []
    for method, one in zip(methods, given, strict=True):
        alone = clone(method).fit(*one)
        np.testing.assert_array_equal(method.predict(one.Xt), alone.predict(one.Xt))


def test_a_method_that_fails_forgets_an_earlier_fit():
    method, bad = DomainStandardization().fit(*domains(0)), domains(1)
    bad.Xs[0, 0] = np.inf
    (error,) = fit_together([method], [bad])
    assert isinstance(error, ValueError)
    assert not hasattr(method, "classifier_")


@pytest.mark.parametrize(
    "methods",
    [
        [SourceOnly(), DomainStandardization()],
        [SourceOnly(classifier=SVC(C=1)), SourceOnly(classifier=SVC(C=2))],
        [KRDA(column_order=[0, 1]), KRDA(column_order=[1, 0])],
    ],
    ids=["classes", "nested parameters", "arrays"],
)
def test_methods_that_differ_in_more_than_their_seed_are_refused(methods):
    with pytest.raises(ValueError, match="random_state alone"):
        fit_together(methods, [domains(0), domains(1)])
