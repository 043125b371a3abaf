"""Repetitions of benchmark cells fitted together, beside one and beside one after another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.adaptation import warm_up
from benchmarks.sizes import Sizes
from benchmarks.timing import Case, Prepared

ONE = "KRDA, one repetition"
#: Angles of the moons whose cells are fitted.
TASKS = ("40", "20", "60", "80")
PLAIN = "Plain training of one repetition's network, without transport and SVM"


def prepare(count: int, together: bool, max_steps: int, n_tasks: int = 1) -> Prepared:
    """Prepare repetitions of some moons tasks: 90% of the rows of both domains, a seed each."""
    from experiments.cells.protocol import Protocol, draw_repetition, method_seed
    from experiments.datasets.moons import Moons
    from krda import KRDA
    from krda.adaptation import Domains, fit_together

    warm_up()
    cells = [(Moons().task(angle), r) for angle in TASKS[:n_tasks] for r in range(count)]
    drawn = [draw_repetition(task, r, Protocol()) for task, r in cells]
    given = [Domains(data.Xs, data.ys, data.Xt) for data in drawn]
    seeds = [method_seed(task, "krda", r) for task, r in cells]

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
            "repetitions_fitted": len(fitted),
            "steps": sum(int(model.history_.steps[-1]) for model in fitted),
        },
    )


def prepare_plain(max_steps: int) -> Prepared:
    """Prepare the training of one repetition's network by the plain code."""
    import torch

    from experiments.cells.protocol import Protocol, draw_repetition
    from experiments.datasets.moons import Moons
    from krda import _switch
    from krda.rnade import RNADE
    from krda.training import TrainingOptions, fit_maximum_likelihood

    data = draw_repetition(Moons().task(TASKS[0]), 0, Protocol())
    tables = [
        torch.from_numpy((X - X.mean(axis=0)) / X.std(axis=0)).float() for X in (data.Xs, data.Xt)
    ]

    def train() -> int:
        options = TrainingOptions(max_steps=max_steps)
        with _switch.plain_only():
            history = fit_maximum_likelihood(RNADE(2, sigma_floor=0.01), tables, options)
        return int(history.steps[-1])

    return Prepared(train, lambda steps: {"repetitions_fitted": 1, "steps": steps})


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
            Case(f"KRDA, {k} repetitions of each of {len(TASKS)} tasks together", prepare,
                 {"count": k, "together": True, "max_steps": sizes.max_steps,
                  "n_tasks": len(TASKS)}, compared_to=ONE),
            Case(PLAIN, prepare_plain, {"max_steps": sizes.max_steps}, compared_to=ONE),
        ]
    ]  # fmt: skip
