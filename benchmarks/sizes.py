"""How much to measure: everything, a sample of it in under a minute, or next to nothing."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.timing import Limits


@dataclass(frozen=True)
class Sizes:
    """Sizes of all sections.

    Attributes
    ----------
    limits : Limits
    density : tuple of (d, rows)
        Rows of each domain, in rising order.
    transport : tuple of (d, rows)
    adaptation : tuple of int
        Rows of each domain, d = 27.
    quantile : tuple of int
    scale : tuple of int
        Rows of each domain, d = 27.
    repetitions_together : int
        Subsamples of a moons cell.
    max_steps : int
        Upper bound of the training steps; KRDA's default but for tests.
    fitted_rows, fitted_steps : int
        Of the two densities that the transport goes between.
    long_seconds : float
        Limit of fits and, three times as much, of what the section *scale* does.
    threads : tuple of int
        Numbers of threads, besides one, that the transport is measured with.
    """

    limits: Limits
    density: tuple[tuple[int, tuple[int, ...]], ...]
    transport: tuple[tuple[int, tuple[int, ...]], ...]
    adaptation: tuple[int, ...]
    quantile: tuple[int, ...]
    scale: tuple[int, ...]
    repetitions_together: int = 5
    max_steps: int = 1000
    fitted_rows: int = 2000
    fitted_steps: int = 200
    long_seconds: float = 100.0
    threads: tuple[int, ...] = (2,)


_ALL = (300, 1_000, 10_000, 100_000)
FULL = Sizes(
    limits=Limits(repetitions=5, seconds=3.0, run_seconds=30.0),
    density=((2, _ALL), (5, _ALL), (27, _ALL), (100, _ALL)),
    transport=((2, (1_000, 10_000, 100_000)), (27, (1_000, 10_000, 100_000)), (100, (1_000,))),
    adaptation=(300, 1_000, 3_000, 10_000, 100_000),
    quantile=(1_000, 10_000, 100_000, 1_000_000),
    scale=(1_000, 10_000, 100_000, 1_000_000),
)
QUICK = Sizes(
    limits=Limits(repetitions=3, seconds=0.3, run_seconds=10.0),
    density=((2, (300,)), (27, (300,))),
    transport=((2, (1_000, 5_000)), (27, (500,))),
    adaptation=(300, 1_000),
    quantile=(1_000, 30_000),
    scale=(500, 2_000),
    repetitions_together=3,
    max_steps=100,
    fitted_rows=300,
    long_seconds=10.0,
    fitted_steps=20,
)
TINY = Sizes(
    limits=Limits(repetitions=1, seconds=60.0, run_seconds=60.0),
    density=((2, (40,)),),
    transport=((3, (50, 80)),),
    adaptation=(40,),
    quantile=(100,),
    scale=(60, 90),
    repetitions_together=2,
    max_steps=5,
    fitted_rows=40,
    fitted_steps=5,
    threads=(),
)
SIZES = {"full": FULL, "quick": QUICK, "tiny": TINY}
