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

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from experiments.analysis.intervals import correction_of_shared_rows, correction_of_splits
from experiments.cells.protocol import Protocol, draw_repetition
from experiments.datasets.base import Task, unlock
from experiments.datasets.moons import Moons
from experiments.datasets.moons_random import MoonsRandom
from studies.common import command, mean_and_interval

FloatArray = NDArray[np.float64]
DATA = {"lattice": Moons, "random": MoonsRandom}

_HEAD = (
    "                         sd      sd      of train  of test  coverage:"
    "                         independent",
    "angle  positions  mean  within  between      rows     rows  subsamples  n2/n1  shared rows"
    "  draws",
)


def accuracies(tasks: list[Task]) -> FloatArray:
    """Accuracy of Source only in percent, (n_draws, 5): one column a repetition."""
    protocol = Protocol()
    rows = []
    for task in tasks:
        drawn = [draw_repetition(task, k, protocol) for k in range(protocol.n_repetitions)]
        rows.append([
            100 * float(np.mean(SVC().fit(d.Xs, d.ys).predict(d.X_test) == unlock(d.y_test)))
            for d in drawn
        ])  # fmt: skip
    return np.array(rows)


def training_and_test_deviation(tasks: list[Task], n_fixed: int = 20) -> tuple[float, float]:
    """Standard deviation of Source only's accuracy over training rows, and over test rows.

    Machines are trained on all source rows of a draw. Accuracies over training rows are on the
    test rows of ``n_fixed`` draws; variances over test rows are the mean over as many machines.
    """
    machines = [SVC().fit(task.Xs, task.ys) for task in tasks]

    def scores(some: list[SVC], rows: list[Task]) -> FloatArray:
        X = np.concatenate([task.X_test for task in rows])
        y = np.concatenate([unlock(task.y_test) for task in rows])
        right = [(machine.predict(X) == y).reshape(len(rows), -1) for machine in some]
        found: FloatArray = 100 * np.mean(right, axis=2)
        return found

    training = scores(machines, tasks[:n_fixed]).mean(axis=1).std(ddof=1)
    test = np.sqrt(scores(machines[:n_fixed], tasks).var(axis=1, ddof=1).mean())
    return float(training), float(test)


def coverage(groups: FloatArray, truth: float, correction: float = 0.0) -> float:
    """Share of rows of (n_groups, n) whose t interval holds a value."""
    found = [mean_and_interval(group) for group in groups.tolist()]
    return float(np.mean([abs(i.mean - truth) <= (i.widened(correction) or 0.0) for i in found]))


def report(angles: list[float], positions: list[str], n_draws: int) -> Iterator[str]:
    """Run the simulation and write its lines."""
    share = Protocol().source_fraction
    corrections = (correction_of_splits(share), correction_of_shared_rows(share))
    yield from _HEAD
    for angle, kind in itertools.product(angles, positions):
        tasks = [DATA[kind](draw=draw).task(f"{angle:g}") for draw in range(n_draws)]
        values = accuracies(tasks)
        truth = float(values.mean())
        within = float(np.sqrt(values.var(axis=1, ddof=1).mean()))
        between = float(values.mean(axis=1).std(ddof=1))
        training, test = training_and_test_deviation(tasks)
        # One repetition of each of five draws: nothing is shared.
        first = values[: len(values) // 5 * 5, 0].reshape(-1, 5)
        yield (
            f"{angle:5g}  {kind:>9}  {truth:4.1f}  {within:6.2f}  {between:7.2f}"
            f"  {training:8.2f}  {test:7.2f}"
            f"  {100 * coverage(values, truth):9.0f}%"
            f"  {100 * coverage(values, truth, corrections[0]):4.0f}%"
            f"  {100 * coverage(values, truth, corrections[1]):10.0f}%"
            f"  {100 * coverage(first, truth):10.0f}%"
        )


def main() -> None:
    """Run the command."""
    parser = command("coverage", "Coverage of the t interval over subsamples.")
    parser.add_argument("--angle", type=float, nargs="+", default=[40.0])
    parser.add_argument("--positions", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--draws", type=int, default=300)
    options = parser.parse_args()
    if options.draws < 10:
        parser.error(f"--draws must be at least 10, got {options.draws}")
    for line in report(options.angle, options.positions, options.draws):
        print(line, flush=True)


if __name__ == "__main__":
    main()
