"""What tables say in words and signs; plain Unicode, escaped by each format."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from experiments.analysis.rounding import MISSING, number, signed
from experiments.analysis.verdicts import WIDEST, Verdict
from experiments.catalogue import about, read_config
from experiments.published import STAND_INS
from experiments.store.text import one_line

if TYPE_CHECKING:
    from experiments.analysis.table import Table

NOT_IN_PAPER = "not in the paper"
BALANCED = (
    "Balanced accuracy: the mean of the shares that are right within each class of the test rows. "
    "Ranks are among the methods with every cell complete, without Target only; 1 is the best."
)
RULE = (
    "= reproduced: the difference is within a tolerance, which allows for both intervals and for "
    f"other test rows (docs/statistics.md). ↑ better, ↓ worse: beyond it. ~ undecided: a tolerance "
    f"above {WIDEST:g} points. ? the published value is suspect."
)
SIGNS: dict[str, str] = {
    Verdict.REPRODUCED: " =",
    Verdict.BETTER: " ↑",
    Verdict.WORSE: " ↓",
    Verdict.UNDECIDED: " ~",
    Verdict.SUSPECT: " ?",
}


def ours_text(cell: Any) -> str:
    """Our value: a dash if nothing was recorded, and k/n if repetitions are lacking."""
    if not cell.recorded:
        return MISSING
    value = "failed" if math.isnan(cell.mean) else number(cell.mean) + plus_minus(cell.ci95)
    return value if cell.complete else f"{value} ({cell.n_done}/{cell.n_repetitions})"


def plus_minus(half_width: float) -> str:
    """The half-width after its sign; nothing for NaN."""
    return "" if math.isnan(half_width) else f" ± {number(half_width)}"


def published_text(cell: Any, marks: str) -> str:
    """The published value, with the letters of what makes it suspect."""
    if math.isnan(cell.published_mean):
        return MISSING
    value = number(cell.published_mean) + plus_minus(cell.published_ci95)
    return f"{value} ({marks})" if marks else value


def rank_text(rank: float) -> str:
    """An average rank; a dash for NaN."""
    return MISSING if math.isnan(rank) else f"{rank:.2f}"


def difference_text(cell: Any) -> str:
    """Our value minus the published one, and the verdict's sign."""
    return signed(cell.difference) + SIGNS.get(cell.verdict, "")


def mean_text(means: Any, what: str) -> str:
    """A method's mean over tasks: of 'ours', 'published', 'difference' or 'absolute'."""
    value = getattr(means, what)
    if math.isnan(value):
        return MISSING
    text = signed(value) if what == "difference" else number(value)
    if what == "ours":
        text += plus_minus(means.ours_ci95)
    if what != "published" and means.incomplete:
        text += "†"
    n = getattr(means, "n_difference" if what == "absolute" else f"n_{what}")
    return text if n == means.n_tasks else f"{text} ({n}/{means.n_tasks} tasks)"


def caption(table: Table) -> list[str]:
    """The rules by which to read a table, one or more sentences an item."""
    plan = table.plan
    lines = [
        "Accuracy in percent: mean ± half-width of Student's 95 % interval over "
        f"{table.repetitions} repetitions, on {100 * table.share:g} % subsamples of one draw of "
        "data. The interval does not say how far the result would move on new data "
        "(docs/statistics.md).",
        "Bold: the interval overlaps that of the best mean on the task, among the methods with all "
        "repetitions done; Source only and Target only do not compete.",
        "mean: over the tasks, with the interval over the repetitions' means over the tasks. "
        f"{MISSING}: no record. (k/n): only k of n repetitions are done. †: a mean that includes "
        "such cells. (k/m tasks): a mean over k of m tasks only.",
        *(f"{label}: {plan.aside_why}" for label in list(table.means)[1:]),
    ]
    if table.published:
        lines.append(
            "Below ours: the paper's value (arXiv:2110.02716; bold as printed there), and ours "
            "minus it, taken before rounding."
        )
        lines.append(
            f"The published values are those of {STAND_INS[plan.dataset]}, shown for orientation: "
            f"{plan.dataset} is other data, so no cell is judged by them."
            if plan.dataset in STAND_INS
            else RULE
        )
    return [*lines, *table.notes]


def glossary(table: Table) -> list[str]:
    """What the names of a table's methods and tasks mean, an item each."""
    naming = task_naming(table.plan.dataset)
    return meanings(table.labels) + ([f"Tasks: {naming}"] if naming else [])


def meanings(methods: Iterable[str]) -> list[str]:
    """What the labels of methods mean, unless they say it all."""
    return [f"{one['label']}: {one['meaning']}" for one in map(about, methods) if one["meaning"]]


def task_naming(dataset: str) -> str:
    """What the names of a data set's tasks mean; empty if its config says nothing."""
    return str(read_config("dataset", dataset).get("naming", ""))


def failures(table: Table) -> Iterator[str]:
    """One item for each repetition that is not done."""
    for cell in table.cells[table.cells.recorded & ~table.cells.complete].itertuples():
        runs = table.runs[(table.runs.task == cell.task) & (table.runs.method == cell.method)]
        for run in runs[runs.status != "done"].itertuples():
            yield (
                f"{cell.label}, {cell.task_label}, repetition {run.repetition + 1} (seed "
                f"{run.seed}): {run.status}: {one_line(str(run.error), 300)}"
            )
