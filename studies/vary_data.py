"""Methods on several draws of the data (docs/reproduction.md).

::

    python -m studies.vary_data moons dataset.data.draw=0,1,2,3,4 --methods source_only krda

prints, for each method, the accuracy on every task for each value, and mean and standard deviation
over the values. Each value is run with the same repetitions, so that subsamples and methods' seeds
are the same; ``studies.draws`` changes these too. Nothing is stored.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from experiments.catalogue import config_names
from experiments.cells.configuration import cells_of
from experiments.cells.plan import load_table
from experiments.cells.repetitions import run_cell
from studies.common import command


def main() -> None:
    """Run the command."""
    parser = command("vary_data", "Run methods on several draws of the data.")
    parser.add_argument("table", choices=config_names("table"), help="whose tasks to run")
    parser.add_argument("vary", metavar="KEY=VALUE,VALUE", help="an override and its values")
    parser.add_argument("--methods", nargs="+", choices=config_names("method"), required=True)
    parser.add_argument("--repetitions", type=int, default=1)
    options = parser.parse_args()
    key, _, values = options.vary.partition("=")
    plan = load_table(options.table)
    for method in options.methods:
        found = pd.DataFrame(columns=[*plan.tasks, "mean"], dtype=float)
        for value in values.split(","):
            overrides = (f"{key}={value}", f"protocol.n_repetitions={options.repetitions}")
            cells = cells_of(plan.dataset, plan.tasks, [method], overrides)
            records = [run_cell(cell) for cell in cells]
            row = [100 * float(np.mean(r.accuracies)) if r.complete else np.nan for r in records]
            found.loc[value] = [*row, float(np.mean(row))]
        spread = {"mean": found.mean(skipna=False), "sd": found.std(skipna=False)}
        print(method, pd.concat([found, pd.DataFrame(spread).T]).round(1).to_string(), sep="\n")


if __name__ == "__main__":
    main()
