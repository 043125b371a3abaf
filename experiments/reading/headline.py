"""What the top of the report says of a data set: how far the run is, and how KRDA compares.

Sentences are made of computed facts alone; the unwelcome ones (Source only or a naive row above
KRDA) are said as plainly as the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from experiments.analysis.cells import KRDA, REFERENCES
from experiments.analysis.rounding import DECIMALS, MISSING, number
from experiments.analysis.sides import COMPETITORS, side_of
from experiments.analysis.table import Table
from experiments.published import STAND_INS
from experiments.reading import wording

NAIVE = ("standardize", "quantiles")
"""Rows that map columns one by one, without any density."""


def headline_of(table: Table) -> dict[str, Any]:
    """A table's line in the overview, and what is said of KRDA; all plain text.

    ``done``, ``failed`` (some repetition is not done) and ``missing`` count cells. ``others`` and
    ``ours`` are the best means among the paper's other methods and among rows that are not in the
    paper, with labels.
    """
    cells, rows = table.cells, table.means["mean"]
    shown = {row.Index: wording.mean_text(row, "ours") for row in rows.itertuples()}
    means = complete_means(rows)
    others, ours = rivals(table, means)
    n_bold = f"{n_best_or_tied(table)} of {len(table.plan.tasks)}"
    return {
        "done": int(cells.complete.sum()),
        "failed": int((cells.recorded & ~cells.complete).sum()),
        "missing": int((~cells.recorded).sum()),
        "krda": shown.get(KRDA, MISSING),
        "source": shown.get("source_only", MISSING),
        "others": _best(others, table.labels),
        "ours": _best(ours, table.labels),
        "best_or_tied": n_bold if KRDA in means.index else MISSING,
        "verdicts": wording.verdict_counts(cells),
        "placebo": wording.placebo_sentences(table),
        "sentences": list(sentences(table, means)),
    }


def complete_means(rows: pd.DataFrame) -> pd.Series:
    """Means over all tasks of complete cells, rounded so that equal means are equal."""
    complete = rows[~rows.incomplete & (rows.n_ours == rows.n_tasks)]
    means: pd.Series = complete.ours.round(DECIMALS)
    return means


def rivals(table: Table, means: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Means of KRDA's competitors: the paper's other methods, and the rows that are ours."""
    others = means.drop([KRDA, *REFERENCES], errors="ignore")
    theirs = others.index.isin(table.cells.method[table.cells.in_paper])
    return others[theirs], others[~theirs]


def n_best_or_tied(table: Table) -> int:
    """On how many tasks KRDA is best or tied among all rows."""
    return int(table.cells.bold[table.cells.method == KRDA].sum())


def _best(means: pd.Series, labels: dict[str, str]) -> str:
    if means.empty:
        return MISSING
    leaders = means.index[means == means.max()]
    return f"{number(means.max())} ({', '.join(labels[m] for m in leaders)})"


def sentences(table: Table, means: pd.Series) -> Iterator[str]:
    """How KRDA compares, a sentence each."""
    cells, n_tasks = table.cells, len(table.plan.tasks)
    if KRDA not in table.labels:
        yield "KRDA is not in this table."
        return
    if KRDA not in means.index:
        done = cells.complete[cells.method == KRDA].sum()
        yield f"KRDA is complete on {done} of {n_tasks} tasks, so nothing is said of it here."
        return
    side = side_of(cells)
    if side.missing([KRDA, *COMPETITORS]):
        yield (
            "Some of the paper's methods are not complete, or not in this table, so nothing is "
            "said of KRDA's place among them; among the rows that are complete on a task it is "
            f"best or tied on {n_best_or_tied(table)} of {n_tasks} tasks."
        )
    else:
        yield (
            f"Among the paper's adaptation methods KRDA is best or tied on "
            f"{side.best_or_tied()[KRDA]} of {n_tasks} tasks; among all rows, with those that are "
            f"not in the paper, on {n_best_or_tied(table)}."
        )
    yield _mean_sentence(table, means[KRDA])
    whose = "of the paper's other methods", "of the rows that are not in the paper"
    for what, found in zip(whose, rivals(table, means), strict=True):
        if len(found):
            best = f"The best mean {what} is {_best(found, table.labels)}"
            yield f"{best}; KRDA is {_beside(means[KRDA], found.max())} it."
    wide = cells.pivot(index="task", columns="method", values="mean").round(DECIMALS)
    for method in ("source_only", *NAIVE):
        if method in means.index:
            yield (
                f"{table.labels[method]} is {_beside(means[method], means[KRDA])} KRDA in the mean "
                f"({number(means[method])}) and has the higher mean on "
                f"{(wide[method] > wide[KRDA]).sum()} of {n_tasks} tasks."
            )


def _mean_sentence(table: Table, own: float) -> str:
    printed = table.means["mean"].published[KRDA]
    text = f"Its mean over the tasks is {number(own)}"
    if pd.isna(printed):
        return f"{text}."
    real = STAND_INS.get(table.plan.dataset)
    if real:
        return f"{text}; the paper's {number(printed)} is of {real}, which is other data."
    counts = wording.verdict_counts(table.cells[table.cells.method == KRDA])
    text += f", the paper's {number(printed)}; its cells: {counts}"
    if KRDA not in table.worth.index:
        return f"{text}."
    column = table.worth.loc[KRDA]
    return (
        f"{text}; other rows reproduce {number(column.others)} of these {column.cells} cells in "
        f"the mean, {column.most} at most: the column is {column.telling}."
    )


def _beside(first: float, second: float) -> str:
    """How far the first mean is from the second, in words."""
    gap = round(first - second, DECIMALS)
    if gap == 0:
        return "equal to"
    return f"{number(abs(gap))} points {'above' if gap > 0 else 'below'}"
