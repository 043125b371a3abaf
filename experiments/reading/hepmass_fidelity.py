"""The numbers, tables and figure of docs/hepmass_sim.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from experiments.analysis.rounding import number
from experiments.datasets.collisions import MASSES
from experiments.datasets.hepmass_checks import (
    EDGES,
    MIXED_EVENTS,
    measure_histograms,
    measure_statistics,
    published_accuracies,
    published_statistics,
    simulated_accuracies,
    simulated_samples,
)
from experiments.reading.figures.style import new_figure, save_figure
from experiments.store.fingerprint import code_fingerprint

#: What the committed numbers depend on.
MODULES = ("experiments.datasets.hepmass_checks",)

_LOCATION = ("mean", "sd", "min", "q25", "median", "q75", "max")
_WORDS = {
    "sd": "standard deviation",
    "log_mean": "mean of the logarithm",
    "log_sd": "standard deviation of the logarithm",
    "share_0": "share with none",
    "share_1": "share with one",
    "share_2": "share with two",
}
# Okabe and Ito's colours.
_COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00")


def measure(events: int = MIXED_EVENTS, n_simulations: int = 8) -> dict[str, Any]:
    """Measure everything the page says.

    Parameters
    ----------
    events : int
        Of the mixed sample.
    n_simulations : int
        Simulations, numbered from 0, of which accuracies are taken.

    Returns
    -------
    numbers : dict
        What the JSON file holds; numbers rounded so that processors agree on them.
    """
    samples = simulated_samples(events)
    return {
        "code": code_fingerprint(MODULES),
        "events": events,
        "statistics": [
            [*key, float(f"{value:.4g}")] for key, value in measure_statistics(samples).items()
        ],
        "histograms": measure_histograms(samples),
        "accuracies": [
            np.round(simulated_accuracies(simulation), 2).tolist()
            for simulation in range(n_simulations)
        ],
    }


def deviations(numbers: dict[str, Any]) -> dict[str, float]:
    """Mean absolute deviations of the simulated accuracies from the published ones, in points.

    Parameters
    ----------
    numbers : dict
        Of :func:`measure`.

    Returns
    -------
    deviations : dict
        Of the mean over simulations: ``all`` 25 cells, ``source``, ``target``. Of single
        simulations, all cells: ``first`` (the benchmark's own), ``lowest``, ``highest``.
    """
    accuracies = np.array(numbers["accuracies"])
    published = published_accuracies()
    misses = np.abs(accuracies.mean(axis=0) - published)
    diagonal = np.eye(len(MASSES), dtype=bool)
    single = np.abs(accuracies - published).mean(axis=(1, 2))
    return {
        "all": float(misses.mean()),
        "source": float(misses[~diagonal].mean()),
        "target": float(misses[diagonal].mean()),
        "first": float(single[0]),
        "lowest": float(single.min()),
        "highest": float(single.max()),
    }


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Markdown tables by name: ``statistics``, ``others``, ``accuracies`` and ``deviations``."""
    published = published_statistics()
    simulated = {tuple(key): value for *key, value in numbers["statistics"]}
    full = [f for s, f, k in published if s == "mixed" and k == "median"]
    lines = ["| simulated / real, GeV | " + " | ".join(_LOCATION) + " |", "|-" * 8 + "|"]
    for feature in full:
        cells = [
            f"{simulated['mixed', feature, k]:.4g} / {published['mixed', feature, k]:g}"
            for k in _LOCATION
        ]
        lines.append(f"| `{feature}` | " + " | ".join(cells) + " |")
    others = ["| sample | feature | statistic | simulated | real |", "|-|-|-|-|-|"]
    for key, value in published.items():
        sample, feature, statistic = key
        if sample == "mixed" and feature in full:
            continue
        others.append(
            f"| {sample.replace('_', ' ')} | `{feature}` | {_WORDS.get(statistic, statistic)} | "
            f"{simulated[key]:.4g} | {value:g} |"
        )
    accuracies = np.array(numbers["accuracies"])
    mean, sd, first = accuracies.mean(axis=0), accuracies.std(axis=0, ddof=1), accuracies[0]
    real = published_accuracies()
    cells = [
        "| trained on / tested on | " + " | ".join(map(str, MASSES)) + " |",
        "|-" * (1 + len(MASSES)) + "|",
    ]
    for i, source in enumerate(MASSES):
        row = []
        for j in range(len(MASSES)):
            ours = f"{number(mean[i, j])} ± {number(sd[i, j])} ({number(first[i, j])})"
            text = f"{ours} / {number(real[i, j])}"
            row.append(f"*{text}*" if i == j else text)
        cells.append(f"| {source} | " + " | ".join(row) + " |")
    misses = deviations(numbers)
    summary = [
        "| mean absolute deviation from the published accuracies, points | |",
        "|-|-|",
        f"| mean of {len(accuracies)} simulations, 25 cells | {misses['all']:.2f} |",
        f"| the 20 cells Source | {misses['source']:.2f} |",
        f"| the 5 cells Target | {misses['target']:.2f} |",
        f"| the benchmark's own simulation, number 0 | {misses['first']:.2f} |",
        f"| single simulations, lowest to highest | {misses['lowest']:.2f} to "
        f"{misses['highest']:.2f} |",
    ]
    return {
        name: "\n".join(text)
        for name, text in (
            ("statistics", lines),
            ("others", others),
            ("accuracies", cells),
            ("deviations", summary),
        )
    }


def fill_page(page: str, numbers: dict[str, Any]) -> str:
    """Put the tables between their marks, ``<!-- NAME -->`` and ``<!-- /NAME -->``.

    Parameters
    ----------
    page : str
        Markdown.
    numbers : dict
        Of :func:`measure`.

    Returns
    -------
    page : str

    Raises
    ------
    ValueError
        A mark that is not there exactly once.
    """
    for name, text in tables(numbers).items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        page, n = pattern.subn(rf"\g<1>{text}\n\g<2>", page)
        if n != 1:
            raise ValueError(f"Expected the marks of {name!r} once in the page, found {n}.")
    return page


def draw(numbers: dict[str, Any], path: Path) -> list[Path]:
    """Draw m_wwbb, statistics and accuracies of simulated beside real HEPMASS.

    Parameters
    ----------
    numbers : dict
        Of :func:`measure`.
    path : Path
        Without suffix.

    Returns
    -------
    paths : list of Path
    """
    published = published_statistics()
    simulated = {tuple(key): value for *key, value in numbers["statistics"]}
    with new_figure(11, 3.6) as figure:
        axes = figure.subplots(1, 3)
        axis = axes[0]
        samples = ("background", *(f"signal_{mass}" for mass in MASSES))
        for height, (sample, colour) in enumerate(
            zip(samples, ("#000000", *_COLOURS), strict=True)
        ):
            counts = np.array(numbers["histograms"][sample], dtype=float)
            density = counts / counts.sum() / np.diff(EDGES)
            label = sample.replace("signal_", "signal ")
            axis.stairs(1e3 * density, EDGES, color=colour, label=label)
            axis.plot(
                published[sample, "m_wwbb", "median"], -0.12 - 0.12 * height,
                marker="v", color=colour, linestyle="none", markersize=5,
            )  # fmt: skip
        axis.set_xlabel("m_wwbb (GeV); triangles: median of the real data")
        axis.set_ylabel("density of the simulation (1/TeV)")
        axis.legend(frameon=False, fontsize=7)
        axis = axes[1]
        features = [f for s, f, k in published if s == "mixed" and k == "median"]
        for (statistic, marker), colour in zip(
            {"q25": "<", "median": "o", "q75": ">", "sd": "s"}.items(), _COLOURS[::-1], strict=False
        ):
            ratios = [
                simulated["mixed", f, statistic] / published["mixed", f, statistic]
                for f in features
            ]
            axis.plot(ratios, range(len(features)), marker, color=colour, ms=5, alpha=0.8,
                      label=statistic)  # fmt: skip
        axis.axvline(1.0, color="0.6", lw=0.8)
        axis.set_yticks(range(len(features)), [f.replace("_magnitude", "") for f in features])
        axis.invert_yaxis()
        axis.set_xlabel("simulated / real")
        axis.legend(frameon=False, fontsize=7)
        axis = axes[2]
        real = published_accuracies()
        accuracies = np.array(numbers["accuracies"])
        mean, sd = accuracies.mean(axis=0), accuracies.std(axis=0, ddof=1)
        axis.plot([45, 100], [45, 100], color="0.6", lw=0.8)
        for i, (mass, colour) in enumerate(zip(MASSES, _COLOURS, strict=True)):
            axis.errorbar(real[i], mean[i], sd[i], fmt="os^Dv"[i], color=colour, ms=4, lw=0.8,
                          label=f"trained on {mass}")  # fmt: skip
        axis.set_xlabel("published accuracy on real HEPMASS (%)")
        axis.set_ylabel("accuracy on simulated HEPMASS (%)")
        axis.legend(frameon=False, fontsize=7)
        figure.suptitle("Simulated HEPMASS beside what is published of the real data")
        return save_figure(figure, path)
