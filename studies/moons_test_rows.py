"""How far another draw of the test rows alone moves accuracies on moons (docs/statistics.md).

``python -m studies.moons_test_rows`` fits each of the paper's methods on draws 0 and 1 of the
moons (draw k by repetition k of the protocol), scores each fit on the test rows of 60 draws, and
writes ``results/draws/test_rows.csv``: for each angle and method the mean accuracy and the variance
over the test draws (mean over the fits), in percent and its square. The verdict beside a published
number takes its term for the test rows from this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.reference import TargetOnly
from experiments.cells.configuration import cells_of
from experiments.cells.methods import make_method
from experiments.cells.plan import load_table
from experiments.cells.protocol import Method, Protocol, draw_repetition
from experiments.datasets.base import unlock
from experiments.datasets.moons import Moons
from experiments.seeds import method_seed
from studies.common import ROOT, command, write_csv


def fitted(config: Mapping[str, Any], angle: str, draw: int) -> Method:
    """Fit a method on a draw of the moons, by the repetition of the same number."""
    task = Moons(draw=draw).task(angle)
    data = draw_repetition(task, draw, Protocol())
    model = make_method(config, method_seed(task.dataset, task.name, str(config["name"]), draw))
    if isinstance(model, TargetOnly):
        model.fit(data.Xt, unlock(data.yt))
    else:
        model.fit(data.Xs, data.ys, data.Xt)
    return model


def accuracies(model: Method, angle: str, n_draws: int) -> NDArray[np.float64]:
    """Score a fitted model on the test rows of several draws, in percent."""
    tasks = [Moons(draw=draw).task(angle) for draw in range(n_draws)]
    found = [np.mean(model.predict(task.X_test) == unlock(task.y_test)) for task in tasks]
    return 100 * np.array(found)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    plan = load_table("moons")
    parser = command("moons_test_rows", "Variance of accuracies over test rows.")
    parser.add_argument("--fits", type=int, default=2)
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--output", type=Path, default=ROOT / "results/draws/test_rows.csv")
    options = parser.parse_args(arguments)
    if options.fits < 1 or options.draws < 2:
        parser.error("--fits must be at least 1 and --draws at least 2")
    rows: list[dict[str, object]] = []
    for cell in cells_of("moons", plan.tasks, plan.paper):
        models = [fitted(cell.config["method"], cell.task, draw) for draw in range(options.fits)]
        scores = np.array([accuracies(model, cell.task, options.draws) for model in models])
        rows.append({
            "dataset": "moons", "task": cell.task, "method": cell.method, "fits": options.fits,
            "draws": options.draws, "test_rows": plan.test_rows,
            "accuracy": f"{scores.mean():.6g}",
            "variance": f"{scores.var(axis=1, ddof=1).mean():.6g}",
        })  # fmt: skip
        print(*rows[-1].values(), flush=True)
    write_csv(options.output, rows)


if __name__ == "__main__":
    main()
