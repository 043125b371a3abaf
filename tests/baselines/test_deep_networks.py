"""The training loop: batches, first weights, seeds, divergence."""

import contextlib
import itertools
import math
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from baselines.networks import (
    Check,
    ColumnScaling,
    build,
    cross_entropy,
    epochs_of_batches,
    epochs_of_rows,
    mlp,
    train,
)
from baselines.stacked import Stack, WeightNormLinear

CPU = torch.device("cpu")


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(2, 90), min_size=1, max_size=2),
    st.integers(2, 40),
    st.integers(1, 4),
)
def test_every_epoch_passes_once_over_the_largest_domain(sizes, batch_size, n_epochs):
    numbers = [(torch.arange(size)[None],) for size in sizes]
    stacked = epochs_of_batches(numbers, batch_size, n_epochs, [generator()])
    epochs = [[[rows[0] for rows in batch] for batch in batches] for batches in stacked]
    assert len(epochs) == n_epochs
    largest = max(range(len(sizes)), key=lambda domain: sizes[domain])
    seen = [[] for _ in sizes]
    for batches in epochs:
        lengths = [len(batch[0]) for batch in batches]
        assert min(lengths) >= 2
        assert max(lengths) - min(lengths) <= 1
        assert max(lengths) <= max(batch_size, 3)
        for batch in batches:
            assert len({len(rows) for rows in batch}) == 1
            for domain, rows in enumerate(batch):
                seen[domain] += rows.tolist()
        rows_of_epoch = torch.cat([batch[largest] for batch in batches])
        assert sorted(rows_of_epoch.tolist()) == list(range(sizes[largest]))
    for domain, size in enumerate(sizes):
        counts = np.bincount(seen[domain], minlength=size)
        assert len(counts) == size
        assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize("size", [33, 65])
def test_a_last_batch_of_one_row_is_spread_over_the_others(size):
    numbers = torch.arange(size)[None]
    (batches,) = epochs_of_batches([(numbers,)], 32, 1, [generator()])
    assert [len(batch[0][0]) for batch in batches] == {33: [17, 16], 65: [22, 22, 21]}[size]


def test_each_model_draws_its_rows_from_its_own_generator():
    together = list(epochs_of_rows((7, 4), 3, [generator(0), generator(1)]))
    for model in range(2):
        alone = list(epochs_of_rows((7, 4), 3, [generator(model)]))
        for one, other in zip(together, alone, strict=True):
            for rows, own in zip(one, other, strict=True):
                assert torch.equal(rows[model], own[0])
    assert not torch.equal(together[0][0][0], together[0][0][1])


def test_what_belongs_to_a_row_stays_with_it():
    values = torch.randn(3, 11, 2, generator=generator())
    labels = values.sum(dim=2)
    generators = [generator(seed) for seed in range(3)]
    for batches in epochs_of_batches([(values, labels)], 4, 2, generators):
        for rows, of_rows in batches:
            assert torch.equal(rows.sum(dim=2), of_rows)
        seen = torch.cat([of_rows for _, of_rows in batches], dim=1)
        assert torch.equal(seen.sort(dim=1).values, labels.sort(dim=1).values)


def test_first_weights_have_torchs_own_bounds():
    network = build(lambda: mlp(400, 3, 300, 5), generator(), CPU)
    layers = [layer for layer in network.modules() if isinstance(layer, nn.Linear)]
    assert len(layers) == 5
    for layer in layers:
        torch.manual_seed(0)
        reference = nn.Linear(layer.in_features, layer.out_features)
        bound = 1 / math.sqrt(layer.in_features)
        assert layer.weight.abs().max() <= bound
        assert layer.weight.dtype == torch.float32
        assert layer.weight.std().item() == pytest.approx(reference.weight.std().item(), rel=0.1)
        assert layer.bias.abs().max() <= bound


def test_first_weights_come_from_the_generator_alone():
    before = torch.get_rng_state()
    first = build(lambda: mlp(3, 2, 8, 3), generator(1), CPU)
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(99)
    again, other = (build(lambda: mlp(3, 2, 8, 3), generator(seed), CPU) for seed in (1, 2))
    assert torch.equal(first.head.weight, again.head.weight)
    assert not torch.equal(first.head.weight, other.head.weight)


def test_layers_without_a_defined_start_are_refused():
    with pytest.raises(TypeError, match="Bilinear"):
        build(lambda: nn.Bilinear(2, 2, 2), generator(), CPU)


def test_weight_normalised_layer_starts_as_its_direction_and_follows_its_length():
    layer = build(lambda: WeightNormLinear(4, 3), generator(), CPU)
    x = torch.randn(5, 4, generator=generator(1))
    torch.testing.assert_close(layer(x), x @ layer.direction.T + layer.bias)
    with torch.no_grad():
        layer.direction.mul_(7.0)
        layer.bias.zero_()
    rows = layer.direction / layer.direction.norm(dim=1, keepdim=True)
    torch.testing.assert_close(layer(x), x @ (layer.length[:, None] * rows).T)
    pickle.dumps(layer)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy_and_its_gradient_are_torchs(smoothing):
    logits = torch.randn(4, 6, 3, generator=generator()).requires_grad_()
    labels = torch.randint(3, (4, 6), generator=generator(1))
    one_hot = nn.functional.one_hot(labels, 3).float()
    losses, gradient = cross_entropy(logits.detach(), one_hot, smoothing)
    expected = [
        nn.functional.cross_entropy(own, of_own, label_smoothing=smoothing)
        for own, of_own in zip(logits, labels, strict=True)
    ]
    torch.stack(expected).sum().backward()
    torch.testing.assert_close(losses, torch.stack(expected).detach())
    torch.testing.assert_close(gradient, logits.grad)


def one_weight(start=0.0, n_models=1):
    """Models of one weight each, which a step sees as ``weight`` and ``gradient``."""
    layers = [nn.Linear(1, 1) for _ in range(n_models)]
    for layer in layers:
        nn.init.constant_(layer.weight, start)
    stack = Stack([[layer] for layer in layers])
    return stack, stack.parameter.detach()[:n_models], stack.parameter.grad[:n_models]


def steps(n_steps, n_epochs):
    return iter([[(torch.arange(2),)] * n_steps] * n_epochs)


def test_training_takes_the_steps_of_adam():
    """Against Adam written out, on quadratics whose gradient is known."""
    stack, weight, gradient = one_weight(n_models=2)
    target = torch.tensor([1.0, -2.0])

    def step(batch):
        gradient.copy_(2 * (weight - target))
        return [Check((weight - target) ** 2, "")]

    trained = train([stack], step, steps(3, 2), learning_rate=0.1, what="a quadratic")
    w, m, v, expected = np.zeros(2), np.zeros(2), np.zeros(2), []
    for t in range(1, 7):
        g = 2 * (w - [1, -2])
        expected.append((w - [1, -2]) ** 2)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        w = w - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    np.testing.assert_allclose(weight.numpy(), w, rtol=1e-5)
    np.testing.assert_allclose(np.column_stack(trained.losses), expected, rtol=1e-5)
    assert trained.errors == [None, None]


@pytest.mark.parametrize("fused", [True, False])
def test_the_steps_are_those_of_torchs_optimizer(monkeypatch, fused):
    """With torch's fused form and without."""
    if not fused:
        monkeypatch.delattr(torch, "_fused_adam_")
    stacks = [Stack([[layer]]) for layer in (nn.Linear(3, 4), nn.Linear(5, 2))]
    references = [nn.Parameter(stack.parameter.detach().clone()) for stack in stacks]
    optimizer = torch.optim.Adam(references, lr=0.01, fused=fused)
    draws = [torch.randn(7, *s.parameter.shape, generator=generator()) for s in stacks]

    def step(batch):
        for stack, draw in zip(stacks, draws, strict=True):
            stack.parameter.grad.copy_(draw[batch])
        return [Check(torch.ones(1), "")]

    train(stacks, step, iter([list(range(7))]), learning_rate=0.01, what="METHOD")
    for at in range(7):
        for reference, draw in zip(references, draws, strict=True):
            reference.grad = draw[at].clone()
        optimizer.step()
    for stack, reference in zip(stacks, references, strict=True):
        assert torch.equal(stack.parameter, reference)


def test_a_check_may_hold_many_numbers_of_each_model():
    stack, _, _ = one_weight(n_models=3)
    values = torch.ones(3, 4, 2)
    values[1, 2, 1] = math.nan

    def step(batch):
        return [Check(values, "the output is odd"), Check(torch.ones(3), "the loss is {}")]

    trained = train([stack], step, steps(2, 1), learning_rate=0.1, what="METHOD")
    assert [error is None for error in trained.errors] == [True, False, True]
    assert "the output is odd" in str(trained.errors[1])
    np.testing.assert_array_equal(trained.losses, np.ones((3, 2)))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("which", [0, 1])
def test_a_model_that_is_not_finite_is_told_with_its_step_and_reason(bad, which):
    stack, _, _ = one_weight(n_models=3)
    count = itertools.count(1)

    def step(batch):
        values = torch.ones(2, 3)
        if next(count) >= 5:
            values[which:, 1] = bad
        return [Check(values[0], "the output is odd"), Check(values[1], "the loss is {}")]

    trained = train([stack], step, steps(3, 4), learning_rate=0.1, what="METHOD")
    assert [len(losses) for losses in trained.losses] == [12] * 3
    first, error, last = trained.errors
    assert (first, last) == (None, None)
    assert isinstance(error, FloatingPointError)
    reason = ["the output is odd", f"the loss is {bad}"][which]
    assert str(error).startswith(f"METHOD diverged in step 5 (epoch 2): {reason}. ")


def test_training_ends_where_all_models_have_diverged():
    stack, _, _ = one_weight(n_models=2)
    count = itertools.count(1)

    def step(batch):
        at = next(count)
        return [Check(torch.tensor([math.nan if at >= 2 else 1.0, math.inf]), "the loss is {}")]

    trained = train([stack], step, steps(3, 4), learning_rate=0.1, what="METHOD")
    assert next(count) == 4
    assert ["step 2" in str(trained.errors[0]), "step 1" in str(trained.errors[1])] == [True] * 2


def test_no_epochs_leave_the_models_as_they_are():
    stack, weight, _ = one_weight(start=3.0)
    trained = train([stack], lambda batch: [], iter([]), learning_rate=0.1, what="METHOD")
    assert [len(losses) for losses in trained.losses] == [0]
    assert weight.item() == 3.0


def test_scaling_lives_with_constant_and_huge_columns():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            rng.normal(size=50),
            1e300 * rng.normal(size=50),
            1e-300 * rng.normal(size=50),
            np.full(50, 0.1),
            np.zeros(50),
        ]
    )
    scaled = ColumnScaling.fit(X).transform(X)
    np.testing.assert_allclose(scaled[:, :3].std(axis=0), 1, rtol=1e-9)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_array_equal(scaled[:, 3:], 0)


def test_a_column_without_a_scale_is_set_aside_in_other_rows_too():
    scaling = ColumnScaling.fit(np.array([[1.0, 1e-300], [2.0, 1e-300]]))
    others = scaling.transform(np.array([[1.5, 7.0], [3.0, -1e300]]))
    np.testing.assert_allclose(others, [[0, 0], [3, 0]], atol=1e-12)


def denormals_are_zero():
    return (torch.full((), torch.finfo(torch.float32).smallest_normal) * 0.5).item() == 0


@pytest.fixture
def flushing():
    """Whether the processor can take denormal numbers as zero; afterwards it does not."""
    able = torch.set_flush_denormal(True)
    torch.set_flush_denormal(False)
    yield able
    torch.set_flush_denormal(False)


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("loss", [1.0, math.nan, None])
def test_training_takes_denormals_as_zero_and_leaves_the_processor_as_it_was(
    flushing, before, loss
):
    if not flushing:
        pytest.skip("this processor has no such mode")
    torch.set_flush_denormal(before)
    (stack, _, _), seen = one_weight(), []

    def step(batch):
        seen.append(denormals_are_zero())
        if loss is None:
            raise RuntimeError
        return [Check(torch.tensor([loss]), "the loss is {}")]

    with pytest.raises(RuntimeError) if loss is None else contextlib.nullcontext():
        train([stack], step, steps(1, 1), learning_rate=0.1, what="METHOD")
    assert seen == [True]
    assert denormals_are_zero() == before
