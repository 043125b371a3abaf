"""How often does the label-free check object where it must not, and where it must?

::

    python scripts/trust_levels.py

draws tables whose answer is known, lets stand-ins for a fitted KRDA carry them in a known way, and
counts what :func:`krda.trust.assess` says. `docs/own_tables.md` quotes what it prints.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from experiments.threads import limit_threads

limit_threads()

import numpy as np
from numpy.typing import NDArray

from krda import KRDA
from krda.assessment import (
    DensityCheck,
    Difference,
    RefitCheck,
    TransportCheck,
    objections,
    order_beyond_seeds,
)
from krda.trust import assess

FloatArray = NDArray[np.float64]

# What the stand-ins carry a source of N(SHIFT, 1) in the first column by, to a target of N(0, 1).
SHIFT = 1.0


class StandIn(KRDA):
    """KRDA with hardly any training, whose transport is another one."""

    def __init__(self, *, classifier: object = None, column_order: object = "given",
                 random_state: object = None) -> None:  # fmt: skip
        super().__init__(
            1, 2, classifier=classifier, max_steps=1, random_state=random_state,
            column_order=column_order,
        )  # type: ignore[arg-type]  # fmt: skip


class Idle(StandIn):
    """Leaves every row where it is."""

    def _transport(self, X: FloatArray) -> FloatArray:
        return X.copy()


class Exact(StandIn):
    """Takes the whole shift away."""

    def _transport(self, X: FloatArray) -> FloatArray:
        return X - np.eye(X.shape[1])[0] * SHIFT


class Mirror(StandIn):
    """Takes the source as far to the other side of the target: no nearer, and no further."""

    def _transport(self, X: FloatArray) -> FloatArray:
        return X - np.eye(X.shape[1])[0] * 2 * SHIFT


class LearntMirror(StandIn):
    """The same by the means of the rows that it was fitted to: nearly no further."""

    def _transport(self, X: FloatArray) -> FloatArray:
        shift = self.column_maps_["source"].standardization.location - self.target_mean_
        return X - 2 * shift


class Beyond(StandIn):
    """Takes the source half as far again from the target."""

    def _transport(self, X: FloatArray) -> FloatArray:
        return X + np.eye(X.shape[1])[0] * SHIFT / 2


def count(
    model: type[KRDA],
    shift: float,
    n: int,
    d: int,
    n_tables: int,
    said: Callable[[TransportCheck], bool],
    n_refits: int = 3,
) -> float:
    """Give the share of random tables for which something is said.

    Parameters
    ----------
    model : type
    shift : float
        Of the source's first column, in standard deviations.
    n, d : int
        Rows and columns of each table.
    n_tables : int
    said : callable
        What is looked for in the transport's check.
    n_refits : int, default=3

    Returns
    -------
    share : float
    """
    rng = np.random.default_rng(0)
    found = []
    for k in range(n_tables):
        Xs, Xt = rng.normal(size=(2, n, d))
        Xs[:, 0] += shift
        labels = np.arange(n) % 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = model(random_state=k).fit(Xs, labels, Xt)
            found.append(said(_transport_only(fitted, Xs, labels, Xt, n_refits, k)))
    return float(np.mean(found))


def _transport_only(
    model: KRDA, Xs: FloatArray, ys: NDArray[np.intp], Xt: FloatArray, n_refits: int, seed: int
) -> TransportCheck:
    return assess(model, Xs, ys, Xt, n_refits=n_refits, random_state=seed).transport
