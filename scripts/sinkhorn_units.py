"""Measure how the accuracy on the rotated moons depends on the unit of the data.

::

    python scripts/sinkhorn_units.py

All rows, source, target and test, are multiplied by a factor; methods, repetitions and seeds are
those of the tables. Writes the mean accuracy over the nine angles for each method and factor to
``results/studies/sinkhorn_units.csv``, or to the file given.
"""

from __future__ import annotations

import argparse
import csv
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from experiments.threads import limit_threads

limit_threads()

import numpy as np

from experiments.cells.configuration import cells_of
from experiments.cells.methods import make_method
from experiments.cells.plan import load_table
from experiments.cells.protocol import Protocol, draw_repetition, measure, method_seed

METHODS = ("ot_sinkhorn", "ot_lpl1", "ot", "ot_linear")
FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0)


def mean_accuracy(method: str, factor: float) -> float:
    """Mean over angles and repetitions, in percent; NaN if a fit fails."""
    plan, protocol = load_table("moons"), Protocol()
    accuracies = []
    for cell in cells_of("moons", plan.tasks, [method]):
        task = cell.load()
        task = replace(task, Xs=factor * task.Xs, Xt=factor * task.Xt, X_test=factor * task.X_test)
        for repetition in range(protocol.n_repetitions):
            data = draw_repetition(task, repetition, protocol)
            try:
                seed = method_seed(task, method, repetition)
                measured = measure(partial(make_method, cell.config["method"]), data, seed)
            except FloatingPointError as error:
                print(f"{method}, x {factor:g}, {task.name} degrees: {error}", file=sys.stderr)
                return float("nan")
            accuracies.append(measured.accuracy)
    return 100 * float(np.mean(accuracies))


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description="How accuracy depends on the unit of the data.")
    default = ROOT / "results" / "studies" / "sinkhorn_units.csv"
    parser.add_argument("--output", type=Path, default=default)
    output = parser.parse_args().output
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["method", *(f"x {factor:g}" for factor in FACTORS)])
        for method in METHODS:
            row = []
            for factor in FACTORS:
                row.append(f"{mean_accuracy(method, factor):.2f}")
                print(method, f"x {factor:g}:", row[-1], flush=True)
            writer.writerow([method, *row])


if __name__ == "__main__":
    main()
