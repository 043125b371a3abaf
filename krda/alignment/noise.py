"""What an alignment leaves of the energy distance where there is nothing to align.

The aligned source is cut in two at random, many times; one part plays the target and has the
classes in the target's shares. The alignment is fitted to the two parts. What it leaves is noise,
of the size that the numbers of rows make it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from krda.alignment.fitting import Kind, class_weights, fit_alone, fit_jointly
from krda.validation import FloatArray

_SPLITS = 20

#: Share of a class's rows that may play the target.
_MOST = 2 / 3


def split_residuals(
    kind: Kind, mapped: FloatArray, codes: NDArray[Any], shares: FloatArray, n_target: int,
    own: FloatArray, *, estimated: bool, seed: int,
) -> FloatArray:  # fmt: skip
    """Residuals (n_splits, 2) of an alignment between parts of the mapped source.

    They are scaled to the true numbers of rows: a residual of n and m rows is in proportion to
    1/n + 1/m, with n the effective number of weighted rows.
    """
    rng = np.random.default_rng(seed)
    unit = _noise_unit(codes, shares, n_target)
    residuals = []
    for _ in range(_SPLITS):
        if kind == "none" and not estimated:
            source, target = _split_anyhow(codes, n_target, rng)
        else:
            source, target = _split(codes, shares, n_target, rng)
        Xs, own_codes, Xt = mapped[source], codes[source], mapped[target]
        # A rotation has nothing to find here, and is what costs time.
        still: Kind = "linear" if kind == "affine" else kind
        if estimated:
            fitted = fit_jointly(still, Xs, own_codes, Xt, own, start=shares, turns=3)
        else:
            fitted = fit_alone(still, Xs, own_codes, Xt, shares)
        residuals.append(
            np.array(fitted.residuals) / _noise_unit(own_codes, fitted.shares, len(target))
        )
    return unit * np.array(residuals)


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
