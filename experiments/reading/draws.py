"""The page on draws of moons, and which of the paper's ranks survive them."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from experiments.analysis import draws
from experiments.analysis.cells import KRDA
from experiments.analysis.draws import MEAN, POSITIONS
from experiments.analysis.rounding import MISSING, number, signed
from experiments.catalogue import method_label
from experiments.published import published
from experiments.published.anomalies import anomalies
from experiments.reading.glossary import config
from experiments.reading.markdown import grid, page
from experiments.reading.wording import plus_minus

_INTRODUCTION = (
    "Made by `python -m studies.draws` from the accuracies in [moons.csv](moons.csv); all "
    "numbers below are in [summary.csv](summary.csv). {n} draws of each kind, one fit a draw: draw "
    "k is measured by repetition k of the protocol, so that draws share no random number, "
    "subsamples and methods' seeds included. What this shows: docs/statistics.md.",
    "- Each cell: mean over draws ± half-width of Student's 95 % interval (standard deviation "
    "between draws), percent. The mean over angles is taken within each draw, because the angles "
    "of a draw share its rows.\n"
    "- KRDA minus: the same for the differences within draws. The last column counts the draws in "
    "which KRDA's mean over angles is above, equal, below. No interval is widened for the number "
    "of comparisons.\n"
    "- An interval of width 0 says that all draws gave the same, not that there is no error; one "
    "that reaches above 100 comes from a few draws far below the others, which ten values do not "
    "support.\n"
    "- (k/n): the other fits of these draws were lost; what is shown is over those that were not, "
    "which may favour the method.",
)
_WORDS = {
    "lattice": "As in the tables: `sklearn.datasets.make_moons` puts the points of each moon at "
    "equal steps, the same ones in every draw, and draws their noise.",
    "random": "Each row has its own label, by a fair coin, and its own position, uniform on the "
    "half-circle; the noise is the same.",
}


def draws_page(found: pd.DataFrame) -> str:
    """The page beside the CSV files, as Markdown, from accuracies."""
    counts = {positions: _n_draws(found, positions) for positions in _positions(found)}
    n = " or ".join(map(str, sorted(set(counts.values()))))
    parts = ["# Moons over draws of the data", *(text.format(n=n) for text in _INTRODUCTION)]
    numbers = draws.summary(found)
    head = _columns(found)
    for positions, n_draws in counts.items():
        rows, minus = [], []
        for method, own in numbers[numbers.positions == positions].groupby("method", sort=False):
            label = method_label(str(method))
            rows.append([label, *(_text(row, n_draws) for row in own.itertuples())])
            won = "/".join(map(str, own.iloc[-1][["krda_above", "ties", "krda_below"]]))
            if method != KRDA:
                gaps = (_difference(row, n_draws) for row in own.itertuples())
                minus.append([label, *gaps, won])
        parts += [
            f"## {positions.capitalize()} positions (`dataset={POSITIONS[positions]}`)",
            _WORDS[positions],
            grid(["Accuracy", *head], rows),
            grid(["KRDA minus", *head, "above/equal/below"], minus),
        ]
    return page(*parts)


def survival(found: pd.DataFrame) -> str:
    """Which of the paper's ranks on moons survive new draws; a part of docs/statistics.md."""
    tasks, values = list(found.columns[:-1]), published("moons")
    there = set(found.index.unique("method")) - {"target_only"}
    methods = [method for method in config("table", "moons")["paper"] if method in there]
    printed = {m: math.fsum(values[t, m].mean for t in tasks) / len(tasks) for m in methods}
    order = sorted(methods, key=lambda method: -printed[method])
    suspect = {
        method
        for method in methods
        for odd in anomalies("moons")
        if odd.suspect and all(odd.concerns("moons", task, method) for task in tasks)
    }
    lines, best = [], []
    for positions in _positions(found):
        for chosen, words in (
            (order, "all these methods"),
            ([m for m in order if m not in suspect], "without those with a star"),
        ):
            kept, undecided, turned = draws.pair_order(found, positions, chosen)
            names = [f"{method_label(a)} below {method_label(b)}" for a, b in turned]
            listed = f" ({'; '.join(names)})" if names and chosen is not order else ""
            lines.append(
                f"- {positions}, {words}: of the {kept + undecided + len(turned)} pairs in the "
                f"paper's order {kept} keep it, {undecided} are undecided, {len(turned)} "
                f"reversed{listed}."
            )
        counts = draws.best_counts(found, positions, methods)
        best.append([f"{positions}, of {_n_draws(found, positions)}", *map(str, counts)])
    labels = {m: method_label(m) + "\\*" * (m in suspect) for m in order}
    return "\n\n".join(
        [
            _rank_table(found, printed, labels),
            grid(["Draws in which KRDA is best or tied", *_columns(found)], best),
            "\n".join(lines),
        ]
    )


def _rank_table(found: pd.DataFrame, printed: dict[str, float], labels: dict[str, str]) -> str:
    """Methods in the order of their labels: the paper's mean, and ours with their ranks."""
    numbers = draws.summary(found).query("task == @MEAN")
    means = {(row.positions, row.method): row for row in numbers.itertuples()}
    head = ["Mean over the angles", "paper"]
    rows = {method: [label, number(printed[method])] for method, label in labels.items()}
    for positions in _positions(found):
        head += [positions, "rank", "KRDA minus"]
        ranked, n_draws = draws.ranks(found, positions, list(labels)), _n_draws(found, positions)
        for method in labels:
            row, low, high = means[positions, method], ranked[method].min(), ranked[method].max()
            rows[method] += [
                _text(row, n_draws),
                f"{low}" if low == high else f"{low} to {high}",
                MISSING if method == KRDA else _difference(row, n_draws),
            ]
    return grid(head, rows.values())


def _columns(found: pd.DataFrame) -> list[str]:
    """Labels of the tasks, and of their mean."""
    return [*map(config("table", "moons")["task_label"].format, found.columns[:-1]), MEAN]


def _positions(found: pd.DataFrame) -> list[str]:
    return list(found.index.unique("positions"))


def _n_draws(found: pd.DataFrame, positions: str) -> int:
    return int(found.loc[positions].index.unique("draw").size)


def _text(row: Any, n_draws: int) -> str:
    if math.isnan(row.mean):
        return f"failed (0/{n_draws})"
    sd = "" if math.isnan(row.sd) else f" ({number(row.sd)})"
    return f"{number(row.mean)}{plus_minus(row.half_width)}{sd}{_share(row, n_draws)}"


def _difference(row: Any, n_draws: int) -> str:
    if math.isnan(row.krda_minus):
        return MISSING
    width = plus_minus(row.krda_minus_half_width)
    return f"{signed(row.krda_minus)}{width}{_share(row, n_draws)}"


def _share(row: Any, n_draws: int) -> str:
    return "" if row.n == n_draws else f" ({row.n:.0f}/{n_draws})"
