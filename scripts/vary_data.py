"""Run methods on several draws of the data: what the tables' intervals do not show.

::

    python scripts/vary_data.py moons dataset.data.draw=0,1,2,3,4 --methods source_only krda
    python scripts/vary_data.py amazon dataset.data.path=null,one.npz,two.npz --methods krda

Prints, for each method, the accuracy on every task for each value, and mean and standard deviation
over the values. Each value is run with the same repetitions, so that subsamples and methods' seeds
are the same; ``scripts/tabulate_draws.py`` changes these too. Nothing is stored.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from experiments.threads import limit_threads

limit_threads()

import numpy as np

from experiments.cells.cell import run_cell
from experiments.cells.configuration import cells_of, config_names
from experiments.cells.plan import load_table


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description="Run methods on several draws of the data.")
    parser.add_argument("table", choices=config_names("table"), help="whose tasks to run")
    parser.add_argument("vary", metavar="KEY=VALUE,VALUE", help="an override and its values")
    parser.add_argument("--methods", nargs="+", choices=config_names("method"), required=True)
    parser.add_argument("--repetitions", type=int, default=1)
    options = parser.parse_args()
    key, _, values = options.vary.partition("=")
    plan = load_table(options.table)
    width = max(4, *(len(value) for value in values.split(",")))
    wide = max(6, *(len(task) for task in plan.tasks))
    print(" ".join([" " * width, *(f"{task:>{wide}}" for task in (*plan.tasks, "mean"))]))
    for method in options.methods:
        print(method)
        rows = []
        for value in values.split(","):
            overrides = (f"{key}={value}", f"protocol.n_repetitions={options.repetitions}")
            cells = cells_of(plan.dataset, plan.tasks, [method], overrides)
            records = [run_cell(cell) for cell in cells]
            row = [100 * float(np.mean(r.accuracies)) if r.complete else np.nan for r in records]
            rows.append([*row, float(np.mean(row))])
            print(f"{value:>{width}}", *(f"{x:{wide}.1f}" for x in rows[-1]), flush=True)
        print(f"{'mean':>{width}}", *(f"{x:{wide}.1f}" for x in np.mean(rows, axis=0)))
        if len(rows) > 1:
            print(f"{'sd':>{width}}", *(f"{x:{wide}.1f}" for x in np.std(rows, axis=0, ddof=1)))


if __name__ == "__main__":
    main()
