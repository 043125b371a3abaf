"""What a section is, and how much is measured: everything, a sample, or next to nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from speed.measure import Case, Limits

Shapes = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Sizes:
    """Sizes of all sections: pairs of columns and rows, rows of 27 columns, steps.

    ``long_seconds`` limits a fit, and three times as much what the section *scale* does.
    """

    limits: Limits
    transport: Shapes
    adaptation: tuple[int, ...]
    scale: tuple[int, ...]
    repetitions: int = 5
    max_steps: int = 1000
    few_steps: int = 200
    long_seconds: float = 100.0
    threads: tuple[int, ...] = (2,)


@dataclass(frozen=True)
class Section:
    """A table of the page: its groups of cases, and its figure.

    ``drawn`` says how its figure is made: the column that tells panels apart, and the values that
    are shown against the number of rows, a line a case.
    """

    name: str
    title: str
    groups: Callable[[Sizes], Iterator[list[Case]]]
    drawn: tuple[str | None, tuple[str, ...]] | None = None


def _pairs(d: int, *rows: int) -> Shapes:
    return tuple((d, n) for n in rows)


SIZES = {
    "full": Sizes(
        Limits(),
        transport=(*_pairs(2, 1_000, 10_000, 100_000), *_pairs(27, 1_000, 10_000, 100_000),
                   (100, 1_000)),
        scale=(1_000, 10_000, 100_000, 1_000_000),
        adaptation=(300, 1_000, 3_000, 10_000, 100_000),
    ),
    "quick": Sizes(
        Limits(3, 0.3, 10.0),
        transport=((2, 1_000), (2, 5_000), (27, 500)),
        scale=(500, 2_000),
        adaptation=(300, 1_000),
        repetitions=3,
        max_steps=100,
        few_steps=20,
        long_seconds=10.0,
    ),
    "tiny": Sizes(
        Limits(1, 60.0, 60.0),
        transport=((3, 50), (3, 80)),
        scale=(60, 90),
        adaptation=(40,),
        repetitions=2,
        max_steps=5,
        few_steps=5,
        threads=(),
    ),
}  # fmt: skip
