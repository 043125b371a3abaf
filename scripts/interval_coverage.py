"""How often the tables' 95 % interval holds the accuracy that a new draw of the data would give.

::

    python scripts/interval_coverage.py --angle 40 --draws 300

*Source only* on moons, for it takes milliseconds: many draws of source, target and test rows, each
with the protocol's five 90 % subsamples and its t interval. Printed are the standard deviations
within and between draws; those of a machine on all source rows where only the training rows, or
only the test rows, are drawn anew; the share of draws whose interval holds the mean over all draws,
as it is and with both corrections of the form of Nadeau and Bengio
(experiments/analysis/intervals.py); and the same share for intervals over five *independent*
draws, which is what Student's formula is for.
All this for the positions of the tables' moons, which are the same in each draw, and for positions
and labels at random (``dataset=moons_random``). Nothing is stored.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from experiments.threads import limit_threads

limit_threads()

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from experiments.analysis.intervals import (
    correction_of_shared_rows,
    correction_of_splits,
    mean_and_interval,
)
from experiments.cells.protocol import Protocol, draw_repetition
from experiments.datasets.base import Task, unlock
from experiments.datasets.moons import Moons
from experiments.datasets.moons_random import MoonsRandom

DATA = {"lattice": Moons, "random": MoonsRandom}


def accuracies(positions: str, angle: float, n_draws: int) -> NDArray[np.float64]:
    """Accuracy of Source only on many draws of the data.

    Parameters
    ----------
    positions : {"lattice", "random"}
    angle : float
        Degrees.
    n_draws : int

    Returns
    -------
    accuracies : ndarray of shape (n_draws, 5)
        Percent, one column a repetition.
    """
    protocol = Protocol()
    rows = []
    for draw in range(n_draws):
        task = DATA[positions](draw=draw).task(f"{angle:g}")
        row = []
        for number in range(protocol.n_repetitions):
            drawn = draw_repetition(task, number, protocol)
            model = SVC().fit(drawn.Xs, drawn.ys)
            row.append(100 * float(np.mean(model.predict(drawn.X_test) == unlock(drawn.y_test))))
        rows.append(row)
    return np.array(rows)


def training_and_test_deviation(
    positions: str, angle: float, n_draws: int, n_fixed: int = 20
) -> tuple[float, float]:
    """Standard deviation of Source only's accuracy over training rows, and over test rows.

    Parameters
    ----------
    positions : {"lattice", "random"}
    angle : float
        Degrees.
    n_draws : int
        Draws of the rows that vary. Machines are trained on all source rows of a draw.
    n_fixed : int, default=20
        Draws of the rows that stay: accuracies are over the test rows of all of them, variances
        over test rows the mean over machines.

    Returns
    -------
    training, test : float
        Percentage points.
    """
    tasks = [DATA[positions](draw=draw).task(f"{angle:g}") for draw in range(n_draws)]
    machines = [SVC().fit(task.Xs, task.ys) for task in tasks]

    def scores(some: list[SVC], rows: list[Task]) -> NDArray[np.float64]:
        X = np.concatenate([task.X_test for task in rows])
        y = np.concatenate([unlock(task.y_test) for task in rows])
        right = [(machine.predict(X) == y).reshape(len(rows), -1) for machine in some]
        found: NDArray[np.float64] = 100 * np.mean(right, axis=2)
        return found

    training = scores(machines, tasks[:n_fixed]).mean(axis=1).std(ddof=1)
    test = np.sqrt(scores(machines[:n_fixed], tasks).var(axis=1, ddof=1).mean())
    return float(training), float(test)


def coverage(groups: NDArray[np.float64], truth: float, correction: float = 0.0) -> float:
    """Share of rows whose t interval holds a value.

    Parameters
    ----------
    groups : ndarray of shape (n_groups, n)
    truth : float
    correction : float, default=0.0
        Of :meth:`experiments.analysis.intervals.Interval.widened`.

    Returns
    -------
    share : float
    """
    found = [mean_and_interval(group) for group in groups.tolist()]
    return float(np.mean([abs(i.mean - truth) <= (i.widened(correction) or 0.0) for i in found]))


def report(angles: list[float], positions: list[str], n_draws: int) -> Iterator[str]:
    """Run the simulation.

    Parameters
    ----------
    angles : list of float
        Degrees.
    positions : list of {"lattice", "random"}
    n_draws : int

    Yields
    ------
    line : str
        Of a table.
    """
    share = Protocol().source_fraction
    corrections = (correction_of_splits(share), correction_of_shared_rows(share))
    yield (
        "                         sd      sd      of train  of test  coverage:"
        "                         independent"
    )
    yield (
        "angle  positions  mean  within  between      rows     rows  subsamples  n2/n1  shared rows"
        "  draws"
    )
    for angle, kind in itertools.product(angles, positions):
        values = accuracies(kind, angle, n_draws)
        truth = float(values.mean())
        within = float(np.sqrt(values.var(axis=1, ddof=1).mean()))
        between = float(values.mean(axis=1).std(ddof=1))
        training, test = training_and_test_deviation(kind, angle, n_draws)
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
    """Print what the simulation gives."""
    parser = argparse.ArgumentParser(description="Coverage of the t interval over subsamples.")
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
