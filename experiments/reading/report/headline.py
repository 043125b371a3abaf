"""What the top of the report says of a data set: how far the run is, and how KRDA stands.

Sentences are made of computed facts alone, the unwelcome ones (Source only or a naive row above
KRDA) as plainly as the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from experiments.analysis.paper_claims import COMPETITORS, KRDA, best_or_tied, our_side
from experiments.analysis.verdicts import Verdict
from experiments.reading.summary import DatasetSummary
from experiments.reading.tables import wording
from experiments.reading.tables.model import REFERENCES, Mean, Table
from experiments.reading.tables.placebo import placebo_of

NAIVE = ("standardize", "quantiles")
"""Rows of ours that carry columns over one by one, without any density."""

_DECIMALS = 8


@dataclass(frozen=True)
class Progress:
    """How many cells of a table are in which state; they add up to ``total``.

    Attributes
    ----------
    total : int
    done : int
        All repetitions are.
    failed : int
        Some repetition was run and is not done.
    interrupted : int
        Repetitions are still to run, none has failed.
    missing : int
        No record.
    """

    total: int
    done: int
    failed: int
    interrupted: int
    missing: int


@dataclass(frozen=True)
class Headline:
    """A data set's line in the overview, and what is said of KRDA.

    Attributes
    ----------
    progress : Progress
    krda, source : str
        Means over the tasks, as tables print them.
    others, ours : str
        The best mean among the paper's other methods, and among rows that are not in the paper,
        with the method's label.
    best_or_tied : str
        On how many tasks, among all rows.
    verdicts : str
        Of all cells, in words.
    placebo : tuple of str
        What 'reproduced' is worth, plain text.
    sentences : tuple of str
        About KRDA, plain text.
    """

    progress: Progress
    krda: str
    source: str
    others: str
    ours: str
    best_or_tied: str
    verdicts: str
    placebo: tuple[str, ...]
    sentences: tuple[str, ...]


def progress_of(table: Table) -> Progress:
    """Count the states of a table's cells.

    Parameters
    ----------
    table : Table

    Returns
    -------
    progress : Progress
    """
    states: Counter[str] = Counter()
    for cell in table.cells.values():
        if not cell.recorded:
            states["missing"] += 1
        elif cell.complete:
            states["done"] += 1
        elif any(outcome.status != "pending" for outcome in cell.unfinished):
            states["failed"] += 1
        else:
            states["interrupted"] += 1
    return Progress(
        len(table.cells),
        states["done"],
        states["failed"],
        states["interrupted"],
        states["missing"],
    )


def headline_of(found: DatasetSummary) -> Headline:
    """Sum a data set up.

    Parameters
    ----------
    found : DatasetSummary

    Returns
    -------
    headline : Headline
    """
    table = found.table
    n_tasks = len(table.spec.tasks)
    means = {
        method.name: mean
        for method in table.spec.rows
        if (mean := _complete(table.summaries[method.name].ours, n_tasks)) is not None
    }
    labels = {method.name: method.label for method in table.spec.rows}
    others = [m.name for m in table.spec.rows if not m.ours and m.name not in (*REFERENCES, KRDA)]
    ours = [m.name for m in table.spec.rows if m.ours and m.name not in (*REFERENCES, KRDA)]

    def shown(method: str) -> str:
        if method not in table.summaries:
            return wording.MISSING
        return wording.mean_text(table.summaries[method].ours, n_tasks)

    return Headline(
        progress_of(table),
        shown(KRDA),
        shown("source_only"),
        _best(means, others, labels),
        _best(means, ours, labels),
        f"{_bold(table, KRDA)} of {n_tasks}" if KRDA in means else wording.MISSING,
        _verdicts(table),
        tuple(wording.placebo_sentences(table, placebo_of(table))),
        tuple(_krda(table, means, labels, others, ours)),
    )


def _complete(mean: Mean, n_tasks: int) -> float | None:
    """A mean over all tasks from complete cells, rounded so that equal means are equal."""
    if mean.value is None or mean.incomplete or mean.n_tasks < n_tasks:
        return None
    return round(mean.value, _DECIMALS)


def _leaders(means: dict[str, float], methods: Sequence[str]) -> list[str]:
    known = [method for method in methods if method in means]
    best = max((means[method] for method in known), default=None)
    return [method for method in known if means[method] == best]


def _best(means: dict[str, float], methods: Sequence[str], labels: dict[str, str]) -> str:
    leaders = _leaders(means, methods)
    if not leaders:
        return wording.MISSING
    return f"{wording.number(means[leaders[0]])} ({_names(leaders, labels)})"


def _bold(table: Table, method: str) -> int:
    return sum(table.cells[task.name, method].bold for task in table.spec.tasks)


def _names(methods: Sequence[str], labels: dict[str, str]) -> str:
    return ", ".join(labels[method] for method in methods)


def _verdicts(table: Table) -> str:
    counts: Counter[Verdict] = Counter()
    for summary in table.summaries.values():
        counts.update(summary.verdicts)
    del counts[Verdict.NO_PUBLISHED]
    return ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict])


def _krda(
    table: Table,
    means: dict[str, float],
    labels: dict[str, str],
    others: list[str],
    ours: list[str],
) -> list[str]:
    n_tasks = len(table.spec.tasks)
    if KRDA not in labels:
        return ["KRDA is not in this table."]
    if KRDA not in means:
        done = sum(table.cells[task.name, KRDA].complete for task in table.spec.tasks)
        return [f"KRDA is complete on {done} of {n_tasks} tasks, so nothing is said of it here."]
    own = means[KRDA]
    told = []
    side = our_side(table)
    if side.missing((KRDA, *COMPETITORS)):
        told.append(
            "Some of the paper's methods are not complete, or not in this table, so nothing is "
            "said of KRDA's place among them; among the rows that are complete on a task it is "
            f"best or tied on {_bold(table, KRDA)} of {n_tasks} tasks."
        )
    else:
        told.append(
            f"Among the paper's adaptation methods KRDA is best or tied on "
            f"{best_or_tied(side, KRDA)} of {n_tasks} tasks; among all rows, with those that are "
            f"not in the paper, on {_bold(table, KRDA)}."
        )
    told.append(_mean_sentence(table, own))
    for what, methods in (
        ("of the paper's other methods", others),
        ("of the rows that are not in the paper", ours),
    ):
        leaders = _leaders(means, methods)
        if leaders:
            told.append(
                f"The best mean {what} is {wording.number(means[leaders[0]])} "
                f"({_names(leaders, labels)}); KRDA is {_beside(own, means[leaders[0]])} it."
            )
    told += _simple_rivals(table, means, labels)
    return told


def _mean_sentence(table: Table, own: float) -> str:
    published = table.summaries[KRDA].published.value
    text = f"Its mean over the tasks is {wording.number(own)}"
    if published is None:
        return f"{text}."
    if table.stands_in_for is not None:
        return (
            f"{text}; the paper's {wording.number(published)} is of {table.stands_in_for}, which "
            "is other data."
        )
    verdicts = table.summaries[KRDA].verdicts
    counts = ", ".join(f"{verdicts[v]} {v.value}" for v in Verdict if verdicts[v])
    told = f"{text}, the paper's {wording.number(published)}; its cells: {counts}"
    placebo = placebo_of(table)
    column = None if placebo is None else placebo.column(KRDA)
    return f"{told}." if column is None else f"{told}; {wording.worth(column)}."


def _simple_rivals(table: Table, means: dict[str, float], labels: dict[str, str]) -> list[str]:
    """Source only and the naive rows, above or below."""
    told = []
    for method in ("source_only", *NAIVE):
        if method not in means:
            continue
        higher = sum(_higher(table, task.name, method, KRDA) for task in table.spec.tasks)
        told.append(
            f"{labels[method]} is {_beside(means[method], means[KRDA])} KRDA in the mean "
            f"({wording.number(means[method])}) and has the higher mean on {higher} of "
            f"{len(table.spec.tasks)} tasks."
        )
    return told


def _beside(first: float, second: float) -> str:
    """How far the first mean lies from the second, in words."""
    gap = round(first - second, _DECIMALS)
    if gap == 0:
        return "equal to"
    return f"{wording.number(abs(gap))} points {'above' if gap > 0 else 'below'}"


def _higher(table: Table, task: str, first: str, second: str) -> bool:
    one, other = table.cells[task, first].interval, table.cells[task, second].interval
    if one is None or other is None:
        return False
    return round(one.mean - other.mean, _DECIMALS) > 0
