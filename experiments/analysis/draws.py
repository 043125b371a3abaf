"""What the methods of a table give over several draws of moons.

Made from the accuracies in ``results/draws/moons.csv``, which ``python -m studies.draws``
measures. Every number here is over draws that share no random number, which is what Student's
interval asks for.
"""

from __future__ import annotations

import csv
import io
import itertools
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from experiments.analysis.statistics import mean_and_interval
from experiments.cells.plan import load_table, method_label
from experiments.published import published
from experiments.published.anomalies import anomalies
from experiments.reading.markdown import table
from experiments.reading.tables.wording import MISSING, number, signed

FloatArray = NDArray[np.float64]

POSITIONS = MappingProxyType({"lattice": "moons", "random": "moons_random"})
"""How positions on the half-circles come about, and the data set's config."""

KRDA = "krda"
MEAN = "mean"
_DECIMALS = 8
_KEYS = ("positions", "draw", "method")


class Spread(NamedTuple):
    """What draws tell of one quantity.

    Attributes
    ----------
    n : int
        Draws in which it is known.
    mean, sd, half_width : float or None
        Percentage points; None where too few draws tell. ``half_width`` is that of Student's
        95 % interval.
    """

    n: int
    mean: float | None
    sd: float | None
    half_width: float | None

    @property
    def sign(self) -> int:
        """Sign of the whole interval; 0 where it holds 0, or there is none."""
        if self.mean is None or self.half_width is None or abs(self.mean) <= self.half_width:
            return 0
        return 1 if self.mean > 0 else -1


@dataclass(frozen=True)
class Draws:
    """Accuracies by positions, draw, method and task.

    Attributes
    ----------
    results : dict of (positions, draw, method, task) to str
        Percent, or in a word how the fit was lost; complete, in the order of the file.
    """

    results: dict[tuple[str, int, str, str], str]

    @property
    def positions(self) -> tuple[str, ...]:
        """In the order of the file, as the two below."""
        return tuple(dict.fromkeys(key[0] for key in self.results))

    @property
    def methods(self) -> tuple[str, ...]:
        """Config names."""
        return tuple(dict.fromkeys(key[2] for key in self.results))

    @property
    def tasks(self) -> tuple[str, ...]:
        """Angles."""
        return tuple(dict.fromkeys(key[3] for key in self.results))

    def n_draws(self, positions: str) -> int:
        """Count the draws.

        Parameters
        ----------
        positions : str

        Returns
        -------
        n_draws : int
        """
        return len({key[1] for key in self.results if key[0] == positions})

    def accuracies(self, positions: str, method: str) -> FloatArray:
        """Accuracies of a method, and their mean over tasks in the last column.

        Parameters
        ----------
        positions, method : str

        Returns
        -------
        accuracies : ndarray of shape (n_draws, n_tasks + 1)
            Percent, rounded so that equal accuracies are equal; NaN where a fit was lost, and for
            the mean of such a draw.
        """
        found = [
            _percent(result)
            for (where, _, which, _), result in self.results.items()
            if (where, which) == (positions, method)
        ]
        values = np.array(found, dtype=np.float64).reshape(-1, len(self.tasks))
        means = values.mean(axis=1, keepdims=True)
        columns: FloatArray = np.hstack([values, means]).round(_DECIMALS)
        return columns

    def csv(self) -> str:
        """Write one line a draw and method."""
        lines: dict[tuple[str, int, str], dict[str, str]] = {}
        for (positions, draw, method, task), result in self.results.items():
            lines.setdefault((positions, draw, method), {})[task] = result
        rows = [[*_KEYS, *self.tasks]]
        for (positions, draw, method), own in lines.items():
            rows.append([positions, str(draw), method, *(own[task] for task in self.tasks)])
        return _csv(rows)

    @classmethod
    def read(cls, path: Path) -> Draws:
        """Read a file that holds what :meth:`csv` wrote.

        Parameters
        ----------
        path : Path

        Returns
        -------
        draws : Draws
        """
        return cls.read_text(path.read_text(encoding="utf-8"))

    @classmethod
    def read_text(cls, text: str) -> Draws:
        """Read what :meth:`csv` wrote.

        Parameters
        ----------
        text : str

        Returns
        -------
        draws : Draws
        """
        return cls(
            {
                (row["positions"], int(row["draw"]), row["method"], task): result
                for row in csv.DictReader(io.StringIO(text))
                for task, result in row.items()
                if task not in _KEYS
            }
        )


def _percent(result: str) -> float:
    try:
        return float(result)
    except ValueError:
        return np.nan


def spread(values: FloatArray) -> Spread:
    """Mean, standard deviation and Student's interval over the draws that tell.

    Parameters
    ----------
    values : ndarray of shape (n_draws,)
        NaN where a draw does not tell.

    Returns
    -------
    spread : Spread
    """
    known = values[np.isfinite(values)]
    if not len(known):
        return Spread(0, None, None, None)
    interval = mean_and_interval(known.tolist())
    sd = float(known.std(ddof=1)) if len(known) > 1 else None
    return Spread(len(known), interval.mean, sd, interval.half_width)


def competitors(found: Draws) -> list[str]:
    """List the paper's methods that use no target label, in its order.

    Parameters
    ----------
    found : Draws

    Returns
    -------
    methods : list of str
    """
    paper = load_table("moons").paper
    return [name for name in paper if name in found.methods and name != "target_only"]


def ranks(found: Draws, positions: str, methods: list[str]) -> NDArray[np.float64]:
    """Rank methods within each draw by their mean over tasks; 1 is best, ties share the lower.

    Parameters
    ----------
    found : Draws
    positions : str
    methods : list of str

    Returns
    -------
    ranks : ndarray of shape (n_draws, n_methods)
        A method that lost a fit is last in that draw.
    """
    means = np.column_stack([found.accuracies(positions, name)[:, -1] for name in methods])
    ranked: NDArray[np.float64] = stats.rankdata(np.nan_to_num(-means, nan=1.0), "min", axis=1)
    return ranked


def summary_csv(found: Draws) -> str:
    """Write all numbers of the page: one line for positions, method and task or mean over tasks.

    Parameters
    ----------
    found : Draws

    Returns
    -------
    text : str
    """
    rows = [
        [
            "positions", "method", "task", "n", "mean", "sd", "half_width",
            "krda_minus", "krda_minus_half_width", "krda_above", "ties", "krda_below",
        ]
    ]  # fmt: skip
    for positions in found.positions:
        own = found.accuracies(positions, KRDA)
        for method in found.methods:
            values = found.accuracies(positions, method)
            for column, task in enumerate((*found.tasks, MEAN)):
                here, minus = spread(values[:, column]), own[:, column] - values[:, column]
                difference = spread(minus)
                numbers = (*here[1:], difference.mean, difference.half_width)
                rows.append(
                    [
                        positions, method, task, str(here.n),
                        *("" if value is None else f"{value:.8g}" for value in numbers),
                        *_above_equal_below(minus),
                    ]
                )  # fmt: skip
    return _csv(rows)


def page(found: Draws) -> str:
    """Write the page beside the CSV files.

    Parameters
    ----------
    found : Draws

    Returns
    -------
    text : str
        Markdown.
    """
    counts = {found.n_draws(positions) for positions in found.positions}
    parts = [
        "# Moons over draws of the data",
        "Made by `python -m studies.draws` from the accuracies in [moons.csv](moons.csv); "
        "all numbers below are in [summary.csv](summary.csv). "
        f"{' or '.join(map(str, sorted(counts)))} draws of each kind, one fit a draw: draw k is "
        "measured by repetition k of the protocol, so that draws share no random number, "
        "subsamples and methods' seeds included. What this shows: docs/statistics.md.",
        "- Each cell: mean over draws ± half-width of Student's 95 % interval (standard deviation "
        "between draws), percent. The mean over angles is taken within each draw, for the angles "
        "of a draw share its rows.\n"
        "- KRDA minus: the same for the differences within draws. The last column counts the draws "
        "in which KRDA's mean over angles is above, equal, below. No interval is widened for the "
        "number of comparisons.\n"
        "- An interval of width 0 says that all draws gave the same, not that there is no error; "
        "one that reaches above 100 stands for a few draws far below the others, which ten values "
        "do not bear out.\n"
        "- (k/n): the other fits of these draws were lost; what is shown is over those that were "
        "not, which may favour the method.",
    ]
    for positions in found.positions:
        parts += [
            f"## {positions.capitalize()} positions (`dataset={POSITIONS[positions]}`)",
            _WORDS[positions],
            _accuracy_table(found, positions),
            _difference_table(found, positions),
        ]
    return "\n\n".join(parts) + "\n"


_WORDS = {
    "lattice": "As in the tables: `sklearn.datasets.make_moons` puts the points of each moon at "
    "equal steps, the same ones in every draw, and draws their noise.",
    "random": "Each row has its own label, by a fair coin, and its own position, uniform on the "
    "half-circle; the noise is the same.",
}


def _accuracy_table(found: Draws, positions: str) -> str:
    lines = _head(["Accuracy", *_angles(found), MEAN])
    n_draws = found.n_draws(positions)
    for method in found.methods:
        columns = found.accuracies(positions, method).T
        lines.append(
            [method_label(method), *(_text(spread(column), n_draws) for column in columns)]
        )
    return table(lines)


def _difference_table(found: Draws, positions: str) -> str:
    lines = _head(["KRDA minus", *_angles(found), MEAN, "above/equal/below"])
    own, n_draws = found.accuracies(positions, KRDA), found.n_draws(positions)
    for method in found.methods:
        if method == KRDA:
            continue
        minus = own - found.accuracies(positions, method)
        lines.append(
            [
                method_label(method),
                *(_difference(spread(column), n_draws) for column in minus.T),
                "/".join(_above_equal_below(minus[:, -1])),
            ]
        )
    return table(lines)


def survival(found: Draws) -> str:
    """Say which of the paper's ranks on moons survive new draws; a part of docs/statistics.md.

    Parameters
    ----------
    found : Draws

    Returns
    -------
    text : str
        Markdown.
    """
    methods = competitors(found)
    values = published("moons")
    printed = {
        name: float(np.mean([values[task, name].mean for task in found.tasks])) for name in methods
    }
    order = sorted(methods, key=lambda name: -printed[name])
    suspect = {
        name
        for name in methods
        for anomaly in anomalies("moons")
        if anomaly.suspect and all(anomaly.concerns("moons", task, name) for task in found.tasks)
    }
    parts = [_rank_table(found, order, printed, suspect), _best_table(found, methods)]
    sound = [name for name in order if name not in suspect]
    lines = []
    for positions in found.positions:
        for chosen, words in ((order, "all these methods"), (sound, "without those with a star")):
            lines.append(_pairs(found, positions, chosen, words, listed=chosen is sound))
    return "\n\n".join([*parts, "\n".join(lines)])


def _rank_table(
    found: Draws, order: list[str], printed: dict[str, float], suspect: set[str]
) -> str:
    head = ["Mean over the angles", "paper"]
    for positions in found.positions:
        head += [f"{positions}", "rank", "KRDA minus"]
    lines = _head(head)
    by_positions = {positions: ranks(found, positions, order) for positions in found.positions}
    for place, method in enumerate(order):
        star = "\\*" if method in suspect else ""
        line = [method_label(method) + star, number(printed[method])]
        for positions, ranked in by_positions.items():
            n_draws = found.n_draws(positions)
            own = found.accuracies(positions, method)[:, -1]
            least, greatest = int(ranked[:, place].min()), int(ranked[:, place].max())
            minus = spread(found.accuracies(positions, KRDA)[:, -1] - own)
            line += [
                _text(spread(own), n_draws),
                f"{least}" if least == greatest else f"{least} to {greatest}",
                MISSING if method == KRDA else _difference(minus, n_draws),
            ]
        lines.append(line)
    return table(lines)


def _best_table(found: Draws, methods: list[str]) -> str:
    lines = _head(["Draws in which KRDA is best or tied", *_angles(found), MEAN])
    for positions in found.positions:
        every = np.array([found.accuracies(positions, name) for name in methods])
        best = np.nanmax(every, axis=0)
        wins = (found.accuracies(positions, KRDA) == best).sum(axis=0)
        lines.append(
            [f"{positions}, of {found.n_draws(positions)}", *(str(int(count)) for count in wins)]
        )
    return table(lines)


def _pairs(found: Draws, positions: str, order: list[str], words: str, *, listed: bool) -> str:
    kept, turned, undecided = 0, [], 0
    for upper, lower in itertools.combinations(order, 2):
        means = [found.accuracies(positions, name)[:, -1] for name in (upper, lower)]
        sign = spread(means[0] - means[1]).sign
        kept += sign > 0
        undecided += sign == 0
        if sign < 0:
            turned.append(f"{method_label(upper)} below {method_label(lower)}")
    n = kept + undecided + len(turned)
    names = f" ({'; '.join(turned)})" if turned and listed else ""
    return (
        f"- {positions}, {words}: of the {n} pairs in the paper's order {kept} keep it, "
        f"{undecided} are undecided, {len(turned)} reversed{names}."
    )


def _above_equal_below(differences: FloatArray) -> list[str]:
    """Count the draws with a positive difference, with none, and with a negative one."""
    signs = np.sign(differences)
    return [str(int(np.sum(signs == sign))) for sign in (1, 0, -1)]


def _angles(found: Draws) -> list[str]:
    return [load_table("moons").task_label.format(task) for task in found.tasks]


def _head(titles: list[str]) -> list[list[str]]:
    return [titles, [":--", *["--:"] * (len(titles) - 1)]]


def _text(found: Spread, n_draws: int) -> str:
    if found.mean is None:
        return f"failed (0/{n_draws})"
    sd = "" if found.sd is None else f" ({number(found.sd)})"
    return f"{number(found.mean)}{_width(found)}{sd}{_share(found, n_draws)}"


def _difference(found: Spread, n_draws: int) -> str:
    if found.mean is None:
        return MISSING
    return f"{signed(found.mean)}{_width(found)}{_share(found, n_draws)}"


def _width(found: Spread) -> str:
    return "" if found.half_width is None else f" ± {number(found.half_width)}"


def _share(found: Spread, n_draws: int) -> str:
    return "" if found.n == n_draws else f" ({found.n}/{n_draws})"


def _csv(rows: list[list[str]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()
