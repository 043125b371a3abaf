"""How often the tables' interval holds the accuracy of a new draw (docs/statistics.md).

``python -m studies.coverage --angle 40 --draws 300`` draws moons anew many times and runs *Source
only*, which takes milliseconds, each time with the protocol's five 90 % subsamples. Printed are the
standard deviations within and between draws; those of a machine on all source rows if only the
training rows, or only the test rows, are drawn anew; the share of draws whose interval holds the
mean over all draws, as it is and with both corrections of Nadeau and Bengio; and the same share for
intervals over five *independent* draws, which is what Student's formula is for. All this for the
tables' moons, whose positions are the same in each draw, and for random positions and labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from experiments.analysis.intervals import (
    correction_of_shared_rows,
    correction_of_splits,
    mean_and_interval,
)
from experiments.cells.protocol import Protocol, draw_repetition
from experiments.datasets.base import Task
from experiments.datasets.moons import Moons
from experiments.datasets.moons_random import MoonsRandom
from studies.common import command, scores

FloatArray = NDArray[np.float64]
DATA = {"lattice": Moons, "random": MoonsRandom}
N_FIXED = 20  # draws whose test rows, or machines, are fixed while the others are drawn anew

_HEAD = (
    "                         sd      sd      of train  of test  coverage:"
    "                         independent",
    "angle  positions  mean  within  between      rows     rows  subsamples  n2/n1  shared rows"
    "  draws",
)


def repeated(task: Task, protocol: Protocol) -> FloatArray:
    """Accuracies of Source only in percent, one for each repetition."""
    drawn = (draw_repetition(task, k, protocol) for k in range(protocol.n_repetitions))
    return scores([SVC().fit(data.Xs, data.ys) for data in drawn], [task])[:, 0]


def coverage(groups: FloatArray, truth: float, correction: float = 0.0) -> float:
    """Share of rows of (n_groups, n) whose t interval holds a value."""
    found = [mean_and_interval(group) for group in groups.tolist()]
    return float(np.mean([abs(i.mean - truth) <= i.widened(correction) for i in found]))


def report(angles: list[float], n_draws: int) -> Iterator[str]:
    """Run the simulation and write its lines."""
    protocol = Protocol()
    yield from _HEAD
    for angle, (kind, data) in product(angles, DATA.items()):
        tasks = [data(draw=draw).task(f"{angle:g}") for draw in range(n_draws)]
        values = np.array([repeated(task, protocol) for task in tasks])
        truth = float(values.mean())
        machines = [SVC().fit(task.Xs, task.ys) for task in tasks]
        first = values[: n_draws // 5 * 5, 0].reshape(-1, 5)  # one repetition each of five draws
        shares = [
            coverage(values, truth),
            coverage(values, truth, correction_of_splits(protocol.source_fraction)),
            coverage(values, truth, correction_of_shared_rows(protocol.source_fraction)),
            coverage(first, truth),
        ]
        deviations = [
            np.sqrt(values.var(axis=1, ddof=1).mean()),
            values.mean(axis=1).std(ddof=1),
            scores(machines, tasks[:N_FIXED]).mean(axis=1).std(ddof=1),
            np.sqrt(scores(machines[:N_FIXED], tasks).var(axis=1, ddof=1).mean()),
        ]
        yield (
            f"{angle:5g}  {kind:>9}  {truth:4.1f}  "
            + "{:6.2f}  {:7.2f}  {:8.2f}  {:7.2f}".format(*deviations)
            + "  {:10.0%}  {:5.0%}  {:11.0%}  {:11.0%}".format(*shares)
        )


def main() -> None:
    """Run the command."""
    parser = command("coverage", "Coverage of the t interval over subsamples.")
    parser.add_argument("--angle", type=float, nargs="+", default=[40.0])
    parser.add_argument("--draws", type=int, default=300)
    options = parser.parse_args()
    for line in report(options.angle, options.draws):
        print(line, flush=True)


if __name__ == "__main__":
    main()
