"""Methods that train on a batch of both domains at once: cross entropy and a transfer loss."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from baselines.deep.networks import DeepClassifier, Models, cross_entropy
from baselines.deep.stacked import build, stack
from baselines.deep.training import Trained, train
from baselines.rows import Batch, epochs_of_batches, fork
from krda.validation import require_number


@dataclass(kw_only=True, eq=False, repr=False)
class JointlyTrained(DeepClassifier):
    r"""Methods that minimise :math:`\mathrm{CE}(g(f(x_s)), y_s) + \eta \, T` of a batch.

    That is cross entropy on the source plus :math:`\eta`, ``trade_off``, times the method's
    transfer loss. With ``trade_off=0`` that loss is left out: the MLP is trained on the source.
    """

    trade_off: float = 1.0

    @abstractmethod
    def _transfer_loss(self, features: Tensor, logits: Tensor, adversary: nn.Module) -> Tensor:
        """Loss, (R,), of b source rows followed by b target rows, (R, 2b, ...)."""

    def _divergence(self, features: Tensor, logits: Tensor) -> Tensor | float:
        """Return what the held-out loss adds; 0 if it would judge more than the features."""
        return 0.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_number("trade_off", self.trade_off, positive=False)

    @classmethod
    def _train(cls, methods: Sequence[Self], models: Models) -> Trained:
        network, data, held_out, generators = models
        method, eta = methods[0], methods[0].trade_off
        # An adversary has a generator of its own, so that it cannot shift the batches: with
        # trade_off=0 all methods train the same network on the same batches.
        sides = fork(generators)
        n_classes, device = data.labels.shape[2], data.Xs.device

        def make() -> nn.Module:
            return method._adversary(n_classes, method.hidden_size_)

        adversary = stack([build(make, side, device) for side in sides])

        def loss_of(batch: Batch) -> Tensor:
            x_s, y_s, x_t = batch
            logits, features = network(torch.cat([x_s, x_t], dim=1) if eta > 0 else x_s)
            loss = cross_entropy(logits[:, : x_s.shape[1]], y_s)
            if eta > 0:
                loss = loss + eta * method._transfer_loss(features, logits, adversary)
            return loss

        def held_out_loss() -> Tensor:
            assert held_out is not None
            logits, features = network(torch.cat([held_out.Xs, held_out.Xt], dim=1))
            n_s = held_out.Xs.shape[1]
            loss = cross_entropy(logits[:, :n_s], held_out.labels)
            if eta > 0:
                n = min(n_s, held_out.Xt.shape[1])
                f, g = (torch.cat([z[:, :n], z[:, n_s : n_s + n]], 1) for z in (features, logits))
                loss = loss + eta * method._divergence(f, g)
            return loss

        return train(
            nn.ModuleList([network, adversary] if eta > 0 else [network]),
            loss_of,
            epochs_of_batches([data[:2], data[2:]], method.batch_size, method.n_epochs, generators),
            learning_rate=method.learning_rate,
            what=cls.__name__,
            held_out_loss=held_out_loss if held_out else None,
            patience=method.patience,
        )
