"""Methods that train on a batch of both domains at once: cross entropy and a transfer loss."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from baselines.deep.networks import DeepClassifier, Models, cross_entropy
from baselines.deep.training import LOSS, OUTPUT, HeldOut, Losses, Trained, train
from baselines.rows import Batch, epochs_of_batches, fork
from krda.validation import require_number


class Transfer(nn.Module):
    """What brings the domains of R models together: a loss, with what is trained along with it."""

    reason: str  # what is wrong if the loss is not finite

    def forward(self, features: Tensor, logits: Tensor) -> Tensor:
        """Loss of shape (R,) of b source rows followed by b target rows, (R, 2b, ...)."""
        raise NotImplementedError

    def divergence(self, features: Tensor, logits: Tensor) -> Tensor | float:
        """Return what the held-out loss adds; 0 if it would judge more than the features."""
        return 0.0


@dataclass(kw_only=True, eq=False, repr=False)
class JointlyTrained(DeepClassifier):
    r"""Methods that train on a batch of both domains at once.

    The objective of a batch is

    .. math:: L = \mathrm{CE}(g(f(x_s)), y_s) + \eta \, T,

    cross entropy on the source plus :math:`\eta` times the method's transfer loss. With
    ``trade_off=0`` the transfer loss is left out: plain training of the MLP on the source.

    Parameters
    ----------
    trade_off : float, default=1.0
        :math:`\eta`.
    """

    trade_off: float = 1.0

    @abstractmethod
    def _transfer(
        self, n_classes: int, generators: Sequence[torch.Generator], device: torch.device
    ) -> Transfer:
        """Return the transfer loss of R models of ``hidden_size_``, by the models' generators."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_number("trade_off", self.trade_off, positive=False)

    @classmethod
    def _train(cls, methods: Sequence[Self], models: Models) -> Trained:
        network, data, held_out, generators = models
        method, eta = methods[0], methods[0].trade_off
        # The transfer loss has a generator of its own, so that it cannot shift the batches: with
        # trade_off=0 all methods train the same network on the same batches.
        sides = fork(generators)
        n_classes, device = data.labels.shape[2], data.Xs.device
        transfer = method._transfer(n_classes, sides, device) if eta > 0 else None

        def losses_of(batch: Batch) -> Losses:
            x_s, y_s, x_t = batch
            logits, features = network(x_s if transfer is None else torch.cat([x_s, x_t], dim=1))
            losses = {OUTPUT: logits}
            loss = cross_entropy(logits[:, : x_s.shape[1]], y_s)
            if transfer is not None:
                losses[transfer.reason] = transferred = transfer(features, logits)
                loss = loss + eta * transferred
            return {**losses, LOSS: loss}

        def held_out_loss() -> Tensor:
            assert held_out is not None
            logits, features = network(torch.cat([held_out.Xs, held_out.Xt], dim=1))
            n_s = held_out.Xs.shape[1]
            loss = cross_entropy(logits[:, :n_s], held_out.labels)
            if transfer is None:
                return loss
            n = min(n_s, held_out.Xt.shape[1])
            f, g = (torch.cat([z[:, :n], z[:, n_s : n_s + n]], 1) for z in (features, logits))
            return loss + eta * transfer.divergence(f, g)

        return train(
            nn.ModuleList([network] if transfer is None else [network, transfer]),
            losses_of,
            epochs_of_batches([data[:2], data[2:]], method.batch_size, method.n_epochs, generators),
            learning_rate=method.learning_rate,
            what=cls.__name__,
            held_out=HeldOut(held_out_loss, method.patience) if held_out else None,
        )
