"""Repetitions of a benchmark's cell fitted together, beside one and beside one after another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.adaptation import warm_up
from benchmarks.sizes import Sizes
from benchmarks.timing import Case, Prepared

ONE = "KRDA, one repetition"


def prepare(count: int, together: bool, max_steps: int) -> Prepared:
    """Prepare the repetitions of moons/40: 90% of the rows of both domains, a seed each."""
    from experiments.datasets.moons import Moons
    from experiments.protocol import Protocol, draw_repetition, method_seed
    from krda import KRDA
    from krda.adaptation import Domains, fit_together

    warm_up()
    task, protocol = Moons().task("40"), Protocol()
    drawn = [draw_repetition(task, r, protocol) for r in range(count)]
    given = [Domains(data.Xs, data.ys, data.Xt) for data in drawn]
    seeds = [method_seed(task, "krda", r) for r in range(count)]

    def methods() -> list[KRDA]:
        return [KRDA(max_steps=max_steps, random_state=seed) for seed in seeds]

    def fit_all() -> Sequence[Any]:
        fitted = methods()
        if together:
            for error in fit_together(fitted, given):
                if error is not None:
                    raise error
        else:
            for method, one in zip(fitted, given, strict=True):
                method.fit(*one)
        return fitted

    return Prepared(
        fit_all,
        lambda fitted: {
            "repetitions_fitted": count,
            "steps": sum(int(model.history_.steps[-1]) for model in fitted),
        },
    )


def groups(sizes: Sizes, workspace: Path) -> list[list[Case]]:
    """One group: ratios are to one repetition alone."""
    k = sizes.repetitions_together
    return [
        [
            Case(ONE, prepare, {"count": 1, "together": False, "max_steps": sizes.max_steps}),
            Case(f"KRDA, {k} repetitions one after another", prepare,
                 {"count": k, "together": False, "max_steps": sizes.max_steps}, compared_to=ONE),
            Case(f"KRDA, {k} repetitions together", prepare,
                 {"count": k, "together": True, "max_steps": sizes.max_steps}, compared_to=ONE),
        ]
    ]  # fmt: skip
