"""Rows for the training of deep methods: scaled columns, held-out rows, batches.

Every tensor has the model as its first dimension, and each model draws by a generator of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from krda.validation import FloatArray

# What a training step is made of: tensors of shape (R, n, ...).
Batch = tuple[Tensor, ...]

# Rows of a domain that are held out at most: a discrepancy takes the square of it in memory.
MAX_HELD_OUT = 500


@dataclass(frozen=True)
class ColumnScaling:
    """One affine map per column, to mean 0 and variance 1 over the rows it was fitted to.

    A column that is constant there is set to 0 in all rows, others included: a network that never
    saw it vary has learnt nothing about it. Each column is divided by its largest absolute value
    before anything is squared, so magnitudes from 1e-300 to 1e300 are accepted.
    """

    peak: FloatArray
    mean: FloatArray
    deviation: FloatArray
    varies: NDArray[np.bool_]

    @classmethod
    def fit(cls, X: FloatArray) -> Self:
        """Find the map for rows of shape (n, n_features)."""
        peak = np.abs(X).max(axis=0)
        peak[peak == 0] = 1.0
        relative = X / peak
        deviation = relative.std(axis=0)
        # What is left of a constant column is rounding, which must not be blown up.
        varies = deviation >= 10 * np.finfo(np.float64).eps
        return cls(peak, relative.mean(axis=0), np.where(varies, deviation, 1.0), varies)

    def transform(self, X: FloatArray) -> FloatArray:
        """Map rows of shape (n, n_features); what is too large for a float becomes infinite."""
        with np.errstate(over="ignore"):
            return np.where(self.varies, (X / self.peak - self.mean) / self.deviation, 0.0)


def fork(generators: Sequence[torch.Generator]) -> list[torch.Generator]:
    """Seed further generators by one number from each of the given ones."""
    seeds = [int(torch.randint(2**31, (), generator=g, device="cpu")) for g in generators]
    return [torch.Generator("cpu").manual_seed(seed) for seed in seeds]


def gather(values: Tensor, rows: Tensor) -> Tensor:
    """Take rows of shape (R, L) out of values of shape (R, n, ...), model by model."""
    rows = rows.to(values.device)
    return values[torch.arange(len(values), device=values.device)[:, None], rows]


def hold_out(
    n_rows: int, fraction: float, generators: Sequence[torch.Generator]
) -> tuple[Tensor, Tensor]:
    """Split row numbers at random into those to train on and those held out, each (R, n)."""
    if n_rows < 4:
        raise ValueError(
            f"validation_fraction needs at least 4 rows in each domain, got {n_rows}. Give more "
            "rows, or set validation_fraction=None."
        )
    n_held_out = min(max(round(fraction * n_rows), 2), n_rows - 2, MAX_HELD_OUT)
    order = torch.stack([torch.randperm(n_rows, generator=g, device="cpu") for g in generators])
    return order[:, n_held_out:], order[:, :n_held_out]


def count_batches(n_rows: int, batch_size: int) -> int:
    """Return into how many batches an epoch of ``n_rows`` falls, none of them of a single row."""
    return max(1, min(math.ceil(n_rows / batch_size), n_rows // 2))


def orders(
    sizes: Sequence[int], n_epochs: int, generator: torch.Generator
) -> Iterator[list[Tensor]]:
    """Draw the order of the rows of each domain in each epoch, for one model.

    An epoch is a permutation of the largest domain. Smaller domains go along: one permutation
    after another, cut where the largest ends.
    """
    longest = max(sizes)
    drawn = [torch.empty(0, dtype=torch.int64, device="cpu") for _ in sizes]
    for _ in range(n_epochs):
        for domain, size in enumerate(sizes):
            while len(drawn[domain]) < longest:
                more = torch.randperm(size, generator=generator, device="cpu")
                drawn[domain] = torch.cat([drawn[domain], more])
        yield [rows[:longest] for rows in drawn]
        drawn = [rows[longest:] for rows in drawn]


def epochs_of_batches(
    domains: Sequence[Batch],
    batch_size: int,
    n_epochs: int,
    generators: Sequence[torch.Generator],
) -> Iterator[list[Batch]]:
    """Cut each epoch into batches of equally many rows of all domains.

    A domain is what belongs to its rows, such as values and labels. A batch has the tensors of all
    domains, one after another. The sizes of batches differ by one at most; with ``batch_size`` at
    least two none has a single row.
    """
    sizes = [tensors[0].shape[1] for tensors in domains]
    n_batches = count_batches(max(sizes), batch_size)
    for of_models in zip(*(orders(sizes, n_epochs, g) for g in generators), strict=True):
        cut = [
            gather(tensor, torch.stack(rows)).tensor_split(n_batches, dim=1)
            for tensors, rows in zip(domains, zip(*of_models, strict=True), strict=True)
            for tensor in tensors
        ]
        yield list(zip(*cut, strict=True))
