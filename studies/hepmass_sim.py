"""The simulated HEPMASS beside the real one, for docs/hepmass_sim.md.

``python -m studies.hepmass_sim`` writes results/hepmass_sim_fidelity.json, its figure and the
tables of the page. About two minutes.

``experiments/published/hepmass_statistics.csv`` holds what is known of the real data before its
normalisation. Its samples: *mixed*, 140,000 events, 34% of them background and the rest equal
shares of the five masses; *normalised*, the mixture by which HEPMASS is standardised, half
background; *background* and *signal_500* to *signal_1500*, medians read off published histograms.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.svm import SVC

from experiments.analysis.rounding import number
from experiments.datasets.base import unlock
from experiments.datasets.collider.kinematics import FloatArray
from experiments.datasets.collider.normalisation import measure_reference
from experiments.datasets.collider.simulation import simulate
from experiments.datasets.collisions import FEATURES, MASSES
from experiments.datasets.hepmass_sim import HepmassSim
from experiments.published import published
from experiments.reading.figures.style import new_figure, save_figure
from experiments.reading.markdown import between
from experiments.seeds import derive_seed
from experiments.store.fingerprint import code_fingerprint
from experiments.whole_files import write_text
from studies.common import ROOT, command

#: Sample, feature (or ``b_tags``) and statistic to value.
Statistics = dict[tuple[str, str, str], float]

#: The code that the stored numbers are of.
MODULES = ("experiments.datasets.hepmass_sim",)

#: Events of the published mixed sample, and its share of background.
MIXED_EVENTS, MIXED_BACKGROUND = 140_000, 0.34
N_SIMULATIONS = 8

#: Edges in GeV of the histograms of m_wwbb.
EDGES = np.arange(200.0, 2425.0, 25.0)

_PUBLISHED = ROOT / "experiments/published/hepmass_statistics.csv"
_STORED = ROOT / "results/hepmass_sim_fidelity.json"
_PAGE = ROOT / "docs/hepmass_sim.md"
_FIGURE = ROOT / "results/figures/hepmass_sim_fidelity"

_STATISTICS: dict[str, tuple[str, Callable[[FloatArray], Any]]] = {
    "mean": ("mean", np.mean),
    "sd": ("standard deviation", np.std),
    "min": ("min", np.min),
    "q25": ("q25", partial(np.quantile, q=0.25)),
    "median": ("median", np.median),
    "q75": ("q75", partial(np.quantile, q=0.75)),
    "max": ("max", np.max),
    "log_mean": ("mean of the logarithm", lambda x: np.mean(np.log(x))),
    "log_sd": ("standard deviation of the logarithm", lambda x: np.std(np.log(x))),
    "share_0": ("share with none", lambda x: np.mean(x == 0)),
    "share_1": ("share with one", lambda x: np.mean(x == 1)),
    "share_2": ("share with two", lambda x: np.mean(x == 2)),
}
_LOCATION = ("mean", "sd", "min", "q25", "median", "q75", "max")
# Okabe and Ito's colours.
_COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00")


def published_statistics() -> Statistics:
    """Statistics of the real data."""
    return dict(pd.read_csv(_PUBLISHED, index_col=[0, 1, 2])["value"])


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
    frames = {name: pd.DataFrame(rows, columns=FEATURES) for name, rows in samples.items()}
    for frame in frames.values():
        frame["b_tags"] = sum(frame[f"jet_{i}_b_tag"] for i in range(1, 5))
    return {
        (sample, feature, name): float(_STATISTICS[name][1](frames[sample][feature].to_numpy()))
        for sample, feature, name in published_statistics()
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
    targets: dict[int, list[Any]] = {}
    for (i, source), (j, target) in permutations(enumerate(MASSES), 2):
        accuracies[i, j] = cells[f"{source}-{target}", "source_only"].mean
        targets.setdefault(j, []).append(cells[f"{source}-{target}", "target_only"].mean)
    for j, values in targets.items():
        accuracies[j, j] = Counter(values).most_common(1)[0][0]  # one of 1250's four is wrong
    return accuracies


def simulated_accuracies(simulation: int) -> FloatArray:
    """The same 25 on simulated tasks: ``SVC()`` on all training rows, no subsamples."""
    dataset = HepmassSim(simulation=simulation)
    accuracies = np.zeros((len(MASSES), len(MASSES)))
    for (i, source), (j, target) in permutations(enumerate(MASSES), 2):
        task = dataset.task(f"{source}-{target}")
        test = task.X_test, unlock(task.y_test)
        accuracies[i, j] = 100 * SVC().fit(task.Xs, task.ys).score(*test)
        of_target = 100 * SVC().fit(task.Xt, unlock(task.yt)).score(*test)
        accuracies[j, j] += of_target / (len(MASSES) - 1)
    return accuracies


def measure() -> dict[str, Any]:
    """Measure everything the page says."""
    samples = simulated_samples()
    return {
        "code": code_fingerprint(MODULES),
        "events": MIXED_EVENTS,
        "statistics": [
            [*key, float(f"{value:.4g}")] for key, value in measure_statistics(samples).items()
        ],
        "histograms": measure_histograms(samples),
        "accuracies": [np.round(simulated_accuracies(k), 2).tolist() for k in range(N_SIMULATIONS)],
    }


def deviations(numbers: dict[str, Any]) -> tuple[FloatArray, FloatArray]:
    """Absolute deviations from the published accuracies, in points.

    Of the mean of all simulations, (5, 5), and the mean of each simulation's own.
    """
    away = np.array(numbers["accuracies"]) - published_accuracies()
    return np.abs(away.mean(axis=0)), np.abs(away).mean(axis=(1, 2))


def statistics(numbers: dict[str, Any]) -> tuple[Statistics, Statistics, list[str]]:
    """Give simulated and published statistics, and the features of which all are published."""
    real = published_statistics()
    full = [f for s, f, k in real if s == "mixed" and k == "median"]
    return {tuple(key): value for *key, value in numbers["statistics"]}, real, full


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Markdown tables by name: ``statistics``, ``others``, ``accuracies`` and ``deviations``."""
    simulated, real, full = statistics(numbers)
    location = [
        [f"`{feature}`"]
        + [
            f"{simulated['mixed', feature, k]:.4g} / {real['mixed', feature, k]:g}"
            for k in _LOCATION
        ]
        for feature in full
    ]
    others = [
        [sample.replace("_", " "), f"`{feature}`", _STATISTICS[statistic][0],
         f"{simulated[sample, feature, statistic]:.4g}", f"{value:g}"]
        for (sample, feature, statistic), value in real.items()
        if sample != "mixed" or feature not in full
    ]  # fmt: skip
    found, svm = np.array(numbers["accuracies"]), published_accuracies()
    mean, sd = found.mean(axis=0), found.std(axis=0, ddof=1)
    cells = []
    for i, source in enumerate(MASSES):
        texts = [
            f"{number(mean[i, j])} ± {number(sd[i, j])} ({number(found[0, i, j])}) / "
            f"{number(svm[i, j])}"
            for j in range(len(MASSES))
        ]
        texts[i] = f"*{texts[i]}*"
        cells.append([str(source), *texts])
    misses, single = deviations(numbers)
    target = np.eye(len(MASSES), dtype=bool)
    summary = {
        f"mean of {len(found)} simulations, 25 cells": f"{misses.mean():.2f}",
        "the 20 cells Source": f"{misses[~target].mean():.2f}",
        "the 5 cells Target": f"{misses[target].mean():.2f}",
        "the benchmark's own simulation, number 0": f"{single[0]:.2f}",
        "single simulations, lowest to highest": f"{single.min():.2f} to {single.max():.2f}",
    }
    title = "mean absolute deviation from the published accuracies, points"
    return {
        "statistics": _table(["simulated / real, GeV", *_LOCATION], location),
        "others": _table(["sample", "feature", "statistic", "simulated", "real"], others),
        "accuracies": _table(["trained on / tested on", *map(str, MASSES)], cells),
        "deviations": _table([title, ""], list(summary.items())).replace("|  |", "| |"),
    }


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(line) + " |" for line in (head, *rows)]
    return "\n".join([lines[0], "|-" * len(head) + "|", *lines[1:]])


def fill_page(page: str, numbers: dict[str, Any]) -> str:
    """Put the tables between their marks, ``<!-- NAME -->`` and ``<!-- /NAME -->``."""
    for name, text in tables(numbers).items():
        page = between(page, f"<!-- {name} -->", f"<!-- /{name} -->", text)
    return page


def draw(numbers: dict[str, Any], path: Path) -> list[Path]:
    """Draw m_wwbb, statistics and accuracies of simulated beside real HEPMASS."""
    with new_figure(11, 3.6) as figure:
        left, middle, right = figure.subplots(1, 3)
        _draw_masses(left, numbers)
        _draw_statistics(middle, numbers)
        _draw_accuracies(right, numbers)
        for axis in (left, middle, right):
            axis.legend(frameon=False, fontsize=7)
        figure.suptitle("Simulated HEPMASS beside what is published of the real data")
        return save_figure(figure, path)


def _draw_masses(axis: Any, numbers: dict[str, Any]) -> None:
    real = published_statistics()
    colours = ("#000000", *_COLOURS)
    for height, (sample, counts) in enumerate(numbers["histograms"].items()):
        density = np.array(counts, dtype=float) / np.sum(counts) / np.diff(EDGES)
        axis.stairs(1e3 * density, EDGES, color=colours[height],
                    label=sample.replace("signal_", "signal "))  # fmt: skip
        axis.plot(real[sample, "m_wwbb", "median"], -0.12 - 0.12 * height, marker="v",
                  color=colours[height], linestyle="none", markersize=5)  # fmt: skip
    axis.set_xlabel("m_wwbb (GeV); triangles: median of the real data")
    axis.set_ylabel("density of the simulation (1/TeV)")


def _draw_statistics(axis: Any, numbers: dict[str, Any]) -> None:
    simulated, real, features = statistics(numbers)
    markers = {"q25": "<", "median": "o", "q75": ">", "sd": "s"}
    for (name, marker), colour in zip(markers.items(), _COLOURS[::-1], strict=False):
        ratios = [simulated["mixed", f, name] / real["mixed", f, name] for f in features]
        axis.plot(ratios, range(len(features)), marker, color=colour, ms=5, alpha=0.8,
                  label=name)  # fmt: skip
    axis.axvline(1.0, color="0.6", lw=0.8)
    axis.set_yticks(range(len(features)), [f.replace("_magnitude", "") for f in features])
    axis.invert_yaxis()
    axis.set_xlabel("simulated / real")


def _draw_accuracies(axis: Any, numbers: dict[str, Any]) -> None:
    real, found = published_accuracies(), np.array(numbers["accuracies"])
    mean, sd = found.mean(axis=0), found.std(axis=0, ddof=1)
    axis.plot([45, 100], [45, 100], color="0.6", lw=0.8)
    for i, (mass, colour) in enumerate(zip(MASSES, _COLOURS, strict=True)):
        axis.errorbar(real[i], mean[i], sd[i], fmt="os^Dv"[i], color=colour, ms=4, lw=0.8,
                      label=f"trained on {mass}")  # fmt: skip
    axis.set_xlabel("published accuracy on real HEPMASS (%)")
    axis.set_ylabel("accuracy on simulated HEPMASS (%)")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write, or print the constants of the normalisation."""
    parser = command("hepmass_sim", "Compare simulated and real HEPMASS.")
    parser.add_argument("--render", action="store_true", help="page and figure alone")
    parser.add_argument("--normalisation", action="store_true",
                        help="print the constants of collider/normalisation.py alone")  # fmt: skip
    options = parser.parse_args(arguments)
    if options.normalisation:
        for feature, (mean, sd) in measure_reference().items():
            print(f'    "{feature}": ({mean:.4f}, {sd:.4f}),')
        return
    if not options.render:
        write_text(_STORED, json.dumps(measure(), separators=(",", ":")) + "\n")
    numbers = json.loads(_STORED.read_text(encoding="ascii"))
    write_text(_PAGE, fill_page(_PAGE.read_text(encoding="utf-8"), numbers))
    draw(numbers, _FIGURE)


if __name__ == "__main__":
    main()
