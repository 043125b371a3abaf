"""Compare settings of RNADE's training by held-out negative log-likelihood; no label is read.

::

    python scripts/select_training.py
    python scripts/select_training.py --tasks moons/40 amazon/B-D --repetitions 2

The settings of configs/method/krda.yaml were chosen with this script. For every setting it prints
the mean over tasks and repetitions of the held-out negative log-likelihood (nats a row, source and
target added, above that of each task's best setting), and seconds per fit on one thread. The
held-out rows also decide when training stops, the same for all settings but validation_fraction.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from experiments.threads import limit_threads

limit_threads()

import numpy as np

from experiments.cells.configuration import cell_from_config, compose_config
from experiments.cells.protocol import Protocol, draw_repetition, method_seed

TASKS = ("moons/20", "moons/40", "moons/60", "moons/80", "amazon/B-D", "amazon/E-B", "amazon/K-E")

# Around the default; each line changes what it names.
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
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--tasks", nargs="+", default=TASKS, metavar="DATASET/TASK")
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    nll = np.empty((len(SETTINGS), len(options.tasks), options.repetitions))
    seconds = np.empty_like(nll)
    for t, label in enumerate(options.tasks):
        dataset, name = label.split("/")
        config = compose_config((f"dataset={dataset}", "method=krda"))
        cell = cell_from_config(config, name)
        task = cell.load()
        for r in range(options.repetitions):
            data = draw_repetition(task, r, Protocol())
            for s, setting in enumerate(SETTINGS):
                model = cell.make_method(method_seed(task, "krda", r)).set_params(**setting)
                start = time.perf_counter()
                model.fit(data.Xs, data.ys, data.Xt)
                seconds[s, t, r] = time.perf_counter() - start
                nll[s, t, r] = sum(model.held_out_nll_.values())
    excess = nll - nll.mean(axis=2, keepdims=True).min(axis=0, keepdims=True)
    families = sorted({label.split("/")[0] for label in options.tasks})
    print("| setting | " + " | ".join(f"{f}: excess NLL | seconds" for f in families) + " |")
    print("| :-- |" + " --: | --: |" * len(families))
    for s, setting in enumerate(SETTINGS):
        told = ", ".join(f"{key} {value}" for key, value in setting.items()) or "default"
        cells = []
        for family in families:
            chosen = [label.startswith(f"{family}/") for label in options.tasks]
            cells.append(f"{excess[s, chosen].mean():.3f} | {np.median(seconds[s, chosen]):.2f}")
        print(f"| {told} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
