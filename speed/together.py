"""Repetitions of a benchmark cell trained as one program, beside one and a plain torch loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from speed.measure import Case, Prepared
from speed.plan import Section, Sizes

ONE = "KRDA, one repetition"
PLAIN = "Plain training of one repetition's network, without transport and SVM"
_TASKS = ("40", "20", "60", "80")


def _subsample(angle: str, repetition: int) -> Any:
    """Draw 90 % of the rows of both domains, as the protocol does."""
    from experiments.cells.protocol import Protocol, draw_repetition
    from experiments.datasets.moons import Moons

    return draw_repetition(Moons().task(angle), repetition, Protocol())


def prepare(count: int, together: bool, max_steps: int, n_tasks: int = 1) -> Prepared:
    """Prepare fits to repetitions of some moons tasks, with a seed each."""
    from krda import KRDA
    from krda.base import Domains, fit_together

    drawn = [_subsample(angle, r) for angle in _TASKS[:n_tasks] for r in range(count)]
    given = [Domains(data.Xs, data.ys, data.Xt) for data in drawn]
    KRDA(max_steps=5).fit(*given[0])  # libraries load what they need on first use

    def fit_all() -> list[Any]:
        models = [KRDA(max_steps=max_steps, random_state=seed) for seed in range(len(given))]
        if not together:
            return [model.fit(*one) for model, one in zip(models, given, strict=True)]
        errors = [error for error in fit_together(models, given) if error is not None]
        if errors:
            raise errors[0]
        return models

    def describe(models: list[Any]) -> Mapping[str, Any]:
        steps = sum(int(model.history_.steps[-1]) for model in models)
        return {"repetitions_fitted": len(models), "steps": steps}

    return Prepared(fit_all, describe)


def prepare_plain(max_steps: int) -> Prepared:
    """Prepare the training of one repetition's network by krda.density.training alone."""
    import torch

    from krda import RNADE, TrainingOptions
    from krda.density.training import fit_maximum_likelihood
    from speed.data import standardized

    drawn = _subsample(_TASKS[0], 0)
    tables = [torch.from_numpy(standardized(X)).float() for X in (drawn.Xs, drawn.Xt)]

    def train() -> int:
        model = RNADE(2, sigma_floor=0.01)
        history = fit_maximum_likelihood(model, tables, TrainingOptions(max_steps=max_steps))
        return int(history.steps[-1])

    return Prepared(train, lambda steps: {"repetitions_fitted": 1, "steps": steps})


def groups(sizes: Sizes) -> Iterator[list[Case]]:
    """One group."""
    k, case = sizes.repetitions, partial(Case, compared_to=ONE)
    five = {"count": k, "max_steps": sizes.max_steps}
    yield [
        case(ONE, prepare, {**five, "count": 1, "together": False}),
        case(f"KRDA, {k} repetitions one after another", prepare, {**five, "together": False}),
        case(f"KRDA, {k} repetitions together", prepare, {**five, "together": True}),
        case(f"KRDA, {k} repetitions of each of {len(_TASKS)} tasks together", prepare,
             {**five, "together": True, "n_tasks": len(_TASKS)}),
        case(PLAIN, prepare_plain, {"max_steps": sizes.max_steps}, without="krda._fast"),
    ]  # fmt: skip


SECTION = Section("together", "Repetitions of a cell fitted together", groups)
