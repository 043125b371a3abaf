"""The training loop: Adam's steps, divergence, held-out stopping."""

import itertools
import math

import pytest
import torch
from torch import nn

from baselines.deep.training import LOSS, HeldOut, train


class Weights(nn.Module):
    """R models of one weight each."""

    def __init__(self, n_models=1):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_models))


def steps(n_steps, n_epochs):
    return iter([[(torch.arange(2),)] * n_steps] * n_epochs)


def watched(losses_of_step, n_models, n_steps=3, n_epochs=4):
    """Train on losses given for each step, of which the weights are no part."""
    models, count = Weights(n_models), itertools.count(1)

    def losses_of(batch):
        losses = losses_of_step(next(count))
        losses[LOSS] = losses[LOSS] + 0.0 * models.weight
        return losses

    trained = train(models, losses_of, steps(n_steps, n_epochs), learning_rate=0.1, what="METHOD")
    return trained, next(count) - 1


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("which", [0, 1])
def test_a_model_that_is_not_finite_is_reported_with_its_step_and_reason(bad, which):
    def losses(step):
        values = torch.ones(2, 3)
        if step >= 5:
            values[which:, 1] = bad
        return {"the output is odd": values[0][:, None].expand(3, 2), LOSS: values[1]}

    trained, _ = watched(losses, 3)
    assert [len(of_model) for of_model in trained.losses] == [12] * 3
    first, error, last = trained.errors
    assert (first, last) == (None, None)
    assert isinstance(error, FloatingPointError)
    reason = ["the output is odd", f"the loss is {bad}"][which]
    assert str(error).startswith(f"METHOD diverged in step 5 (epoch 2): {reason}. ")


def test_training_ends_once_all_models_have_diverged():
    trained, n_steps = watched(
        lambda step: {LOSS: torch.tensor([math.nan if step >= 2 else 1.0, math.inf])}, 2
    )
    assert n_steps == 2
    assert ["step 2" in str(trained.errors[0]), "step 1" in str(trained.errors[1])] == [True] * 2


def scripted(held_out_losses, patience, diverges=None, n_epochs=9):
    """Train models whose weight is the number of steps made, judged by given losses."""
    models = Weights(len(held_out_losses[0]))
    count, looks = itertools.count(1), iter(held_out_losses)

    def losses_of(batch):
        step = next(count)
        with torch.no_grad():
            models.weight.fill_(step)
        losses = torch.ones(len(models.weight))
        if diverges is not None and step >= diverges[1]:
            losses[diverges[0]] = math.nan
        return {LOSS: losses + 0.0 * models.weight}

    trained = train(
        models,
        losses_of,
        steps(10, n_epochs),
        learning_rate=0.1,
        what="METHOD",
        held_out=HeldOut(lambda: torch.tensor(next(looks)), patience),
    )
    return models.weight.tolist(), [len(of_model) for of_model in trained.losses], trained.errors


def test_the_state_with_the_least_held_out_loss_is_kept_and_patience_ends_the_training():
    """A look before the first step and every five steps; each model has its own best and end."""
    looks = [[3.0, 1.0, math.nan], [2.0, 2.0, 3.0], [2.5, 2.0, 2.0], [2.5, 0.5, 1.0]]
    looks += [[1.0, 0.2, 0.5], [0.9, 0.1, 0.4]] * 10
    kept, lengths, errors = scripted(looks, patience=10)
    assert kept == [5.0, 0.0, 25.0]
    assert lengths[:2] == [15, 10]
    assert errors == [None] * 3


def test_what_a_model_does_after_its_end_does_not_count():
    looks = [[1.0, 5.0 - 0.1 * at] for at in range(19)]
    kept, lengths, errors = scripted(looks, patience=10, diverges=(0, 11))
    assert (kept, lengths, errors) == ([0.0, 90.0], [10, 90], [None, None])
    _, _, (error, other) = scripted(looks, patience=10, diverges=(0, 10))
    assert "step 10" in str(error)
    assert other is None


def denormals_are_zero():
    return (torch.full((), torch.finfo(torch.float32).smallest_normal) * 0.5).item() == 0


@pytest.mark.parametrize("before", [False, True])
def test_training_takes_denormals_as_zero_and_leaves_the_processor_as_it_was(before):
    if not torch.set_flush_denormal(before):
        pytest.skip("this processor has no such mode")
    seen, models = [], Weights()

    def losses_of(batch):
        seen.append(denormals_are_zero())
        raise RuntimeError

    try:
        with pytest.raises(RuntimeError):
            train(models, losses_of, steps(1, 1), learning_rate=0.1, what="METHOD")
        assert seen == [True]
        assert denormals_are_zero() == before
    finally:
        torch.set_flush_denormal(False)
