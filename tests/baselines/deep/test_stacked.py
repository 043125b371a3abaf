"""A stack computes what torch's modules compute, and models in it do not affect each other."""

import math
import pickle

import pytest
import torch
from torch import nn

from baselines.deep.stacked import WeightNormLinear, build, mlp, stack

CPU = torch.device("cpu")


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def draw(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=generator(seed), dtype=dtype)


def chain(n_inputs, hidden, n_outputs, seed=0, last=nn.Linear):
    """One network with every kind of layer."""

    def make():
        first = nn.Linear(n_inputs, hidden), nn.BatchNorm1d(hidden), nn.ReLU()
        return nn.Sequential(*first, nn.Linear(hidden, hidden), nn.ReLU(), last(hidden, n_outputs))

    network = build(make, generator(seed), CPU)
    with torch.no_grad():
        network[1].weight.uniform_(0.5, 2, generator=generator(seed))
        network[1].running_mean.uniform_(-1, 1, generator=generator(seed))
    return network


@pytest.mark.parametrize("last", [nn.Linear, WeightNormLinear])
@pytest.mark.parametrize("shape", [(2, 5, 3), (3, 1, 1)], ids=str)
def test_values_gradients_and_statistics_are_those_of_torchs_modules(shape, last):
    networks = [chain(*shape, seed, last).double() for seed in range(3)]
    x = draw(3, 7, shape[0], dtype=torch.float64)
    together, own = stack(networks), x.clone().requires_grad_()
    y = together(own)
    y.square().sum().backward()
    for r, network in enumerate(networks):
        rows = x[r].clone().requires_grad_()
        output = network(rows)
        output.square().sum().backward()
        torch.testing.assert_close(y[r], output)
        torch.testing.assert_close(own.grad[r], rows.grad)
        for name, parameter in network.named_parameters():
            found = together.get_parameter(name).grad
            assert (found is None) == (parameter.grad is None)
            if found is not None:
                torch.testing.assert_close(found[r], parameter.grad)
        torch.testing.assert_close(
            {name: values[r] for name, values in together.named_buffers()},
            dict(network.named_buffers()),
        )
    by_stack = together.eval()(x)
    for r, network in enumerate(networks):
        torch.testing.assert_close(by_stack[r], network.eval()(x[r]))


def test_first_weights_have_torchs_own_bounds():
    network = build(lambda: mlp(400, 3, 300, 5), generator(), CPU)
    layers = [layer for layer in network.modules() if isinstance(layer, nn.Linear)]
    assert len(layers) == 5
    for layer in layers:
        bound = 1 / math.sqrt(layer.in_features)
        assert layer.weight.abs().max() <= bound
        assert layer.bias.abs().max() <= bound
        assert layer.weight.dtype == torch.float32
        assert layer.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.1)


def test_weight_normalisation_starts_as_a_plain_layer_and_scales_rows_of_any_length():
    layer = build(lambda: WeightNormLinear(4, 3), generator(), CPU)
    x = draw(5, 4, seed=1)
    torch.testing.assert_close(layer(x), x @ layer.weight.T + layer.bias)
    with torch.no_grad():
        layer.weight.mul_(7.0)
        layer.bias.zero_()
    rows = layer.weight / layer.weight.norm(dim=1, keepdim=True)
    torch.testing.assert_close(layer(x), x @ (layer.length[:, None] * rows).T)
    pickle.dumps(layer)
