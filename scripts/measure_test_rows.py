"""Measure how far another draw of the test rows alone moves accuracies on moons.

::

    python scripts/measure_test_rows.py

fits each of the paper's methods on draws 0 and 1 of the moons (draw k by repetition k of the
protocol), scores each fit on the test rows of 60 draws, and writes ``results/draws/test_rows.csv``:
for each angle and method the mean accuracy and the variance over the test draws (mean over the
fits), in percent and its square. The verdict beside a published number takes its term for the test
rows from this file (:func:`experiments.analysis.verdicts.measured_shares`); ``make draws``
makes it anew.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from experiments.threads import limit_threads

limit_threads()

import numpy as np
from numpy.typing import NDArray

from baselines.reference import TargetOnly
from experiments.analysis.verdicts import TEST_ROWS
from experiments.cells.configuration import cells_of
from experiments.cells.methods import make_method
from experiments.cells.plan import load_table
from experiments.cells.protocol import Method, Protocol, draw_repetition, method_seed
from experiments.datasets.base import unlock
from experiments.datasets.moons import Moons
from experiments.whole_files import write_text


def fitted(method: dict[str, object], angle: str, draw: int) -> Method:
    """Fit a method on a draw of the moons, by the repetition of the same number.

    Parameters
    ----------
    method : dict
        Its config.
    angle : str
    draw : int

    Returns
    -------
    model : Method
    """
    task = Moons(draw=draw).task(angle)
    data = draw_repetition(task, draw, Protocol())
    model = make_method(method, method_seed(task, str(method["name"]), draw))
    if isinstance(model, TargetOnly):
        model.fit(data.Xt, unlock(data.yt))
    else:
        model.fit(data.Xs, data.ys, data.Xt)
    return model


def accuracies(model: Method, angle: str, n_draws: int) -> NDArray[np.float64]:
    """Score a fitted model on the test rows of several draws.

    Parameters
    ----------
    model : Method
    angle : str
    n_draws : int

    Returns
    -------
    accuracies : ndarray of shape (n_draws,)
        Percent.
    """
    found = []
    for draw in range(n_draws):
        task = Moons(draw=draw).task(angle)
        found.append(100 * float(np.mean(model.predict(task.X_test) == unlock(task.y_test))))
    return np.array(found)


def main(arguments: list[str] | None = None) -> None:
    """Run the command.

    Parameters
    ----------
    arguments : list of str or None
        None takes those of the command line.
    """
    plan = load_table("moons")
    parser = argparse.ArgumentParser(description="Variance of accuracies over test rows.")
    parser.add_argument("--fits", type=int, default=2)
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--output", type=Path, default=TEST_ROWS, metavar="FILE")
    options = parser.parse_args(arguments)
    if options.fits < 1 or options.draws < 2:
        parser.error("--fits must be at least 1 and --draws at least 2")
    lines = ["dataset,task,method,fits,draws,test_rows,accuracy,variance"]
    for (task, method), cell in cells_of_table(plan.tasks, plan.paper).items():
        scores = np.array(
            [
                accuracies(fitted(cell, task, draw), task, options.draws)
                for draw in range(options.fits)
            ]
        )
        mean, variance = scores.mean(), scores.var(axis=1, ddof=1).mean()
        lines.append(
            f"moons,{task},{method},{options.fits},{options.draws},{plan.test_rows},"
            f"{mean:.6g},{variance:.6g}"
        )
        print(lines[-1], flush=True)
    write_text(options.output, "\n".join(lines) + "\n")


def cells_of_table(
    tasks: tuple[str, ...], methods: tuple[str, ...]
) -> dict[tuple[str, str], dict[str, object]]:
    """Configs of the methods, by task and method."""
    cells = cells_of("moons", tasks, methods, ())
    return {(cell.task, cell.method): cell.config["method"] for cell in cells}


if __name__ == "__main__":
    main()
