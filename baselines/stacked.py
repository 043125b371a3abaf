"""Chains of layers for several models side by side: one product a layer for all of them.

The deep methods train small networks, once for each repetition of a cell. One network alone keeps
the processor waiting for Python and autograd most of the time; the repetitions together are one
program of few and large operations. So every array has the model as its first dimension, and each
layer states its own gradient, written straight to where the optimizer reads it.

Models are never mixed. In one thread what becomes of a model does not depend, to the bit, on the
parameters and rows of those beside it, so that one that has diverged disturbs none. On their number
it depends by rounding at most: a linear algebra library may take another program for a batch of
matrices than for one, as Intel's does on processors of another maker. With its compatible kernels
(``MKL_CBWR=COMPATIBLE``) the bits do not depend on the number either.
Three more things that round a number by its place in an array are avoided:

- The parameters of all models are one array of a length that fills the processor's vectors: fused
  Adam treats the rest of an array that does not in another way.
- Products of a matrix and a vector are written out as sums (:func:`product`): the linear algebra
  libraries have another program for them where there is one alone.
- ``torch.sigmoid`` and ``torch.nn.functional.softplus`` are not used; ``torch.exp`` is exact.

A new array for a result often costs more than its arithmetic, its memory being far from the
processor. So layers write over what they no longer need, and the gradients of a product lie in one
piece: only there torch takes the products of all models in one call.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# Numbers of single precision in the longest vectors of today's processors, 512 bits.
LANES = 16


class WeightNormLinear(nn.Module):
    r"""Linear layer with weight :math:`w_k = g_k v_k / \|v_k\|` for output ``k``.

    torch's own weight normalisation makes modules that cannot be pickled.

    Parameters
    ----------
    in_features, out_features : int
    """

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.in_features = in_features
        self.direction = nn.Parameter(torch.empty(out_features, in_features))
        self.length = nn.Parameter(torch.empty(out_features))
        self.bias = nn.Parameter(torch.empty(out_features))

    def forward(self, x: Tensor) -> Tensor:
        """Map rows of shape (n, in_features) to (n, out_features)."""
        scale = self.length / torch.linalg.vector_norm(self.direction, dim=1)
        return F.linear(x, self.direction * scale[:, None], self.bias)


def product(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
    """Multiply matrices model by model.

    Where torch's batched product gives one matrix the bits that it gives many, so does this.

    Parameters
    ----------
    a : Tensor of shape (R, n, k)
    b : Tensor of shape (R, k, m)
    out : Tensor of shape (R, n, m) or None
        Where to write the product.

    Returns
    -------
    product : Tensor of shape (R, n, m)
    """
    n, k, m = a.shape[1], *b.shape[1:]
    if n != 1 and k != 1 and m != 1:
        return torch.bmm(a, b, out=out)
    if k == 1:
        return torch.mul(a, b, out=out)
    return torch.sum(a.unsqueeze(3) * b.unsqueeze(1), 2, out=out)


class _Layer(ABC):
    """One layer of R models.

    Parameters
    ----------
    modules : sequence of torch.nn.Module
        The layer of each model, from which it starts.

    Attributes
    ----------
    values, gradients : list of Tensor, each of shape (R, ...)
        The parameters in the order of :meth:`parameters`, and the gradient of the loss with
        respect to them. Views of :attr:`Stack.parameter`.
    """

    values: list[Tensor]
    gradients: list[Tensor]

    def __init__(self, modules: Sequence[Any]) -> None:
        self._modules = modules

    @staticmethod
    def parameters(module: Any) -> list[Tensor]:
        """Views of a module's parameters in the layout of the stack."""
        return []

    def first_values(self) -> list[Tensor]:
        """Stack the parameters of the models' modules."""
        of_models = zip(*map(self.parameters, self._modules), strict=True)
        return [torch.stack(same) for same in of_models]

    def store(self) -> None:
        """Write what was learnt to the models' modules."""
        for model, module in enumerate(self._modules):
            for own, value in zip(self.parameters(module), self.values, strict=True):
                own.copy_(value[model])

    def states(self) -> list[Tensor]:
        """All that training changes, each of shape (R, ...): parameters and statistics."""
        return self.values

    @abstractmethod
    def forward(self, x: Tensor, training: bool) -> Tensor:
        """Map rows of shape (R, n, in); in training, keep what the gradient needs."""

    @abstractmethod
    def backward(self, g: Tensor, parameters: bool, inputs: bool) -> Tensor | None:
        """Gradient of the loss with respect to the input, from that with respect to the output.

        Parameters
        ----------
        g : Tensor of shape (R, n, out)
        parameters, inputs : bool
            Whether to write ``gradients`` and to compute the gradient of the input.
        """


class _Linear(_Layer):
    """:class:`torch.nn.Linear`.

    Where batch normalisation follows, training leaves the bias as it is: taking off the mean of the
    batch takes the bias off too, and its gradient is 0. (By rounding alone it is not quite 0, of
    which Adam makes steps of any size: the bias would drift.)
    """

    #: Whether batch normalisation follows.
    before_norm = False
    #: Whether the gradient with respect to the input is written over the input.
    overwrites_input = False

    @staticmethod
    def parameters(module: nn.Linear) -> list[Tensor]:
        return [module.weight.T, module.bias[None]]

    @property
    def bias(self) -> Tensor:
        """Of shape (R, 1, out)."""
        return self.values[1]

    def forward(self, x: Tensor, training: bool) -> Tensor:
        weight, bias = self.values
        self._x = x
        if weight.shape[2] == 1:
            # A matrix and a vector, see the module; the products' memory serves the way back too.
            self._products = x * weight.transpose(1, 2)
            y = self._products.sum(2, keepdim=True)
        else:
            y = product(x, weight)
        # torch.baddbmm, which would first copy the bias to all rows, takes an eighth longer.
        return y if training and self.before_norm else y.add_(bias)

    def backward(self, g: Tensor, parameters: bool, inputs: bool) -> Tensor | None:
        weight = self.values[0]
        if parameters and not self.before_norm:
            torch.sum(g, 1, keepdim=True, out=self.gradients[1])
        if weight.shape[2] == 1:
            if parameters:
                torch.mul(self._x, g, out=self._products)
                torch.sum(self._products, 1, out=self.gradients[0][:, :, 0])
            return torch.mul(g, weight.transpose(1, 2), out=self._products) if inputs else None
        on_x = None
        if inputs and not self.overwrites_input:
            # In this order g and x are read while they are near.
            on_x = product(g, weight.transpose(1, 2))
        if parameters:
            product(self._x.transpose(1, 2), g, out=self.gradients[0])
        if inputs and self.overwrites_input:
            on_x = product(g, weight.transpose(1, 2), out=self._x)
        return on_x


class _ReLU(_Layer):
    """:class:`torch.nn.ReLU`, in place both ways: no layer needs its own output."""

    def forward(self, x: Tensor, training: bool) -> Tensor:
        self._y = torch.relu_(x)
        return self._y

    def backward(self, g: Tensor, parameters: bool, inputs: bool) -> Tensor | None:
        return torch.ops.aten.threshold_backward.grad_input(g, self._y, 0, grad_input=g)


class _BatchNorm(_Layer):
    """:class:`torch.nn.BatchNorm1d` with its running statistics (variance unbiased).

    In training its input is overwritten.
    """

    #: Whether running statistics are kept.
    keeps_statistics = True
    #: The layer before, if that leaves out its bias in training.
    linear: _Linear | None = None

    def __init__(self, modules: Sequence[nn.BatchNorm1d]) -> None:
        super().__init__(modules)
        first = modules[0]
        if first.running_mean is None or first.momentum is None or not first.affine:
            raise TypeError(f"Batch normalisation is stacked in its usual form only, got {first}.")
        self._eps, self._momentum = first.eps, first.momentum
        self._mean, self._variance, self._n_batches = (
            torch.stack([getattr(module, name)[None] for module in modules])
            for name in ("running_mean", "running_var", "num_batches_tracked")
        )

    @staticmethod
    def parameters(module: nn.BatchNorm1d) -> list[Tensor]:
        return [module.weight[None], module.bias[None]]

    def states(self) -> list[Tensor]:
        return [*self.values, self._mean, self._variance, self._n_batches]

    def store(self) -> None:
        super().store()
        for model, module in enumerate(self._modules):
            module.running_mean.copy_(self._mean[model, 0])
            module.running_var.copy_(self._variance[model, 0])
            module.num_batches_tracked.copy_(self._n_batches[model, 0])

    def forward(self, x: Tensor, training: bool) -> Tensor:
        weight, bias = self.values
        if not training:
            scale = weight * torch.rsqrt(self._variance + self._eps)
            return torch.addcmul(bias, x - self._mean, scale)
        n = x.shape[1]
        mean = x.mean(1, keepdim=True)
        self._centred = x.sub_(mean)
        y = x * x
        variance = y.mean(1, keepdim=True)
        if self.keeps_statistics:
            if self.linear is not None:
                mean += self.linear.bias
            self._mean.lerp_(mean, self._momentum)
            self._variance.lerp_(variance * (n / (n - 1)), self._momentum)
            self._n_batches += 1
        self._inverse = variance.add_(self._eps).rsqrt_()
        self._scale = weight * self._inverse
        self._y = torch.addcmul(bias, self._centred, self._scale, out=y)
        return self._y

    def backward(self, g: Tensor, parameters: bool, inputs: bool) -> Tensor | None:
        # What followed has no use for the output any more.
        on_x = torch.mul(g, self._centred, out=self._y)
        along = on_x.sum(1, keepdim=True).mul_(self._inverse)
        total = g.sum(1, keepdim=True)
        if parameters:
            self.gradients[0].copy_(along)
            self.gradients[1].copy_(total)
        if not inputs:
            return None
        # (g - total / n - normal along / n) times the scale, in two passes over the rows.
        share = self._scale / -g.shape[1]
        torch.addcmul(total.mul_(share), g, self._scale, out=on_x)
        return on_x.addcmul_(self._centred, along.mul_(self._inverse).mul_(share))


class _WeightNorm(_Layer):
    """:class:`WeightNormLinear`."""

    @staticmethod
    def parameters(module: WeightNormLinear) -> list[Tensor]:
        return [module.direction, module.length[:, None], module.bias[None]]

    def forward(self, x: Tensor, training: bool) -> Tensor:
        direction, length, bias = self.values
        self._norm = torch.linalg.vector_norm(direction, dim=2, keepdim=True)
        self._scale = length / self._norm
        self._x, self._weight = x, direction * self._scale
        return product(x, self._weight.transpose(1, 2)) + bias

    def backward(self, g: Tensor, parameters: bool, inputs: bool) -> Tensor | None:
        if parameters:
            direction = self.values[0]
            of_weight = product(g.transpose(1, 2), self._x)
            of_length = (of_weight * direction).sum(2, keepdim=True) / self._norm
            # The part of the gradient that would only lengthen the direction has no effect.
            across = of_weight - direction * (of_length / self._norm)
            self.gradients[0].copy_(across * self._scale)
            self.gradients[1].copy_(of_length)
            torch.sum(g, 1, keepdim=True, out=self.gradients[2])
        return product(g, self._weight) if inputs else None


class Stack:
    """The same chain of layers in R models, each with parameters of its own.

    Parameters
    ----------
    chains : sequence of sequences of torch.nn.Module
        For each model its layers, from which it starts and to which :meth:`store` writes: linear
        (first where there are several), ReLU, batch normalisation, or :class:`WeightNormLinear`.
    running_statistics : bool
        Whether batch normalisation keeps its running statistics, for prediction.
    overwrites_input : bool
        Whether :meth:`backward` may write over the input of the last :meth:`forward`.

    Attributes
    ----------
    n_models : int
        R.
    parameter : torch.nn.Parameter of shape (P,)
        All parameters, those of all models for one layer after another, with their gradient; for
        the optimizer.

    Raises
    ------
    TypeError
        Another kind of layer.
    """

    _KINDS: ClassVar[dict[type[nn.Module], type[_Layer]]] = {
        nn.Linear: _Linear,
        nn.ReLU: _ReLU,
        nn.BatchNorm1d: _BatchNorm,
        WeightNormLinear: _WeightNorm,
    }

    def __init__(
        self,
        chains: Sequence[Sequence[nn.Module]],
        *,
        running_statistics: bool = True,
        overwrites_input: bool = False,
    ) -> None:
        self.n_models = len(chains)
        self._layers: list[_Layer] = []
        for modules in zip(*chains, strict=True):
            kind = self._KINDS.get(type(modules[0]))
            if kind is None:
                raise TypeError(f"Layers of type {type(modules[0]).__name__} cannot be stacked.")
            self._layers.append(kind(modules))
        for before, layer in itertools.pairwise([None, *self._layers]):
            if isinstance(layer, _BatchNorm):
                layer.keeps_statistics = running_statistics
                if isinstance(before, _Linear):
                    before.before_norm, layer.linear = True, before
        if isinstance(self._layers[0], _Linear):
            self._layers[0].overwrites_input = overwrites_input
        self._lay_out()

    @torch.no_grad()
    def _lay_out(self) -> None:
        """Give all parameters of all layers their places in one array."""
        first = [layer.first_values() for layer in self._layers]
        tensors = list(itertools.chain.from_iterable(first))
        sizes = [LANES * math.ceil(tensor.numel() / LANES) for tensor in tensors]
        flat = tensors[0].new_zeros(sum(sizes))
        gradient = torch.zeros_like(flat)
        self.parameter = nn.Parameter(flat)
        self.parameter.grad = gradient
        places = zip(torch.split(flat, sizes), torch.split(gradient, sizes), strict=True)
        for layer, values in zip(self._layers, first, strict=True):
            layer.values, layer.gradients = [], []
            for value in values:
                own, its_gradient = (
                    place[: value.numel()].view_as(value) for place in next(places)
                )
                layer.values.append(own.copy_(value))
                layer.gradients.append(its_gradient)

    def forward(self, x: Tensor, training: bool = True) -> Tensor:
        """Map rows of shape (R, n, in) to (R, n, out); :meth:`backward` may overwrite the output.

        ``training`` is that of batch normalisation: by the statistics of these rows, not by the
        running ones.
        """
        for layer in self._layers:
            x = layer.forward(x, training)
        return x

    def backward(
        self, gradient: Tensor, *, parameters: bool = True, inputs: bool = True
    ) -> Tensor | None:
        """Carry the gradient of the loss back through what the last :meth:`forward` computed.

        Once: layers write over what they kept, their output included.

        Parameters
        ----------
        gradient : Tensor of shape (R, n, out)
            With respect to the output.
        parameters : bool
            Whether to write the gradient of ``parameter``, in place of that of the last step.
        inputs : bool
            Whether to compute the gradient with respect to the input.

        Returns
        -------
        gradient : Tensor of shape (R, n, in) or None
        """
        g: Tensor | None = gradient
        for layer in reversed(self._layers):
            assert g is not None
            g = layer.backward(g, parameters, inputs or layer is not self._layers[0])
        return g

    def states(self) -> list[Tensor]:
        """All that training changes, each of shape (R, ...); writing to it changes the models."""
        return [state for layer in self._layers for state in layer.states()]

    @torch.no_grad()
    def store(self) -> None:
        """Write each model's parameters and statistics to the modules it was made of."""
        for layer in self._layers:
            layer.store()
