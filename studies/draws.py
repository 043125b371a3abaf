"""All methods on several draws of moons (docs/statistics.md): ``python -m studies.draws``.

- Accuracies of the methods of the table on draws of the usual moons and of those with random
  positions: ``results/draws/moons.csv``; ``summary.csv`` and a part of docs/statistics.md
  are made from it. Draw k is measured by repetition k of the protocol alone, so that draws share no
  random number: rows, 90 % subsamples and the methods' seeds differ.
- How far another draw of the test rows alone moves an accuracy: ``results/draws/test_rows.csv``.
  Each of the paper's methods is fitted on draws 0 and 1 and scored on the test rows of 60 draws.
  The verdict beside a published number takes its term for the test rows from this file.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from baselines.reference import TargetOnly
from experiments.cells.cell import Cell
from experiments.cells.configuration import cells_of
from experiments.cells.plan import load_table
from experiments.cells.protocol import Method, Protocol, draw_repetition
from experiments.datasets.base import unlock
from experiments.datasets.moons import Moons
from experiments.reading.markdown import fill
from experiments.reading.tables import public
from experiments.store.frame import write_csv
from studies.common import ROOT, command, result, scores
from studies.draws_page import KEYS, accuracies, summary, survival

FOLDER, PAGE = ROOT / "results/draws", ROOT / "docs/statistics.md"
N_DRAWS, N_FITS, N_TEST_DRAWS = 10, 2, 60
POSITIONS = {"lattice": "moons", "random": "moons_random"}
"""How positions on the half-circles come about, and the data set's config."""


def fitted(cell: Cell, draw: int) -> Method:
    """Fit a cell's method on a draw of the moons, by the repetition of the same number."""
    data = draw_repetition(Moons(draw=draw).task(cell.task), draw, Protocol())
    model = cell.make_method(cell.seed(draw))
    if isinstance(model, TargetOnly):
        return model.fit(data.Xt, unlock(data.yt))
    return model.fit(data.Xs, data.ys, data.Xt)


def variance_over_test_rows(cell: Cell) -> dict[str, object]:
    """Mean and variance (mean over the fits) of a method's accuracy over draws of test rows."""
    models = [fitted(cell, draw) for draw in range(N_FITS)]
    tasks = [Moons(draw=draw).task(cell.task) for draw in range(N_TEST_DRAWS)]
    found = scores(models, tasks)
    row = {
        "dataset": "moons", "task": cell.task, "method": cell.method, "fits": N_FITS,
        "draws": N_TEST_DRAWS, "test_rows": len(tasks[0].X_test), "accuracy": f"{found.mean():.6g}",
        "variance": f"{found.var(axis=1, ddof=1).mean():.6g}",
    }  # fmt: skip
    print(*row.values(), flush=True)
    return row


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    plan = load_table("moons")
    parser = command("draws", "Measure methods on several draws of moons.")
    parser.add_argument("--test-rows", action="store_true", help="the test rows alone")
    parser.add_argument("--render", action="store_true", help="write the page only")
    options = parser.parse_args(arguments)
    path = FOLDER / "moons.csv"
    if not options.render:
        rows = map(variance_over_test_rows, cells_of("moons", plan.tasks, plan.paper))
        write_csv(pd.DataFrame(rows), FOLDER / "test_rows.csv")
    if not options.render and not options.test_rows:
        results = {
            (positions, draw, cell.method, cell.task): result(cell, draw)
            for positions, dataset in POSITIONS.items()
            for draw in range(N_DRAWS)
            for cell in cells_of(dataset, plan.tasks, plan.methods, (f"dataset.data.draw={draw}",))
        }
        table = pd.Series(results).unstack(sort=False)
        write_csv(table.rename_axis(KEYS).reset_index(), path)
    found = accuracies(path)
    fill(PAGE, "results", survival(found))
    write_csv(public(summary(found), 8), FOLDER / "summary.csv")


if __name__ == "__main__":
    main()
