"""What the methods give over several draws of moons: a summary, and a part of docs/statistics.md.

Made from the accuracies in ``results/draws/moons.csv``. Draws share no random number, which is what
Student's interval asks for.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.analysis.cells import KRDA
from experiments.analysis.intervals import mean_and_interval
from experiments.analysis.rounding import DECIMALS, MISSING, number, signed
from experiments.catalogue import method_label, read_config
from experiments.published import published
from experiments.published.anomalies import anomalies
from experiments.reading.markdown import grid
from experiments.reading.wording import plus_minus

KEYS = ["positions", "draw", "method"]
MEAN = "mean"


def accuracies(path: Path) -> pd.DataFrame:
    """Percent, NaN if a fit was lost: a row a draw and method, tasks and their mean beside."""
    found = pd.read_csv(path, dtype=str).astype({"draw": int}).set_index(KEYS)
    numbers = found.apply(pd.to_numeric, errors="coerce").astype(float)
    return numbers.assign(**{MEAN: numbers.mean(axis=1, skipna=False)}).round(DECIMALS)


def half_width(values: pd.Series) -> float:
    """Of the interval over the draws that are not lost; NaN for fewer than two."""
    return mean_and_interval(values.dropna().tolist()).half_width


def summary(found: pd.DataFrame) -> pd.DataFrame:
    """A row for each positions, method and task or mean over tasks: ``results/draws/summary.csv``.

    Spread of the accuracies and of KRDA minus them, and in how many draws KRDA is above and below.
    """
    own = found.xs(KRDA, level="method").reindex(found.index.droplevel("method"))
    minus = own.set_axis(found.index) - found
    value, gap = (
        frame.rename_axis(columns="task")
        .stack(future_stack=True)
        .groupby(["positions", "method", "task"], sort=False)
        for frame in (found, minus)
    )
    columns = {
        "n": value.count(), "mean": value.mean(), "sd": value.std(),
        "half_width": value.agg(half_width),
        "krda_minus": gap.mean(), "krda_minus_half_width": gap.agg(half_width),
        "krda_above": gap.agg(lambda gaps: (gaps > 0).sum()),
        "ties": gap.agg(lambda gaps: (gaps == 0).sum()),
        "krda_below": gap.agg(lambda gaps: (gaps < 0).sum()),
    }  # fmt: skip
    counts = dict.fromkeys(["krda_above", "ties", "krda_below"], int)
    return pd.DataFrame(columns).astype(counts).reset_index()


def survival(found: pd.DataFrame) -> str:
    """Which of the paper's ranks on moons survive new draws; a part of docs/statistics.md."""
    tasks, values = list(found.columns[:-1]), published("moons")
    means = summary(found[[MEAN]]).set_index(["positions", "method"])
    measured = set(found.index.unique("method")) - {"target_only"}
    methods = [method for method in read_config("table", "moons")["paper"] if method in measured]
    printed = {m: math.fsum(values[t, m].mean for t in tasks) / len(tasks) for m in methods}
    order = sorted(methods, key=lambda method: -printed[method])
    suspect = {
        method
        for method in methods
        for odd in anomalies("moons")
        if odd.suspect and all(odd.concerns("moons", task, method) for task in tasks)
    }
    stars = {m: method_label(m) + "\\*" * (m in suspect) for m in order}
    head, best, lines = ["Mean over the angles", "paper"], [], []
    rows = {m: [stars[m], number(printed[m])] for m in order}
    for positions in found.index.unique("positions"):
        own = found.loc[positions].unstack("method")
        head += [positions, "rank", "KRDA minus"]
        ranked = ranks(found, positions, order)
        for m in order:
            low, high = ranked[m].min(), ranked[m].max()
            row = means.loc[positions, m]
            minus = f"{signed(row.krda_minus)}{plus_minus(row.krda_minus_half_width)}"
            lost = f", {row.n} draws" if row.n < len(own) else ""
            rows[m] += [
                f"{number(row['mean'])}{plus_minus(row.half_width)} ({number(row.sd)}){lost}",
                f"{low}" if low == high else f"{low} to {high}",
                MISSING if m == KRDA else minus,
            ]
        counts = [(own[task][KRDA] == own[task][methods].max(axis=1)).sum() for task in found]
        best.append([f"{positions}, of {len(own)}", *map(str, counts)])
        sound = [m for m in order if m not in suspect]
        for some, words in ((order, "all these methods"), (sound, "without those with a star")):
            signs = pair_order(own[MEAN], some)
            turned = [
                f"{method_label(a)} below {method_label(b)}" for a, b in signs.index[signs < 0]
            ]
            listed = f" ({'; '.join(turned)})" if turned and some is not order else ""
            lines.append(
                f"- {positions}, {words}: of the {len(signs)} pairs in the paper's order "
                f"{(signs > 0).sum()} keep it, {(signs == 0).sum()} are undecided, {len(turned)} "
                f"reversed{listed}."
            )
    labels = map(read_config("table", "moons")["task_label"].format, tasks)
    counts_head = ["Draws in which KRDA is best or tied", *labels, MEAN]
    return "\n\n".join([grid(head, rows.values()), grid(counts_head, best), "\n".join(lines)])


def ranks(found: pd.DataFrame, positions: str, methods: list[str]) -> pd.DataFrame:
    """Rank within each draw by the mean over tasks; 1 is best, ties share the lower rank.

    A method that lost a fit is last in that draw.
    """
    means = found.loc[positions][MEAN].unstack("method")[methods]
    return means.rank(axis=1, ascending=False, method="min", na_option="bottom").astype(int)


def pair_order(means: pd.DataFrame, order: list[str]) -> pd.Series:
    """Of each pair in an order: 1 if the interval of its difference keeps it, -1 if it reverses it.

    0 if the interval holds 0.
    """
    gaps = {(a, b): means[a] - means[b] for a, b in itertools.combinations(order, 2)}
    signs = {k: np.sign(v.mean()) if abs(v.mean()) > half_width(v) else 0 for k, v in gaps.items()}
    return pd.Series(signs, dtype=int)
