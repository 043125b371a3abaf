"""What a table says in words and signs, the same in every format; plain Unicode, not escaped."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal

from experiments.analysis.statistics import correction_of_shared_rows, correction_of_splits
from experiments.analysis.verdicts import WIDEST, Verdict
from experiments.published.anomalies import Anomaly
from experiments.reading.tables.model import Cell, Mean, Table
from experiments.reading.tables.placebo import (
    HALF,
    MARGIN,
    Placebo,
    PlaceboColumn,
    Telling,
    placebo_of,
)

PAPER = "arXiv:2110.02716"
MISSING = "–"
NOT_IN_PAPER = "not in the paper"
SIGNS = {
    Verdict.REPRODUCED: "=",
    Verdict.BETTER: "↑",
    Verdict.WORSE: "↓",
    Verdict.UNDECIDED: "~",
    Verdict.SUSPECT: "?",
}
_LONGEST_ERROR = 300  # characters
_MEANT = 8  # decimals


def number(value: float) -> str:
    """One decimal, halves away from zero, no negative zero; the one way to round an accuracy.

    The value is first taken for the decimal fraction that it is meant to be: a mean of 75.85 is no
    more and no less in whichever order its terms were added.
    """
    told = Decimal(repr(round(float(value), _MEANT))).quantize(Decimal("0.1"), ROUND_HALF_UP)
    return f"{told + 0}"


def signed(value: float) -> str:
    """One decimal and its sign, the minus a true one; a rounded zero has none."""
    text = number(value)
    return text.replace("-", "−") if text.startswith("-") or text == "0.0" else f"+{text}"


def ours_text(cell: Cell) -> str:
    """Our value: a dash where nothing was recorded, and k/n wherever repetitions are lacking."""
    if not cell.recorded:
        return MISSING
    share = "" if cell.complete else f" ({cell.n_done}/{cell.n_repetitions})"
    if cell.interval is None:
        return f"failed{share}"
    width = cell.interval.half_width
    spread = "" if width is None else f" ± {number(width)}"
    return f"{number(cell.interval.mean)}{spread}{share}"


def published_text(cell: Cell) -> str:
    """Return the published value; a dash where there is none."""
    if cell.published is None:
        return MISSING
    return f"{number(cell.published.mean)} ± {number(cell.published.ci95)}"


def suspicions(table: Table, cell: Cell) -> str:
    """Letters of the anomalies that make a cell's published value suspect."""
    return ",".join(table.marks[a.id] for a in cell.anomalies if a.id in table.marks)


def difference_text(cell: Cell) -> str:
    """Our value minus the published one, and the verdict's sign."""
    difference, sign = cell.judgement.difference, SIGNS.get(cell.judgement.verdict)
    if difference is None:
        return MISSING
    return signed(difference) + ("" if sign is None else f" {sign}")


def mean_text(mean: Mean, n_tasks: int, *, sign: bool = False) -> str:
    """A mean over tasks, its interval, and over how many of them where it is not all."""
    if mean.value is None:
        return MISSING
    text = signed(mean.value) if sign else number(mean.value)
    if mean.half_width is not None:
        text += f" ± {number(mean.half_width)}"
    if mean.incomplete:
        text += "†"
    if mean.n_tasks < n_tasks:
        text += f" ({mean.n_tasks}/{n_tasks} tasks)"
    return text


def reading(table: Table) -> list[str]:
    """What stands below a table on a page: the glossary, then the caption, an item each."""
    glossary = table.spec.glossary
    return [*([glossary] if glossary else []), *caption(table)]


def caption(table: Table) -> list[str]:
    """The rules by which to read a table, one or more sentences an item."""
    spec = table.spec
    labels = [method.label for method in spec.rows if method.name in spec.references]
    aside = f", {' and '.join(labels)} aside," if labels else ""
    both = "; that of the differences is over the tasks that have both"
    if not table.has_published:
        both = ""
    lines = [
        "Accuracy in percent: mean ± half-width of the 95 % interval over "
        f"{spec.repetitions} repetitions, t(0.975, n−1)·s/√n with s² = Σ(a−mean)²/(n−1). The "
        "repetitions are 90 % subsamples of one draw of data: the interval tells how the result "
        "moves with the subsample and the seed, not how it would move on new data.",
        "Bold: the interval overlaps, or touches, that of the method with the best mean on the "
        f"task{aside} among the methods with all repetitions done.",
        "mean: over the tasks; of ours ± half-width of the same interval over the repetitions' "
        f"means over the tasks; (k/m tasks) where some have no value{both}. "
        f"{MISSING}: no record, the cell is missing. (k/n): only k of n repetitions are done; "
        "†: a mean that rests on such cells.",
    ]
    if spec.kept:
        lines.append(f"{spec.kept_label}: {spec.aside_why}")
    if table.has_published:
        lines.append(
            f"Three lines a {'task' if spec.tasks_in_rows else 'method'}: ours, the paper's "
            f"({PAPER}; bold as printed there), and ours minus the paper's, taken before rounding."
        )
        if table.stands_in_for is None:
            lines.append(
                "= reproduced: |difference| ≤ tolerance = √(h² + h'² + 1.96²·2rp(1−p)/m), with the "
                "half-widths h of ours and h' of the paper's and, for the test rows on either "
                f"side, m = {spec.test_rows} and p the mean of both accuracies, taken as "
                f"(mp+2)/(m+4); {_share_words(table)}. "
                f"↑ better, ↓ worse: beyond it. ~ undecided: within it, but it is "
                f"above {WIDEST:g} points. ? the published value is suspect, for the reason that "
                "its letter names. Other draws of training rows are not allowed for: a faithful "
                "reproduction can come out as better or worse. And where methods lie closer "
                "together than the tolerance, the row of another method passes as well."
            )
            lines.extend(placebo_sentences(table, placebo_of(table)))
        else:
            lines.append(
                f"The published values are those of {table.stands_in_for}, shown for orientation: "
                f"{spec.dataset} is other data, so no cell can reproduce them and none is judged."
            )
    if table.has_published and any(m.ours for m in spec.rows) and not spec.tasks_in_rows:
        lines.append(f"Rows below the line are {NOT_IN_PAPER}; they compete for bold all the same.")
    lines.extend(spec.notes)
    return lines


def _share_words(table: Table) -> str:
    """What r in the tolerance is."""
    if not table.spec.test_shares:
        return "r = 1, as for independent rows"
    return (
        "r, the measured variance over test rows divided by that of independent ones, is of each "
        "method and task (results/draws/test_rows.csv)"
    )


CORRECTED_TITLE = "Corrected half-widths of the 95 % interval, ours"


def corrected_note(table: Table) -> str:
    """What the corrected half-widths are; one item, plain text."""
    spec = table.spec
    n = spec.repetitions
    first = math.sqrt(1 + n * correction_of_splits(spec.share))
    second = math.sqrt(1 + n * correction_of_shared_rows(spec.share))
    return (
        "a / b, both t(0.975, n−1)·s·√(1/n + c), the form of Nadeau and Bengio (2003). a: c = "
        f"n₂/n₁ = rows left out of a subsample / rows kept, as they print it ({first:.2f} times "
        "the interval above). It is meant for splits that are tested on what they leave out; here "
        f"the test rows are fixed. b: c = ρ/(1−ρ) with ρ = {spec.share:g}, the share of its rows "
        f"that a subsample has in common with another ({second:.2f} times). b is right for what "
        "depends on the training rows as a mean does, and too wide where a method's seed decides. "
        "Neither holds another draw of the test rows. Measured coverage: docs/statistics.md."
    )


def corrected_text(cell: Cell, share: float) -> str:
    """Both corrected half-widths; a dash for a cell that is not complete."""
    if cell.interval is None or not cell.complete:
        return MISSING
    corrections = (correction_of_splits(share), correction_of_shared_rows(share))
    widths = [cell.interval.widened(correction) for correction in corrections]
    return " / ".join(
        MISSING if width is None else number(width) if width <= 100 else "> 100" for width in widths
    )


def placebo_sentences(table: Table, placebo: Placebo | None) -> list[str]:
    """What 'reproduced' is worth in this table, by judging every row by every published column."""
    if placebo is None:
        return []
    labels = _labels(table)
    by_worth = {
        worth: [labels[column.method] for column in placebo.columns if column.telling is worth]
        for worth in Telling
    }
    told = (
        "Placebo: judged by its own published column a row is reproduced on "
        f"{number(placebo.own_share)} % of cells, judged by another method's on "
        f"{number(placebo.others_share)} %. A column is not telling where its own row is "
        f"reproduced on a share of tasks that is not {MARGIN:g} points above the mean share of the "
        f"other rows, or where that mean is above {HALF:g} %: 'reproduced' says there that the "
        "accuracies are alike, not that the method is the same."
    )
    found = "; ".join(f"{t.value}: {', '.join(names)}" for t, names in by_worth.items() if names)
    return [f"{told} {found[0].upper()}{found[1:]}."]


PLACEBO_HEAD = (
    "Published column", "cells", "reproduced by its own row", "by other rows, mean",
    "by another, at most", "which", "with undecided ones: by its own row", "by others, mean",
    "the column is",
)  # fmt: skip


def placebo_rows(table: Table, placebo: Placebo) -> list[list[str]]:
    """One row a published column, below :data:`PLACEBO_HEAD`; plain text."""
    labels = _labels(table)
    return [
        [
            labels[column.method],
            str(column.n_cells),
            str(column.own.reproduced),
            number(column.mean_of_others),
            str(most),
            _some([labels[method] for method in best]) if most else MISSING,
            str(column.own.within),
            number(column.mean_of_others_within),
            column.telling.value,
        ]
        for column in placebo.columns
        for most, best in [column.best_of_others]
    ]


def worth(column: PlaceboColumn) -> str:
    """How often other rows pass in a column, in words."""
    return (
        f"other rows reproduce {number(column.mean_of_others)} of these "
        f"{column.n_cells} cells in the mean, {column.best_of_others[0]} at most: "
        f"the column is {column.telling.value}"
    )


def _labels(table: Table) -> dict[str, str]:
    return {method.name: method.label for method in table.spec.rows}


def _some(names: Sequence[str]) -> str:
    """The names, which may hold commas, or the first two and how many more."""
    if len(names) <= 3:
        return " / ".join(names)
    return f"{names[0]} / {names[1]} / {len(names) - 2} more"


def failures(table: Table) -> Iterator[str]:
    """One item for each repetition that is not done."""
    for method in table.spec.rows:
        for task in table.spec.tasks:
            cell = table.cells[task.name, method.name]
            for outcome in cell.unfinished:
                yield (
                    f"{method.label}, {task.label}, repetition {outcome.repetition + 1} "
                    f"(seed {outcome.seed}): {outcome.status}: {_one_line(outcome.error or '')}"
                )
            absent = cell.n_repetitions - cell.n_done - len(cell.unfinished)
            if cell.recorded and absent > 0:
                yield f"{method.label}, {task.label}: {absent} repetitions were never run"


def missing(table: Table) -> Iterator[str]:
    """One item for each method that lacks records, with its tasks."""
    for method in table.spec.rows:
        tasks = [
            task.label
            for task in table.spec.tasks
            if not table.cells[task.name, method.name].recorded
        ]
        if tasks:
            everything = len(tasks) == len(table.spec.tasks) > 1
            yield f"{method.label}: {'all tasks' if everything else ', '.join(tasks)}"


def concerned(table: Table, anomaly: Anomaly) -> str:
    """Which methods and tasks of a table an anomaly concerns, in labels."""
    if anomaly.general:
        return "the whole table"
    parts: dict[str, list[str]] = {}
    for method in table.spec.rows:
        tasks = [
            task.label
            for task in table.spec.tasks
            if table.cells[task.name, method.name].published is not None
            and anomaly.concerns(table.spec.dataset, task.name, method.name)
        ]
        if tasks:
            where = "all tasks" if len(tasks) == len(table.spec.tasks) else ", ".join(tasks)
            parts.setdefault(where, []).append(method.label)
    return "; ".join(f"{', '.join(methods)}: {where}" for where, methods in parts.items())


def _one_line(error: str) -> str:
    """The line that tells most, cut to a length that fits under a table."""
    lines = error.strip().splitlines()
    text = lines[-1] if lines[0].startswith("Traceback") else " ".join(lines)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]} …"
