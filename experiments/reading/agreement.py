"""How a run's accuracies agree with those that the repository holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from experiments.analysis.agreement import agreement, common_differences
from experiments.reading.results import stored
from experiments.store.records import RecordStore

if TYPE_CHECKING:
    from experiments.cells.plan import TablePlan


def compare_with_committed(
    plans: Sequence[TablePlan],
    store: RecordStore,
    committed: RecordStore,
    say: Callable[[str], None] = print,
) -> None:
    """Say how a run's accuracies agree with the committed ones, and what may be the cause.

    Means that differ beyond their interval are counted apart from those that differ in digits only.
    """
    if store.root.resolve() == committed.root.resolve():
        return
    pairs = {}
    for cell in (cell for plan in plans for cell in plan.cells.values()):
        theirs, ours = stored(cell, committed), stored(cell, store)
        if ours is not None and theirs is not None:
            pairs[cell.label] = theirs, ours
    found = {label: agreement(*pair) for label, pair in pairs.items()}
    comparable = {label: a for label, a in found.items() if a is not None}
    different = [a for a in comparable.values() if not a.identical]
    beyond = {label: a for label, a in comparable.items() if a.beyond}
    say(
        f"Beside the committed results: {len(comparable) - len(different)} cells identical to the "
        f"last digit, {len(different) - len(beyond)} with another mean within its interval, "
        f"{len(beyond)} with a mean beyond its interval"
    )
    if different:
        say(f"  single accuracies differ by up to {max(a.largest for a in different):.1f} points")
    for label, a in beyond.items():
        say(f"  beyond: {label}: {a.points:+.2f} points, interval of ± {a.half_width:.2f}")
    for line in common_differences(pairs.values()):
        say(f"  environments differ (committed / here): {line}")
