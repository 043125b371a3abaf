"""A stack computes what torch's modules compute, and models in it do not notice each other."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from baselines.networks import build
from baselines.stacked import LANES, Stack, WeightNormLinear, product

CPU = torch.device("cpu")


def draw(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def chain(n_inputs, hidden, n_outputs, seed=0, last=nn.Linear):
    """One network with every kind of layer."""
    generator = torch.Generator().manual_seed(seed)
    network = build(
        lambda: nn.Sequential(
            nn.Linear(n_inputs, hidden),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            last(hidden, n_outputs),
        ),
        generator,
        CPU,
    )
    with torch.no_grad():
        network[1].weight.uniform_(0.5, 2, generator=generator)
        network[1].bias.uniform_(-1, 1, generator=generator)
        network[1].running_mean.uniform_(-1, 1, generator=generator)
        if last is WeightNormLinear:
            network[5].length.mul_(3.0)
    return network


def parameters_of(stack, networks):
    """What torch calls the gradient of each parameter, read from the stack's."""
    stack.parameter.data.copy_(stack.parameter.grad)
    stack.store()
    return [[p.clone() for p in network.parameters()] for network in networks]


def values_of(stack):
    """The parameters of a stack by layer, with the model as their first dimension."""
    return [value for layer in stack._layers for value in layer.values]


SHAPES = [(2, 5, 3), (1, 4, 2), (3, 1, 1), (4, 20, 1)]


@pytest.mark.parametrize("last", [nn.Linear, WeightNormLinear])
@pytest.mark.parametrize(("n_inputs", "hidden", "n_outputs"), SHAPES)
def test_values_and_gradients_are_those_of_torchs_modules(n_inputs, hidden, n_outputs, last):
    networks = [chain(n_inputs, hidden, n_outputs, seed, last).double() for seed in range(3)]
    x = draw(3, 7, n_inputs, dtype=torch.float64)
    g = draw(3, 7, n_outputs, seed=1, dtype=torch.float64)
    stack = Stack(networks)
    y, on_x = stack.forward(x), stack.backward(g)
    expected = []
    for network, rows, gradient, row in zip(networks, x, g, y, strict=True):
        own = rows.clone().requires_grad_()
        output = network.train()(own)
        output.backward(gradient)
        torch.testing.assert_close(row, output.detach())
        expected.append((own.grad, [p.grad for p in network.parameters()]))
    seen = parameters_of(stack, networks)
    for model, (of_input, of_parameters) in enumerate(expected):
        torch.testing.assert_close(on_x[model], of_input)
        torch.testing.assert_close(seen[model], of_parameters)


def test_batch_normalisation_keeps_torchs_running_statistics_and_predicts_by_them():
    networks, references = ([chain(2, 6, 3, seed) for seed in range(2)] for _ in range(2))
    stack = Stack(networks)
    for seed in range(4):
        x = draw(2, 9 + seed, 2, seed=seed)
        stack.forward(x)
        for reference, rows in zip(references, x, strict=True):
            reference.train()(rows)
    x = draw(2, 5, 2, seed=9)
    by_stack = stack.forward(x, training=False)
    stack.store()
    for model, (network, reference) in enumerate(zip(networks, references, strict=True)):
        torch.testing.assert_close(network.state_dict(), reference.state_dict())
        torch.testing.assert_close(by_stack[model], reference.eval()(x[model]).detach())


def test_a_bias_before_batch_normalisation_stays_as_it_is_and_is_predicted_with():
    networks, references = ([chain(2, 6, 3, seed) for seed in range(2)] for _ in range(2))
    stack = Stack(networks)
    optimizer = torch.optim.Adam([stack.parameter], lr=0.1, fused=True)
    for seed in range(3):
        stack.backward(stack.forward(draw(2, 9, 2, seed=seed)))
        optimizer.step()
    x = draw(2, 5, 2, seed=9)
    by_stack = stack.forward(x, training=False)
    stack.store()
    for model, (network, reference) in enumerate(zip(networks, references, strict=True)):
        assert torch.equal(network[0].bias, reference[0].bias)
        assert not torch.equal(network[3].bias, reference[3].bias)
        torch.testing.assert_close(by_stack[model], network.eval()(x[model]).detach())


def test_running_statistics_are_left_alone_where_nobody_predicts_by_them():
    (kept,), (changed,) = networks = [[chain(2, 6, 3)] for _ in range(2)]
    for (network,), keep in zip(networks, [False, True], strict=True):
        stack = Stack([network], running_statistics=keep)
        stack.forward(draw(1, 9, 2))
        stack.store()
    assert torch.equal(kept[1].running_mean, chain(2, 6, 3)[1].running_mean)
    assert not torch.equal(changed[1].running_mean, chain(2, 6, 3)[1].running_mean)


def test_only_what_is_asked_for_is_computed():
    stack = Stack([chain(2, 4, 3)])
    stack.forward(draw(1, 6, 2))
    assert stack.backward(draw(1, 6, 3), inputs=False) is None
    before = stack.parameter.grad.clone()
    assert stack.backward(2 * draw(1, 6, 3), parameters=False).shape == (1, 6, 2)
    assert torch.equal(stack.parameter.grad, before)


def two_steps(networks, x, g):
    """Outputs, gradients and parameters of a stack after two steps of Adam."""
    stack = Stack(networks)
    optimizer = torch.optim.Adam([stack.parameter], lr=0.01, fused=True)
    for _ in range(2):
        y = stack.forward(x)
        on_x = stack.backward(y * g).clone()
        optimizer.step()
    return y, on_x, *values_of(stack), stack.forward(x, training=False)


shapes_of_stacks = given(
    n_models=st.integers(2, 5),
    n=st.integers(2, 70),
    n_inputs=st.sampled_from([1, 2, 5, 27]),
    hidden=st.sampled_from([1, 2, 15, 16, 64, 250]),
    n_outputs=st.integers(1, 5),
    seed=st.integers(0, 2**31),
)


@pytest.mark.parametrize("last", [nn.Linear, WeightNormLinear])
@settings(max_examples=25, deadline=None)
@shapes_of_stacks
def test_a_model_takes_the_steps_that_it_takes_alone(
    last, n_models, n, n_inputs, hidden, n_outputs, seed
):
    """Up to rounding, for a library may round a batch of products in another way than one.

    Adam divides by the size of the gradient plus 1e-8, so that it makes of a rounding of 1e-16 a
    step of 1e-8 times the learning rate, and batch normalisation divides by the root of the
    variance plus 1e-5.
    """
    double = {"dtype": torch.float64}
    x = draw(n_models, n, n_inputs, seed=seed, **double)
    g = draw(n_models, n, n_outputs, seed=seed + 1, **double)

    def networks():
        return [
            chain(n_inputs, hidden, n_outputs, seed + m, last).double() for m in range(n_models)
        ]

    together = two_steps(networks(), x, g)
    for model in range(n_models):
        one = slice(model, model + 1)
        for ours, alone in zip(together, two_steps(networks()[one], x[one], g[one]), strict=True):
            torch.testing.assert_close(ours[one], alone, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("last", [nn.Linear, WeightNormLinear])
@settings(max_examples=25, deadline=None)
@shapes_of_stacks
def test_a_model_takes_the_same_steps_to_the_bit_whatever_the_others_hold(
    last, n_models, n, n_inputs, hidden, n_outputs, seed
):
    def run(of_others):
        seeds = [seed + of_others] * n_models
        seeds[seed % n_models] = seed
        x, g = (
            torch.cat([draw(1, n, width, seed=own + i) for own in seeds])
            for i, width in enumerate((n_inputs, n_outputs))
        )
        return two_steps([chain(n_inputs, hidden, n_outputs, own, last) for own in seeds], x, g)

    for one, other in zip(run(1), run(2), strict=True):
        assert torch.equal(one[seed % n_models], other[seed % n_models])


def test_a_model_that_is_not_finite_disturbs_no_other():
    def steps(poisoned):
        stack = Stack([chain(2, 6, 3, seed) for seed in range(3)])
        if poisoned:
            for value in values_of(stack):
                value[1] = torch.nan
        optimizer = torch.optim.Adam([stack.parameter], lr=0.01, fused=True)
        for seed in range(3):
            y = stack.forward(draw(3, 8, 2, seed=seed))
            stack.backward(y)
            optimizer.step()
        return values_of(stack)

    for clean, poisoned in zip(steps(False), steps(True), strict=True):
        assert torch.equal(clean[[0, 2]], poisoned[[0, 2]])
        assert poisoned[1].isnan().any()


@pytest.mark.parametrize(("n", "k", "m"), [(3, 4, 5), (1, 4, 5), (3, 1, 5), (3, 4, 1), (1, 1, 1)])
def test_products_are_products(n, k, m):
    a, b = draw(2, n, k, seed=1), draw(2, k, m, seed=2)
    out = torch.empty(2, n, m)
    torch.testing.assert_close(product(a, b), torch.matmul(a, b))
    product(a, b, out=out)
    torch.testing.assert_close(out, torch.matmul(a, b))


def test_parameters_fill_the_processors_vectors_and_start_as_given():
    networks = [chain(3, 7, 2, seed) for seed in range(2)]
    before = [[p.clone() for p in network.parameters()] for network in networks]
    stack = Stack(networks)
    assert len(stack.parameter) % LANES == 0
    stack.store()
    for first, network in zip(before, networks, strict=True):
        for start, stored in zip(first, network.parameters(), strict=True):
            assert torch.equal(start, stored)


def test_layers_that_cannot_be_stacked_are_refused():
    with pytest.raises(TypeError, match="Tanh"):
        Stack([[nn.Linear(2, 2), nn.Tanh()]])
    with pytest.raises(TypeError, match="usual form"):
        Stack([[nn.BatchNorm1d(2, track_running_stats=False)]])


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_gradient_written_over_the_input_is_the_same_gradient(n_outputs):
    x, g = draw(2, 6, 4), draw(2, 6, n_outputs, seed=1)
    plain, over = (
        Stack([chain(4, 5, n_outputs, seed) for seed in range(2)], overwrites_input=overwrites)
        for overwrites in (False, True)
    )
    own = x.clone()
    plain.forward(x)
    over.forward(own)
    expected, found = plain.backward(g.clone()), over.backward(g.clone())
    assert found.data_ptr() == own.data_ptr()
    assert torch.equal(found, expected)
    assert torch.equal(over.parameter.grad, plain.parameter.grad)
    assert torch.equal(x, draw(2, 6, 4))


def test_the_gradients_of_a_layer_lie_in_one_piece():
    stack = Stack([chain(3, 7, 2, seed) for seed in range(3)])
    assert all(g.is_contiguous() for layer in stack._layers for g in layer.gradients)
