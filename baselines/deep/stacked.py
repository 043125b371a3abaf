"""Networks, their first weights, and several of them as one: the model is the first dimension.

The deep methods train small networks, one for each repetition of a cell. Alone, a network keeps the
processor waiting for Python and autograd. :func:`stack` puts R networks into one module whose
parameters, rows and outputs have R as their first dimension: each layer is one batched product.
``torch.func.vmap`` over torch's own layers does the same at 1.2 times the cost, for it copies the
weights in every step.

Models are never mixed: what becomes of one does not depend, to the bit, on the numbers of those
beside it. It depends on how many there are by rounding, for libraries may add up a batch of
products in another order than a single one.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn


class Network(nn.Module):
    """A feature network and a classifier on top."""

    def __init__(self, features: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.features = features
        self.head = head

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of shape (..., n, n_classes) and features of shape (..., n, hidden_size)."""
        features = self.features(x)
        return self.head(features), features


class WeightNormLinear(nn.Module):
    r"""Linear layer whose weight has the direction of ``weight`` and the lengths ``length``.

    torch's own weight normalisation makes modules that cannot be pickled.
    """

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.in_features = in_features
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.length = nn.Parameter(torch.empty(out_features))
        self.bias = nn.Parameter(torch.empty(out_features))

    def forward(self, x: Tensor) -> Tensor:
        """Map rows of shape (..., n, in_features) to (..., n, out_features)."""
        scale = self.length / torch.linalg.vector_norm(self.weight, dim=-1)
        return x @ (self.weight * scale[..., None]).mT + self.bias[..., None, :]


def hidden_layers(n_features: int, hidden_size: int, n_layers: int) -> list[nn.Module]:
    """Return ``n_layers`` linear layers, each followed by ReLU."""
    widths = [n_features] + [hidden_size] * n_layers
    layers: list[nn.Module] = []
    for width_in, width_out in itertools.pairwise(widths):
        layers += [nn.Linear(width_in, width_out), nn.ReLU()]
    return layers


def mlp(n_features: int, n_classes: int, hidden_size: int, n_layers: int) -> Network:
    """Return an MLP of ``n_layers`` linear layers; features are what the last of them sees."""
    features = nn.Sequential(*hidden_layers(n_features, hidden_size, n_layers - 1))
    return Network(features, nn.Linear(hidden_size, n_classes))


@torch.no_grad()
def build(make: Callable[[], nn.Module], generator: torch.Generator, device: torch.device) -> Any:
    """Make a module and draw its first weights, as torch does but from a generator of the CPU.

    The module is made without memory and filled here, for torch's constructors would draw from the
    global generator. A bias before batch normalisation is not trained: its gradient is 0 except
    for rounding, of which Adam would make steps of full size.
    """
    with torch.device("meta"):
        empty = make()
    module = empty.to(torch.float32).to_empty(device="cpu")
    for before, layer in itertools.pairwise([module, *module.modules()]):
        if isinstance(layer, nn.Linear | WeightNormLinear):
            bound = 1.0 / math.sqrt(layer.in_features)
            for parameter in (layer.weight, layer.bias):
                parameter.uniform_(-bound, bound, generator=generator)
        if isinstance(layer, WeightNormLinear):
            layer.length.copy_(torch.linalg.vector_norm(layer.weight, dim=1))
        if isinstance(layer, nn.BatchNorm1d):
            layer.reset_parameters()
            if isinstance(before, nn.Linear):
                before.bias.requires_grad_(False)
    return module.to(device)


class _Stacked(nn.Module):
    """R layers of one kind: tensors of the same names, with the model as their first dimension."""

    def __init__(self, layers: Sequence[nn.Module]) -> None:
        super().__init__()
        for name, first in layers[0].named_parameters():
            values = torch.stack([layer.get_parameter(name).detach() for layer in layers])
            if values.ndim == 3:
                # In memory as the gradient comes, which spares a copy in each step.
                values = values.mT.contiguous().mT
            self.register_parameter(name, nn.Parameter(values, first.requires_grad))
        for name, _ in layers[0].named_buffers():
            self.register_buffer(name, torch.stack([layer.get_buffer(name) for layer in layers]))


class _Linear(_Stacked):
    weight: Tensor
    bias: Tensor

    def forward(self, x: Tensor) -> Tensor:
        return torch.baddbmm(self.bias[:, None], x, self.weight.mT)


class _WeightNormLinear(_Stacked):
    forward = WeightNormLinear.forward


class _BatchNorm(_Stacked):
    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor
    eps, momentum = 1e-5, 0.1  # torch's defaults

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            n, mean = x.shape[1], x.mean(1, keepdim=True)
            centred = x - mean
            variance = centred.square().mean(1, keepdim=True)
            with torch.no_grad():  # the running variance is unbiased
                self.running_mean.lerp_(mean[:, 0], self.momentum)
                self.running_var.lerp_(variance[:, 0] * (n / (n - 1)), self.momentum)
                self.num_batches_tracked += 1
        else:
            centred = x - self.running_mean[:, None]
            variance = self.running_var[:, None]
        scale = self.weight[:, None] * torch.rsqrt(variance + self.eps)
        return torch.addcmul(self.bias[:, None], centred, scale)


_KINDS: dict[type[nn.Module], type[_Stacked]] = {
    nn.Linear: _Linear,
    nn.BatchNorm1d: _BatchNorm,
    WeightNormLinear: _WeightNormLinear,
}


def stack(models: Sequence[nn.Module]) -> Any:
    """Put R modules of one architecture into one that maps (R, n, d) to (R, n, ...)."""
    first = models[0]
    if type(first) in _KINDS:
        return _KINDS[type(first)](models)
    together = copy.deepcopy(first)
    for name, _ in first.named_children():
        setattr(together, name, stack([getattr(model, name) for model in models]))
    return together


def unstack(together: nn.Module, models: Sequence[nn.Module]) -> None:
    """Copy parameters and statistics back to the modules that a stack was made of."""
    state = together.state_dict()
    for r, model in enumerate(models):
        model.load_state_dict({name: values[r] for name, values in state.items()})
