"""The training loop: Adam's steps, divergence, held-out stopping."""

import itertools
import math

import pytest
import torch
from torch import nn

from baselines.deep.training import train


class Weights(nn.Module):
    """R models of one weight each."""

    def __init__(self, n_models=1):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_models))


def run(n_models, loss_at, n_steps=12, **held_out):
    """Train models whose weight is the number of steps made, on losses given for each step."""
    models, count = Weights(n_models), itertools.count(1)

    def loss_of(batch):
        step = next(count)
        with torch.no_grad():
            models.weight.fill_(step)
        return torch.tensor(loss_at(step)) + 0.0 * models.weight

    epochs = iter([[(torch.arange(2),)] * 3] * (n_steps // 3))
    trained = train(models, loss_of, epochs, learning_rate=0.1, what="METHOD", **held_out)
    return models.weight.tolist(), [len(of_model) for of_model in trained.losses], trained.errors


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_model_that_is_not_finite_is_reported_with_its_step(bad):
    _, lengths, (first, error, last) = run(3, lambda step: [1.0, bad if step >= 5 else 1.0, 1.0])
    assert lengths == [12] * 3
    assert (first, last) == (None, None)
    assert isinstance(error, FloatingPointError)
    assert str(error).startswith(f"METHOD diverged in step 5: the loss is {bad}. ")


def test_training_ends_once_all_models_have_diverged():
    _, lengths, errors = run(2, lambda step: [math.nan if step >= 2 else 1.0, math.inf])
    assert lengths == [2, 2]
    assert ["step 2" in str(errors[0]), "step 1" in str(errors[1])] == [True] * 2


def scripted(held_out_losses, diverges_at=math.inf):
    looks, n_models = iter(held_out_losses), len(held_out_losses[0])
    return run(
        n_models,
        lambda step: [math.nan if step >= diverges_at else 1.0] + [1.0] * (n_models - 1),
        n_steps=90,
        held_out_loss=lambda: torch.tensor(next(looks)),
        patience=10,
    )


def test_the_state_with_the_least_held_out_loss_is_kept_and_patience_ends_the_training():
    """A look before the first step and every five steps; each model has its own best and end."""
    looks = [[3.0, 1.0, math.nan], [2.0, 2.0, 3.0], [2.5, 2.0, 2.0], [2.5, 0.5, 1.0]]
    looks += [[1.0, 0.2, 0.5], [0.9, 0.1, 0.4]] * 10
    kept, lengths, errors = scripted(looks)
    assert kept == [5.0, 0.0, 25.0]
    assert lengths[:2] == [15, 10]
    assert errors == [None] * 3


def test_what_a_model_does_after_its_end_does_not_count():
    looks = [[1.0, 5.0 - 0.1 * at] for at in range(19)]
    kept, lengths, errors = scripted(looks, 11)
    assert (kept, lengths, errors) == ([0.0, 90.0], [10, 90], [None, None])
    _, _, (error, other) = scripted(looks, 10)
    assert "step 10" in str(error)
    assert other is None
