"""Held-out stopping of the deep methods, and their width by a number of parameters."""

import numpy as np
import pytest
import torch

from baselines.deep import joint, source_hypothesis
from baselines.deep.networks import n_rnade_parameters
from baselines.deep.source_hypothesis import SHOT
from baselines.deep.training import train
from krda.density.rnade import RNADE

HELD_OUT = {
    "hidden_size": 16, "n_layers": 3, "n_epochs": 60, "batch_size": 16, "learning_rate": 0.01,
    "validation_fraction": 0.2, "patience": 20, "random_state": 0,
}  # fmt: skip


def overlapping(seed=0, n_source=60, n_target=50, d=2):
    """Two classes that overlap, so that the held-out loss rises in the end; the target moved."""
    rng = np.random.default_rng(seed)
    ys = np.arange(n_source) % 2
    Xs = rng.normal(size=(n_source, d)) + ys[:, None]
    return Xs, ys, rng.normal(size=(n_target, d)) + 0.5


def n_parameters(modules):
    return sum(p.numel() for module in modules for p in module.parameters())


@pytest.mark.parametrize(("d", "hidden_size", "n_components"), [(1, 1, 1), (27, 100, 3)])
def test_the_parameters_of_krdas_density_are_counted(d, hidden_size, n_components):
    rnade = RNADE(d, 2, n_components=n_components, hidden_size=hidden_size)
    assert n_rnade_parameters(d, hidden_size, n_components) == n_parameters([rnade])


@pytest.mark.parametrize(("d", "rnade_hidden_size"), [(27, 100), (2, 1)])
def test_a_matched_method_trains_as_many_parameters_as_krda_to_the_nearest(
    method, d, rnade_hidden_size
):
    size = {"rnade_hidden_size": rnade_hidden_size, "n_components": 5}
    model = method(hidden_size=size, n_epochs=1, random_state=0).fit(*overlapping(d=d))
    h, wanted = model.hidden_size_, n_rnade_parameters(d, rnade_hidden_size, 5)
    assert model.network_.features[0].weight.shape == (h, d)
    away = [
        abs(n_parameters([method._network(d, 2, w, 5), model._adversary(2, w)]) - wanted)
        for w in (h - 1, h, h + 1)
        if w > 0
    ]
    assert min(away) == away[-2]


def test_too_few_rows_to_hold_out_are_refused(method):
    Xs, ys, Xt = overlapping()
    with pytest.raises(ValueError, match="validation_fraction needs at least 4 rows"):
        method(**HELD_OUT).fit(Xs, ys, Xt[:3])


def test_the_kept_network_has_the_least_held_out_loss_of_all_that_were_seen(method, monkeypatch):
    phases = []

    def recording(*arguments, held_out_loss, **options):
        seen = []

        def loss():
            seen.append(held_out_loss().clone())
            return seen[-1]

        trained = train(*arguments, held_out_loss=loss, **options)
        with torch.no_grad():
            arguments[0].eval()
            phases.append((torch.stack(seen).amin(0), held_out_loss()))
        return trained

    for module in (joint, source_hypothesis):
        monkeypatch.setattr(module, "train", recording)
    model = method(**HELD_OUT).fit(*overlapping())
    assert len(phases) == (2 if method is SHOT else 1)
    for least, kept in phases:
        torch.testing.assert_close(kept, least)
    assert model.n_steps_ < 60 * 4
