"""Settings of RNADE's training, compared by held-out likelihood (docs/reproduction.md).

``python -m studies.training`` prints for every setting the mean over tasks and repetitions of the
held-out negative log-likelihood (nats a row, source and target added, above that of each task's
best setting), and seconds per fit on one thread. The settings of configs/method/krda.yaml were
chosen with it; no label is read. The held-out rows also decide when training stops, the same for
all settings but validation_fraction.
"""

from __future__ import annotations

import time

import numpy as np

from experiments.cells.configuration import cell_from_config, compose_config
from experiments.cells.protocol import Protocol, draw_repetition
from experiments.seeds import method_seed
from studies.common import command, table

TASKS = ("moons/20", "moons/40", "moons/60", "moons/80", "amazon/B-D", "amazon/E-B", "amazon/K-E")

# Around the default; each changes what it names.
SETTINGS: tuple[dict[str, object], ...] = (
    {},
    {"learning_rate": 3e-3},
    {"learning_rate": 3e-2},
    {"batch_size": 64},
    {"batch_size": 256},
    {"batch_size": None},
    {"max_steps": 500},
    {"max_steps": 2000},
    {"patience": 100},
    {"patience": 1000},
    {"validation_fraction": 0.2},
    {"scaling": "pooled"},
    {"sigma_floor": 0.0},
    {"sigma_floor": 0.005},
    {"sigma_floor": 0.02},
    {"sigma_floor": 0.05},
)


def main() -> None:
    """Run the command."""
    parser = command("training", "Compare settings of the training by held-out likelihood.")
    parser.add_argument("--tasks", nargs="+", default=TASKS, metavar="DATASET/TASK")
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    nll = np.empty((len(SETTINGS), len(options.tasks), options.repetitions))
    seconds = np.empty_like(nll)
    for t, label in enumerate(options.tasks):
        dataset, name = label.split("/")
        cell = cell_from_config(compose_config((f"dataset={dataset}", "method=krda")), name)
        task = cell.load()
        for r in range(options.repetitions):
            data = draw_repetition(task, r, Protocol())
            for s, setting in enumerate(SETTINGS):
                model = cell.make_method(
                    method_seed(task.dataset, task.name, "krda", r)
                ).set_params(**setting)
                start = time.perf_counter()
                model.fit(data.Xs, data.ys, data.Xt)
                seconds[s, t, r] = time.perf_counter() - start
                nll[s, t, r] = sum(model.held_out_nll_.values())
    excess = nll - nll.mean(axis=2, keepdims=True).min(axis=0, keepdims=True)
    families = sorted({label.split("/")[0] for label in options.tasks})
    lines = [["setting"], [":--"]]
    for family in families:
        lines[0] += [f"{family}: excess NLL", "seconds"]
        lines[1] += ["--:", "--:"]
    for s, setting in enumerate(SETTINGS):
        line = [", ".join(f"{key} {value}" for key, value in setting.items()) or "default"]
        for family in families:
            chosen = [label.startswith(f"{family}/") for label in options.tasks]
            line += [f"{excess[s, chosen].mean():.3f}", f"{np.median(seconds[s, chosen]):.2f}"]
        lines.append(line)
    print(table(lines))


if __name__ == "__main__":
    main()
