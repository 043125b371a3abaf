"""How much is measured: everything, a sample, or next to nothing."""

from __future__ import annotations

from dataclasses import dataclass

from speed.measure import Limits


@dataclass(frozen=True)
class Sizes:
    """Sizes of all sections: pairs of columns and rows, rows of 27 columns, and the longest fit."""

    limits: Limits
    transport: tuple[tuple[int, int], ...]
    adaptation: tuple[int, ...]
    scale: tuple[int, ...]
    max_steps: int

    @property
    def few_steps(self) -> int:
        """Of fits whose model alone matters: the cost of a row does not depend on them."""
        return max(self.max_steps // 5, 2)


SIZES = {
    "full": Sizes(
        Limits(),
        transport=(*((d, n) for d in (2, 27) for n in (1_000, 10_000, 100_000)), (100, 1_000)),
        adaptation=(300, 1_000, 3_000, 10_000, 100_000),
        scale=(1_000, 10_000, 100_000, 1_000_000),
        max_steps=1000,
    ),
    "quick": Sizes(
        Limits(3, 0.3, 10.0), ((2, 1_000), (2, 5_000), (27, 500)), (300, 1_000), (500, 2_000), 100
    ),
    "tiny": Sizes(Limits(1, 60.0, 60.0), ((3, 50), (3, 80)), (40,), (60, 90), 5),
}
