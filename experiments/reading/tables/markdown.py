"""A table as GitHub Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from experiments.analysis.verdicts import Verdict
from experiments.published import PublishedCell
from experiments.published.anomalies import Anomaly
from experiments.reading.tables import wording
from experiments.reading.tables.grid import N_TEXT, Entry, Grid, corrected_grids, grids
from experiments.reading.tables.model import Lookup, Table, TableSpec, build_table
from experiments.reading.tables.placebo import placebo_of

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~#$&])")


def render_markdown(
    spec: TableSpec,
    lookup: Lookup,
    *,
    values: Mapping[tuple[str, str], PublishedCell] | None = None,
    oddities: tuple[Anomaly, ...] | None = None,
) -> str:
    """Render a table as GitHub Markdown, with all that is to be said of it below.

    Parameters
    ----------
    spec, lookup, values, oddities
        As for :func:`experiments.reading.tables.model.build_table`.

    Returns
    -------
    text : str
        Heading, table, rules of reading, what is not done, distances from the published values,
        counts of verdicts, their placebo, anomalies.
    """
    table = build_table(spec, lookup, values=values, oddities=oddities)
    parts = [f"## {escape(spec.title)}", *(_grid(grid) for grid in grids(table))]
    parts.append(_items(wording.reading(table)))
    for title, items in (
        ("Repetitions that are not done", list(wording.failures(table))),
        ("Missing cells", list(wording.missing(table))),
    ):
        if items:
            parts += [f"**{title}**", _items(items)]
    corrected = corrected_grids(table)
    if corrected:
        parts += [f"**{wording.CORRECTED_TITLE}**", *map(_grid, corrected)]
        parts.append(_items([wording.corrected_note(table)]))
    if table.has_published:
        parts += [
            "**Distance from the published values, suspect ones included**",
            _distances(table),
        ]
        parts += ["**Verdicts**", _verdicts(table)]
    placebo = placebo_of(table)
    if placebo is not None:
        rows = [[escape(text) for text in row] for row in wording.placebo_rows(table, placebo)]
        head = [escape(text) for text in wording.PLACEBO_HEAD]
        parts += ["**Placebo: every row judged by every published column**"]
        parts += [markdown_table(head, rows, 1)]
    if table.anomalies:
        parts += ["**Anomalies of the published values**", _anomalies(table)]
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    """Make text mean itself in Markdown, on one line.

    Parameters
    ----------
    text : str

    Returns
    -------
    escaped : str
    """
    escaped = _SPECIAL.sub(r"\\\1", " ".join(text.split()))
    # At the head of an item these would open a list of their own.
    escaped = re.sub(r"^([-+])(?= )", r"\\\1", escaped)
    return re.sub(r"^(\d+)([.)])(?= )", r"\1\\\2", escaped)


def _grid(grid: Grid) -> str:
    rows = []
    for line in grid.lines:
        if line.above == "ours":
            rows.append([f"*{wording.NOT_IN_PAPER}*", *[""] * (len(grid.head) - 1)])
        rows.append([_entry(entry) for entry in line.entries])
    return markdown_table([escape(text) for text in grid.head], rows, N_TEXT)


def _entry(entry: Entry) -> str:
    text = _strong(escape(entry.text), entry.bold)
    return f"{text}<sup>{entry.marks}</sup>" if entry.marks else text


def _distances(table: Table) -> str:
    n_tasks = len(table.spec.tasks)
    rows = [
        [
            escape(method.label),
            wording.mean_text(summary.absolute, n_tasks),
            wording.mean_text(summary.difference, n_tasks, sign=True),
        ]
        for method in table.spec.rows
        if method.published
        for summary in [table.summaries[method.name]]
    ]
    return markdown_table(["Method", "mean absolute difference", "mean difference"], rows, 1)


def _verdicts(table: Table) -> str:
    methods = [method for method in table.spec.rows if method.published]
    total: Counter[Verdict] = Counter()
    for method in methods:
        total.update(table.summaries[method.name].verdicts)
    shown = [verdict for verdict in Verdict if total[verdict]]
    rows = [
        [escape(method.label), *(str(table.summaries[method.name].verdicts[v]) for v in shown)]
        for method in methods
    ]
    rows.append(["all", *(str(total[verdict]) for verdict in shown)])
    return markdown_table(["Method", *(verdict.value for verdict in shown)], rows, 1)


def _anomalies(table: Table) -> str:
    items = []
    for anomaly in table.anomalies:
        letter = table.marks.get(anomaly.id)
        mark = "" if letter is None else f"<sup>{letter}</sup> "
        about = escape(wording.concerned(table, anomaly))
        items.append(
            f"- {mark}`{anomaly.id}` ({anomaly.kind}; {about}): {escape(anomaly.statement)} "
            f"Evidence: {escape(anomaly.evidence)}"
        )
    return "\n".join(items)


def _strong(text: str, bold: bool) -> str:
    return f"**{text}**" if bold else text


def _items(lines: list[str]) -> str:
    return "\n".join(f"- {escape(line)}" for line in lines)


def markdown_table(head: list[str], rows: list[list[str]], n_text: int) -> str:
    """A Markdown table whose first ``n_text`` columns are flush left, the others flush right."""
    rules = [":--" if column < n_text else "--:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rules, *rows))
