"""Time the simulated HEPMASS on one core: ``python -m benchmarks.simulate_hepmass``.

Prints CPU seconds, lowest of a few repetitions: for 100,000 collisions generated, measured and
reconstructed, and for loading all 20 tasks from nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from experiments.threads import limit_threads

limit_threads()

import numpy as np  # noqa: E402

from experiments.datasets import hepmass_sim  # noqa: E402
from experiments.datasets.base import iterate_tasks  # noqa: E402
from experiments.datasets.collider.detector import measure  # noqa: E402
from experiments.datasets.collider.generator import generate  # noqa: E402
from experiments.datasets.collider.reconstruction import raw_features  # noqa: E402

COLLISIONS, BATCH = 100_000, 4096


def simulate_collisions() -> None:
    """Generate, measure and reconstruct signal and background, half of each."""
    rng = np.random.default_rng(0)
    for start in range(0, COLLISIONS, BATCH):
        kind: Literal["signal", "background"] = "signal" if start < COLLISIONS / 2 else "background"
        n = min(BATCH, COLLISIONS - start)
        raw_features(measure(generate(kind, 1000, n, rng), rng))


def load_tasks() -> None:
    """Load the 20 tasks as a new process would."""
    hepmass_sim._pool.cache_clear()
    for _ in iterate_tasks(hepmass_sim.HepmassSim()):
        pass


def lowest(work: Callable[[], None], repetitions: int = 3) -> float:
    """Lowest CPU time of some repetitions, in seconds."""
    seconds = []
    for _ in range(repetitions):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


if __name__ == "__main__":
    print(f"{COLLISIONS} collisions: {lowest(simulate_collisions):.2f} s")
    print(f"20 tasks: {lowest(load_tasks):.2f} s")
