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
from collections.abc import Sequence
from itertools import permutations, product
from pathlib import Path
from statistics import mode
from typing import Any

import numpy as np
import pandas as pd
from sklearn.svm import SVC

from experiments.analysis.rounding import number
from experiments.datasets.base import unlock
from experiments.datasets.collider.kinematics import FloatArray
from experiments.datasets.collider.simulation import simulate
from experiments.datasets.collisions import FEATURES, MASSES
from experiments.datasets.hepmass_sim import HepmassSim
from experiments.published import published
from experiments.reading.figures.style import HALF_WIDTH, new_figure, save_figure
from experiments.reading.markdown import filled, grid
from experiments.seeds import derive_seed
from experiments.store.fingerprint import code_fingerprint
from experiments.whole_files import write_text
from studies.common import ROOT, command

#: The code that the stored numbers are of.
MODULES = ("experiments.datasets.hepmass_sim",)

#: Events of the published mixed sample, and its share of background.
MIXED_EVENTS, MIXED_BACKGROUND = 140_000, 0.34
N_SIMULATIONS = 8

_PUBLISHED = ROOT / "experiments/published/hepmass_statistics.csv"
_STORED = ROOT / "results/hepmass_sim_fidelity.json"
_PAGE = ROOT / "docs/hepmass_sim.md"
_FIGURE = ROOT / "results/figures/hepmass_sim_fidelity"

_NAMES = {
    "sd": "standard deviation",
    "log_mean": "mean of the logarithm",
    "log_sd": "standard deviation of the logarithm",
    "share_0": "share with none",
    "share_1": "share with one",
    "share_2": "share with two",
}
_LOCATION = ["mean", "sd", "min", "q25", "median", "q75", "max"]
# Okabe and Ito's colours.
_COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00")


def published_statistics() -> pd.Series:
    """Statistics of the real data, by sample, feature (or ``b_tags``) and name."""
    return pd.read_csv(_PUBLISHED, index_col=[0, 1, 2])["value"]


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


def statistic(x: pd.Series, name: str) -> float:
    """Compute a statistic by its name."""
    if name.startswith("share_"):
        return float((x == int(name[-1])).mean())
    x, name = (np.log(x), name[4:]) if name.startswith("log_") else (x, name)
    quantiles = {"min": 0.0, "q25": 0.25, "median": 0.5, "q75": 0.75, "max": 1.0}
    if name in quantiles:
        return float(x.quantile(quantiles[name]))
    return float(x.mean() if name == "mean" else x.std(ddof=0))


def measure_statistics(samples: dict[str, FloatArray]) -> pd.Series:
    """Give the simulation's value of every published statistic."""
    frames = {name: pd.DataFrame(rows, columns=FEATURES) for name, rows in samples.items()}
    for frame in frames.values():
        frame["b_tags"] = sum(frame[f"jet_{i}_b_tag"] for i in range(1, 5))
    index = published_statistics().index
    values = [statistic(frames[sample][feature], name) for sample, feature, name in index]
    return pd.Series(values, index)


def published_accuracies() -> FloatArray:
    """The paper's 25 accuracies of an SVM on the real HEPMASS, in percent."""
    cells = published("hepmass")
    # Of the four values of a target the commonest: one of 1250's is wrong.
    of_targets = [
        mode(cells[f"{s}-{t}", "target_only"].mean for s in MASSES if s != t) for t in MASSES
    ]
    accuracies = np.diag(of_targets)
    for (i, source), (j, target) in permutations(enumerate(MASSES), 2):
        accuracies[i, j] = cells[f"{source}-{target}", "source_only"].mean
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
    measured = measure_statistics(simulated_samples())
    return {
        "code": code_fingerprint(MODULES),
        "events": MIXED_EVENTS,
        "statistics": [[*key, float(f"{value:.4g}")] for key, value in measured.items()],
        "accuracies": [np.round(simulated_accuracies(k), 2).tolist() for k in range(N_SIMULATIONS)],
    }


def deviations(numbers: dict[str, Any]) -> tuple[FloatArray, FloatArray]:
    """Absolute deviations from the published accuracies, in points.

    Of the mean of all simulations, (5, 5), and the mean of each simulation's own.
    """
    away = np.array(numbers["accuracies"]) - published_accuracies()
    return np.abs(away.mean(axis=0)), np.abs(away).mean(axis=(1, 2))


def statistics(numbers: dict[str, Any]) -> pd.DataFrame:
    """Give the simulated and the real value of every published statistic."""
    simulated = pd.Series({tuple(key): value for *key, value in numbers["statistics"]})
    return pd.DataFrame({"simulated": simulated, "real": published_statistics()})


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Markdown tables by name: ``statistics``, ``others``, ``accuracies`` and ``deviations``."""
    known = statistics(numbers).reset_index(names=["sample", "feature", "statistic"])
    known["feature"] = "`" + known["feature"] + "`"
    known["simulated"] = known["simulated"].map("{:.4g}".format)
    known["real"] = known["real"].map("{:g}".format)
    mixed = known[known["sample"] == "mixed"].assign(
        both=known["simulated"] + " / " + known["real"]
    )
    location = mixed.pivot(index="feature", columns="statistic", values="both")
    location = location.reindex(index=mixed["feature"].unique(), columns=_LOCATION).dropna()
    others = known[(known["sample"] != "mixed") | ~known["feature"].isin(location.index)]
    others = others.replace({"sample": {"_": " "}}, regex=True).replace({"statistic": _NAMES})
    found, svm = np.array(numbers["accuracies"]), published_accuracies()
    mean, sd = found.mean(axis=0), found.std(axis=0, ddof=1)
    cells = [[str(source)] for source in MASSES]
    for i, j in product(range(len(MASSES)), repeat=2):
        ours = f"{number(mean[i, j])} ± {number(sd[i, j])} ({number(found[0, i, j])})"
        mark = "*" if i == j else ""
        cells[i].append(f"{mark}{ours} / {number(svm[i, j])}{mark}")
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
        "statistics": grid(["simulated / real, GeV", *_LOCATION], location.itertuples()),
        "others": grid(list(others), others.to_numpy().tolist(), 3),
        "accuracies": grid(["trained on / tested on", *map(str, MASSES)], cells),
        "deviations": grid([title, ""], summary.items()),
    }


def fill_page(page: str, numbers: dict[str, Any]) -> str:
    """Put the tables between their marks, ``<!-- NAME: begin -->`` and ``<!-- NAME: end -->``."""
    for name, text in tables(numbers).items():
        page = filled(page, name, text)
    return page


def draw(numbers: dict[str, Any], path: Path) -> None:
    """Draw the accuracies on simulated HEPMASS against the published ones."""
    real, found = published_accuracies(), np.array(numbers["accuracies"])
    mean, sd = found.mean(axis=0), found.std(axis=0, ddof=1)
    title = "Accuracies on simulated HEPMASS against published ones"
    seen = "Scatter plot of accuracies, simulated against published, with the diagonal."
    finding = f"The two differ by {np.abs(mean - real).mean():.1f} points in the mean."
    with new_figure(HALF_WIDTH, 3.4, title, seen, finding) as figure:
        axis = figure.subplots()
        axis.plot([45, 100], [45, 100], color="0.6", lw=0.8)
        for i, (mass, colour) in enumerate(zip(MASSES, _COLOURS, strict=True)):
            axis.errorbar(real[i], mean[i], sd[i], fmt="os^Dv"[i], color=colour, ms=4, lw=0.8,
                          label=f"trained on {mass}")  # fmt: skip
        axis.set_xlabel("published accuracy on real HEPMASS (%)")
        axis.set_ylabel("accuracy on simulated HEPMASS (%)")
        axis.legend(frameon=False, fontsize=7)
        save_figure(figure, path)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write."""
    parser = command("hepmass_sim", "Compare simulated and real HEPMASS.")
    parser.add_argument("--render", action="store_true", help="page and figure alone")
    options = parser.parse_args(arguments)
    if not options.render:
        write_text(_STORED, json.dumps(measure(), separators=(",", ":")) + "\n")
    numbers = json.loads(_STORED.read_text(encoding="ascii"))
    write_text(_PAGE, fill_page(_PAGE.read_text(encoding="utf-8"), numbers))
    draw(numbers, _FIGURE)


if __name__ == "__main__":
    main()
