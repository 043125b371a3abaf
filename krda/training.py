"""Maximum-likelihood training of RNADE: Adam, held-out stopping, best state, divergence.

Both domains are trained at once; the loss is the sum over domains of the mean negative
log-likelihood (NLL) of their rows, so that a small domain counts as much as a large one. Part of
each domain's rows is held out; training stops when the held-out NLL no longer falls, and the
parameters with the lowest held-out NLL are restored. No label enters.

Several replicas are trained side by side; those that are done leave. What one becomes does not
depend on what the others hold: each has random numbers of its own, and
:mod:`krda.rnade_objective` computes nothing across them. Alone it takes the same steps up to
rounding, see there.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from krda.denormals import denormals_as_zero
from krda.parameters import require_integer, require_number
from krda.rnade import RNADE
from krda.rnade_objective import Objective, Parameters, RowWeights

#: Rows of a domain that are held out at most, whatever its size. So many tell the better of two
#: states of one training; more would make looking at them the larger part of a fit.
MAX_HELD_OUT = 2000

# Rows of each domain and replica that the held-out likelihood is computed of at a time.
_HELD_OUT_BLOCK = 256


class DivergenceError(FloatingPointError):
    """Training met a non-finite loss, with the given step and with a smaller one."""


@dataclass(frozen=True)
class TrainingOptions:
    """How RNADE is trained.

    Attributes
    ----------
    learning_rate : float
        First step size of Adam; it decays to zero as a half cosine over ``max_steps``.
    max_steps : int
        Upper bound on the number of steps; 0 keeps the initial parameters.
    batch_size : int or None
        Rows of each domain in a step; None, or more than a domain has, takes all of them.
    validation_fraction : float
        Share of each domain's rows that is held out, in (0, 1); :data:`MAX_HELD_OUT` rows at most.
    patience : int
        Steps without a lower held-out NLL after which training stops.
    evaluation_interval : int
        Steps from one look at the held-out rows to the next.
    """

    learning_rate: float = 1e-2
    max_steps: int = 1000
    batch_size: int | None = 128
    validation_fraction: float = 0.1
    patience: int = 250
    evaluation_interval: int = 5

    def __post_init__(self) -> None:
        require_number("learning_rate", self.learning_rate, positive=True)
        require_number("validation_fraction", self.validation_fraction, positive=True)
        if self.validation_fraction >= 1:
            raise ValueError(
                "validation_fraction is the held-out share of the rows and must lie strictly "
                f"between 0 and 1, got {self.validation_fraction!r}."
            )
        for name in ("max_steps", "batch_size", "patience", "evaluation_interval"):
            value = getattr(self, name)
            if value is not None or name != "batch_size":
                require_integer(name, value, 0 if name == "max_steps" else 1)


@dataclass(frozen=True, eq=False)
class TrainingHistory:
    """What happened to one replica.

    Attributes
    ----------
    steps : Tensor of shape (n_evaluations,)
        Steps made when the held-out rows were looked at.
    train_nll, held_out_nll : Tensor of shape (n_evaluations, n_domains)
        Mean NLL of each domain's rows: over the batches since the last evaluation, and of the
        held-out rows at the evaluation. Without any step the first is NaN.
    best_step : int
        Steps made when the parameters that were kept had been reached.
    learning_rate : float
        The first step size, smaller than asked for after a restart.
    diverged_at : tuple of int or None
        Step and epoch (both from 0) of the first non-finite loss; None if there was none. An
        epoch is a pass over the larger domain.
    """

    steps: Tensor
    train_nll: Tensor
    held_out_nll: Tensor
    best_step: int
    learning_rate: float
    diverged_at: tuple[int, int] | None = None


def hold_out(n_rows: int, fraction: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Split row numbers at random into training and held-out rows, at least one in each.

    :data:`MAX_HELD_OUT` rows are held out at most.

    Parameters
    ----------
    n_rows : int
    fraction : float
        Held-out share.
    generator : torch.Generator

    Returns
    -------
    train, held_out : Tensor of int64

    Raises
    ------
    ValueError
        Fewer than two rows.
    """
    if n_rows < 2:
        raise ValueError(f"A density needs at least two rows a domain, got {n_rows}.")
    n_held_out = min(max(round(fraction * n_rows), 1), n_rows - 1, MAX_HELD_OUT)
    order = torch.randperm(n_rows, generator=generator, device="cpu")
    return order[n_held_out:], order[:n_held_out]


def fit_maximum_likelihood(
    model: RNADE,
    domains: Sequence[Tensor],
    options: TrainingOptions,
    given: Sequence[Tensor] | None = None,
) -> list[TrainingHistory]:
    """Train every replica of a model in place; replicas that diverge restart with smaller steps.

    Parameters
    ----------
    model : RNADE
        With R replicas; its seeds also decide the held-out rows and the order of the batches.
    domains : sequence of Tensor, each of shape (R, n_D, d)
        Standardised rows of each domain.
    options : TrainingOptions
    given : sequence of Tensor, each of shape (R, n_D, d), or None
        The rows as conditionals are given them, see :meth:`krda.rnade.RNADE.log_prob`.

    Returns
    -------
    histories : list of TrainingHistory, one a replica
        A replica whose ``diverged_at`` is not None failed twice; its parameters are of no use.
    """
    given = domains if given is None else given
    initial = Parameters.of(model)
    trained, histories = _train(initial, model, domains, given, options, options.learning_rate)
    diverged = [r for r, history in enumerate(histories) if history.diverged_at is not None]
    if diverged:
        retry, again = _train(
            initial.of_replicas(diverged),
            model,
            [x[diverged] for x in domains],
            [x[diverged] for x in given],
            options,
            0.1 * options.learning_rate,
            [model.seeds[r] for r in diverged],
        )
        for i, r in enumerate(diverged):
            trained.copy_replica(r, retry, i)
            histories[r] = again[i]
    trained.copy_to(model)
    return histories


def raise_if_diverged(history: TrainingHistory) -> None:
    """Raise where training failed with the given and with a smaller step.

    Raises
    ------
    DivergenceError
        Naming the epoch, and what to try.
    """
    if history.diverged_at is not None:
        raise DivergenceError(
            f"The density's loss became non-finite in epoch {history.diverged_at[1]} (step "
            f"{history.diverged_at[0]}, both from 0), also after a restart with the smaller "
            f"learning rate {history.learning_rate:g}. Look for columns with extreme outliers, "
            "raise sigma_floor, or lower learning_rate."
        )


# Adam's memories of the gradient and of its square, and what keeps its steps finite.
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8


class Adam:
    """Adam (Kingma and Ba 2015) on one flat vector, with torch's defaults.

    :class:`torch.optim.Adam` does the same for any set of parameters, and takes longer to look at
    it than small models take to compute.

    Parameters
    ----------
    parameters : Parameters
        Changed in place.
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.gradient = parameters.zeros_like()
        self._mean = parameters.zeros_like()
        self._square = parameters.zeros_like()
        self._denominator = torch.zeros_like(parameters.flat)
        self._n_steps = 0

    def step(self, learning_rate: float) -> None:
        """Make one step along what ``gradient`` holds."""
        self._n_steps += 1
        mean, square, gradient = self._mean.flat, self._square.flat, self.gradient.flat
        mean.lerp_(gradient, 1 - _BETA_1)
        square.mul_(_BETA_2).addcmul_(gradient, gradient, value=1 - _BETA_2)
        torch.sqrt(square, out=self._denominator)
        self._denominator.div_(math.sqrt(1 - _BETA_2**self._n_steps)).add_(_EPSILON)
        size = learning_rate / (1 - _BETA_1**self._n_steps)
        self.parameters.flat.addcdiv_(mean, self._denominator, value=-size)

    def of_replicas(self, replicas: Sequence[int]) -> Adam:
        """Copy parameters and state of some replicas."""
        kept = Adam(self.parameters.of_replicas(replicas))
        kept._mean = self._mean.of_replicas(replicas)
        kept._square = self._square.of_replicas(replicas)
        kept._n_steps = self._n_steps
        return kept


class Batches:
    """Batches of row numbers of one domain for ever; in each pass every row comes once.

    Parameters
    ----------
    rows : Tensor of shape (R, n), int64
        The numbers to choose from.
    batch_size : int or None
        At most so many in a batch; None, or more than there are, takes all of them as they are.
    generators : sequence of torch.Generator, one a replica
        What one draws does not depend on how many there are beside it.
    """

    def __init__(
        self, rows: Tensor, batch_size: int | None, generators: Sequence[torch.Generator]
    ) -> None:
        n = rows.shape[1]
        self._rows = rows
        self._generators = list(generators)
        whole = batch_size is None or batch_size >= n
        self.n_batches = 1 if whole else math.ceil(n / batch_size)  # type: ignore[operator]
        #: Rows of the largest batch.
        self.largest = math.ceil(n / self.n_batches)
        self._pending: list[Tensor] = []

    def next(self) -> Tensor:
        """Return the numbers of the next batch, shape (R, m); the same tensor if there is one."""
        if self.n_batches == 1:
            return self._rows
        if not self._pending:
            n, device = self._rows.shape[1], self._rows.device
            order = torch.stack(
                [torch.randperm(n, generator=g, device="cpu") for g in self._generators]
            )
            shuffled = self._rows.gather(1, order.to(device))
            # Batches of equal size but for one row: none is left with a handful.
            self._pending = list(shuffled.tensor_split(self.n_batches, dim=1))[::-1]
        return self._pending.pop()

    def keep(self, replicas: Sequence[int]) -> None:
        """Go on with some of the replicas."""
        self._rows = self._rows[replicas]
        self._pending = [rows[replicas] for rows in self._pending]
        self._generators = [self._generators[r] for r in replicas]


class _Rows:
    """The rows of one domain, and what conditionals are given of them, picked without a copy."""

    def __init__(self, x: Tensor, given: Tensor) -> None:
        self._x = x.reshape(-1, x.shape[-1])
        self._given = self._x if given is x else given.reshape(-1, x.shape[-1])

    def pick(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Pick rows (R, m), numbered through all replicas: both forms of them, (R, m, d)."""
        flat, shape = rows.reshape(-1), (*rows.shape, self._x.shape[-1])
        x = self._x.index_select(0, flat).view(shape)
        if self._given is self._x:
            return x, x
        return x, self._given.index_select(0, flat).view(shape)


class _TrainingBlock:
    """Objective on batches."""

    def __init__(
        self, parameters: Parameters, sigma_floor: float, rows: list[_Rows], batches: list[Batches]
    ) -> None:
        self._rows, self._batches = rows, batches
        self._objective = Objective(parameters, max(b.largest for b in batches), sigma_floor)
        self._loaded: list[Tensor | None] = [None] * len(batches)
        self._weights: dict[tuple[int, ...], RowWeights] = {}

    def step(self, gradient: Parameters) -> Tensor:
        """Return the next batches' NLL, shape (R, D), and write the gradient."""
        sizes = []
        for domain, batches in enumerate(self._batches):
            batch = batches.next()
            sizes.append(batch.shape[1])
            if batch is not self._loaded[domain]:
                self._objective.load(domain, *self._rows[domain].pick(batch))
                self._loaded[domain] = batch
        used = tuple(sizes)
        if used not in self._weights:
            self._weights[used] = self._objective.weights(used, used)
        nll = self._objective.nll(self._weights[used])
        self._objective.gradient(self._weights[used], gradient)
        return nll


class _HeldOut:
    """Objective on the held-out rows, block by block."""

    def __init__(
        self, parameters: Parameters, sigma_floor: float, rows: list[tuple[Tensor, Tensor]]
    ) -> None:
        self._rows = rows
        sizes = [x.shape[1] for x, _ in rows]
        block = min(max(sizes), _HELD_OUT_BLOCK)
        self._objective = Objective(parameters, block, sigma_floor, differentiable=False)
        self._blocks = []
        for start in range(0, max(sizes), block):
            used = [min(max(size - start, 0), block) for size in sizes]
            self._blocks.append((start, used, self._objective.weights(used, sizes)))

    def nll(self) -> Tensor:
        """Mean NLL of each domain's held-out rows, shape (R, D)."""
        total: Tensor | None = None
        for start, used, weights in self._blocks:
            for domain, ((x, given), m) in enumerate(zip(self._rows, used, strict=True)):
                if m:
                    part = slice(start, start + m)
                    self._objective.load(domain, x[:, part], given[:, part])
            nll = self._objective.nll(weights)
            total = nll if total is None else total + nll
        assert total is not None
        return total


@dataclass
class _Progress:
    """What is known of one replica in training."""

    best_nll: float = math.inf
    best_step: int = 0
    diverged_at: int | None = None
    steps: list[int] = field(default_factory=list)
    train_nll: list[Tensor] = field(default_factory=list)
    held_out_nll: list[Tensor] = field(default_factory=list)

    def history(self, learning_rate: float, steps_per_epoch: int) -> TrainingHistory:
        at = self.diverged_at
        # Never finite on the held-out rows is a divergence, too, whatever the training rows say.
        if at is None and math.isinf(self.best_nll):
            at = 0
        return TrainingHistory(
            steps=torch.tensor(self.steps, device="cpu"),
            train_nll=torch.stack(self.train_nll),
            held_out_nll=torch.stack(self.held_out_nll),
            best_step=self.best_step,
            learning_rate=learning_rate,
            diverged_at=None if at is None else (at, at // steps_per_epoch),
        )


def _train(
    initial: Parameters,
    model: RNADE,
    domains: Sequence[Tensor],
    given: Sequence[Tensor],
    options: TrainingOptions,
    learning_rate: float,
    seeds: Sequence[int] | None = None,
) -> tuple[Parameters, list[TrainingHistory]]:
    """Train from initial parameters; give the best ones and what happened to each replica."""
    # Inference mode spares each operation the bookkeeping for automatic differentiation.
    with torch.inference_mode(), denormals_as_zero():
        trainer = _Trainer(
            initial, model.sigma_floor, seeds or model.seeds, domains, given, options
        )
        trainer.train(learning_rate)
    # Outside of it, so that what is handed on are ordinary tensors.
    return trainer.best.clone(), trainer.histories(learning_rate)


class _Trainer:
    def __init__(
        self,
        initial: Parameters,
        sigma_floor: float,
        seeds: Sequence[int],
        domains: Sequence[Tensor],
        given: Sequence[Tensor],
        options: TrainingOptions,
    ) -> None:
        self._options = options
        self._sigma_floor = sigma_floor
        # One generator a replica: what it draws does not depend on how many train beside it.
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self._rows = [_Rows(x, g) for x, g in zip(domains, given, strict=True)]
        self._held_out, train = [], []
        for rows, x in zip(self._rows, domains, strict=True):
            n = x.shape[1]
            splits = [hold_out(n, options.validation_fraction, g) for g in generators]
            # Numbered through all replicas.
            parts = [[part + r * n for part in split] for r, split in enumerate(splits)]
            train.append(torch.stack([p[0] for p in parts]).to(x.device))
            self._held_out.append(rows.pick(torch.stack([p[1] for p in parts]).to(x.device)))
        self._batches = [Batches(rows, options.batch_size, generators) for rows in train]
        #: The parameters of lowest held-out NLL so far.
        self.best = initial.of_replicas(range(len(seeds)))
        self._adam = Adam(initial.of_replicas(range(len(seeds))))
        self._progress = [_Progress() for _ in seeds]
        #: Replicas that are still in training, in the order of the stack.
        self._active = list(range(len(seeds)))
        self._build()

    def _build(self) -> None:
        parameters = self._adam.parameters
        self._training = _TrainingBlock(parameters, self._sigma_floor, self._rows, self._batches)
        self._validation = _HeldOut(parameters, self._sigma_floor, self._held_out)

    def train(self, learning_rate: float) -> None:
        """Train until every replica has stopped, diverged or made all steps."""
        options = self._options
        recent: list[Tensor] = []
        if not options.max_steps:
            self._evaluate(recent, 0)
        for step in range(options.max_steps):
            recent.append(self._training.step(self._adam.gradient))
            decay = 0.5 * (1 + math.cos(math.pi * step / options.max_steps))
            self._adam.step(learning_rate * decay)
            done = step + 1
            if done % options.evaluation_interval and done < options.max_steps:
                continue
            self._evaluate(recent, done)
            recent.clear()
            self._dismiss(done)
            if not self._active:
                break

    def histories(self, learning_rate: float) -> list[TrainingHistory]:
        """Tell what happened to each replica."""
        steps_per_epoch = max(batches.n_batches for batches in self._batches)
        return [p.history(learning_rate, steps_per_epoch) for p in self._progress]

    def _evaluate(self, recent: list[Tensor], done: int) -> None:
        """Look at the held-out rows after ``done`` steps; ``recent`` are the NLLs since then."""
        held_out = self._validation.nll()
        totals = held_out.sum(1).tolist()
        finite = torch.stack(recent).sum(2).isfinite().tolist() if recent else []
        # Added up one by one: the order within torch.mean depends on the number of replicas.
        sums = functools.reduce(torch.add, recent, torch.zeros_like(held_out))
        train = (sums / len(recent)).cpu()
        held_out = held_out.cpu()
        for i, r in enumerate(self._active):
            progress = self._progress[r]
            progress.steps.append(done)
            progress.train_nll.append(train[i])
            progress.held_out_nll.append(held_out[i])
            losses = [step[i] for step in finite]
            if not all(losses):
                progress.diverged_at = done - len(losses) + losses.index(False)
            elif totals[i] < progress.best_nll:
                progress.best_nll, progress.best_step = totals[i], done
                self.best.copy_replica(r, self._adam.parameters, i)

    def _dismiss(self, done: int) -> None:
        """Take the replicas that are finished out of the stack."""
        stay = [
            i
            for i, r in enumerate(self._active)
            if self._progress[r].diverged_at is None
            and done - self._progress[r].best_step < self._options.patience
        ]
        if len(stay) == len(self._active):
            return
        self._active = [self._active[i] for i in stay]
        if not stay:
            return
        self._adam = self._adam.of_replicas(stay)
        self._held_out = [(x[stay], given[stay]) for x, given in self._held_out]
        for batches in self._batches:
            batches.keep(stay)
        self._build()
