"""The one training loop of every deep method: Adam on R models at a time, held-out stopping."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from baselines.rows import Batch
from krda.density.processor import denormals_as_zero
from krda.validation import FloatArray

# Steps from one look at the held-out rows to the next, as in KRDA's training.
EVALUATION_INTERVAL = 5

# What a step computes for R models, each of shape (R, ...), by what is wrong if it is not finite;
# {} stands for the value. The last, of shape (R,), is minimised. Of several, the first is named.
Losses = dict[str, Tensor]

OUTPUT = "the output of the network is NaN or infinite"
LOSS = "the loss is {}"


class HeldOut(NamedTuple):
    """The held-out loss of each model, of shape (R,), and the steps to wait for a smaller one."""

    loss: Callable[[], Tensor]
    patience: int


class Trained(NamedTuple):
    """For each of R models: the loss of each step, and a FloatingPointError if it diverged."""

    losses: list[FloatArray]
    errors: list[Exception | None]


def train(
    models: nn.Module,
    losses_of: Callable[[Batch], Losses],
    epochs: Iterable[list[Batch]],
    *,
    learning_rate: float,
    what: str,
    held_out: HeldOut | None = None,
) -> Trained:
    """Minimise the loss of stacked models over the batches of all epochs; the last state is kept.

    With ``held_out`` each model keeps the state with the least held-out loss. Models that diverge,
    or whose training has ended, go on until all have: they disturb none of the others.
    """
    optimizer = torch.optim.Adam(
        [p for p in models.parameters() if p.requires_grad], lr=learning_rate, fused=True
    )
    models.train()
    n_models = len(next(models.parameters()))
    curves: list[list[float]] = []
    errors: list[Exception | None] = [None] * n_models
    best = _BestStates(models, held_out)
    steps = ((epoch, b) for epoch, batches in enumerate(epochs, start=1) for b in batches)
    with denormals_as_zero():
        best.look(0)
        for epoch, batch in steps:
            losses = losses_of(batch)
            *_, objective = losses.values()
            optimizer.zero_grad()
            objective.sum().backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            curves.append(objective.tolist())
            for model, reason in _not_finite(losses).items():
                if errors[model] is None and best.ends[model] is None:
                    errors[model] = FloatingPointError(
                        f"{what} diverged in step {len(curves)} (epoch {epoch}): {reason}. "
                        "Predictions would be meaningless, so the fit ends here. Lower "
                        "learning_rate or trade_off."
                    )
            best.look(len(curves))
            if all(error or end for error, end in zip(errors, best.ends, strict=True)):
                break
    best.restore()
    of_models = np.array(curves).reshape(-1, n_models).T
    return Trained([c[:end].copy() for c, end in zip(of_models, best.ends, strict=True)], errors)


def _not_finite(losses: Losses) -> dict[int, str]:
    """Say for each model of which something is not finite what that is."""
    found: dict[int, str] = {}
    for reason, values in losses.items():
        for model, total in enumerate(values.detach().reshape(len(values), -1).sum(1).tolist()):
            if not math.isfinite(total):
                found.setdefault(model, reason.format(total))
    return found


class _BestStates:
    """Each model's state with the least held-out loss so far; ``ends`` are their last steps."""

    def __init__(self, models: nn.Module, held_out: HeldOut | None) -> None:
        n_models = len(next(models.parameters()))
        self.ends: list[int | None] = [None] * n_models
        self._models, self._held_out = models, held_out
        self._states = list(models.state_dict().values())
        self._best = [state.clone() for state in self._states] if held_out else []
        self._least, self._at = [math.inf] * n_models, [0] * n_models

    @torch.no_grad()
    def look(self, n_steps: int) -> None:
        """Every few steps, compare the models with their best."""
        if self._held_out is None or n_steps % EVALUATION_INTERVAL:
            return
        self._models.eval()
        losses = self._held_out.loss().tolist()
        self._models.train()
        for model, loss in enumerate(losses):
            if self.ends[model] is not None:
                continue
            if loss < self._least[model]:
                self._least[model], self._at[model] = loss, n_steps
                for best, state in zip(self._best, self._states, strict=True):
                    best[model] = state[model]
            elif n_steps - self._at[model] >= self._held_out.patience:
                self.ends[model] = n_steps

    def restore(self) -> None:
        """Give each model its best state."""
        for best, state in zip(self._best, self._states, strict=bool(self._best)):
            state.copy_(best)
