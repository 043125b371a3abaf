"""What a sweeper is to optimise: accuracy, or a value that needs no target label.

The accuracy is that of the target's test labels. Whoever chooses a hyper-parameter by it has looked
at them, and the result belongs in no table. The held-out negative log-likelihood (NLL) of a fitted
density comes from the rows of both domains alone.
"""

from __future__ import annotations

from baselines.reference import TargetOnly
from experiments.cells.cell import Cell
from experiments.cells.protocol import Protocol, draw_repetition
from krda.density.training import TrainingHistory

OBJECTIVES = ("accuracy", "held_out_nll")


class ObjectiveError(ValueError):
    """The objective is unknown, or the method does not have it."""


def check_objective(objective: str) -> None:
    """Raise ObjectiveError unless there is such an objective."""
    if objective not in OBJECTIVES:
        raise ObjectiveError(
            f"runtime.objective must be one of {', '.join(OBJECTIVES)}, got {objective!r}."
        )


def held_out_nll(cell: Cell) -> tuple[float, ...]:
    """Fit a cell's densities in every repetition and read their held-out NLL, in nats.

    It is the sum of both domains', as early stopping uses it, for the step that was kept. No target
    label is read. ObjectiveError if the method fits no density.
    """
    task = cell.load()
    protocol = Protocol(**cell.config["protocol"])
    values = []
    for repetition in range(protocol.n_repetitions):
        method = cell.make_method(cell.seed(repetition))
        if isinstance(method, TargetOnly):
            raise _no_density(cell)
        data = draw_repetition(task, repetition, protocol)
        method.fit(data.Xs, data.ys, data.Xt)
        history = getattr(method, "history_", None)
        if not isinstance(history, TrainingHistory):
            raise _no_density(cell)
        kept = history.steps.tolist().index(history.best_step)
        values.append(float(history.held_out_nll[kept].sum()))
    return tuple(values)


def _no_density(cell: Cell) -> ObjectiveError:
    return ObjectiveError(
        f"The method {cell.method!r} fits no density, so it has no held-out NLL; "
        "runtime.objective=held_out_nll needs method=krda or one of its variants."
    )
