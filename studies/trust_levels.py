"""How often the label-free check objects when it must not, and when it must (docs/trust.md).

``python -m studies.trust_levels`` draws tables with a known answer, lets stand-ins for KRDA
transport them in a known way, and counts what :func:`krda.trust.assess` would say.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from krda import KRDA
from krda.trust.check import _check_left_out
from krda.trust.statistics import DensityCheck, RefitCheck, TransportCheck, order_beyond_seeds
from studies.common import command

# Pairs of tables of each kind; and checks by numbers alone, which take no time.
N_TABLES, N_CHECKS = 100, 4000

FloatArray = NDArray[np.float64]


class Shift(KRDA):
    """KRDA that moves the first column by ``by`` instead."""

    by = 0.0

    def _transport(self, X: FloatArray) -> FloatArray:
        moved = X.copy()
        moved[:, 0] += self.by
        return moved


class Learnt(Shift):
    """Mirrors the source by the means of the rows that it sees: on average a little further."""

    def _transport(self, X: FloatArray) -> FloatArray:
        shift = self.column_maps_["source"].location - self.means_["target"]
        return X - 2 * shift


def moves(by: float) -> type[Shift]:
    """Make the class that moves the first column."""
    return type("Moves", (Shift,), {"by": by})


# What is looked for in the check of the transport.
QUESTIONS: dict[str, Callable[[TransportCheck], bool]] = {
    "a shift is seen": lambda t: t.shifted,
    "undecided": lambda t: t.shifted and t.far and not t.nearer and not t.further,
    "left over above the noise": lambda t: t.after > t.noise,
    "still far, or further": lambda t: t.far or t.further,
    "further": lambda t: t.further,
    "nearer": lambda t: t.nearer,
}

_SMALL, _WIDE = (100, 2), (200, 10)
_IDLE, _MIRROR, _SEEN = moves(0), moves(-2), "a shift is seen"
# What is done, by which model, to which shift of the first column, in tables of which rows and
# columns, with how many refits, and what is asked.
CASES: tuple[tuple[str, type[Shift], float, tuple[int, int], int, tuple[str, ...]], ...] = (
    ("equal domains", _IDLE, 0, _SMALL, 1, (_SEEN,)),
    ("equal domains", _IDLE, 0, _SMALL, 3, (_SEEN,)),
    ("equal domains", _IDLE, 0, _WIDE, 1, (_SEEN,)),
    *(
        (f"shift of {shift}, nothing is done", _IDLE, shift, _SMALL, 1, (_SEEN, "undecided"))
        for shift in (0.3, 0.5, 1.0)
    ),
    ("shift of 1, taken away exactly", moves(-1), 1, _SMALL, 1,
     ("left over above the noise", "still far, or further")),
    ("shift of 1, to the other side", _MIRROR, 1, _SMALL, 1, ("further", "nearer")),
    ("shift of 1, to the other side", _MIRROR, 1, _SMALL, 3, ("further", "nearer")),
    ("shift of 0.5, to the other side by learnt means", Learnt, 0.5, _WIDE, 1, ("further",)),
    ("shift of 1, made one of 1.5", moves(0.5), 1, _SMALL, 1, ("further",)),
    ("shift of 1, made one of 1.5", moves(0.5), 1, (400, 2), 1, ("further",)),
)  # fmt: skip


def checks(
    model: type[Shift], shift: float, size: tuple[int, int], n_refits: int
) -> Iterator[TransportCheck]:
    """Check the transport of random normal tables whose source is shifted in the first column."""
    rng = np.random.default_rng(0)
    for k in range(N_TABLES):
        Xs, Xt = rng.normal(size=(2, *size))
        Xs[:, 0] += shift
        ys = np.arange(len(Xs)) % 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = model(1, 2, max_steps=1, random_state=k).fit(Xs, ys, Xt)
            # The whole assessment takes longer, and its other parts play no role here.
            yield _check_left_out(fitted, Xs, Xt, n_refits, np.random.default_rng(k))[1]


def density_level(n: int) -> float:
    """How often one of two densities as good as a Gaussian is called worse, by n normal rows."""
    excess = 100 * np.random.default_rng(n).normal(size=(N_CHECKS, 2, n))
    both = np.stack([excess.mean(axis=2), excess.std(axis=2, ddof=1) / np.sqrt(n)], axis=2)
    worse = [any(DensityCheck("source", n, 0, 0, *one).worse for one in pair) for pair in both]
    return float(np.mean(worse))


def order_level(n_orders: int) -> float:
    """How often the order is blamed if three seeds and some orders change the same."""
    drawn = np.random.default_rng(n_orders).normal(0.15, 0.03, size=(N_CHECKS, 3 + n_orders))
    bounds = [order_beyond_seeds(RefitCheck(tuple(x[:3])), RefitCheck(tuple(x[3:]))) for x in drawn]
    return float(np.mean([bound > 0 for bound in bounds]))


def rows() -> Iterator[tuple[object, ...]]:
    """Lines of the page's table: tables, rows and columns, refits, what is said, and how often."""
    for what, model, shift, (n, d), n_refits, asked in CASES:
        found = list(checks(model, shift, (n, d), n_refits))
        for said in asked:
            share = np.mean([QUESTIONS[said](check) for check in found])
            yield what, f"{n}, {d}", n_refits, said, share
    for n in (2, 9, 50, 500):
        yield "density as good as a Gaussian", f"{n}, –", "–", "worse", density_level(n)
    for n in (1, 3):
        what = "orders that change what seeds do"
        yield what, "–", f"3 and {n}", "the order decides", order_level(n)


def main() -> None:
    """Run the command."""
    command("trust_levels", "Count the objections of the label-free check.").parse_args()
    for *texts, share in rows():
        print("|", *(f"{text} |" for text in texts), f"{share:.1%} |", flush=True)


if __name__ == "__main__":
    main()
