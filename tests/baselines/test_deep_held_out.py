"""Held-out stopping of the deep methods, and their width by a number of parameters."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch import nn

from baselines import networks, source_hypothesis
from baselines.adversarial import CDAN, DANN
from baselines.discrepancy import DAN, JAN
from baselines.networks import Check, HeldOut, hold_out, n_rnade_parameters, train
from baselines.source_hypothesis import SHOT
from baselines.stacked import Stack
from krda.rnade import RNADE

METHODS = [DANN, CDAN, DAN, JAN, SHOT]
PARAMETERS = {
    "hidden_size": 16,
    "n_layers": 3,
    "n_epochs": 60,
    "batch_size": 16,
    "learning_rate": 0.01,
    "validation_fraction": 0.2,
    "patience": 20,
    "random_state": 0,
}
every_method = pytest.mark.parametrize("method", METHODS)


def domains(seed=0, n_source=60, n_target=50, d=2):
    """Two classes that overlap, so that the held-out loss rises in the end; the target moved."""
    rng = np.random.default_rng(seed)
    ys = np.arange(n_source) % 2
    Xs = rng.normal(size=(n_source, d)) + ys[:, None]
    return Xs, ys, rng.normal(size=(n_target, d)) + 0.5


def n_parameters(modules):
    return sum(p.numel() for module in modules for p in module.parameters())


@pytest.mark.parametrize(
    ("d", "hidden_size", "n_components"), [(1, 1, 1), (2, 50, 5), (27, 100, 3)]
)
def test_the_parameters_of_krdas_density_are_counted(d, hidden_size, n_components):
    rnade = RNADE(d, 2, n_components=n_components, hidden_size=hidden_size)
    assert n_rnade_parameters(d, hidden_size, n_components) == n_parameters([rnade])


def expected_parameters(method, d, h, k=2, n_layers=5):
    """Written out: the network, and the discriminator where there is one."""
    network = d * h + h + (n_layers - 2) * (h * h + h) + h * k + k
    if method is SHOT:
        return network + 2 * h + k
    if method in (DAN, JAN):
        return network
    n_inputs = h if method is DANN else k * h
    return network + (n_inputs * h + h) + (h * h + h) + 4 * h + (h + 1)


@every_method
@pytest.mark.parametrize(("d", "rnade_hidden_size"), [(2, 50), (27, 100), (2, 1)])
def test_a_matched_method_trains_as_many_parameters_as_krda_to_the_nearest(
    method, d, rnade_hidden_size
):
    size = {"rnade_hidden_size": rnade_hidden_size, "n_components": 5}
    model = method(hidden_size=size, n_epochs=1, random_state=0).fit(*domains(d=d))
    h, wanted = model.hidden_size_, n_rnade_parameters(d, rnade_hidden_size, 5)
    discriminator = model._trained_modules(d, 2, h)[1:]
    assert n_parameters([model.network_, *discriminator]) == expected_parameters(method, d, h)
    away = [abs(expected_parameters(method, d, width) - wanted) for width in (h - 1, h, h + 1)]
    assert away[1] == min(away[1:] if h == 1 else away)


@pytest.mark.parametrize(("n", "n_held_out"), [(4, 2), (30, 6), (5000, 500)])
def test_rows_are_either_trained_on_or_held_out(n, n_held_out):
    generators = [torch.Generator().manual_seed(seed) for seed in (0, 1)]
    training, held_out = hold_out(n, 0.2, generators)
    assert held_out.shape == (2, n_held_out)
    assert torch.equal(
        torch.cat([training, held_out], 1).sort(1).values, torch.arange(n).repeat(2, 1)
    )
    assert not torch.equal(held_out[0].sort().values, held_out[1].sort().values) or n == 4


@every_method
def test_too_few_rows_to_hold_out_are_refused(method):
    Xs, ys, Xt = domains()
    with pytest.raises(ValueError, match="validation_fraction needs at least 4 rows"):
        method(**PARAMETERS).fit(Xs, ys, Xt[:3])


def scripted(held_out_losses, patience, diverges=None, n_epochs=9):
    """Train models of one weight that is the number of steps made, judged by given losses."""
    n_models = len(held_out_losses[0])
    layers = [nn.Linear(1, 1) for _ in range(n_models)]
    for layer in layers:
        nn.init.zeros_(layer.weight)
    stack = Stack([[layer] for layer in layers])
    weight = stack.parameter.detach()[:n_models]
    steps, looks = itertools.count(1), iter(held_out_losses)

    def step(batch):
        stack.parameter.grad.zero_()
        at = next(steps)
        weight.fill_(at)
        losses = torch.ones(n_models)
        if diverges is not None and at >= diverges[1]:
            losses[diverges[0]] = math.nan
        return [Check(losses, "the loss is {}")]

    trained = train(
        [stack],
        step,
        iter([[(torch.arange(2),)] * 10] * n_epochs),
        learning_rate=0.1,
        what="METHOD",
        held_out=HeldOut(lambda: torch.tensor(next(looks)), patience),
    )
    return weight.tolist(), [len(losses) for losses in trained.losses], trained.errors


def test_the_state_with_the_least_held_out_loss_is_kept_and_patience_ends_the_training():
    """A look before the first step and every five steps; each model has its own best and end."""
    looks = [[3.0, 1.0, math.nan], [2.0, 2.0, 3.0], [2.5, 2.0, 2.0], [2.5, 0.5, 1.0]]
    looks += [[1.0, 0.2, 0.5], [0.9, 0.1, 0.4]] * 10
    kept, lengths, errors = scripted(looks, patience=10)
    assert kept == [5.0, 0.0, 25.0 if lengths[2] else None]
    assert lengths[:2] == [15, 10]
    assert errors == [None] * 3


def test_what_a_model_does_after_its_end_does_not_count():
    looks = [[1.0, 5.0 - 0.1 * at] for at in range(19)]
    kept, lengths, errors = scripted(looks, patience=10, diverges=(0, 11))
    assert (kept, lengths, errors) == ([0.0, 90.0], [10, 90], [None, None])
    _, _, (error, other) = scripted(looks, patience=10, diverges=(0, 10))
    assert "step 10" in str(error)
    assert other is None


@every_method
def test_the_kept_network_has_the_least_held_out_loss_of_all_that_were_seen(method, monkeypatch):
    phases = []

    def recording(*arguments, held_out, **options):
        seen = []

        def loss():
            seen.append(held_out.loss().clone())
            return seen[-1]

        trained = train(*arguments, held_out=held_out._replace(loss=loss), **options)
        with torch.inference_mode():
            phases.append((torch.stack(seen).amin(0), held_out.loss()))
        return trained

    for module in (networks, source_hypothesis):
        monkeypatch.setattr(module, "train", recording)
    model = method(**PARAMETERS).fit(*domains())
    assert len(phases) == (2 if method is SHOT else 1)
    for least, kept in phases:
        torch.testing.assert_close(kept, least)
    assert model.n_steps_ < 60 * 4


@pytest.mark.parametrize("method", [DAN, JAN])
def test_the_held_out_loss_of_the_discrepancy_methods_is_their_objective(method, monkeypatch):
    """Cross entropy of the source plus trade-off times the discrepancy between all rows."""
    found = []

    def recording(stacks, step, epochs, *, held_out, **options):
        with torch.inference_mode():
            found.append(held_out.loss())
        return train(stacks, step, iter([]), **options)

    monkeypatch.setattr(networks, "train", recording)
    rows = domains(n_source=40, n_target=20)
    parameters = {**PARAMETERS, "validation_fraction": 0.5}
    plain, once, twice = (
        method(**parameters, trade_off=eta).fit(*rows) and found.pop().item() for eta in (0, 1, 2)
    )
    assert twice - once == pytest.approx(once - plain, abs=1e-5)
    assert once != plain


@every_method
def test_held_out_rows_and_all_else_come_from_the_seed(method):
    Xs, ys, Xt = domains()
    one, same, other = (
        method(**{**PARAMETERS, "random_state": seed}).fit(Xs, ys, Xt) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one.losses_, same.losses_)
    np.testing.assert_array_equal(one.predict_proba(Xt), same.predict_proba(Xt))
    assert not np.array_equal(one.predict_proba(Xt), other.predict_proba(Xt))


def test_shots_source_network_does_not_know_the_target_whose_rows_are_held_out():
    Xs, ys, Xt = domains()
    one, other = (
        SHOT(**PARAMETERS, n_adaptation_epochs=0).fit(Xs, ys, target).predict_proba(Xs)
        for target in (Xt, 100 * Xt[:10] + 5)
    )
    np.testing.assert_array_equal(one, other)


@every_method
def test_nothing_is_held_out_by_default(method, monkeypatch):
    monkeypatch.setattr(networks, "hold_out", None)
    model = method(hidden_size=4, n_epochs=3, batch_size=10, random_state=0).fit(*domains())
    assert len(model.losses_) == (18 + 15 * 5 if method is SHOT else 18)


@every_method
@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("validation_fraction", 0.0),
        ("validation_fraction", 1.0),
        ("validation_fraction", "a tenth"),
        ("patience", 0),
        ("hidden_size", {"n_components": 5}),
        ("hidden_size", {"rnade_hidden_size": 0, "n_components": 5}),
        ("hidden_size", "match"),
        ("standardize", "no"),
    ],
)
def test_parameters_that_cannot_be_worked_with_are_named(method, parameter, value):
    with pytest.raises(ValueError, match=parameter):
        method(**{**PARAMETERS, parameter: value}).fit(*domains())
