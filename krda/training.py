"""Maximum-likelihood training of RNADE: Adam, held-out stopping, best state, divergence.

Both domains are trained at once; the loss is the sum over domains of the mean negative
log-likelihood (NLL) of their rows, so that a small domain counts as much as a large one. Part of
each domain's rows is held out; training stops when the held-out NLL no longer falls, and the
parameters with the lowest held-out NLL are restored. No label enters.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from krda.rnade import RNADE


class DivergenceError(ArithmeticError):
    """Training met a non-finite loss, with the given step and with a smaller one."""


@dataclass(frozen=True)
class TrainingOptions:
    """How RNADE is trained.

    Attributes
    ----------
    learning_rate : float
        First step size of Adam; it decays to zero as a half cosine over ``max_steps``.
    max_steps : int
        Upper bound on the number of steps.
    batch_size : int or None
        Rows of each domain in a step; None, or more than a domain has, takes all of them.
    validation_fraction : float
        Share of each domain's rows that is held out, in (0, 1).
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
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate must be positive, got {self.learning_rate!r}.")
        if not 0 < self.validation_fraction < 1:
            raise ValueError(
                "validation_fraction is the held-out share of the rows and must lie strictly "
                f"between 0 and 1, got {self.validation_fraction!r}."
            )
        for name in ("max_steps", "batch_size", "patience", "evaluation_interval"):
            value = getattr(self, name)
            if value is None and name == "batch_size":
                continue
            if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
                raise ValueError(f"{name} must be an integer of at least 1, got {value!r}.")


@dataclass(frozen=True)
class TrainingHistory:
    """What happened to one replica.

    Attributes
    ----------
    steps : Tensor of shape (n_evaluations,)
        Steps made when the held-out rows were looked at.
    train_nll, held_out_nll : Tensor of shape (n_evaluations, n_domains)
        Mean NLL of each domain's rows: over the batches since the last evaluation, and of the
        held-out rows at the evaluation.
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
    n_held_out = min(max(round(fraction * n_rows), 1), n_rows - 1)
    order = torch.randperm(n_rows, generator=generator)
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
    initial = {name: p.detach().clone() for name, p in model.named_parameters()}
    # Each row and what conditionals are given of it stay together, side by side.
    pairs = [torch.stack(pair, -2) for pair in zip(domains, given or domains, strict=True)]
    histories = _train(model, pairs, options, options.learning_rate)
    diverged = [r for r, history in enumerate(histories) if history.diverged_at is not None]
    if not diverged:
        return histories
    retry = RNADE(
        model.n_features,
        model.n_domains,
        n_components=model.n_components,
        hidden_size=model.hidden_size,
        sigma_floor=model.sigma_floor,
        seeds=[model.seeds[r] for r in diverged],
    ).to(model.c.device)
    _copy_replicas(retry, {name: value[diverged] for name, value in initial.items()})
    again = _train(retry, [x[diverged] for x in pairs], options, 0.1 * options.learning_rate)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter[diverged] = retry.get_parameter(name)
    for r, history in zip(diverged, again, strict=True):
        histories[r] = history
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


def _copy_replicas(model: RNADE, state: dict[str, Tensor]) -> None:
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(state[name])


def _gather(x: Tensor, rows: Tensor) -> Tensor:
    """Pick rows of each replica: x (R, n, 2, d), rows (R, m) -> (R, m, 2, d)."""
    return torch.take_along_dim(x, rows[:, :, None, None], dim=1)


def _nll(model: RNADE, pairs: Sequence[Tensor]) -> Tensor:
    """Mean NLL of each replica and domain, (R, D), of rows beside what is given of them."""
    return torch.stack(
        [-model.log_prob(x[:, :, 0], domain, x[:, :, 1]).mean(1) for domain, x in enumerate(pairs)],
        dim=1,
    )


def _train(
    model: RNADE, domains: Sequence[Tensor], options: TrainingOptions, learning_rate: float
) -> list[TrainingHistory]:
    n_replicas = len(model.seeds)
    device = model.c.device
    # One generator a replica: what it draws does not depend on how many train beside it.
    generators = [torch.Generator().manual_seed(seed) for seed in model.seeds]
    train, held_out = [], []
    for x in domains:
        splits = [hold_out(x.shape[1], options.validation_fraction, g) for g in generators]
        train.append(_gather(x, torch.stack([s[0] for s in splits]).to(device)))
        held_out.append(_gather(x, torch.stack([s[1] for s in splits]).to(device)))
    streams = [_batches(x, options.batch_size, generators) for x in train]
    largest = max(x.shape[1] for x in train)
    steps_per_epoch = math.ceil(largest / min(options.batch_size or largest, largest))

    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    best_state = {name: p.detach().clone() for name, p in model.named_parameters()}
    best_nll = torch.full((n_replicas,), torch.inf, device=device)
    best_step = torch.zeros(n_replicas, dtype=torch.int64, device=device)
    diverged_at = torch.full((n_replicas,), -1, dtype=torch.int64, device=device)
    active = torch.ones(n_replicas, dtype=torch.bool, device=device)
    since_last = torch.zeros(n_replicas, len(domains), device=device)
    steps: list[int] = []
    train_curve: list[Tensor] = []
    held_out_curve: list[Tensor] = []
    for step in range(options.max_steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * 0.5 * (1 + math.cos(math.pi * step / options.max_steps))
        optimizer.zero_grad(set_to_none=True)
        nll = _nll(model, [next(rows) for rows in streams])
        # Replicas share no parameter: the gradient of the sum is each one's own gradient.
        nll.sum().backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        since_last += nll.detach()
        broken = active & (diverged_at < 0) & ~torch.isfinite(nll.detach().sum(1))
        diverged_at = torch.where(broken, step, diverged_at)

        done = step + 1
        if done % options.evaluation_interval and done < options.max_steps:
            continue
        with torch.no_grad():
            score = _nll(model, held_out)
        train_curve.append(since_last / (done - (steps[-1] if steps else 0)))
        held_out_curve.append(score)
        steps.append(done)
        since_last = torch.zeros_like(since_last)
        active = active & (diverged_at < 0)
        better = active & (score.sum(1) < best_nll)
        best_nll = torch.where(better, score.sum(1), best_nll)
        best_step = torch.where(better, done, best_step)
        for name, parameter in model.named_parameters():
            mask = better.reshape(-1, *[1] * (parameter.ndim - 1))
            best_state[name] = torch.where(mask, parameter.detach(), best_state[name])
        active = active & (done - best_step < options.patience)
        if not bool(active.any()):
            break
    _copy_replicas(model, best_state)
    # Never finite on the held-out rows is a divergence, too, whatever the training rows say.
    diverged_at = torch.where(torch.isinf(best_nll) & (diverged_at < 0), 0, diverged_at)
    curves = torch.stack(train_curve), torch.stack(held_out_curve)
    return [
        TrainingHistory(
            steps=torch.tensor(steps),
            train_nll=curves[0][:, r],
            held_out_nll=curves[1][:, r],
            best_step=int(best_step[r]),
            learning_rate=learning_rate,
            diverged_at=(at, at // steps_per_epoch) if (at := int(diverged_at[r])) >= 0 else None,
        )
        for r in range(n_replicas)
    ]


def _batches(
    x: Tensor, batch_size: int | None, generators: Sequence[torch.Generator]
) -> Iterator[Tensor]:
    """Yield batches of a domain's rows (R, n, 2, d) for ever, every row once in each pass."""
    n = x.shape[1]
    if batch_size is None or batch_size >= n:
        while True:
            yield x
    n_batches = math.ceil(n / batch_size)
    while True:
        order = torch.stack([torch.randperm(n, generator=g) for g in generators]).to(x.device)
        # Batches of equal size but for one row: none is left with a handful.
        for rows in torch.tensor_split(order, n_batches, dim=1):
            yield _gather(x, rows)
