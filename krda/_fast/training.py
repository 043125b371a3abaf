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
from krda.density.options import TrainingOptions
from krda.density.processor import denormals_as_zero
from krda.density.rnade import RNADE
from krda.density.training import (
    Progress,
    TrainingHistory,
    batches,
    hold_out,
    n_batches,
)

# Numbers in the hidden states of one batch up to which models are trained side by side: about what
# the second-level cache holds. Larger models keep a processor busy alone.
STACKED_STATES = 2**19

#: Of each domain the rows of all models, (R, n, d), and their conditioning rows.
Tables = Sequence[tuple[Tensor, Tensor]]


@accelerates(training.fit_maximum_likelihood)
def fit_maximum_likelihood(
    models: Sequence[RNADE],
    domains: Sequence[Sequence[Tensor]],
    options: TrainingOptions,
    conditioning_rows: Sequence[Sequence[Tensor]] | None = None,
) -> list[TrainingHistory]:
    """Train each model on its own domains, those of equal shape side by side."""
    histories: dict[int, TrainingHistory] = {}
    for stack in _stacks(models, domains, options):
        rows = _stacked([domains[k] for k in stack])
        conditioning = _stacked([(conditioning_rows or domains)[k] for k in stack])
        tables = list(zip(rows, conditioning, strict=True))
        histories |= zip(stack, _fit([models[k] for k in stack], tables, options), strict=True)
    return [histories[k] for k in range(len(models))]


def _stacked(tables: Sequence[Sequence[Tensor]]) -> list[Tensor]:
    """Stack the tables of several models, domain by domain; that of one model is not copied."""
    own = zip(*tables, strict=True)
    return [one[0].unsqueeze(0) if len(one) == 1 else torch.stack(one) for one in own]


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
    models: Sequence[RNADE], tables: Tables, options: TrainingOptions
) -> list[TrainingHistory]:
    """Train models of equal shape; once more those that diverge."""
    initial, rate = Parameters.of(models), options.learning_rate
    # Inference mode spares the bookkeeping for automatic differentiation.
    with torch.inference_mode(), denormals_as_zero():
        best, progress = _train(initial, models, tables, options, rate)
        again = [r for r, one in enumerate(progress) if one.failure is not None]
        if again:
            start, some = Parameters(*(part[again] for part in initial)), [models[r] for r in again]
            own = [(rows[again], conditioning[again]) for rows, conditioning in tables]
            best[again], restarted = _train(start, some, own, options, 0.1 * rate)
            for r, one in zip(again, restarted, strict=True):
                progress[r] = one
    initial.like(best).copy_to(models)
    return [one.history() for one in progress]


def _train(
    initial: Parameters,
    models: Sequence[RNADE],
    tables: Tables,
    options: TrainingOptions,
    learning_rate: float,
) -> tuple[Tensor, list[Progress]]:
    """Train models once: flat parameters of the lowest held-out NLL, and what happened."""
    sigma_floor, fraction = models[0].sigma_floor, options.validation_fraction
    generators = [torch.Generator().manual_seed(model.seed) for model in models]
    splits = [[hold_out(rows.shape[1], fraction, g) for g in generators] for rows, _ in tables]
    train = [torch.stack([rows for rows, _ in split]) for split in splits]
    held_out = [torch.stack([rows for _, rows in split]) for split in splits]
    n_train = [rows.shape[1] for rows in train]
    largest = max(-(-n // n_batches(n, options.batch_size)) for n in n_train)
    # One stream for each domain and model, whose draws do not depend on the others.
    streams = [
        [batches(own, options.batch_size, g) for own, g in zip(rows, generators, strict=True)]
        for rows in train
    ]
    evaluation, active = _pick(tables, held_out), list(range(len(models)))
    steps_per_epoch = max(n_batches(n, options.batch_size) for n in n_train)
    progress = [Progress(learning_rate, steps_per_epoch) for _ in models]
    best = initial.flat()
    adam, losses = _Adam(best.clone()), list[Tensor]()

    def evaluate(n_steps: int) -> list[int]:
        """Note the NLLs after some steps; give the places of the models that go on."""
        held_out_nll, _ = nll(initial.like(adam.flat), evaluation, sigma_floor)
        for i, r in enumerate(active):
            if progress[r].record(n_steps, [loss[i] for loss in losses], held_out_nll[i]):
                best[r] = adam.flat[i]
        losses.clear()
        return [i for i, r in enumerate(active) if not progress[r].ended(options.patience)]

    if options.max_steps == 0:
        evaluate(0)
    for step in range(options.max_steps):
        numbers = [torch.stack([next(stream[r]) for r in active]) for stream in streams]
        rows, p = _pick(tables, numbers, largest), initial.like(adam.flat)
        loss, after = nll(p, rows, sigma_floor)
        rate = options.learning_rate_at(step, learning_rate)
        adam.step(gradient(p, rows, after).flat(), rate)
        losses.append(loss)
        if not options.evaluates_after(step + 1):
            continue
        stay = evaluate(step + 1)
        if not stay:
            break
        if len(stay) < len(active):
            active = [active[i] for i in stay]
            adam.keep(stay)
            tables = [(x[stay], conditioning[stay]) for x, conditioning in tables]
            held_out = [rows[stay] for rows in held_out]
            evaluation = _pick(tables, held_out)
    return best, progress


def _pick(tables: Tables, numbers: Sequence[Tensor], n_rows: int = 0) -> Rows:
    """Pack the rows with some numbers (R, m) of each domain's tables, (R, n, d)."""
    picked = []
    for pair, rows in zip(tables, numbers, strict=True):
        places = rows.to(pair[0].device).unsqueeze(-1).expand(-1, -1, pair[0].shape[-1])
        picked.append([table.gather(1, places) for table in pair])
    return pack(picked, max(n_rows, *(rows.shape[1] for rows in numbers)))
