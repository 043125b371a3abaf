"""What tables and the report say in words and signs; plain Unicode, escaped by each format."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

from experiments.analysis.intervals import correction_of_shared_rows, correction_of_splits
from experiments.analysis.rounding import MISSING, number, signed
from experiments.analysis.verdicts import HALF, MARGIN, WIDEST, Verdict
from experiments.published import STAND_INS
from experiments.published.anomalies import Anomaly
from experiments.reading.glossary import glossary
from experiments.store.text import one_line

if TYPE_CHECKING:
    from experiments.analysis.table import Table

PAPER = "arXiv:2110.02716"
NOT_IN_PAPER = "not in the paper"
SIGNS: dict[str, str] = {
    Verdict.REPRODUCED: "=",
    Verdict.BETTER: "↑",
    Verdict.WORSE: "↓",
    Verdict.UNDECIDED: "~",
    Verdict.SUSPECT: "?",
}
CORRECTED_TITLE = "Corrected half-widths of the 95 % interval, ours"
_LONGEST_ERROR = 300  # characters


def ours_text(cell: Any) -> str:
    """Our value: a dash if nothing was recorded, and k/n if repetitions are lacking."""
    if not cell.recorded:
        return MISSING
    share = "" if cell.complete else f" ({cell.n_done}/{cell.n_repetitions})"
    if math.isnan(cell.mean):
        return f"failed{share}"
    return f"{number(cell.mean)}{plus_minus(cell.ci95)}{share}"


def plus_minus(half_width: float) -> str:
    """The half-width after its sign; nothing for NaN."""
    return "" if math.isnan(half_width) else f" ± {number(half_width)}"


def published_text(cell: Any) -> str:
    """The published value; a dash if there is none."""
    if math.isnan(cell.published_mean):
        return MISSING
    return f"{number(cell.published_mean)} ± {number(cell.published_ci95)}"


def difference_text(cell: Any) -> str:
    """Our value minus the published one, and the verdict's sign."""
    if math.isnan(cell.difference):
        return MISSING
    sign = SIGNS.get(cell.verdict)
    return signed(cell.difference) + (f" {sign}" if sign else "")


def mean_text(means: Any, what: str) -> str:
    """A method's mean over tasks: of 'ours', 'published', 'difference' or 'absolute'."""
    value = getattr(means, what)
    if math.isnan(value):
        return MISSING
    text = signed(value) if what == "difference" else number(value)
    if what == "ours":
        text += plus_minus(means.ours_ci95)
    source = "difference" if what == "absolute" else what
    if what != "published" and means.incomplete:
        text += "†"
    n = getattr(means, f"n_{source}")
    return text if n == means.n_tasks else f"{text} ({n}/{means.n_tasks} tasks)"


def corrected_text(cell: Any) -> str:
    """Both corrected half-widths; a dash for a cell that is not complete."""
    if math.isnan(cell.mean) or not cell.complete:
        return MISSING
    return " / ".join(
        MISSING if math.isnan(width) else number(width) if width <= 100 else "> 100"
        for width in (cell.ci95_nadeau_bengio, cell.ci95_shared_rows)
    )


def reading(table: Table) -> list[str]:
    """How to read a table, below it: the glossary, then the caption."""
    meanings = glossary(table.plan.dataset, table.labels)
    return [*([meanings] if meanings else []), *caption(table)]


def caption(table: Table) -> list[str]:
    """The rules by which to read a table, one or more sentences an item."""
    cells, plan = table.cells, table.plan
    references = " and ".join(cells.label[cells.reference].unique())
    lines = [
        "Accuracy in percent: mean ± half-width of the 95 % interval over "
        f"{table.repetitions} repetitions, t(0.975, n−1)·s/√n with s² = Σ(a−mean)²/(n−1). The "
        "repetitions are 90 % subsamples of one draw of data: the interval says how the result "
        "moves with the subsample and the seed, not how it would move on new data.",
        "Bold: the interval overlaps, or touches, that of the method with the best mean on the "
        f"task{f', without {references},' if references else ''} among the methods with all "
        "repetitions done.",
        "mean: over the tasks; of ours ± half-width of the same interval over the repetitions' "
        "means over the tasks; (k/m tasks) if some have no value"
        + (
            "; that of the differences is over the tasks that have both. "
            if table.published
            else ". "
        )
        + f"{MISSING}: no record, the cell is missing. (k/n): only k of n repetitions are done; "
        "†: a mean of such cells.",
        *(f"{label}: {plan.aside_why}" for label in list(table.means)[1:]),
    ]
    if table.published:
        lines.append(
            f"Three lines a {'task' if table.part else 'method'}: ours, the paper's ({PAPER}; bold "
            "as printed there), and ours minus the paper's, taken before rounding."
        )
        if plan.dataset in STAND_INS:
            lines.append(
                f"The published values are those of {STAND_INS[plan.dataset]}, shown for "
                f"orientation: {plan.dataset} is other data, so no cell is judged by them."
            )
        else:
            lines += [_rule(table), *placebo_sentences(table)]
        if not cells.in_paper.all():
            lines.append(f"Rows below the line are {NOT_IN_PAPER}; they compete for bold too.")
    return [*lines, *table.notes]


def _rule(table: Table) -> str:
    measured = (
        "r, the measured variance over test rows divided by that of independent ones, is of each "
        "method and task (results/draws/test_rows.csv)"
    )
    return (
        "= reproduced: |difference| ≤ tolerance = √(h² + h'² + 1.96²·2rp(1−p)/m), with the "
        "half-widths h of ours and h' of the paper's and, for the test rows on either side, m = "
        f"{table.plan.test_rows} and p the mean of both accuracies, taken as (mp+2)/(m+4); "
        f"{measured if (table.cells.test_share < 1).any() else 'r = 1, as for independent rows'}. "
        "↑ better, ↓ worse: beyond it. ~ undecided: within it, but it is above "
        f"{WIDEST:g} points. ? the published value is suspect, for the reason that its letter "
        "names. Other draws of training rows are not allowed for: a faithful reproduction can come "
        "out as better or worse. And if methods are closer together than the tolerance, the row of "
        "another method passes as well."
    )


def corrected_note(table: Table) -> str:
    """What the corrected half-widths are."""
    share, n = table.share, table.repetitions
    first, second = (
        math.sqrt(1 + n * correction(share))
        for correction in (correction_of_splits, correction_of_shared_rows)
    )
    return (
        "a / b, both t(0.975, n−1)·s·√(1/n + c), the form of Nadeau and Bengio (2003). a: c = "
        f"n₂/n₁ = rows left out of a subsample / rows kept, as they print it ({first:.2f} times "
        "the interval above). It is meant for splits that are tested on the rows left out; here "
        f"the test rows are fixed. b: c = ρ/(1−ρ) with ρ = {share:g}, the share of its rows that a "
        f"subsample has in common with another ({second:.2f} times). b is right for what depends "
        "on the training rows as a mean does, and too wide if a method's seed decides. Neither "
        "covers another draw of the test rows. Measured coverage: docs/statistics.md."
    )


def placebo_sentences(table: Table) -> list[str]:
    """What 'reproduced' is worth in this table."""
    found, labels = table.placebo, table.labels
    if found.empty:
        return []
    own = found.row == found.published_column
    own_share, others_share = (
        100 * rows.reproduced.sum() / rows.cells.sum() for rows in (found[own], found[~own])
    )
    worth = "; ".join(
        f"{telling}: {', '.join(labels[method] for method in columns.index)}"
        for telling in ("telling", "not telling", "nothing reproduced")
        if len(columns := table.worth[table.worth.telling == telling])
    )
    return [
        f"Placebo: judged by its own published column a row is reproduced on {number(own_share)} % "
        f"of cells, judged by another method's on {number(others_share)} %. A column is not "
        "telling if its own row is reproduced on a share of tasks that is not "
        f"{MARGIN:g} points above the mean share of the other rows, or if that mean is above "
        f"{HALF:g} %: 'reproduced' then says that the accuracies are close, not that the method "
        f"is the same. {worth[0].upper()}{worth[1:]}."
    ]


def failures(table: Table) -> Iterator[str]:
    """One item for each repetition that is not done."""
    for cell in table.cells[table.cells.recorded & ~table.cells.complete].itertuples():
        where = f"{cell.label}, {cell.task_label}"
        runs = table.runs[(table.runs.task == cell.task) & (table.runs.method == cell.method)]
        for run in runs[runs.status != "done"].itertuples():
            yield (
                f"{where}, repetition {run.repetition + 1} (seed {run.seed}): {run.status}: "
                f"{one_line(str(run.error), _LONGEST_ERROR)}"
            )


def missing(table: Table) -> Iterator[str]:
    """One item for each method that lacks records, with its tasks."""
    for label, cells in table.cells.groupby("label", sort=False):
        absent = cells[~cells.recorded]
        if len(absent):
            everything = len(absent) == len(cells) > 1
            yield f"{label}: {'all tasks' if everything else ', '.join(absent.task_label)}"


def concerned(table: Table, anomaly: Anomaly) -> str:
    """Which methods and tasks of a table an anomaly concerns, in labels."""
    if anomaly.general:
        return "the whole table"
    shown = table.cells[table.cells.published_mean.notna()]
    hit = shown[[anomaly.id in ids for ids in shown.anomalies]]
    parts: dict[str, list[str]] = {}
    for label, cells in hit.groupby("label", sort=False):
        everything = len(cells) == len(table.plan.tasks)
        where = "all tasks" if everything else ", ".join(cells.task_label)
        parts.setdefault(where, []).append(str(label))
    return "; ".join(f"{', '.join(labels)}: {where}" for where, labels in parts.items())


def verdict_counts(cells: pd.DataFrame) -> str:
    """How many cells have which verdict, in words; those without a published value do not count."""
    counts = cells.verdict.value_counts()
    shown = [v for v in Verdict if counts.get(v, 0) and v is not Verdict.NO_PUBLISHED]
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in shown)
