"""What the methods of a table give over several draws of moons.

Made from the accuracies in ``results/draws/moons.csv``, which ``python -m studies.draws``
measures. Draws share no random number, which is what Student's interval asks for.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.analysis.cells import KRDA
from experiments.analysis.intervals import Interval, mean_and_interval
from experiments.analysis.rounding import DECIMALS

POSITIONS = {"lattice": "moons", "random": "moons_random"}
"""How positions on the half-circles come about, and the data set's config."""

KEYS = ["positions", "draw", "method"]
MEAN = "mean"


def read_results(path: Path) -> pd.DataFrame:
    """Percent, or in a word how the fit was lost, as text: a row a draw and method, tasks beside.

    Indexed by :data:`KEYS`, in the order of the file.
    """
    return pd.read_csv(path, dtype=str).astype({"draw": int}).set_index(KEYS)


def accuracies(results: pd.DataFrame) -> pd.DataFrame:
    """The same as numbers, NaN if a fit was lost, and their :data:`MEAN` over the tasks."""
    numbers = results.apply(pd.to_numeric, errors="coerce").astype(float)
    numbers[MEAN] = numbers.mean(axis=1, skipna=False)
    return numbers.round(DECIMALS)


def spread(values: pd.Series) -> pd.Series:
    """``n``, ``mean``, ``sd`` and ``half_width`` over the draws that are not lost."""
    known = values.dropna()
    found = mean_and_interval(known.tolist()) if len(known) else Interval(np.nan, None, 0)
    half = np.nan if found.half_width is None else found.half_width
    return pd.Series({"n": found.n, "mean": found.mean, "sd": known.std(), "half_width": half})


def differences(found: pd.DataFrame) -> pd.DataFrame:
    """KRDA minus each method, within draws."""
    own = found.xs(KRDA, level="method").reindex(found.index.droplevel("method"))
    return own.set_axis(found.index) - found


def summary(found: pd.DataFrame) -> pd.DataFrame:
    """A row for each positions, method and task or mean over tasks: ``results/draws/summary.csv``.

    Spread of the accuracies and of KRDA minus them, and in how many draws KRDA is above and below.
    """
    groups = ["positions", "method", "task"]

    def by_task(frame: pd.DataFrame) -> pd.api.typing.SeriesGroupBy:
        long = frame.reset_index().melt(KEYS, var_name="task", ignore_index=False)
        return long.sort_index(kind="stable").groupby(groups, sort=False)["value"]

    minus = by_task(differences(found))
    out = by_task(found).apply(spread).unstack()
    gaps = minus.apply(spread).unstack()
    out["krda_minus"], out["krda_minus_half_width"] = gaps["mean"], gaps.half_width
    for column, side in (("krda_above", 1), ("ties", 0), ("krda_below", -1)):
        out[column] = minus.agg(lambda values, side=side: (np.sign(values) == side).sum())
    counts = dict.fromkeys(["n", "krda_above", "ties", "krda_below"], int)
    return out.astype(counts).reset_index()


def sign(found: pd.Series) -> int:
    """Sign of the whole interval of a :func:`spread`; 0 if it holds 0, or there is none."""
    clear = abs(found["mean"]) > found.half_width
    return int(np.sign(found["mean"])) if clear else 0


def ranks(found: pd.DataFrame, positions: str, methods: Sequence[str]) -> pd.DataFrame:
    """Rank within each draw by the mean over tasks; 1 is best, ties share the lower rank.

    A method that lost a fit is last in that draw.
    """
    means = found.loc[positions][MEAN].unstack("method")[list(methods)]
    return means.rank(axis=1, ascending=False, method="min", na_option="bottom").astype(int)


def best_counts(found: pd.DataFrame, positions: str, methods: Sequence[str]) -> pd.Series:
    """In how many draws KRDA is best or tied, by task and for the mean over tasks."""
    own = found.loc[positions].unstack("method")
    best = {task: own[task][list(methods)].max(axis=1) for task in found.columns}
    return pd.Series({task: int((own[task][KRDA] == best[task]).sum()) for task in best})


def pair_order(
    found: pd.DataFrame, positions: str, order: Sequence[str]
) -> tuple[int, int, list[tuple[str, str]]]:
    """Of all pairs in an order: how many keep it, are undecided, and which are reversed."""
    means = found.loc[positions][MEAN].unstack("method")
    kept, undecided, turned = 0, 0, []
    for upper, lower in itertools.combinations(order, 2):
        direction = sign(spread(means[upper] - means[lower]))
        kept += direction > 0
        undecided += direction == 0
        if direction < 0:
            turned.append((upper, lower))
    return kept, undecided, turned
