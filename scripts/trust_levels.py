"""Count how often the label-free check objects where it must not, and where it must.

::

    python scripts/trust_levels.py

draws tables of which the answer is known, lets stand-ins for KRDA carry them in a known way, and
counts what :func:`krda.trust.assess` would say: the lines that ``docs/own_tables.md`` shows.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from experiments.threads import limit_threads

limit_threads()

import numpy as np
from numpy.typing import NDArray

from krda import KRDA
from krda.assessment import DensityCheck, RefitCheck, TransportCheck, order_beyond_seeds
from krda.trust import _check_left_out

# Checks by numbers alone, which take no time.
_N_CHECKS = 4000

FloatArray = NDArray[np.float64]
Question = Callable[[TransportCheck], bool]


class Shift(KRDA):
    """KRDA with hardly any training, which moves the first column by ``by`` instead."""

    by = 0.0

    def __init__(
        self, *, classifier: Any = None, column_order: Any = "given", random_state: Any = None
    ) -> None:
        super().__init__(
            1,
            2,
            classifier=classifier,
            column_order=column_order,
            max_steps=1,
            random_state=random_state,
        )

    def _transport(self, X: FloatArray) -> FloatArray:
        carried = X.copy()
        carried[:, 0] += self.by
        return carried


class Learnt(Shift):
    """Mirrors the source by the means of the rows that it sees: on average a little further."""

    def _transport(self, X: FloatArray) -> FloatArray:
        shift = self.column_maps_["source"].location - self.target_mean_
        return X - 2 * shift


def shares(
    model: type[Shift],
    shift: float,
    size: tuple[int, int],
    questions: Mapping[str, Question],
    n_tables: int,
    n_refits: int,
) -> dict[str, float]:
    """Give the share of random tables of which something is said.

    Parameters
    ----------
    model : type
    shift : float
        Of the source's first column: all are normal with deviation 1.
    size : tuple of int
        Rows and columns of each table.
    questions : mapping
        What is looked for in the transport's check.
    n_tables, n_refits : int

    Returns
    -------
    shares : dict of float
    """
    rng = np.random.default_rng(0)
    found = []
    for k in range(n_tables):
        Xs, Xt = rng.normal(size=(2, *size))
        Xs[:, 0] += shift
        ys = np.arange(len(Xs)) % 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = model(random_state=k).fit(Xs, ys, Xt)
            # Its other parts take the longer, and play no part in this.
            _, check = _check_left_out(fitted, Xs, Xt, n_refits, np.random.default_rng(k))
        found.append(check)
    return {name: float(np.mean([*map(said, found)])) for name, said in questions.items()}


def _further(t: TransportCheck) -> bool:
    return t.further


def _nearer(t: TransportCheck) -> bool:
    return t.nearer


def _shifted(t: TransportCheck) -> bool:
    return t.shifted


def _undecided(t: TransportCheck) -> bool:
    return t.shifted and t.far and not t.nearer and not t.further


def _left(t: TransportCheck) -> bool:
    return t.far or t.further


def _noisy(t: TransportCheck) -> bool:
    return t.after > t.noise


def _moves(by: float) -> type[Shift]:
    return type("Moves", (Shift,), {"by": by})


def density_level(n: int, n_checks: int) -> float:
    """How often one of two densities as good as a Gaussian is called worse, by n normal rows."""
    excess = 100 * np.random.default_rng(n).normal(size=(n_checks, 2, n))
    means, errors = excess.mean(axis=2), excess.std(axis=2, ddof=1) / np.sqrt(n)
    told = [
        any(DensityCheck("source", n, 0, 0, *pair).worse for pair in zip(*check, strict=True))
        for check in zip(means.tolist(), errors.tolist(), strict=True)
    ]
    return float(np.mean(told))


def order_level(n_orders: int, n_checks: int) -> float:
    """How often the order is blamed where three seeds and some orders change the same."""
    drawn = np.random.default_rng(n_orders).normal(0.15, 0.03, size=(n_checks, 3 + n_orders))
    bounds = [order_beyond_seeds(RefitCheck(tuple(x[:3])), RefitCheck(tuple(x[3:]))) for x in drawn]
    return float(np.mean([bound > 0 for bound in bounds]))


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--tables", type=int, default=100, help="of each kind (default: 100)")
    options = parser.parse_args()
    n = options.tables
    small, wide = (100, 2), (200, 10)
    print("| tables | rows, columns | refits | what is said | share |")
    print("| :-- | --: | --: | :-- | --: |")

    def show(
        what: str,
        model: type[Shift],
        shift: float,
        size: tuple[int, int],
        questions: Mapping[str, Question],
        n_refits: int = 1,
    ) -> None:
        for said, share in shares(model, shift, size, questions, n, n_refits).items():
            print(
                f"| {what} | {size[0]}, {size[1]} | {n_refits} | {said} | {100 * share:.1f} % |",
                flush=True,
            )

    idle, mirror = _moves(0), _moves(-2)
    for size, n_refits in ((small, 1), (small, 3), (wide, 1)):
        show("equal domains", idle, 0, size, {"a shift is seen": _shifted}, n_refits)
    for shift in (0.3, 0.5, 1.0):
        questions = {"a shift is seen": _shifted, "undecided": _undecided}
        show(f"shift of {shift}, nothing is done", idle, shift, small, questions)
    questions = {"left over above the noise": _noisy, "still far, or further": _left}
    show("shift of 1, taken away exactly", _moves(-1), 1, small, questions)
    for n_refits in (1, 3):
        questions = {"further": _further, "nearer": _nearer}
        show("shift of 1, to the other side", mirror, 1, small, questions, n_refits)
    show("shift of 0.5, to the other side by learnt means", Learnt, 0.5, wide,
         {"further": _further})  # fmt: skip
    for size in (small, (400, 2)):
        show("shift of 1, made one of 1.5", _moves(0.5), 1, size, {"further": _further})
    for rows in (2, 9, 50, 500):
        share = density_level(rows, _N_CHECKS)
        print(f"| density as good as a Gaussian | {rows}, – | – | worse | {100 * share:.1f} % |")
    for n_orders in (1, 3):
        share = order_level(n_orders, _N_CHECKS)
        print(
            f"| orders that change what seeds do | – | 3 and {n_orders} | the order decides "
            f"| {100 * share:.1f} % |"
        )


if __name__ == "__main__":
    main()
