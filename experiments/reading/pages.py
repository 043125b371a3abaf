"""The pages beside the tables: comparisons, claims, and where the numbers come from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from experiments.analysis.cells import KRDA, kept_label
from experiments.analysis.claims import Claim, claims
from experiments.analysis.comparisons import ALPHA, N_BOOTSTRAP, left_out, rank_correlation
from experiments.analysis.rounding import MISSING, between, signed
from experiments.analysis.table import Table
from experiments.catalogue import method_label
from experiments.published import STAND_INS
from experiments.reading.glossary import methods_glossary
from experiments.reading.markdown import escape, grid, items, page
from experiments.store.provenance import kernels_line
from experiments.store.records import Record
from experiments.store.text import one_line

if TYPE_CHECKING:
    from experiments.reading.results import Results

WARNING = (
    "The tasks of a data set share their domains, so they are no independent sample, but every "
    "test below takes them for one: its p-values are too small by an unknown amount."
)
READING = (
    "Target only is left out: it learns from target labels. Source only competes.",
    "mean: of all accuracies over tasks and repetitions, in percent; IQM: of their middle half. In "
    "brackets the ends of the 95 % percentile interval of a bootstrap that resamples repetitions "
    f"within tasks ({N_BOOTSTRAP} times, fixed seed; Agarwal et al., 2021), widened by √(n/(n−1)) "
    "for n repetitions: resampling takes s² with divisor n. For the mean that is exact in "
    "variance, for the IQM approximate.",
    "mean, 10° to 80° (moons): without 90°, where a symmetry decides (docs/statistics.md).",
    "KRDA minus (IQM): KRDA's IQM minus the row's, with its interval from the same resamples. It "
    "is no difference of the means; if two methods are close it can have the other sign.",
    "Rank: mean over the tasks, 1 is best, ties share their mean; among the paper's methods, among "
    "all rows, and by the paper's printed means.",
    "KRDA's wins/ties/losses and the Wilcoxon signed-rank test are over the tasks' means, "
    "two-sided; p by Holm is over all methods of the table. The smallest p is what winning or "
    "losing every task that is no tie would give.",
)
"""How to read a comparison."""
AMONG = {"ours": "among the paper's methods", "all": "among all rows"}
CLAIMS_HEAD = (
    "Claim", "Data", "on the paper's numbers", *(f"on ours, {where}" for where in AMONG.values()),
)  # fmt: skip
SECONDS = (
    "Median and largest wall-clock seconds of a fit, over the tasks and repetitions of a table. "
    "The largest is often a process's first fit, which loads libraries."
)


def comparison_page(results: Results) -> str:
    """All comparisons as Markdown."""
    compared = results.comparison.method.unique() if len(results.comparison) else []
    meanings = methods_glossary(compared)
    parts = [
        "# Comparisons across tasks",
        "Rendered from the records. What these numbers can and cannot show is said in "
        f"[docs/statistics.md](../../docs/statistics.md). {WARNING}",
        items([*READING, *([meanings] if meanings else [])]),
    ]
    for table in results.tables:
        parts += [f"## {escape(table.title)}", *map(escape, remarks(table))]
        head, rows = comparison_rows(table, results.comparison)
        if rows:
            parts.append(grid(head, [[escape(row[0]), *row[1:]] for row in rows]))
            parts.append(items(rank_sentences(table, results)))
    return page(*parts)


def remarks(table: Table) -> list[str]:
    """What a reader must know before a comparison: simulated rows, notes, what is left out."""
    found = []
    if table.plan.dataset in STAND_INS:
        found.append(
            f"The rows are simulated: ranks of the paper's values for "
            f"{STAND_INS[table.plan.dataset]} are shown for orientation."
        )
    found += table.notes
    out = left_out(table.cells)
    if out:
        reasons = "; ".join(f"{label}: {reason}" for label, reason in out.items())
        found.append(f"Left out because a cell is not complete: {reasons}.")
    return found


def comparison_rows(table: Table, comparison: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a comparison, a row a method, its label first."""
    own = comparison[comparison.table == table.name] if len(comparison) else comparison
    kept = len(own) > 0 and own.kept_mean.notna().any()
    rows = []
    for row in own.itertuples():
        means = [between(row.mean, row.mean_low, row.mean_high)]
        if kept:
            means.append(between(row.kept_mean, row.kept_low, row.kept_high))
        ranks = (row.rank_paper, row.rank_all, row.rank_published)
        tests = [MISSING] * 5
        if not math.isnan(row.p):
            counts = f"{row.krda_wins:.0f}/{row.ties:.0f}/{row.krda_losses:.0f}"
            tests = [counts, signed(row.median_difference)]
            tests += map(_p, (row.p, row.p_holm, row.smallest_p))
        rows.append(
            [
                method_label(row.method),
                *means,
                between(row.iqm, row.iqm_low, row.iqm_high),
                between(row.krda_minus_iqm, row.krda_minus_low, row.krda_minus_high, sign=True),
                *(MISSING if math.isnan(rank) else f"{rank:.2f}" for rank in ranks),
                *tests,
            ]
        )
    head = [
        "Method", "mean", *([kept_label(table.cells)] if kept else []), "IQM", "KRDA minus (IQM)",
        "rank", "rank of all", "rank in the paper", "KRDA's wins/ties/losses", "median difference",
        "p", "p by Holm", "smallest p",
    ]  # fmt: skip
    return head, rows


def rank_sentences(table: Table, results: Results) -> list[str]:
    """Friedman's and Nemenyi's tests and the correlation of ranks, a sentence or two each."""
    found = []
    frames = results.comparison, results.tests, results.pairs
    own, tests, pairs = (frame[frame.table == table.name] for frame in frames)
    own = own.set_index("method")
    for test in tests.itertuples():
        family = "the paper's methods" if test.family == "paper" else "all rows"
        printed = test.numbers == "published"
        whose = f"the paper's printed means, {family}" if printed else f"ours, {family}"
        if math.isnan(test.p):
            found.append(f"{whose}: too few methods or tasks for Friedman's test.")
            continue
        mine = pairs[(pairs.numbers == test.numbers) & (pairs.family == test.family)]
        ranks = own.rank_published if printed else own[f"rank_{test.family}"]
        found.append(
            f"{whose}: Friedman χ²({test.n_methods - 1}) = {test.friedman:.1f} over "
            f"{test.n_tasks} tasks, p = {_p(test.p)}; Nemenyi's critical difference at 0.05: "
            f"{test.critical_difference:.2f} ranks. {_unlike_krda(mine, ranks, table.labels)}"
        )
    correlation = rank_correlation(own)
    if not math.isnan(correlation):
        found.append(
            "Spearman's correlation of the paper's methods' average ranks, ours and printed: "
            f"{correlation:.2f}."
        )
    return found


def _unlike_krda(pairs: pd.DataFrame, ranks: pd.Series, labels: dict[str, str]) -> str:
    """Which methods differ from KRDA by Nemenyi's test."""
    if KRDA not in ranks.index:
        return ""
    methods = pairs.loc[pairs.nemenyi_p < ALPHA, ["first", "second"]]
    others = set(methods[(methods == KRDA).any(axis=1)].to_numpy().ravel()) - {KRDA}
    sides = {
        side: [labels[m] for m in ranks.index if m in others and (ranks[m] > ranks[KRDA]) == worse]
        for side, worse in (("below", True), ("above", False))
    }
    said = [f"ranked {side} KRDA: {' / '.join(found)}" for side, found in sides.items() if found]
    return f"Beyond it: {'; '.join(said)}." if said else "No method differs from KRDA beyond it."


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else f"{value:.0e}"


def claims_page(found: pd.DataFrame, notes: Iterable[str] = ()) -> str:
    """The checked claims as Markdown: a table of verdicts, then each claim with its numbers."""
    rows = [[f"`{row[0]}`", *map(escape, row[1:])] for row in claim_rows(found)]
    parts = [
        "# The paper's claims",
        "What arXiv:2110.02716 says in words, checked by one criterion on its printed numbers and "
        "on ours. The paper states no criteria: these are the repository's, and the numbers are "
        "there for whoever prefers another. A claim that sets KRDA beside other methods is judged "
        f"twice on ours: {AMONG['ours']}, as the paper does, and {AMONG['all']}, with those that "
        "the paper does not have, variants of KRDA included. Intervals are the printed ones and "
        "ours, see [docs/statistics.md](../../docs/statistics.md) for what they can show. 'Best or "
        "tied', which the paper counts by, favours what varies: a wide interval ties with almost "
        "anything. [comparison.md](comparison.md) has means and ranks.",
        *map(escape, notes),
        grid(CLAIMS_HEAD, rows, 5),
    ]
    for claim in claims():
        criterion = f" Taken to hold if: {claim.criterion}" if claim.criterion else ""
        lines = [
            f"- {escape(about)}: **{verdict}**. {escape(numbers)}"
            for about, verdict, numbers in judgements(claim, found)
        ]
        parts += [
            f"## {claim.id}",
            f"> {escape(claim.quote)}",
            escape(f"{claim.where}.{criterion}"),
            "\n".join(lines),
        ]
    return page(*parts)


def claim_rows(found: pd.DataFrame) -> list[list[str]]:
    """One row a claim and data set, below :data:`CLAIMS_HEAD`: verdicts with counts."""
    rows = []
    for (claim, title), own in found.groupby(["claim", "title"], sort=False):
        said = {
            row.judged_on: _marked(row, ": ".join(filter(None, (row.verdict, row.counts))))
            for row in own.itertuples()
        }
        verdicts = [said.get(side, MISSING) for side in ("published", "ours", "all")]
        rows.append([claim, title or MISSING, *verdicts])
    return rows


def judgements(claim: Claim, found: pd.DataFrame) -> list[tuple[str, str, str]]:
    """About what, verdict and numbers of each judgement of a claim."""
    own = found[found.claim == claim.id]
    if not claim.judge:
        return [("paper and ours", own.verdict.iloc[0], _sentence(claim.why_not))]
    twice = set(own.title[own.judged_on == "all"])
    return [
        (_about(row, row.title in twice), _marked(row, row.verdict), _sentence(row.numbers))
        for row in own.itertuples()
    ]


def _about(row: Any, twice: bool) -> str:
    if row.judged_on == "published":
        real = f", on the real {row.stands_in_for}" if row.stands_in_for else ""
        return f"{row.title}, paper{real}"
    return f"{row.title}, ours{f', {AMONG[row.judged_on]}' if twice else ''}"


def _marked(row: Any, verdict: str) -> str:
    """Mark a verdict of ours on simulated data, where it says nothing about the paper."""
    simulated = row.stands_in_for and row.judged_on != "published"
    checked = row.verdict != "cannot be checked"
    return f"for orientation (simulated): {verdict}" if simulated and checked else verdict


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def origins(records: Iterable[Record]) -> pd.DataFrame:
    """What cells ran on and of which code: ``kind``, ``text`` and number of ``cells``, sorted.

    A cell whose repetitions ran in different places counts in each of them; of libraries only the
    versions are listed.
    """
    rows: set[tuple[str, str, int]] = set()
    for cell, record in enumerate(records):
        for where in (record.environment,):
            place = one_line(
                f"{where['cpu']}, {where['cores']} cores, {where['threads']} thread a cell, "
                f"{where['system']} {where['machine']}, Python {where['python']}, "
                f"{kernels_line(where)}"
            )
            code = _revision(where["git_revision"], where["git_clean"])
            rows |= {("machine", place, cell), ("code", code, cell)}
            rows |= {("library", f"{k} {v}", cell) for k, v in where["libraries"].items()}
    found = pd.DataFrame(sorted(rows), columns=["kind", "text", "cell"])
    return found.groupby(["kind", "text"], as_index=False).agg(cells=("cell", "size"))


def _revision(revision: str | None, clean: bool | None) -> str:
    if revision is None:
        return "revision unknown, because git reported no checkout"
    states: dict[bool | None, str] = {True: "as committed", False: "with uncommitted changes"}
    return f"revision {revision}, {states.get(clean, 'not known whether as committed')}"


def seconds_rows(seconds: pd.DataFrame, tables: Sequence[str]) -> list[list[str]]:
    """Label, then median and largest seconds of a fit on each table, a row a method."""
    columns = [(what, name) for name in tables for what in ("median", "max")]
    found = seconds.reindex(columns=columns)
    return [
        [method_label(method), *(MISSING if math.isnan(s) else f"{s:.3f}" for s in row)]
        for method, row in zip(found.index, found.to_numpy(), strict=True)
    ]


def provenance_page(origin: pd.DataFrame, seconds: pd.DataFrame, tables: Sequence[str]) -> str:
    """Where the tables' numbers come from, and what they cost, as Markdown."""
    lines = [
        f"{one_line(row.text)}{'' if row.kind == 'library' else f': {row.cells} cells'}"
        for kind in ("machine", "code", "library")
        for row in origin[origin.kind == kind].itertuples()
    ]
    head = ["Method", *(f"{name}: {what}" for name in tables for what in ("median", "largest"))]
    rows = [[escape(row[0]), *row[1:]] for row in seconds_rows(seconds, tables)]
    return page(
        "# Where the numbers come from",
        "Rendered from the records. The command is `make results`.",
        items(lines),
        "## Seconds per fit",
        SECONDS,
        grid(head, rows),
    )
