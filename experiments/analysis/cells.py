"""The cells of a table: ours beside the published values, one row for each method and task.

The columns of :data:`COLUMNS` are those of ``results/tables/*.csv``, in percent. The others are
what tables and figures also need: labels, whether a cell is recorded and complete, bold print, what
the verdict used, whether the task is left out of the second mean (``aside``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import pandas as pd

from experiments.analysis.intervals import (
    correction_of_shared_rows,
    correction_of_splits,
    mean_and_interval,
    over_tasks,
    ties_with_best,
)
from experiments.analysis.verdicts import judge, measured_shares
from experiments.catalogue import method_label
from experiments.published import METHODS, STAND_INS, has_published, published
from experiments.published.anomalies import anomalies

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
    """Mean and intervals of each (task, method), in percent; NaN if no repetition is done.

    ``balanced`` is the mean of the balanced accuracies.
    """
    corrections = 0.0, correction_of_splits(share), correction_of_shared_rows(share)
    stored = runs.value_counts(["task", "method"]).to_dict()
    percent = runs.sort_values("repetition").assign(
        accuracy=100 * runs.accuracy, balanced=100 * runs.balanced_accuracy
    )
    groups = percent[percent.status == "done"].groupby(["task", "method"])
    done, balanced = groups.accuracy.agg(tuple).to_dict(), groups.balanced.mean().to_dict()
    rows = []
    for key in keys:
        accuracies = done.get(key, ())
        interval = mean_and_interval(accuracies)
        # A record that never held all repetitions is not complete.
        wanted = max(repetitions, stored.get(key, 0))
        rows.append((*key, interval.mean, *map(interval.widened, corrections),
                     balanced.get(key, math.nan), len(accuracies), wanted, accuracies,
                     key in stored, len(accuracies) >= wanted))  # fmt: skip
    columns = ["task", "method", "mean", *WIDTHS, "balanced", "n_done", "n_repetitions",
               "accuracies", "recorded", "complete"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def table_cells(
    plan: TablePlan,
    runs: pd.DataFrame,
    repetitions: int = REPETITIONS,
    share: float = SHARE,
) -> pd.DataFrame:
    """All cells of a table, in the order of its rows.

    ``runs`` are the repetitions of the table's own cells.
    """
    dataset = plan.dataset
    values = published(dataset, plan.part) if has_published(dataset) else {}
    in_paper = plan.paper if values else tuple(METHODS.values())
    methods = sorted(plan.methods, key=lambda name: name not in in_paper)
    keys = [(task, method) for method in methods for task in plan.tasks]
    printed = [values.get(key, (math.nan, math.nan, False)) for key in keys]
    odd = [one for one in anomalies(dataset) if not one.general]
    concerned = [[one for one in odd if one.concerns(dataset, *key)] for key in keys]
    shares = measured_shares(dataset)
    columns = ["published_mean", "published_ci95", "published_bold"]
    cells = summarise(runs, keys, repetitions, share).join(pd.DataFrame(printed, columns=columns))
    cells = cells.assign(
        dataset=dataset,
        in_paper=cells.method.isin(in_paper),
        label=cells.method.map(method_label),
        task_label=cells.task.map(plan.task_label.format),
        reference=cells.method.isin(REFERENCES),
        aside=cells.task.isin(plan.aside),
        anomalies=[tuple(one.id for one in found) for found in concerned],
        suspect=[any(one.suspect for one in found) for found in concerned],
        comparable=dataset not in STAND_INS,
        test_rows=plan.test_rows,
        test_share=[shares.get(key, 1.0) for key in keys],
    )
    return cells.join(judge(cells)).assign(bold=bold(cells))


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
    repetitions' means, NaN unless every cell is complete. ``incomplete`` says whether one of the
    cells lacks repetitions.
    """
    names = {"mean": "ours", "published_mean": "published"}
    columns = [*names.values(), "difference", "absolute"]
    cells = cells.rename(columns=names).assign(absolute=cells.difference.abs())
    groups = cells.groupby("method", sort=False)
    return groups[["label", "in_paper"]].first().assign(
        n_tasks=groups.size(), incomplete=~groups.complete.all(),
        ours_ci95=groups[["complete", "n_done", "accuracies"]].apply(_interval_over_tasks),
    ).join(groups[columns].mean()).join(groups[columns].count().add_prefix("n_"))  # fmt: skip


def _interval_over_tasks(cells: pd.DataFrame) -> float:
    whole = cells.complete.all() and cells.n_done.nunique() == 1
    return over_tasks(cells.accuracies).half_width if whole else math.nan


def means_of_table(cells: pd.DataFrame, kept_label: str) -> dict[str, pd.DataFrame]:
    """Each mean over tasks that a table shows, by its label: all, and without those aside."""
    means = {"mean": means_over_tasks(cells)}
    if cells.aside.any() and not cells.aside.all():
        means[kept_label] = means_over_tasks(cells[~cells.aside])
    return means


def cells_csv(cells: pd.DataFrame) -> pd.DataFrame:
    """The public columns of a table, rounded to eight decimals."""
    out = cells[list(COLUMNS)].round(8)
    out["accuracies"] = [";".join(repr(round(a, 8)) for a in row) for row in cells.accuracies]
    out["anomalies"] = cells.anomalies.str.join(";")
    return out
