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
from krda.density.rnade import RNADE
from krda.validation import require_integer, require_number

#: Rows of a domain that are held out at most: enough to rank states of one training; with more,
#: evaluation would dominate a fit.
MAX_HELD_OUT = 2000

#: Steps from one evaluation on the held-out rows to the next.
EVALUATION_INTERVAL = 5


class DivergenceError(FloatingPointError):
    """Training met a non-finite loss, with the given learning rate and with a smaller one."""


@dataclass(frozen=True)
class TrainingOptions:
    """How RNADE is trained.

    Attributes
    ----------
    learning_rate : float, default=0.01
        First step size of Adam; it decays to zero as a half cosine over ``max_steps``.
    max_steps : int, default=1000
        Upper bound on the number of steps; 0 keeps the initial parameters.
    batch_size : int or None, default=128
        Rows of each domain in a step; None, or more than a domain has, takes all of them.
    validation_fraction : float, default=0.1
        Share of each domain's rows that is held out, in (0, 1); :data:`MAX_HELD_OUT` rows at most.
    patience : int, default=250
        Steps without a lower held-out NLL after which training stops.

    Raises
    ------
    ValueError
        An option that cannot work; the message names it.

    Examples
    --------
    >>> from krda import TrainingOptions
    >>> TrainingOptions(max_steps=100).batch_size
    128
    """

    learning_rate: float = 1e-2
    max_steps: int = 1000
    batch_size: int | None = 128
    validation_fraction: float = 0.1
    patience: int = 250

    def __post_init__(self) -> None:
        require_number("learning_rate", self.learning_rate, positive=True)
        require_number("validation_fraction", self.validation_fraction, positive=True)
        if self.validation_fraction >= 1:
            raise ValueError(
                "validation_fraction is the held-out share of the rows and must lie strictly "
                f"between 0 and 1, got {self.validation_fraction!r}."
            )
        require_integer("max_steps", self.max_steps, 0)
        require_integer("patience", self.patience, 1)
        if self.batch_size is not None:
            require_integer("batch_size", self.batch_size, 1)

    def learning_rate_at(self, step: int, first: float) -> float:
        """Learning rate of a step (from 0): a half cosine from the first one to zero."""
        return first * (0.5 * (1 + math.cos(math.pi * step / self.max_steps)))

    def evaluates_after(self, n_steps: int) -> bool:
        """Whether the held-out rows are looked at after this number of steps."""
        if n_steps == 0:
            return self.max_steps == 0
        return n_steps % EVALUATION_INTERVAL == 0 or n_steps == self.max_steps


@dataclass(frozen=True, eq=False)
class TrainingHistory:
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
    diverged_at : tuple of int or None
        Step and epoch (both from 0) of the first non-finite loss, None if there was none. An
        epoch is a pass over the larger domain.
    """

    steps: Tensor
    train_nll: Tensor
    held_out_nll: Tensor
    best_step: int
    learning_rate: float
    diverged_at: tuple[int, int] | None = None


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
    """What is known of a training on its way."""

    best_nll: float = math.inf
    best_step: int = 0
    diverged_at: int | None = None
    steps: list[int] = field(default_factory=list)
    train_nll: list[Tensor] = field(default_factory=list)
    held_out_nll: list[Tensor] = field(default_factory=list)

    def record(self, n_steps: int, losses: Sequence[Tensor], held_out: Tensor) -> bool:
        """Note an evaluation after some steps; say whether the parameters are the best so far.

        ``losses`` are the NLLs (D,) of the batches since the last evaluation, ``held_out`` (D,)
        those of the held-out rows.
        """
        self.steps.append(n_steps)
        self.train_nll.append(sum(losses, torch.zeros_like(held_out)) / len(losses))
        self.held_out_nll.append(held_out)
        finite = torch.stack([*losses, torch.zeros_like(held_out)]).isfinite().all(1).tolist()
        if not all(finite):
            self.diverged_at = n_steps - len(losses) + finite.index(False)
            return False
        better = float(held_out.sum()) < self.best_nll
        if better:
            self.best_nll, self.best_step = float(held_out.sum()), n_steps
        return better

    def ended(self, patience: int) -> bool:
        """Whether the training has diverged, or its patience is used up."""
        return self.diverged_at is not None or self.steps[-1] - self.best_step >= patience

    @property
    def diverged(self) -> bool:
        """Whether a loss was not finite, or the held-out NLL never was."""
        return self.diverged_at is not None or math.isinf(self.best_nll)

    def history(self, learning_rate: float, steps_per_epoch: int) -> TrainingHistory:
        """Sum up; a held-out NLL that never was finite is a divergence at the first step."""
        at = 0 if self.diverged and self.diverged_at is None else self.diverged_at
        return TrainingHistory(
            steps=torch.tensor(self.steps, device="cpu"),
            train_nll=torch.stack(self.train_nll).cpu(),
            held_out_nll=torch.stack(self.held_out_nll).cpu(),
            best_step=self.best_step,
            learning_rate=learning_rate,
            diverged_at=None if at is None else (at, at // steps_per_epoch),
        )


def fit_maximum_likelihood(
    model: RNADE,
    domains: Sequence[Tensor],
    options: TrainingOptions,
    given: Sequence[Tensor] | None = None,
) -> TrainingHistory:
    """Train a model in place; if it diverges, once more with a tenth of the learning rate.

    ``domains`` are the standardised rows (n_D, d) of each domain, ``given`` those rows as
    conditionals are given them: see :meth:`krda.density.rnade.RNADE.log_prob`. The model's seed
    also decides the held-out rows and the order of the batches. If ``diverged_at`` of the history
    is not None, both trainings failed, and the parameters are of no use.
    """
    (history,) = fit_all([model], [domains], options, None if given is None else [given])
    return history


@accelerated
def fit_all(
    models: Sequence[RNADE],
    domains: Sequence[Sequence[Tensor]],
    options: TrainingOptions,
    given: Sequence[Sequence[Tensor]] | None = None,
) -> list[TrainingHistory]:
    """Fit each model to its own domains, as :func:`fit_maximum_likelihood` says."""
    histories = []
    for model, rows, conditioned in zip(models, domains, given or domains, strict=True):
        initial = deepcopy(model.state_dict())
        for learning_rate in (options.learning_rate, 0.1 * options.learning_rate):
            model.load_state_dict(initial)
            history = _train(model, rows, conditioned, options, learning_rate)
            if history.diverged_at is None:
                break
        histories.append(history)
    return histories


def _train(
    model: RNADE,
    domains: Sequence[Tensor],
    given: Sequence[Tensor],
    options: TrainingOptions,
    learning_rate: float,
) -> TrainingHistory:
    generator = torch.Generator().manual_seed(model.seed)
    splits = [hold_out(len(x), options.validation_fraction, generator) for x in domains]
    streams = [batches(train, options.batch_size, generator) for train, _ in splits]

    def nll(rows: Sequence[Tensor]) -> Tensor:
        """Mean NLL (D,) of some rows of each domain."""
        picked = enumerate(zip(domains, given, rows, strict=True))
        return torch.stack([-model.log_prob(x[r], i, g[r]).mean() for i, (x, g, r) in picked])

    adam = torch.optim.Adam(model.parameters(), learning_rate)
    best, progress, losses = deepcopy(model.state_dict()), Progress(), list[Tensor]()
    for n_steps in range(options.max_steps + 1):
        if n_steps:
            adam.param_groups[0]["lr"] = options.learning_rate_at(n_steps - 1, learning_rate)
            loss = nll([next(stream) for stream in streams])
            adam.zero_grad()
            loss.sum().backward()  # type: ignore[no-untyped-call]
            adam.step()
            losses.append(loss.detach())
        if options.evaluates_after(n_steps):
            with torch.no_grad():
                held_out = nll([rows for _, rows in splits])
            if progress.record(n_steps, losses, held_out):
                best = deepcopy(model.state_dict())
            losses.clear()
            if progress.ended(options.patience):
                break
    model.load_state_dict(best)
    steps_per_epoch = max(n_batches(len(train), options.batch_size) for train, _ in splits)
    return progress.history(learning_rate, steps_per_epoch)


def raise_if_diverged(history: TrainingHistory) -> None:
    """Raise DivergenceError, with the epoch and what to try, if training failed twice."""
    if history.diverged_at is not None:
        raise DivergenceError(
            f"The density's loss became non-finite in epoch {history.diverged_at[1]} (step "
            f"{history.diverged_at[0]}, both from 0), also after a restart with the smaller "
            f"learning rate {history.learning_rate:g}. Look for columns with extreme outliers, "
            "raise sigma_floor, or lower learning_rate."
        )
