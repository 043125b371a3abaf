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
    """Prepare the training of one repetition's network as one would write it first."""
    import torch

    from experiments.cells.protocol import Protocol, draw_repetition
    from experiments.datasets.moons import Moons
    from krda.rnade import RNADE
    from krda.training import Batches, TrainingOptions, hold_out

    options, n_domains = TrainingOptions(max_steps=max_steps), 2
    data = draw_repetition(Moons().task(TASKS[0]), 0, Protocol())
    tables = [
        torch.from_numpy((X - X.mean(axis=0)) / X.std(axis=0)).float() for X in (data.Xs, data.Xt)
    ]

    def train() -> int:
        model = RNADE(2, n_domains, sigma_floor=0.01)
        generator = torch.Generator().manual_seed(0)
        rows = [hold_out(len(x), options.validation_fraction, generator) for x in tables]
        optimizer = torch.optim.Adam(model.parameters(), options.learning_rate)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max_steps)
        batches = [
            Batches(train_rows.unsqueeze(0), options.batch_size, [generator])
            for train_rows, _ in rows
        ]
        best, best_step = float("inf"), 0
        for step in range(1, max_steps + 1):
            loss = torch.zeros(())
            for domain, x in enumerate(tables):
                loss = loss - model.log_prob(x[batches[domain].next()], domain).mean()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            if step % options.evaluation_interval == 0:
                with torch.no_grad():
                    held_out = -sum(
                        float(model.log_prob(x[out].unsqueeze(0), domain).mean())
                        for domain, (x, (_, out)) in enumerate(zip(tables, rows, strict=True))
                    )
                if held_out < best:
                    best, best_step = held_out, step
            if step - best_step >= options.patience:
                break
        return step

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
