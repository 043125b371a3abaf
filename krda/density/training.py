"""Maximum-likelihood training of RNADE: Adam, held-out stopping, best state, divergence.

Both domains are trained at once; the loss is the sum over domains of the mean negative
log-likelihood (NLL) of their rows, so that a small domain counts as much as a large one. Part of
each domain's rows is held out. Training stops when the held-out NLL no longer falls, and the
parameters with the lowest one are kept. No label enters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

import torch
from torch import Tensor

from krda._switch import accelerated
from krda.density.options import MAX_HELD_OUT, TrainingOptions
from krda.density.rnade import RNADE
from krda.density.saving import SavedAsArrays


class DivergenceError(FloatingPointError):
    """Training diverged, with the given learning rate and with a smaller one."""


@dataclass(frozen=True, eq=False)
class TrainingHistory(SavedAsArrays):
    """What happened in a training.

    Attributes
    ----------
    steps : Tensor of shape (n_evaluations,)
        Steps made at each evaluation on the held-out rows.
    train_nll, held_out_nll : Tensor of shape (n_evaluations, n_domains)
        Mean NLL of each domain's rows: over the batches since the last evaluation, and of the
        held-out rows at the evaluation. Without any step the first is NaN.
    best_step : int
        Steps after which the parameters that were kept had been reached.
    learning_rate : float
        The first step size; a tenth of the one asked for after a restart.
    failure : str or None
        How the training diverged; None if it did not.
    """

    steps: Tensor
    train_nll: Tensor
    held_out_nll: Tensor
    best_step: int
    learning_rate: float
    failure: str | None = None


def hold_out(n_rows: int, fraction: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Split row numbers at random into training and held-out rows, at least one in each."""
    if n_rows < 2:
        raise ValueError(f"A density needs at least two rows a domain, got {n_rows}.")
    n_held_out = min(max(round(fraction * n_rows), 1), n_rows - 1, MAX_HELD_OUT)
    order = torch.randperm(n_rows, generator=generator, device="cpu")
    return order[n_held_out:], order[:n_held_out]


def n_batches(n_rows: int, batch_size: int | None) -> int:
    """Number of batches that a pass over some rows is made of."""
    return 1 if batch_size is None else math.ceil(n_rows / batch_size)


def batches(rows: Tensor, batch_size: int | None, generator: torch.Generator) -> Iterator[Tensor]:
    """Batches of row numbers for ever; in each pass every row comes once, in a new order.

    Batches differ in size by one row at most. A single batch takes the rows as they are.
    """
    n = n_batches(len(rows), batch_size)
    while True:
        if n == 1:
            yield rows
        else:
            order = torch.randperm(len(rows), generator=generator, device="cpu")
            yield from rows[order].tensor_split(n)


@dataclass
class Progress:
    """What is known of a training on its way; an epoch is a pass over the larger domain."""

    learning_rate: float
    steps_per_epoch: int
    best_nll: float = math.inf
    best_step: int = 0
    bad_step: int | None = None  # the first with a non-finite loss, from 0
    steps: list[int] = field(default_factory=list)
    train_nll: list[Tensor] = field(default_factory=list)
    held_out_nll: list[Tensor] = field(default_factory=list)

    def record(self, n_steps: int, losses: Sequence[Tensor], held_out: Tensor) -> bool:
        """Note an evaluation after some steps; say whether the parameters are the best so far.

        ``losses`` are the NLLs (D,) of the batches since the last evaluation, ``held_out`` (D,)
        those of the held-out rows.
        """
        self.steps.append(n_steps)
        total = sum(losses, torch.zeros_like(held_out))
        self.train_nll.append(total / len(losses) if losses else math.nan * total)
        self.held_out_nll.append(held_out)
        for step, loss in enumerate(losses, n_steps - len(losses)):
            if not bool(loss.isfinite().all()):
                self.bad_step = step
                return False
        nll = float(held_out.sum())
        if nll < self.best_nll:
            self.best_nll, self.best_step = nll, n_steps
            return True
        return False

    def ended(self, patience: int) -> bool:
        """Whether a loss was not finite, or the patience is used up."""
        return self.bad_step is not None or self.steps[-1] - self.best_step >= patience

    @property
    def failure(self) -> str | None:
        """Say how the training diverged; None if it did not."""
        if self.bad_step is not None:
            epoch = self.bad_step // self.steps_per_epoch
            return f"a loss was not finite in epoch {epoch} (step {self.bad_step}, both from 0)"
        if math.isinf(self.best_nll):
            return "the held-out rows never had a finite likelihood"
        return None

    def history(self) -> TrainingHistory:
        """Sum up."""
        return TrainingHistory(
            steps=torch.tensor(self.steps, device="cpu"),
            train_nll=torch.stack(self.train_nll).cpu(),
            held_out_nll=torch.stack(self.held_out_nll).cpu(),
            best_step=self.best_step,
            learning_rate=self.learning_rate,
            failure=self.failure,
        )


@accelerated
def fit_maximum_likelihood(
    models: Sequence[RNADE],
    domains: Sequence[Sequence[Tensor]],
    options: TrainingOptions,
    conditioning_rows: Sequence[Sequence[Tensor]] | None = None,
) -> list[TrainingHistory]:
    """Train models in place; those that diverge once more, with a tenth of the learning rate.

    Each model has its own ``domains``, tables of standardised rows (n_D, d), and their
    ``conditioning_rows``: see :meth:`krda.density.rnade.RNADE.log_prob`. Its seed also decides the
    held-out rows and the order of the batches. If a history has a ``failure``, both trainings
    diverged, and the model's parameters are of no use.
    """
    histories = []
    for model, rows, values in zip(models, domains, conditioning_rows or domains, strict=True):
        initial = deepcopy(model.state_dict())
        history = _train(model, rows, values, options, options.learning_rate)
        if history.failure is not None:
            model.load_state_dict(initial)
            history = _train(model, rows, values, options, 0.1 * options.learning_rate)
        histories.append(history)
    return histories


def _train(
    model: RNADE,
    domains: Sequence[Tensor],
    conditioning_rows: Sequence[Tensor],
    options: TrainingOptions,
    learning_rate: float,
) -> TrainingHistory:
    """Train a model once; it ends with the parameters of the lowest held-out NLL."""
    generator = torch.Generator().manual_seed(model.seed)
    splits = [hold_out(len(x), options.validation_fraction, generator) for x in domains]
    streams = [batches(train, options.batch_size, generator) for train, _ in splits]

    def nll(numbers: Sequence[Tensor]) -> Tensor:
        """Mean NLL (D,) of the rows of each domain with these numbers."""
        picked = enumerate(zip(domains, conditioning_rows, numbers, strict=True))
        return torch.stack([-model.log_prob(x[r], i, v[r]).mean() for i, (x, v, r) in picked])

    @torch.no_grad()
    def held_out_nll() -> Tensor:
        return nll([rows for _, rows in splits])

    steps_per_epoch = max(n_batches(len(train), options.batch_size) for train, _ in splits)
    progress = Progress(learning_rate, steps_per_epoch)
    adam, losses = torch.optim.Adam(model.parameters(), learning_rate), list[Tensor]()
    best = deepcopy(model.state_dict())
    if options.max_steps == 0:
        progress.record(0, losses, held_out_nll())
    for step in range(options.max_steps):
        adam.param_groups[0]["lr"] = options.learning_rate_at(step, learning_rate)
        loss = nll([next(stream) for stream in streams])
        adam.zero_grad()
        loss.sum().backward()  # type: ignore[no-untyped-call]
        adam.step()
        losses.append(loss.detach())
        if options.evaluates_after(step + 1):
            if progress.record(step + 1, losses, held_out_nll()):
                best = deepcopy(model.state_dict())
            if progress.ended(options.patience):
                break
            losses.clear()
    model.load_state_dict(best)
    return progress.history()


def raise_if_diverged(history: TrainingHistory) -> None:
    """Raise DivergenceError, with what happened and what to try, if training failed twice."""
    if history.failure is not None:
        raise DivergenceError(
            f"Training the density diverged: {history.failure}, also after a restart with the "
            f"smaller learning rate {history.learning_rate:g}. Look for columns with extreme "
            "outliers, raise sigma_floor, or lower learning_rate."
        )
