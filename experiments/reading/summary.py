"""What a reader sees first: a sentence and three answers, all counted from the frames."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from experiments.analysis.cells import KRDA, REFERENCES
from experiments.analysis.rounding import signed
from experiments.analysis.table import Table
from experiments.analysis.verdicts import Verdict
from experiments.published import DATASETS, STAND_INS

JUDGED = (Verdict.REPRODUCED, Verdict.BETTER, Verdict.WORSE, Verdict.UNDECIDED)
REVERSED = "krda_reversed"

Card = tuple[str, str, list[str]]


def in_order(tables: Sequence[Table]) -> list[Table]:
    """Tables with any record: of the paper's data sets in its order, moons first, then others."""

    def place(table: Table) -> int:
        real = STAND_INS.get(table.plan.dataset, table.plan.dataset)
        return DATASETS.index(real) if real in DATASETS else len(DATASETS)

    return sorted((table for table in tables if table.cells.recorded.any()), key=place)


def short(table: Table) -> str:
    """A table's name in a list."""
    name = table.plan.name.capitalize().replace("_sim", ", simulated")
    return name.replace("Hepmass", "HEPMASS")


def leaders(table: Table) -> tuple[str, str]:
    """Who has the highest mean among the paper's methods, and among all; "" without KRDA's."""
    means = table.means["mean"].drop(list(REFERENCES), errors="ignore")
    whole = means[~means.incomplete & (means.n_ours == means.n_tasks)]
    paper = whole[whole.in_paper]
    return (str(paper.ours.idxmax()), str(whole.ours.idxmax())) if KRDA in paper.index else ("", "")


def judged(tables: Sequence[Table]) -> pd.DataFrame:
    """Cells that a published value judges, of all tables."""
    return pd.concat(table.cells[table.cells.verdict.isin(JUDGED)] for table in tables)


def sentence(tables: Sequence[Table]) -> str:
    """The verdict on the paper in one sentence."""
    led = [leaders(table) for table in tables if table.published]
    if not any(first for first, _ in led):
        return "The cells of KRDA are not complete: there is no verdict yet."
    counts = []
    for table, n, judged_cells in _of_krda(tables):
        alike = table.worth.telling.get(KRDA) == "not telling"
        others = " (which other methods reach, too)" if alike else ""
        counts.append(f"{n} of {judged_cells} on {short(table)}{others}")
    among_paper, among_all = (sum(pair[i] == KRDA for pair in led) for i in range(2))
    reproduced = ", ".join(counts) or "none to judge"
    return (
        f"Published accuracies of KRDA that are reproduced: {reproduced}. "
        "It has the highest mean among the paper's methods on "
        f"{among_paper} of {len(led)} data sets, and among all methods, with those that the paper "
        f"does not have, on {among_all or 'none'}."
    )


def cards(tables: Sequence[Table]) -> list[Card]:
    """Answer whether it is reproduced, best, and to be trusted: question, answer, and reasons."""
    return [_reproduced(tables), _best(tables), _trusted(tables)] if tables else []


def _of_krda(tables: Sequence[Table]) -> list[tuple[Table, int, int]]:
    """How many cells of KRDA are reproduced, and judged, in each table that has any."""
    found = [(table, judged([table]).query("method == @KRDA").verdict) for table in tables]
    return [(table, (of == Verdict.REPRODUCED).sum(), len(of)) for table, of in found if len(of)]


def _reproduced(tables: Sequence[Table]) -> Card:
    cells, own = judged(tables), _of_krda(tables)
    because = [f"{short(table)}: {n} of {of} cells of KRDA" for table, n, of in own]
    counts = ", ".join(f"{n} {verdict}" for verdict, n in cells.verdict.value_counts().items())
    because += [f"All methods of the paper: {counts}"] if counts else []
    because += [
        f"{short(table)}: other data than the paper's; not judged"
        for table in tables
        if table.plan.dataset in STAND_INS
    ]
    good = own and all(n == of for _, n, of in own)
    return ("Reproduced?", "Yes, for KRDA" if good else "In part", because)


def _best(tables: Sequence[Table]) -> Card:
    because, everywhere = [], True
    for table in tables:
        first, best = leaders(table)
        everywhere = everywhere and best == KRDA
        if best and (first == best or not table.published):
            because.append(f"{short(table)}: {table.labels[best]}")
        elif first:
            names = f"{table.labels[first]} of the paper's methods, {table.labels[best]} of all"
            because.append(f"{short(table)}: {names}")
    return ("Best?", "Yes" if everywhere else "Not everywhere", because)


def _trusted(tables: Sequence[Table]) -> Card:
    means = {short(table): table.means["mean"].ours.reindex([KRDA, REVERSED]) for table in tables}
    changes = {name: of[REVERSED] - of[KRDA] for name, of in means.items() if of.notna().all()}
    moved = ", ".join(f"{signed(by)} ({name})" for name, by in changes.items())
    suspect = sum(int(table.cells.suspect.sum()) for table in tables)
    because = [f"Points gained with the columns reversed: {moved}"] if moved else []
    because += [f"{suspect} of the published values are suspect"] if suspect else []
    because.append("The intervals are over subsamples of one draw, not over new data")
    matters = "matters" if any(abs(by) > 1 for by in changes.values()) else "matters little"
    return ("To be trusted?", f"The order of columns {matters}", because)
