"""The cells of a table: ours beside the published values, one row for each method and task.

The columns of :data:`COLUMNS` are those of ``results/tables/*.csv``, in percent. The others are
what tables and figures also need: labels, whether a cell is recorded and complete, bold print, what
the verdict used, whether the task is left out of the second mean (``aside``).
"""

from __future__ import annotations

import math
import string
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pandas as pd

from experiments.analysis.intervals import (
    Interval,
    correction_of_shared_rows,
    correction_of_splits,
    mean_and_interval,
    over_tasks,
    ties_with_best,
)
from experiments.analysis.verdicts import judge, measured_shares
from experiments.catalogue import method_label
from experiments.published import METHODS, STAND_INS, PublishedCell, has_published, published
from experiments.published.anomalies import Anomaly, anomalies

if TYPE_CHECKING:
    from experiments.cells.plan import TablePlan

REPETITIONS = 5
SHARE = 0.9
"""Of the training rows that each repetition draws."""
KRDA = "krda"
REFERENCES = ("source_only", "target_only")
"""Never bold, never the best: they are no adaptation methods."""
WIDTHS = ("ci95", "ci95_nadeau_bengio", "ci95_shared_rows")
COLUMNS = (
    "dataset", "task", "method", "in_paper", "mean", *WIDTHS, "n_done", "n_repetitions",
    "accuracies", "published_mean", "published_ci95", "difference", "tolerance", "verdict",
    "anomalies",
)  # fmt: skip


def summarise(
    runs: pd.DataFrame, keys: Iterable[tuple[str, str]], repetitions: int, share: float = SHARE
) -> pd.DataFrame:
    """Mean and intervals of each (task, method), in percent; NaN if no repetition is done."""
    groups = dict(iter(runs.groupby(["task", "method"])))
    return pd.DataFrame(
        _summary(task, method, groups.get((task, method)), repetitions, share)
        for task, method in keys
    )


def _summary(
    task: str, method: str, runs: pd.DataFrame | None, repetitions: int, share: float
) -> dict[str, Any]:
    done = () if runs is None else runs[runs.status == "done"].sort_values("repetition").accuracy
    accuracies = tuple(100 * accuracy for accuracy in done)
    interval = mean_and_interval(accuracies) if accuracies else Interval(math.nan, None, 0)
    corrections = correction_of_splits(share), correction_of_shared_rows(share)
    widths = interval.half_width, *map(interval.widened, corrections)
    # A record that never held all repetitions is not complete.
    wanted = max(repetitions, 0 if runs is None else len(runs))
    return {
        "task": task,
        "method": method,
        "mean": interval.mean,
        **dict(zip(WIDTHS, (math.nan if w is None else w for w in widths), strict=True)),
        "n_done": len(accuracies),
        "n_repetitions": wanted,
        "accuracies": accuracies,
        "recorded": runs is not None,
        "complete": len(accuracies) >= wanted,
    }


def table_cells(
    plan: TablePlan,
    runs: pd.DataFrame,
    part: str | None = None,
    repetitions: int = REPETITIONS,
    share: float = SHARE,
) -> pd.DataFrame:
    """All cells of a table, in the order of its rows; of one of the paper's two with ``part``.

    ``runs`` are the repetitions of the table's own cells.
    """
    dataset = plan.dataset
    shown = has_published(dataset)
    values = published(dataset, part) if shown else {}
    in_paper = plan.paper if shown else tuple(METHODS.values())
    methods = sorted(plan.methods, key=lambda name: name not in in_paper)
    if part is not None:
        wanted = {method for _, method in values}
        methods = [method for method in methods if method in wanted]
    keys = [(task, method) for method in methods for task in plan.tasks]
    cells = summarise(runs, keys, repetitions, share)
    cells.insert(0, "dataset", dataset)
    cells["in_paper"] = cells.method.isin(in_paper)
    cells["label"] = cells.method.map(method_label)
    cells["task_label"] = cells.task.map(plan.task_label.format)
    cells["reference"] = cells.method.isin(REFERENCES)
    cells["aside"] = cells.task.isin(plan.aside)
    nothing = PublishedCell(math.nan, math.nan, False)
    found = [values.get(key, nothing) if key[1] in in_paper else nothing for key in keys]
    cells["published_mean"] = [cell.mean for cell in found]
    cells["published_ci95"] = [cell.ci95 for cell in found]
    cells["published_bold"] = [cell.bold for cell in found]
    specific = [odd for odd in anomalies(dataset) if not odd.general]
    concerned = [
        [odd for odd in specific if cell is not nothing and odd.concerns(dataset, *key)]
        for key, cell in zip(keys, found, strict=True)
    ]
    cells["anomalies"] = [tuple(odd.id for odd in odds) for odds in concerned]
    cells["suspect"] = [any(odd.suspect for odd in odds) for odds in concerned]
    cells["comparable"] = dataset not in STAND_INS
    cells["test_rows"] = plan.test_rows
    shares = measured_shares(dataset)
    cells["test_share"] = [shares.get(key, 1.0) for key in keys]
    judged = [judge(cell) for cell in cells.itertuples()]
    cells["verdict"] = [str(verdict) for verdict, _, _ in judged]
    cells["difference"] = [difference for _, difference, _ in judged]
    cells["tolerance"] = [tolerance for _, _, tolerance in judged]
    cells["bold"] = bold(cells)
    return cells


def bold(cells: pd.DataFrame) -> pd.Series:
    """Whether a cell's interval overlaps that of its task's best mean, among complete competitors.

    Source only and Target only do not compete.
    """
    competing = cells[~cells.reference & cells.complete & cells["mean"].notna()]
    out = pd.Series(False, index=cells.index)
    for _, own in competing.groupby("task"):
        out[own.index] = ties_with_best(own["mean"], own.ci95)
    return out


def means_over_tasks(cells: pd.DataFrame) -> pd.DataFrame:
    """Means over the tasks, a row for each method, in the order of the cells.

    ``ours``, ``published``, ``difference`` and ``absolute`` (of the differences) are each over the
    tasks that have a value, ``n_...`` of them. ``ours_ci95`` is Student's half-width over the
    repetitions' means, NaN unless every cell is complete. ``incomplete`` and
    ``difference_incomplete`` say whether one of the cells lacks repetitions.
    """
    return pd.DataFrame(
        [_means(own) for _, own in cells.groupby("method", sort=False)],
        index=pd.Index(cells.method.unique(), name="method"),
    )


def _means(cells: pd.DataFrame) -> dict[str, Any]:
    ours = cells[cells["mean"].notna()]
    both = ours[ours.difference.notna()]
    half_width = None
    if len(ours) == len(cells) and ours.complete.all() and ours.n_done.nunique() == 1:
        half_width = over_tasks(ours.accuracies).half_width
    printed = cells.published_mean.dropna()
    first = cells.iloc[0]
    return {
        "label": first.label,
        "in_paper": first.in_paper,
        "n_tasks": len(cells),
        "ours": mean(ours["mean"]),
        "ours_ci95": math.nan if half_width is None else half_width,
        "n_ours": len(ours),
        "incomplete": not ours.complete.all(),
        "published": mean(printed),
        "n_published": len(printed),
        "difference": mean(both.difference),
        "absolute": mean(both.difference.abs()),
        "n_difference": len(both),
        "difference_incomplete": not both.complete.all(),
    }


def mean(values: Iterable[float]) -> float:
    """Mean that does not depend on the order of its terms; NaN of nothing."""
    terms = list(values)
    return math.fsum(terms) / len(terms) if terms else math.nan


def means_of_table(cells: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Each mean over tasks that a table shows, by its label: all, and without those aside."""
    means = {"mean": means_over_tasks(cells)}
    kept = cells[~cells.aside]
    if 0 < len(kept) < len(cells):
        means[kept_label(cells)] = means_over_tasks(kept)
    return means


def kept_label(cells: pd.DataFrame) -> str:
    """What the second mean is called, such as 'mean, 10° to 80°' or 'mean without B-D'."""
    tasks = cells.drop_duplicates("task")
    kept, aside = tasks[~tasks.aside].task_label, tasks[tasks.aside].task_label
    if len(kept) > 1 and tasks.aside.is_monotonic_increasing:
        return f"mean, {kept.iloc[0]} to {kept.iloc[-1]}"
    return f"mean without {', '.join(aside)}"


def shown_anomalies(cells: pd.DataFrame) -> list[tuple[Anomaly, str]]:
    """Anomalies of the published values shown, with a letter for those that make them suspect."""
    dataset = str(cells.dataset.iloc[0])
    shown = cells[cells.published_mean.notna()]
    keys = list(zip(shown.task, shown.method, strict=True))
    letters = iter(string.ascii_lowercase)
    return [
        (odd, next(letters) if odd.suspect else "")
        for odd in anomalies(dataset)
        if any(odd.concerns(dataset, *key) for key in keys)
    ]


def cells_csv(cells: pd.DataFrame) -> pd.DataFrame:
    """The public columns of a table, rounded to eight decimals."""
    out = cells[list(COLUMNS)].round(8)
    out["accuracies"] = [";".join(repr(round(a, 8)) for a in row) for row in cells.accuracies]
    out["anomalies"] = cells.anomalies.str.join(";")
    return out
