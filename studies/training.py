"""Settings of RNADE's training, compared by held-out likelihood (docs/reproduction.md).

``python -m studies.training`` prints for every setting the mean over tasks and repetitions of the
held-out negative log-likelihood (nats a row, source and target added, above that of each task's
best setting), and seconds per fit on one thread. The settings of configs/method/krda.yaml were
chosen with it; no label is read. The held-out rows also decide when training stops, the same for
all settings but validation_fraction.
"""

from __future__ import annotations

import time

import pandas as pd

from experiments.cells.configuration import cells_of
from experiments.cells.protocol import Protocol, draw_repetition
from studies.common import command

TASKS = {"moons": ("20", "40", "60", "80"), "amazon": ("B-D", "E-B", "K-E")}
N_REPETITIONS = 3

# Around the default; each setting changes one of them.
VARIED: dict[str, tuple[object, ...]] = {
    "learning_rate": (3e-3, 3e-2),
    "batch_size": (64, 256, None),
    "max_steps": (500, 2000),
    "patience": (100, 1000),
    "validation_fraction": (0.2,),
    "scaling": ("pooled",),
    "sigma_floor": (0.0, 0.005, 0.02, 0.05),
}
SETTINGS = [{}, *({name: value} for name, values in VARIED.items() for value in values)]


def main() -> None:
    """Run the command."""
    command("training", "Compare settings of the training by held-out likelihood.").parse_args()
    rows = []
    for cell in [c for data, tasks in TASKS.items() for c in cells_of(data, tasks, ["krda"])]:
        for repetition in range(N_REPETITIONS):
            data = draw_repetition(cell.load(), repetition, Protocol())
            for setting in SETTINGS:
                name = ", ".join(f"{key} {value}" for key, value in setting.items()) or "default"
                model = cell.make_method(cell.seed(repetition)).set_params(**setting)
                start = time.perf_counter()
                model.fit(data.Xs, data.ys, data.Xt)
                seconds = time.perf_counter() - start
                nll = sum(model.held_out_nll_.values())
                rows.append((cell.dataset, cell.task, name, nll, seconds))
    found = pd.DataFrame(rows, columns=["data", "task", "setting", "excess NLL", "seconds"])
    means = found.groupby(["data", "task", "setting"])["excess NLL"].mean()
    best = means.groupby(["data", "task"]).min().rename("best")
    found["excess NLL"] -= found.join(best, on=["data", "task"])["best"]
    shown = found.groupby(["setting", "data"], sort=False).agg(
        {"excess NLL": "mean", "seconds": "median"}
    )
    print(shown.unstack(sort=False).round(3).to_string())


if __name__ == "__main__":
    main()
