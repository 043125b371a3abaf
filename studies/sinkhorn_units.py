"""How the accuracy on the rotated moons depends on the unit of the data (docs/reproduction.md).

``python -m studies.sinkhorn_units`` multiplies all rows, source, target and test, by a factor;
methods, repetitions and seeds are those of the tables. Writes the mean accuracy over the nine
angles for each method and factor to ``results/studies/sinkhorn_units.csv``.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from experiments.cells.configuration import cells_of
from experiments.cells.methods import make_method
from experiments.cells.protocol import Protocol, draw_repetition, measure
from experiments.seeds import method_seed
from studies.common import ROOT, command, task_names, write_csv

METHODS = ("ot_sinkhorn", "ot_lpl1", "ot", "ot_linear")
FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0)


def mean_accuracy(method: str, factor: float) -> float:
    """Mean over angles and repetitions, in percent; NaN if a fit fails."""
    protocol = Protocol()
    accuracies = []
    for cell in cells_of("moons", task_names("moons"), [method]):
        task = cell.load()
        task = replace(task, Xs=factor * task.Xs, Xt=factor * task.Xt, X_test=factor * task.X_test)
        make = partial(make_method, cell.config["method"])
        for repetition in range(protocol.n_repetitions):
            data = draw_repetition(task, repetition, protocol)
            try:
                measured = measure(
                    make, data, method_seed(task.dataset, task.name, method, repetition)
                )
            except FloatingPointError as error:
                print(f"{method}, x {factor:g}, {task.name} degrees: {error}", file=sys.stderr)
                return float("nan")
            accuracies.append(measured.accuracy)
    return 100 * float(np.mean(accuracies))


def main() -> None:
    """Run the command."""
    parser = command("sinkhorn_units", "How accuracy depends on the unit of the data.")
    parser.add_argument("--output", type=Path, default=ROOT / "results/studies/sinkhorn_units.csv")
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    for method in METHODS:
        row = {f"x {factor:g}": f"{mean_accuracy(method, factor):.2f}" for factor in FACTORS}
        print(method, row, flush=True)
        rows.append({"method": method, **row})
    write_csv(options.output, rows)


if __name__ == "__main__":
    main()
