"""The pages beside the tables: comparisons, claims, and where the numbers come from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pandas as pd

from experiments.analysis.claims import UNCHECKED, claims
from experiments.analysis.comparisons import left_out, rank_correlation
from experiments.analysis.rounding import MISSING, with_ends
from experiments.analysis.table import Table
from experiments.catalogue import method_label
from experiments.reading.markdown import escape, items, page
from experiments.reading.tables import markdown_grid
from experiments.reading.wording import rank_text
from experiments.store.provenance import kernels_line
from experiments.store.records import Record
from experiments.store.text import one_line

if TYPE_CHECKING:
    from experiments.reading.results import Results

SIDES = {"published": "on the paper's numbers", "ours": "on ours", "all": "on ours, all rows"}


def comparison_page(results: Results) -> str:
    """All comparisons as Markdown."""
    parts = [
        "# Comparisons across tasks",
        "[docs/statistics.md](../../docs/statistics.md#across-tasks) explains these numbers: means "
        "and interquartile means (IQM) in percent with bootstrap intervals, ranks and paired tests "
        "against KRDA. The tasks of a data set share their domains, but every test takes them for "
        "independent: its p-values are too small by an unknown amount.",
    ]
    for table in results.tables:
        parts += [f"## {escape(table.plan.title)}", *map(escape, table.notes)]
        parts.append(comparison_of(table, results))
    return page(*parts)


def comparison_of(table: Table, results: Results) -> str:
    """A table's comparisons as Markdown; "" without any."""
    parts = []
    if out := left_out(table.cells):
        reasons = "; ".join(f"{label}: {reason}" for label, reason in out.items())
        parts.append(escape(f"Left out because a cell is not complete: {reasons}."))
    own = results.comparison[results.comparison.table == table.plan.name]
    if len(own):
        tests = results.tests[results.tests.table == table.plan.name].drop(columns="table")
        tests = tests.assign(p=tests.p.map(_p)).round(2).astype(object).fillna(MISSING)
        tests.columns = tests.columns.str.replace("_", " ")
        parts += map(markdown_grid, (comparison_grid(own), tests))
        correlation = rank_text(rank_correlation(own))
        parts.append(
            "Spearman's correlation of the paper's methods' average ranks, ours and printed: "
            f"{correlation}."
            if correlation != MISSING
            else ""
        )
    return page(*parts).strip()


def comparison_grid(own: pd.DataFrame) -> pd.DataFrame:
    """A table's rows of the comparison, a row a method; columns without any value are left out."""
    grid = pd.DataFrame(
        {
            "Method": method_label(row.method),
            "mean": with_ends(row.mean, row.mean_low, row.mean_high),
            "IQM": with_ends(row.iqm, row.iqm_low, row.iqm_high),
            "KRDA minus (IQM)": with_ends(
                row.krda_minus_iqm, row.krda_minus_low, row.krda_minus_high, sign=True
            ),
            "rank": rank_text(row.rank_paper),
            "rank of all": rank_text(row.rank_all),
            "rank in the paper": rank_text(row.rank_published),
            "KRDA's wins/ties/losses": MISSING
            if math.isnan(row.p)
            else f"{row.krda_wins}/{row.ties}/{row.krda_losses}",
            "median difference": with_ends(row.median_difference, math.nan, math.nan, sign=True),
            "p": _p(row.p),
            "p by Holm": _p(row.p_holm),
            "smallest p": _p(row.smallest_p),
        }
        for row in own.itertuples()
    )
    return grid.loc[:, (grid != MISSING).any()]


def _p(value: float) -> str:
    return MISSING if math.isnan(value) else f"{value:.3f}" if value >= 0.001 else f"{value:.0e}"


CLAIMS = (
    "What arXiv:2110.02716 says in words, checked on its printed numbers and on ours by one "
    "criterion, which is this repository's. A claim that sets KRDA beside other methods is judged "
    "twice on ours: among the paper's methods, and among all rows. "
    "[docs/statistics.md](../../docs/statistics.md#claims) says what that can show."
)
"""What is said above the checked claims."""


def claims_page(found: pd.DataFrame, notes: Iterable[str] = ()) -> str:
    """The checked claims as Markdown: a table of verdicts, then each claim with its numbers."""
    rows, quotes = [], {claim.id: claim.quote for claim in claims()}
    for (claim, title), own in found.groupby(["claim", "title"], sort=False):
        said = {row.judged_on: f"{_verdict(row)}: {row.counts}" for row in own.itertuples()}
        verdicts = (said.get(side, MISSING).removesuffix(": ") for side in SIDES)
        rows.append((quotes.pop(claim, ""), title or MISSING, *verdicts))
    parts = [
        "# The paper's claims",
        CLAIMS,
        *map(escape, notes),
        markdown_grid(pd.DataFrame(rows, columns=["Claim", "Data", *SIDES.values()]), 5),
    ]
    for claim in claims():
        criterion = f" Taken to hold if: {claim.criterion}" if claim.criterion else ""
        lines = [
            f"- {escape(', '.join(filter(None, (row.title, SIDES[row.judged_on]))))}: "
            f"**{_verdict(row)}**: {escape(row.numbers)}."
            for row in found[found.claim == claim.id].itertuples()
        ]
        parts += [
            f"## {escape(claim.quote)}",
            escape(f"{claim.where}.{criterion}"),
            "\n".join(lines),
        ]
    return page(*parts)


def _verdict(row: Any) -> str:
    """A verdict; of ours on simulated data, where it says nothing about the paper, marked so."""
    simulated = row.stands_in_for and row.judged_on != "published" and row.verdict != UNCHECKED
    return f"for orientation (simulated): {row.verdict}" if simulated else str(row.verdict)


def provenance_page(records: Iterable[Record]) -> str:
    """What cells ran on and of which code, as Markdown."""
    where = [record.environment for record in records]
    places = Counter(map(_place, where))
    libraries = {f"{name} {version}" for w in where for name, version in w["libraries"].items()}
    return page(
        "# Where the numbers come from",
        "Rendered from the records. The command is `make results`.",
        items(f"{place}: {n} cells" for place, n in sorted(places.items())),
        items(sorted(libraries)),
    )


def _place(where: dict[str, Any]) -> str:
    clean = "as committed" if where["git_clean"] else "with uncommitted changes, or not known"
    return one_line(
        f"{where['cpu']}, {where['cores']} cores, {where['threads']} thread a cell, "
        f"{where['system']} {where['machine']}, Python {where['python']}, {kernels_line(where)}; "
        f"revision {where['git_revision']}, {clean}"
    )
