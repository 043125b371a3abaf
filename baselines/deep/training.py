"""The one training loop of every deep method: Adam on R models at a time, held-out stopping."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from baselines.rows import Batch
from krda.density.processor import denormals_as_zero
from krda.validation import FloatArray

# Steps from one look at the held-out rows to the next, as in KRDA's training.
EVALUATION_INTERVAL = 5


class Trained(NamedTuple):
    """For each of R models: the loss of each step, and a FloatingPointError if it diverged."""

    losses: list[FloatArray]
    errors: list[Exception | None]


def train(
    models: nn.Module,
    loss_of: Callable[[Batch], Tensor],
    epochs: Iterable[list[Batch]],
    *,
    learning_rate: float,
    what: str,
    held_out_loss: Callable[[], Tensor] | None = None,
    patience: int = 0,
) -> Trained:
    """Minimise the loss, (R,), of stacked models over all batches; the last state is kept.

    With ``held_out_loss``, (R,), each model keeps the state where that is least, and ends after
    ``patience`` steps without a smaller one. Models that diverge, or whose training has ended, go
    on until all have: they disturb none of the others.
    """
    optimizer = torch.optim.Adam(
        [p for p in models.parameters() if p.requires_grad], lr=learning_rate, fused=True
    )
    n_models = len(next(models.parameters()))
    curves: list[list[float]] = []
    errors: list[Exception | None] = [None] * n_models
    ends: list[int | None] = [None] * n_models
    states = list(models.state_dict().values())
    best = [state.clone() for state in states]
    least, least_at = [math.inf] * n_models, [0] * n_models

    @torch.no_grad()
    def look_at_held_out_rows() -> None:
        if held_out_loss is None or len(curves) % EVALUATION_INTERVAL:
            return
        models.eval()
        losses = held_out_loss().tolist()
        models.train()
        for model in (m for m in range(n_models) if ends[m] is None):
            if losses[model] < least[model]:
                least[model], least_at[model] = losses[model], len(curves)
                for kept, state in zip(best, states, strict=True):
                    kept[model] = state[model]
            elif len(curves) - least_at[model] >= patience:
                ends[model] = len(curves)

    models.train()
    with denormals_as_zero():
        look_at_held_out_rows()
        for batch in chain.from_iterable(epochs):
            loss = loss_of(batch)
            optimizer.zero_grad()
            loss.sum().backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            curves.append(loss.tolist())
            for model, value in enumerate(curves[-1]):
                if not math.isfinite(value) and errors[model] is None and ends[model] is None:
                    errors[model] = FloatingPointError(
                        f"{what} diverged in step {len(curves)}: the loss is {value}. Predictions "
                        "would be meaningless, so the fit ends here. Lower learning_rate or "
                        "trade_off, or look for rows that are all the same."
                    )
            look_at_held_out_rows()
            if all(error or end for error, end in zip(errors, ends, strict=True)):
                break
    if held_out_loss is not None:
        for kept, state in zip(best, states, strict=True):
            state.copy_(kept)
    of_models = np.array(curves).reshape(-1, n_models).T
    return Trained([c[:end].copy() for c, end in zip(of_models, ends, strict=True)], errors)
