"""How the accuracy on the rotated moons depends on the unit of the data (docs/reproduction.md).

``python -m studies.sinkhorn_units`` multiplies all rows, source, target and test, by a factor;
methods, repetitions and seeds are those of the tables. Writes the mean accuracy over the nine
angles for each method and factor to ``results/studies/sinkhorn_units.csv``; "-" if a fit fails.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from experiments.cells.cell import Cell
from experiments.cells.plan import load_table
from experiments.cells.protocol import Protocol, draw_repetition, measure
from experiments.store.frame import write_csv
from studies.common import ROOT, command

METHODS = ("ot_sinkhorn", "ot_lpl1", "ot", "ot_linear")
FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0)


def accuracies(cell: Cell, factor: float) -> list[float]:
    """Accuracies of a cell's repetitions in percent, all rows times the factor."""
    task, protocol = cell.load(), Protocol()
    task = replace(task, Xs=factor * task.Xs, Xt=factor * task.Xt, X_test=factor * task.X_test)
    drawn = [draw_repetition(task, k, protocol) for k in range(protocol.n_repetitions)]
    found = [measure(cell.make_method, data, cell.seed(k)) for k, data in enumerate(drawn)]
    return [100 * one.accuracy for one in found]


def main() -> None:
    """Run the command."""
    command("sinkhorn_units", "How accuracy depends on the unit of the data.").parse_args()
    plan = load_table("moons")
    rows = []
    for method in METHODS:
        row = {"method": method}
        for factor in FACTORS:
            try:
                found = [accuracies(plan.cells[task, method], factor) for task in plan.tasks]
                row[f"x {factor:g}"] = f"{np.mean(found):.2f}"
            except FloatingPointError as error:
                print(f"{method}, x {factor:g}: {error}")
                row[f"x {factor:g}"] = "-"
        print(row, flush=True)
        rows.append(row)
    write_csv(pd.DataFrame(rows), ROOT / "results/studies/sinkhorn_units.csv")


if __name__ == "__main__":
    main()
