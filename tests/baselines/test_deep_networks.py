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
    ColumnScaling,
    WeightNormLinear,
    build,
    epochs_of_batches,
    find_device,
    mlp,
    require_integer,
    require_number,
    train,
)

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
    epochs = list(epochs_of_batches(sizes, batch_size, n_epochs, generator()))
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
    (batches,) = epochs_of_batches([size], 32, 1, generator())
    assert [len(batch[0]) for batch in batches] == {33: [17, 16], 65: [22, 22, 21]}[size]


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


def test_training_takes_the_steps_of_adam():
    """Against Adam written out, on a quadratic whose gradient is known."""
    target = torch.tensor([[1.0, -2.0]])
    layer = nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        layer.weight.zero_()
    batches = iter([[(torch.arange(2),)] * 3] * 2)
    losses = train(
        [layer],
        lambda batch: ((layer.weight - target) ** 2).sum(),
        batches,
        learning_rate=0.1,
        what="a quadratic",
    )
    w, m, v, expected = np.zeros(2), np.zeros(2), np.zeros(2), []
    for t in range(1, 7):
        gradient = 2 * (w - [1, -2])
        expected.append(((w - [1, -2]) ** 2).sum())
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        w = w - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    np.testing.assert_allclose(layer.weight.detach().numpy()[0], w, rtol=1e-5)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)


def test_parameters_without_gradient_stay():
    frozen, free = nn.Linear(1, 1), nn.Linear(1, 1)
    frozen.requires_grad_(False)
    before = frozen.weight.clone()
    train(
        [frozen, free],
        lambda batch: free(frozen(torch.ones(1, 1))).square().sum(),
        iter([[(torch.arange(2),)] * 3]),
        learning_rate=0.1,
        what="half of it",
    )
    assert torch.equal(frozen.weight, before)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_names_its_step(bad):
    layer = nn.Linear(1, 1)
    step = itertools.count(1)

    def objective(batch):
        return layer.weight.sum() * (bad if next(step) == 5 else 1.0)

    epochs = iter([[(torch.arange(2),)] * 3] * 4)
    with pytest.raises(FloatingPointError, match=r"METHOD diverged in step 5 \(epoch 2\)"):
        train([layer], objective, epochs, learning_rate=0.1, what="METHOD")


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
@pytest.mark.parametrize("loss", [1.0, math.nan])
def test_training_takes_denormals_as_zero_and_leaves_the_processor_as_it_was(
    flushing, before, loss
):
    if not flushing:
        pytest.skip("this processor has no such mode")
    torch.set_flush_denormal(before)
    layer, seen = nn.Linear(1, 1), []

    def objective(batch):
        seen.append(denormals_are_zero())
        return layer.weight.sum() * loss

    with pytest.raises(FloatingPointError) if math.isnan(loss) else contextlib.nullcontext():
        train([layer], objective, iter([[(torch.arange(2),)]]), learning_rate=0.1, what="METHOD")
    assert seen == [True]
    assert denormals_are_zero() == before


@pytest.mark.parametrize("name", ["abacus", "cuda:99", "meta:x"])
def test_a_device_that_is_not_there_is_named(name):
    with pytest.raises(ValueError, match=name):
        find_device(name)


@pytest.mark.parametrize("value", [0, 1.5, "3", True, None])
def test_integers_are_checked(value):
    with pytest.raises(ValueError, match="n_epochs must be an integer of at least 1"):
        require_integer("n_epochs", value, 1)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "1", None])
def test_numbers_are_checked(value):
    with pytest.raises(ValueError, match="learning_rate must be a positive finite number"):
        require_number("learning_rate", value, positive=True)
    require_number("trade_off", 0, positive=False)
