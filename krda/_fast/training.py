"""Training several models side by side, by the gradient in closed form.

The steps are those of :mod:`krda.density.training` up to rounding. Models of equal shape are
trained as one program whose every operation is batched over them; those that have ended leave it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from krda._fast.objective import Parameters, Rows, gradient, nll, pack
from krda._switch import accelerates
from krda.density import training
from krda.density.processor import denormals_as_zero
from krda.density.rnade import RNADE
from krda.density.training import (
    Progress,
    TrainingHistory,
    TrainingOptions,
    batches,
    hold_out,
    n_batches,
)

# Numbers in the hidden states of one batch up to which models are trained side by side: about what
# the second-level cache holds. Larger models keep a processor busy alone.
STACKED_STATES = 2**19


@accelerates(training.fit_all)
def fit_all(
    models: Sequence[RNADE],
    domains: Sequence[Sequence[Tensor]],
    options: TrainingOptions,
    given: Sequence[Sequence[Tensor]] | None = None,
) -> list[TrainingHistory]:
    """Fit each model to its own domains, those of equal shape side by side."""
    histories: dict[int, TrainingHistory] = {}
    for stack in _stacks(models, domains, options):
        rows = _stacked([domains[k] for k in stack])
        conditioned = _stacked([(given or domains)[k] for k in stack])
        found = _fit([models[k] for k in stack], rows, conditioned, options)
        histories |= zip(stack, found, strict=True)
    return [histories[k] for k in range(len(models))]


def _stacked(tables: Sequence[Sequence[Tensor]]) -> list[Tensor]:
    """Stack the tables of several models, domain by domain."""
    return [torch.stack(own) for own in zip(*tables, strict=True)]


def _stacks(
    models: Sequence[RNADE], domains: Sequence[Sequence[Tensor]], options: TrainingOptions
) -> Iterator[list[int]]:
    """Group the numbers of the models that are worth training side by side."""
    groups: dict[object, list[int]] = {}
    for k, (model, rows) in enumerate(zip(models, domains, strict=True)):
        key = model.head_weight.shape, model.sigma_floor, *(x.shape for x in rows)
        groups.setdefault(key, []).append(k)
    for group in groups.values():
        model, rows = models[group[0]], domains[group[0]]
        in_batch = sum(min(len(x), options.batch_size or len(x)) for x in rows)
        size = max(STACKED_STATES // (in_batch * model.n_features * model.hidden_size), 1)
        yield from (group[start : start + size] for start in range(0, len(group), size))


class _Adam:
    """:class:`torch.optim.Adam` on flat parameters (R, P), to the bit.

    That one takes as long to import as torch itself, and three times as long for a small step.
    """

    def __init__(self, flat: Tensor) -> None:
        self.flat, self._n_steps = flat, 0
        self._mean, self._square = torch.zeros_like(flat), torch.zeros_like(flat)

    def step(self, gradient: Tensor, learning_rate: float) -> None:
        """Make one step, in place."""
        self._n_steps += 1
        self._mean.lerp_(gradient, 1 - 0.9)
        self._square.mul_(0.999).addcmul_(gradient, gradient, value=1 - 0.999)
        root = self._square.sqrt().div_(math.sqrt(1 - 0.999**self._n_steps)).add_(1e-8)
        self.flat.addcdiv_(self._mean, root, value=-learning_rate / (1 - 0.9**self._n_steps))

    def keep(self, models: Sequence[int]) -> None:
        """Go on with some of the models."""
        tensors = self.flat, self._mean, self._square
        self.flat, self._mean, self._square = (t[models] for t in tensors)


def _fit(
    models: Sequence[RNADE],
    domains: Sequence[Tensor],
    given: Sequence[Tensor],
    options: TrainingOptions,
) -> list[TrainingHistory]:
    """Train models of equal shape on rows (R, n, d); once more those that diverge."""
    initial, rates = Parameters.of(models), [options.learning_rate] * len(models)
    # Inference mode spares the bookkeeping for automatic differentiation.
    with torch.inference_mode(), denormals_as_zero():
        best, progress, epoch = _train(initial, models, domains, given, options, rates[0])
        again = [r for r, one in enumerate(progress) if one.diverged]
        if again:
            start = Parameters(*(part[again] for part in initial))
            rows, conditioned = ([x[again] for x in tables] for tables in (domains, given))
            rate, some = 0.1 * options.learning_rate, [models[r] for r in again]
            best[again], restarted, _ = _train(start, some, rows, conditioned, options, rate)
            for r, one in zip(again, restarted, strict=True):
                progress[r], rates[r] = one, rate
    initial.like(best).copy_to(models)
    return [one.history(rate, epoch) for one, rate in zip(progress, rates, strict=True)]


def _train(
    initial: Parameters,
    models: Sequence[RNADE],
    domains: Sequence[Tensor],
    given: Sequence[Tensor],
    options: TrainingOptions,
    learning_rate: float,
) -> tuple[Tensor, list[Progress], int]:
    """Train: flat parameters of lowest held-out NLL, what happened, and the steps of an epoch."""
    sigma_floor, fraction = models[0].sigma_floor, options.validation_fraction
    generators = [torch.Generator().manual_seed(model.seed) for model in models]
    splits = [[hold_out(x.shape[1], fraction, g) for g in generators] for x in domains]
    train = [torch.stack([rows for rows, _ in split]) for split in splits]
    held_out = [torch.stack([rows for _, rows in split]) for split in splits]
    n_train = [rows.shape[1] for rows in train]
    largest = max(-(-n // n_batches(n, options.batch_size)) for n in n_train)
    # One stream for each domain and model, whose draws do not depend on the others.
    streams = [
        [batches(own, options.batch_size, g) for own, g in zip(rows, generators, strict=True)]
        for rows in train
    ]
    tables = list(zip(domains, given, strict=True))
    evaluation = _pick(tables, held_out)
    active = list(range(len(models)))
    progress = [Progress() for _ in models]
    best = initial.flat()
    adam = _Adam(best.clone())
    losses: list[Tensor] = []
    for n_steps in range(options.max_steps + 1):
        p = initial.like(adam.flat)
        if n_steps:
            numbers = [torch.stack([next(stream[r]) for r in active]) for stream in streams]
            rows = _pick(tables, numbers, largest)
            loss, after = nll(p, rows, sigma_floor)
            rate = options.learning_rate_at(n_steps - 1, learning_rate)
            adam.step(gradient(p, rows, after).flat(), rate)
            losses.append(loss)
        if not options.evaluates_after(n_steps):
            continue
        looked_at, _ = nll(p, evaluation, sigma_floor)
        stay = []
        for i, r in enumerate(active):
            if progress[r].record(n_steps, [loss[i] for loss in losses], looked_at[i]):
                best[r] = adam.flat[i]
            if not progress[r].ended(options.patience):
                stay.append(i)
        losses.clear()
        if not stay:
            break
        if len(stay) < len(active):
            active = [active[i] for i in stay]
            adam.keep(stay)
            tables = [(x[stay], g[stay]) for x, g in tables]
            held_out = [rows[stay] for rows in held_out]
            evaluation = _pick(tables, held_out)
    return best, progress, max(n_batches(n, options.batch_size) for n in n_train)


def _pick(
    tables: Sequence[tuple[Tensor, Tensor]], numbers: Sequence[Tensor], n_rows: int = 0
) -> Rows:
    """Pack the rows with some numbers (R, m) of each domain's tables, (R, n, d)."""
    picked = []
    for pair, rows in zip(tables, numbers, strict=True):
        places = rows.to(pair[0].device).unsqueeze(-1).expand(-1, -1, pair[0].shape[-1])
        picked.append([table.gather(1, places) for table in pair])
    return pack(picked, max(n_rows, *(rows.shape[1] for rows in numbers)))
