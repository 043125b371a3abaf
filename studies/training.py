"""Settings of RNADE's training, compared by held-out likelihood (docs/reproduction.md).

``python -m studies.training`` prints for every setting the mean over tasks and repetitions of the
held-out negative log-likelihood (nats a row, source and target added, above that of each task's
best setting), and the mean seconds of a fit on one thread. The settings of
configs/method/krda.yaml were chosen with it; no label is read. The held-out rows also decide when
training stops, the same for all settings except validation_fraction.
"""

from __future__ import annotations

import time
from itertools import product

import numpy as np
import pandas as pd

from experiments.cells.configuration import cells_of
from experiments.cells.objectives import held_out_nll
from studies.common import command

TASKS = {"moons": ("20", "40", "60", "80"), "amazon": ("B-D", "E-B", "K-E")}
N_REPETITIONS = 3

SETTINGS = (
    "max_steps=1000", "learning_rate=0.003", "learning_rate=0.03", "batch_size=64",
    "batch_size=256", "batch_size=null", "max_steps=500", "max_steps=2000", "patience=100",
    "patience=1000", "validation_fraction=0.2", "scaling=pooled", "sigma_floor=0.0",
    "sigma_floor=0.005", "sigma_floor=0.02", "sigma_floor=0.05",
)  # fmt: skip
"""The first is the default; each other one changes one setting of it."""


def main() -> None:
    """Run the command."""
    command("training", "Compare settings of the training by held-out likelihood.").parse_args()
    rows = []
    for (data, tasks), setting in product(TASKS.items(), SETTINGS):
        overrides = f"protocol.n_repetitions={N_REPETITIONS}", f"method.{setting}"
        for cell in cells_of(data, tasks, ["krda"], overrides):
            start = time.perf_counter()
            nll = held_out_nll(cell)
            seconds = (time.perf_counter() - start) / len(nll)
            rows.append((data, cell.task, setting, np.mean(nll), seconds))
    found = pd.DataFrame(rows, columns=["data", "task", "setting", "excess NLL", "seconds"])
    found["excess NLL"] -= found.groupby(["data", "task"])["excess NLL"].transform("min")
    shown = found.groupby(["setting", "data"], sort=False).agg(
        {"excess NLL": "mean", "seconds": "median"}
    )
    print(shown.unstack(sort=False).round(3).to_string())


if __name__ == "__main__":
    main()
