"""The simulated HEPMASS measured beside what is published of the real one.

``experiments/published/hepmass_statistics.csv`` holds what is known of the real data before its
normalisation. Its samples: *mixed*, 140,000 events, 34% of them background and the rest equal
shares of the five masses; *normalised*, the mixture by which HEPMASS is standardised, half
background; *background* and *signal_500* to *signal_1500*, medians read off published histograms.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from experiments.datasets.base import unlock
from experiments.datasets.collider.kinematics import FloatArray
from experiments.datasets.collider.simulation import simulate
from experiments.datasets.collisions import FEATURES, MASSES
from experiments.datasets.hepmass_sim import HepmassSim
from experiments.published import published
from experiments.seeds import derive_seed
from studies.common import ROOT

#: Sample, feature (or ``b_tags``) and statistic to value.
Statistics = dict[tuple[str, str, str], float]

#: Events of the published mixed sample, and its share of background.
MIXED_EVENTS, MIXED_BACKGROUND = 140_000, 0.34

#: Edges in GeV of the histograms of m_wwbb.
EDGES = np.arange(200.0, 2425.0, 25.0)

_PUBLISHED = ROOT / "experiments/published/hepmass_statistics.csv"

_STATISTICS: dict[str, Callable[[FloatArray], Any]] = {
    "mean": np.mean,
    "sd": np.std,
    "min": np.min,
    "q25": lambda x: np.quantile(x, 0.25),
    "median": np.median,
    "q75": lambda x: np.quantile(x, 0.75),
    "max": np.max,
    "log_mean": lambda x: np.mean(np.log(x)),
    "log_sd": lambda x: np.std(np.log(x)),
    "share_0": lambda x: np.mean(x == 0),
    "share_1": lambda x: np.mean(x == 1),
    "share_2": lambda x: np.mean(x == 2),
}


def published_statistics() -> Statistics:
    """Statistics of the real data."""
    with _PUBLISHED.open(encoding="ascii", newline="") as file:
        return {
            (row["sample"], row["feature"], row["statistic"]): float(row["value"])
            for row in csv.DictReader(file)
        }


def simulated_samples(events: int = MIXED_EVENTS) -> dict[str, FloatArray]:
    """Simulated rows for each of the published samples."""
    n_background = round(MIXED_BACKGROUND * events)
    n_signal = (events - n_background) // len(MASSES)

    def draw(sample: str, mass: int, n: int) -> FloatArray:
        rng = np.random.default_rng(derive_seed("hepmass_sim", "fidelity", sample))
        return simulate("background" if sample == "background" else "signal", mass, n, rng)

    signals = {f"signal_{mass}": draw(f"signal_{mass}", mass, n_signal) for mass in MASSES}
    background = draw("background", MASSES[0], n_signal * len(MASSES))
    everything = np.concatenate(list(signals.values()))
    return {
        "mixed": np.concatenate([background[:n_background], everything]),
        "normalised": np.concatenate([background, everything]),
        "background": background,
        **signals,
    }


def measure_statistics(samples: dict[str, FloatArray]) -> Statistics:
    """Give the simulation's value of every published statistic."""
    tags = [FEATURES.index(f"jet_{i}_b_tag") for i in range(1, 5)]

    def column(sample: str, feature: str) -> FloatArray:
        rows = samples[sample]
        return (
            rows[:, tags].sum(axis=1) if feature == "b_tags" else rows[:, FEATURES.index(feature)]
        )

    return {
        key: float(_STATISTICS[key[2]](column(key[0], key[1]))) for key in published_statistics()
    }


def measure_histograms(samples: dict[str, FloatArray]) -> dict[str, list[int]]:
    """Histograms of m_wwbb over :data:`EDGES`: background and each mass."""
    return {
        sample: np.histogram(rows[:, FEATURES.index("m_wwbb")], EDGES)[0].tolist()
        for sample, rows in samples.items()
        if sample == "background" or sample.startswith("signal")
    }


def published_accuracies() -> FloatArray:
    """The paper's 25 accuracies of an SVM on the real HEPMASS, in percent."""
    cells = published("hepmass")
    accuracies = np.empty((len(MASSES), len(MASSES)))
    for (i, source), (j, target) in permutations(enumerate(MASSES), 2):
        accuracies[i, j] = cells[f"{source}-{target}", "source_only"].mean
    for j, target in enumerate(MASSES):
        values = [
            cells[f"{source}-{target}", "target_only"].mean for source in MASSES if source != target
        ]
        accuracies[j, j] = Counter(values).most_common(1)[0][0]
    return accuracies


def simulated_accuracies(simulation: int, draw: int = 0) -> FloatArray:
    """The same 25 on simulated tasks: ``SVC()`` on all training rows, no subsamples."""
    dataset = HepmassSim(draw=draw, simulation=simulation)
    accuracies = np.zeros((len(MASSES), len(MASSES)))
    for (i, source), (j, target) in permutations(enumerate(MASSES), 2):
        task = dataset.task(f"{source}-{target}")
        y_test = unlock(task.y_test)

        def score(
            X: FloatArray,
            y: NDArray[Any],
            X_test: FloatArray = task.X_test,
            y_test: NDArray[Any] = y_test,
        ) -> float:
            return 100 * float(SVC().fit(X, y).score(X_test, y_test))

        accuracies[i, j] = score(task.Xs, task.ys)
        accuracies[j, j] += score(task.Xt, unlock(task.yt)) / (len(MASSES) - 1)
    return accuracies
