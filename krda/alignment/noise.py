"""What an alignment leaves of the energy distance where there is nothing to align.

The aligned source is cut in two at random, many times; one part plays the target and has the
classes in the target's shares. The alignment is fitted to the two parts. What it leaves is noise,
of the size that the numbers of rows make it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from krda.alignment.shares import class_weights
from krda.validation import FloatArray

if TYPE_CHECKING:
    from krda.alignment.fitting import Fitted

#: Fits an alignment to source rows, their classes and target rows.
Fit: TypeAlias = "Callable[[FloatArray, NDArray[Any], FloatArray], Fitted]"

_SPLITS = 20

#: Share of a class's rows that may play the target.
_MOST = 2 / 3


def split_residuals(
    fit: Fit, mapped: FloatArray, codes: NDArray[Any], shares: FloatArray, n_target: int,
    *, by_class: bool, seed: int,
) -> FloatArray:  # fmt: skip
    """Residuals (n_splits, 2) that an alignment leaves between parts of the mapped source.

    The part that plays the target has the classes in these shares, or, unless ``by_class``, as
    chance draws them. Residuals are scaled to the true numbers of rows: one of n and m rows is in
    proportion to 1/n + 1/m, with n the effective number of weighted rows.
    """
    rng = np.random.default_rng(seed)
    residuals = []
    for _ in range(_SPLITS):
        if by_class:
            source, target = _split(codes, shares, n_target, rng)
        else:
            source, target = _split_anyhow(codes, n_target, rng)
        fitted = fit(mapped[source], codes[source], mapped[target])
        unit = _noise_unit(codes[source], fitted.shares, len(target))
        residuals.append(np.array(fitted.residuals) / unit)
    return _noise_unit(codes, shares, n_target) * np.array(residuals)


def _noise_unit(codes: NDArray[Any], shares: FloatArray, n_target: int) -> float:
    weights = class_weights(codes, shares)
    return float(weights @ weights + 1 / n_target)


def _split_anyhow(
    codes: NDArray[Any], n_target: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw rows that play the target, at most half, of whatever class; and the rest.

    Two samples of one distribution differ in their class counts by chance. Yet a row of each class
    stays in the source.
    """
    order = rng.permutation(len(codes))
    _, first = np.unique(codes[order], return_index=True)
    stay, others = order[first], np.delete(order, first)
    size = min(n_target, len(codes) // 2, len(others))
    return np.sort(np.concatenate([stay, others[size:]])), np.sort(others[:size])


def _split(
    codes: NDArray[Any], shares: FloatArray, n_target: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw rows that play the target, at most half, their classes in these shares; and the rest.

    Each part keeps two rows of every class of which there are four.
    """
    counts = np.bincount(codes, minlength=len(shares))
    wanted = shares * min(n_target, len(codes) // 2)
    room = np.maximum(_MOST * counts, 1)
    wanted *= min(1.0, float((room / np.maximum(wanted, 1e-9)).min()))
    drawn = []
    for label, (count, want) in enumerate(zip(counts, wanted, strict=True)):
        n = int(np.clip(int(want + rng.random()), min(2, count // 2), max(count - 2, count // 2)))
        drawn.append(rng.permutation(np.flatnonzero(codes == label))[:n])
    target = np.sort(np.concatenate(drawn))
    return np.setdiff1d(np.arange(len(codes)), target), target
