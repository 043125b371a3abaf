"""Deep methods that are fitted together become what each becomes alone.

Up to rounding, which is tested tightly in double precision in test_straightforward.py; here is what
holds exactly: nothing of one reaches another.
"""

import pickle

import numpy as np
import pytest

from krda.base import Domains, fit_together

SMALL = {"hidden_size": 21, "n_layers": 3, "n_epochs": 4, "batch_size": 16}
HELD_OUT = {**SMALL, "n_epochs": 15, "validation_fraction": 0.2, "patience": 1,
            "learning_rate": 0.01}  # fmt: skip


def domains(seed, n_source=45, n_target=50, d=2, n_classes=3):
    rng = np.random.default_rng(seed)
    ys = np.arange(n_source) % n_classes
    Xs = rng.normal(size=(n_source, d)) + 2 * ys[:, None]
    return Domains(Xs, ys, rng.normal(size=(n_target, d)) + 1)


def assert_same(one, other, X):
    """Compare to the bit."""
    np.testing.assert_array_equal(one.losses_, other.losses_)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    state = other.network_.state_dict()
    for name, tensor in one.network_.state_dict().items():
        np.testing.assert_array_equal(tensor, state[name], name)
    assert vars(one).keys() == vars(other).keys()


@pytest.mark.parametrize("parameters", [SMALL, HELD_OUT], ids=["all epochs", "held out"])
def test_nothing_of_one_reaches_another(method, parameters):
    def fit(seed_of_others):
        seeds = [seed_of_others] * 4
        seeds[2] = 0
        methods = [method(**parameters, random_state=seed) for seed in seeds]
        assert fit_together(methods, [domains(seed) for seed in seeds]) == [None] * 4
        return methods

    one, other = fit(1), fit(2)
    assert_same(one[2], other[2], domains(0).Xt)
    assert not np.array_equal(one[1].losses_, other[1].losses_)
    # With held-out rows a stack goes on after one of it has ended.
    assert parameters is SMALL or len({len(fit.losses_) for fit in one + other}) > 1


def test_rows_of_other_shapes_are_trained_in_stacks_of_their_own(method):
    given = [domains(0), domains(1, 30), domains(2), domains(3, n_classes=2), domains(4, d=4)]
    given[2] = given[2]._replace(ys=np.array(["x", "a", "m"])[given[2].ys])
    together = [method(**SMALL, random_state=0) for _ in given]
    assert fit_together(together, given) == [None] * 5
    for one, rows in zip(together, given, strict=True):
        alone = method(**SMALL, random_state=0).fit(*rows)
        # The first steps, before training enlarges rounding, and what must be the same.
        np.testing.assert_allclose(one.losses_[:4], alone.losses_[:4], rtol=1e-3, atol=1e-5)
        assert len(one.losses_) == len(alone.losses_)
        np.testing.assert_array_equal(one.classes_, alone.classes_)
        assert vars(one).keys() == vars(alone).keys()
        assert set(one.predict(rows.Xt)) <= set(rows.ys)


@pytest.mark.parametrize("bad", [0, 1])
def test_a_fit_that_diverges_ends_with_its_error_and_disturbs_no_other(method, bad):
    parameters = {**SMALL, "standardize": False}
    given = [domains(seed, d=7) for seed in range(3)]
    undisturbed = [method(**parameters, random_state=seed) for seed in range(3)]
    assert fit_together(undisturbed, given) == [None] * 3
    # Finite in single precision, but not the sum of seven.
    Xs, ys, Xt = given[bad]
    given[bad] = Domains(np.copysign(3e38, Xs), ys, np.copysign(3e38, Xt))
    together = [method(**parameters, random_state=seed) for seed in range(3)]
    errors = fit_together(together, given)
    for seed, (one, rows, error) in enumerate(zip(together, given, errors, strict=True)):
        if seed == bad:
            with pytest.raises(FloatingPointError, match="diverged in step 1:"):
                method(**parameters, random_state=seed).fit(*rows)
            assert isinstance(error, FloatingPointError)
            assert "diverged in step 1:" in str(error)
            assert not hasattr(one, "network_")
        else:
            assert error is None
            assert_same(one, undisturbed[seed], rows.Xt)


def test_parameters_and_rows_that_cannot_be_worked_with_are_errors_of_each(method):
    given = [domains(0), domains(1)._replace(Xs=1e300 * domains(1).Xs), domains(2)]
    together = [method(**SMALL, standardize=False, random_state=0) for _ in given]
    first, second, third = fit_together(together, given)
    assert (first, third) == (None, None)
    assert isinstance(second, FloatingPointError)
    assert "single precision" in str(second)
    errors = fit_together([method(hidden_size=0) for _ in given], given)
    assert all("hidden_size" in str(error) for error in errors)


def test_a_fitted_method_holds_nothing_of_the_others(method):
    given = [domains(seed) for seed in range(4)]
    together = [method(**SMALL, random_state=seed) for seed in range(4)]
    assert fit_together(together, given) == [None] * 4
    for tensor in together[1].network_.state_dict().values():
        assert tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
    assert together[1].losses_.base is None
    stored = pickle.loads(pickle.dumps(together[1]))
    assert_same(stored, together[1], given[1].Xt)
    alone = method(**SMALL, random_state=1).fit(*given[1])
    assert len(pickle.dumps(together[1])) == len(pickle.dumps(alone))
