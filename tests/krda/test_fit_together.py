import numpy as np
import pytest
from shifted import QUICK, shifted_task
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from baselines.reference import SourceOnly
from krda import KRDA, DivergenceError, KnotheRosenblatt, Standardize
from krda.base import Domains, fit_together


def domains(seed, n=50):
    return Domains(*shifted_task(n, seed=seed))


def test_methods_without_a_common_program_are_fitted_one_after_another():
    # Equal by their parts, which are objects of their own.
    methods = [Standardize(make_pipeline(StandardScaler(), SVC())) for _ in range(2)]
    given = [domains(0), domains(1)]
    assert fit_together(methods, given) == [None, None]
    assert fit_together([], []) == []
    for method, one in zip(methods, given, strict=True):
        alone = clone(method).fit(*one)
        np.testing.assert_array_equal(method.predict(one.Xt), alone.predict(one.Xt))


def test_a_method_that_fails_forgets_an_earlier_fit():
    method, bad = Standardize().fit(*domains(0)), domains(1)
    bad.Xs[0, 0] = np.inf
    (error,) = fit_together([method], [bad])
    assert isinstance(error, ValueError)
    assert not hasattr(method, "classifier_")


@pytest.mark.parametrize(
    "methods",
    [
        [SourceOnly(), Standardize()],
        [SourceOnly(classifier=SVC(C=1)), SourceOnly(classifier=SVC(C=2))],
        [KRDA(column_order=[0, 1, 2]), KRDA(column_order=[1, 0, 2])],
    ],
    ids=["classes", "nested parameters", "arrays"],
)
def test_methods_that_differ_in_more_than_their_seed_are_refused(methods):
    with pytest.raises(ValueError, match="random_state alone"):
        fit_together(methods, [domains(0), domains(1)])


def together(methods, given):
    """Fit as one, and check each against a fit of its own: training enlarges rounding a little."""
    errors = fit_together(methods, given)
    for method, one, error in zip(methods, given, errors, strict=True):
        if error is None:
            alone = clone(method).fit(*one)
            np.testing.assert_allclose(method.transform(one.Xs), alone.transform(one.Xs), atol=0.02)
            assert method.held_out_nll_ == pytest.approx(alone.held_out_nll_, abs=1e-3)
            np.testing.assert_array_equal(alone.history_.steps, method.history_.steps)
    return errors


@pytest.mark.parametrize("max_steps", [0, QUICK["max_steps"]])
def test_fits_together_equal_fits_alone(max_steps):
    settings = {**QUICK, "max_steps": max_steps}
    methods = [KRDA(**{**settings, "random_state": seed}) for seed in range(5)]
    # Two sizes, so two stacks; and atoms in some, so that rows and what is given of them differ.
    tasks = [domains(seed, 120 if seed < 3 else 90) for seed in range(5)]
    for task in tasks[1:3]:
        for X in (task.Xs, task.Xt):
            X[:, 1] = X[:, 1].round()
    assert together(methods, tasks) == [None] * 5


def test_nothing_of_one_fit_reaches_another():
    def transported(seed_of_others):
        seeds = [seed_of_others, 0, seed_of_others]
        tasks = [domains(seed) for seed in seeds]
        methods = [KRDA(**{**QUICK, "random_state": seed}) for seed in seeds]
        assert fit_together(methods, tasks) == [None] * 3
        return methods[1].transform(tasks[1].Xs)

    assert transported(1).tobytes() == transported(2).tobytes()


@pytest.mark.filterwarnings("ignore:Columns .* are constant")
def test_a_fit_that_fails_leaves_those_beside_it_alone():
    tasks = [domains(seed) for seed in range(5)]
    tasks[1].Xt[:] = 1.0  # Nothing but constants.
    tasks[2].Xt[0, 0] = np.nan
    tasks[3].Xt[:, 1] = 0.5  # One column less: another shape.
    methods = [KRDA(**{**QUICK, "random_state": seed}) for seed in range(5)]
    errors = together(methods, tasks)
    assert [error is None for error in errors] == [True, False, False, True, True]
    for i in (1, 2):
        assert isinstance(errors[i], ValueError)
        assert not hasattr(methods[i], "densities_")


def test_a_training_that_diverges_is_the_error_of_its_own_fit(monkeypatch):
    original = KnotheRosenblatt._finish

    def diverging(self, model, history, *tables):
        if self.seed_ == 1:
            raise DivergenceError("the loss became non-finite")
        original(self, model, history, *tables)

    monkeypatch.setattr(KnotheRosenblatt, "_finish", diverging)
    tasks = [domains(seed) for seed in range(3)]
    methods = [KRDA(**{**QUICK, "random_state": seed}) for seed in range(3)]
    errors = fit_together(methods, tasks)
    assert [type(error) for error in errors] == [type(None), DivergenceError, type(None)]
    assert not hasattr(methods[1], "history_")
    assert methods[2].predict(tasks[2].Xt).shape == (60,)
