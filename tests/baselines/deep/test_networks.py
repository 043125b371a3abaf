"""What the deep methods share beyond the contract that test_method_contract.py holds them to."""

import numpy as np
import pytest
import torch

from baselines.deep.adversarial import CDAN, DANN
from baselines.deep.discrepancy import DAN, JAN
from baselines.deep.source_hypothesis import SHOT
from krda.base import Domains, fit_together

SMALL = {"hidden_size": 16, "n_layers": 3, "n_epochs": 6, "batch_size": 16, "random_state": 0}


def leaning(seed, n=100, shift=-3.0):
    """Both columns tell the class; the second does so better, but is shifted in the target.

    A classifier that leans on the second column fails on the target. The first column alone is
    the same in both domains and right on 99.4% of rows.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    sign = 2.0 * y - 1
    Xs = np.column_stack([sign + 0.4 * rng.normal(size=n), sign + 0.1 * rng.normal(size=n)])
    Xt = np.column_stack([sign + 0.4 * rng.normal(size=n), sign + 0.1 * rng.normal(size=n) + shift])
    return Xs, y, Xt, y


@pytest.mark.parametrize(
    ("method", "parameters"),
    [(DANN, {"warmup_steps": 100}), (CDAN, {"warmup_steps": 100}), (DAN, {}), (JAN, {})],
)
def test_alignment_drops_the_column_that_moved(method, parameters):
    """The known answer: rely on the first column, which the domains share."""
    given = [leaning(seed) for seed in range(3)]

    def accuracies(**more):
        models = [method(hidden_size=64, random_state=seed, **more) for seed in range(3)]
        assert fit_together(models, [Domains(*rows[:3]) for rows in given]) == [None] * 3
        return [model.score(Xt, yt) for model, (_, _, Xt, yt) in zip(models, given, strict=True)]

    plain, adapted = accuracies(trade_off=0), accuracies(**parameters)
    assert np.mean(plain) < 0.9
    assert np.median(adapted) > 0.93


@pytest.mark.parametrize("sizes", [(7, 50), (3, 2), (33, 17)])
def test_any_domain_sizes_and_a_last_batch_of_one(method, sizes, blobs):
    source, target = (np.linspace(0, 59, n).astype(int) for n in sizes)  # of all classes
    Xt = blobs.Xt[target]
    model = method(**SMALL).fit(blobs.Xs[source], blobs.ys[source], Xt)
    assert model.predict(Xt).shape == (sizes[1],)
    assert np.isfinite(model.losses_).all()
    assert model.n_steps_ == len(model.losses_)


def test_same_seed_same_predictions_whatever_the_global_state(method, blobs):
    Xs, ys, Xt, _ = blobs
    torch.manual_seed(1)
    np.random.seed(1)
    first = method(**SMALL).fit(Xs, ys, Xt).predict_proba(Xt)
    torch.manual_seed(2)
    np.random.seed(2)
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()
    second = method(**SMALL).fit(Xs, ys, Xt).predict_proba(Xt)
    np.testing.assert_array_equal(first, second)
    assert torch.equal(torch_state, torch.get_rng_state())
    np.testing.assert_array_equal(numpy_state, np.random.get_state()[1])
    other = method(**{**SMALL, "random_state": 1}).fit(Xs, ys, Xt).predict_proba(Xt)
    assert not np.array_equal(first, other)


@pytest.fixture
def foreign_defaults():
    """What a user may have set for programs of their own; the meta device holds no numbers."""
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    yield
    torch.set_default_device(None)
    torch.set_default_dtype(torch.float32)


def test_torchs_defaults_change_nothing(method, blobs, request):
    Xs, ys, Xt, _ = blobs
    parameters = {**SMALL, "validation_fraction": 0.2}
    expected = method(**parameters).fit(Xs, ys, Xt)
    p = expected.predict_proba(Xt)
    request.getfixturevalue("foreign_defaults")
    model = method(**parameters).fit(Xs, ys, Xt)
    np.testing.assert_array_equal(model.predict_proba(Xt), p)
    np.testing.assert_array_equal(model.losses_, expected.losses_)
    assert all(p.dtype == torch.float32 for p in model.network_.parameters())


def test_predictions_that_would_not_be_finite_are_refused(blobs):
    model = DANN(**SMALL).fit(*blobs[:3])
    with pytest.raises(FloatingPointError, match="single precision"):
        model.predict(1e300 * blobs.Xt)
    with torch.no_grad():
        model.network_.head.bias.fill_(torch.nan)
    with pytest.raises(FloatingPointError, match="output of the network"):
        model.predict(blobs.Xt)


WRONG = [
    (DANN, "hidden_size", 0), (DANN, "hidden_size", {"n_components": 5}), (DANN, "n_layers", 1),
    (DANN, "n_epochs", 0), (DANN, "batch_size", 1), (DANN, "learning_rate", -1.0),
    (DANN, "validation_fraction", 1.0), (DANN, "patience", 0), (DANN, "standardize", "no"),
    (DANN, "device", "abacus"), (DANN, "trade_off", -1.0), (DANN, "warmup_steps", 0),
    (CDAN, "entropy_conditioning", "no"), (DAN, "linear", "no"), (JAN, "softmax_sigma", 0.0),
    (SHOT, "label_smoothing", 1.0), (SHOT, "pseudo_label_weight", -0.1),
    (SHOT, "n_adaptation_epochs", -1),
]  # fmt: skip


@pytest.mark.parametrize(("method", "parameter", "value"), WRONG)
def test_invalid_parameters_are_named(method, parameter, value, blobs):
    with pytest.raises(ValueError, match=parameter):
        method(**{**SMALL, parameter: value}).fit(*blobs[:3])


def test_one_scaling_for_both_domains_aligns_nothing(moons):
    Xs, ys, Xt, _ = moons
    scaler = DANN(**SMALL).fit(Xs, ys, Xt + 10).scaler_
    gap = scaler.transform(Xt + 10).mean(axis=0) - scaler.transform(Xs).mean(axis=0)
    assert (gap > 1).all()


@pytest.mark.parametrize("method", [DAN, JAN])
def test_features_on_one_point_are_an_error_and_not_a_constant_prediction(method):
    with pytest.raises(
        FloatingPointError, match=r"diverged in step 1: .*rows that are all the same"
    ):
        method(**SMALL).fit(np.ones((20, 2)), np.arange(20) % 2, np.ones((20, 2)))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_cuda_device_is_used(method):
    Xs, ys, Xt, yt = leaning(0, shift=0.0)
    state = torch.cuda.get_rng_state()
    model = method(**{**SMALL, "n_epochs": 40, "device": "cuda"}).fit(Xs, ys, Xt)
    assert next(model.network_.parameters()).is_cuda
    assert torch.equal(state, torch.cuda.get_rng_state())
    assert (model.predict(Xt) == yt).mean() > 0.9
