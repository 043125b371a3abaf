"""A value that a sweeper can optimise without target labels.

The accuracy is that of the target's test labels. Whoever chooses a hyper-parameter by it has looked
at them, and the result belongs in no table. The held-out negative log-likelihood (NLL) of a fitted
density comes from the rows of both domains alone.
"""

from __future__ import annotations

from experiments.cells.cell import Cell
from experiments.cells.protocol import Protocol, draw_repetition
from krda.estimator import KRDA


def held_out_nll(cell: Cell) -> tuple[float, ...]:
    """Fit a cell's densities in every repetition and read their held-out NLL, in nats.

    It is the sum of both domains', in the units of the data, so that it compares settings that
    scale columns differently. No target label is read. ValueError if the method fits no density.
    """
    task = cell.load()
    protocol = Protocol(**cell.config["protocol"])
    values = []
    for repetition in range(protocol.n_repetitions):
        method = cell.make_method(cell.seed(repetition))
        if not isinstance(method, KRDA):
            raise ValueError(
                f"The method {cell.method!r} fits no density, so it has no held-out NLL; "
                "runtime.objective=held_out_nll needs method=krda or one of its variants."
            )
        data = draw_repetition(task, repetition, protocol)
        method.fit(data.Xs, data.ys, data.Xt)
        values.append(sum(method.held_out_nll_.values()))
    return tuple(values)
