"""Tables in all formats: Markdown, LaTeX with booktabs, and the frames of CSV files.

:func:`sections` lays a table out once, as grids and lists of sentences; each format writes those.
The wide table has methods in rows, three lines a method, and tasks in columns. The paper's own two
tables (``part``) have tasks in rows and methods in columns, as the paper prints them.
"""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import pandas as pd

from experiments.analysis.rounding import number
from experiments.analysis.table import Table
from experiments.analysis.verdicts import Verdict
from experiments.reading import markdown, wording

MOST_COLUMNS = 12
"""Tasks that fit beside each other on a page."""

PLACEBO = "Placebo: every row judged by every published column"
PLACEBO_HEAD = (
    "Published column", "cells", "reproduced by its own row", "by other rows, mean",
    "by another, at most", "the column is",
)  # fmt: skip


class Entry(NamedTuple):
    """One place of a grid: plain text, bold print, letters set as a superscript."""

    text: str
    bold: bool = False
    marks: str = ""


class Grid(NamedTuple):
    """Lines of equal length below a head; ``rules`` are the lines with a rule above."""

    head: Sequence[str]
    lines: Sequence[Sequence[Entry]]
    n_text: int = 1
    rules: frozenset[int] = frozenset()


class Section(NamedTuple):
    """A part of a table's page: a title, a grid and sentences, each of which may be empty."""

    title: str
    grid: Grid | None = None
    items: Sequence[str] = ()
    marks: Sequence[str] = ()


def plain(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Grid:
    """A grid of plain texts."""
    return Grid(head, [[Entry(str(text)) for text in row] for row in rows])


def _entries(table: Table) -> dict[tuple[str, str], list[Entry]]:
    """Entries of each (method, column): ours, the paper's, and the difference."""
    found = {}
    for cell in table.cells.itertuples():
        found[cell.method, cell.task_label] = [
            Entry(wording.ours_text(cell), cell.bold),
            Entry(wording.published_text(cell), cell.published_bold, table.marks(cell.anomalies)),
            Entry(wording.difference_text(cell)),
        ]
    for label, means in table.means.items():
        for row in means.itertuples():
            kinds = ("ours", "published", "difference")
            found[row.Index, label] = [Entry(wording.mean_text(row, kind)) for kind in kinds]
    return found


def main_grids(table: Table) -> list[Grid]:
    """The table itself: one grid, or one for each block of tasks that fit beside each other."""
    tasks, means, entries = table.cells.task_label.unique(), list(table.means), _entries(table)
    if not table.part:
        *blocks, last = _blocks(list(tasks))
        return [_by_method(table, block, entries) for block in (*blocks, last + means)]
    kinds = ["ours", "paper", "difference"][: 3 if table.published else 1]
    lines = [
        [Entry("" if i else column), Entry(kind), *(entries[m, column][i] for m in table.labels)]
        for column in (*tasks, *means)
        for i, kind in enumerate(kinds)
    ]
    rules = frozenset(range(0, len(lines), len(kinds)))
    return [Grid(["Task", "", *table.labels.values()], lines, 2, rules)]


def _blocks(tasks: list[str]) -> list[list[str]]:
    n = math.ceil(len(tasks) / MOST_COLUMNS)
    ends = [round(len(tasks) * i / n) for i in range(n + 1)]
    return [tasks[start:end] for start, end in itertools.pairwise(ends)]


def _by_method(
    table: Table, columns: list[str], entries: dict[tuple[str, str], list[Entry]]
) -> Grid:
    lines: list[list[Entry]] = []
    rules = {0}
    in_paper = set(table.cells.method[table.cells.in_paper])
    for method, label in table.labels.items():
        kinds = ["ours", "paper", "difference"] if table.published else ["ours"]
        if method in in_paper and table.published:
            rules.add(len(lines))
        elif table.published:
            kinds = ["ours"]
            heading = [Entry(wording.NOT_IN_PAPER), *[Entry("")] * (1 + len(columns))]
            if heading not in lines:
                rules.add(len(lines))
                lines.append(heading)
        for i, kind in enumerate(kinds):
            own = [entries[method, column][i] for column in columns]
            lines.append([Entry("" if i else label), Entry(kind), *own])
    return Grid(["Method", "", *columns], lines, 2, frozenset(rules))


def sections(table: Table) -> Iterator[Section]:
    """Everything below the table itself, in the order of the page."""
    cells, labels = table.cells, table.labels
    yield Section("", items=wording.reading(table))
    yield Section("Repetitions that are not done", items=list(wording.failures(table)))
    yield Section("Missing cells", items=list(wording.missing(table)))
    methods = cells.method[cells.complete].unique()
    if len(methods):
        texts = {(c.method, c.task_label): wording.corrected_text(c) for c in cells.itertuples()}
        *blocks, last = _blocks(list(cells.task_label.unique()))
        title = wording.CORRECTED_TITLE
        for block in (*blocks, last):
            rows = [[labels[m], *(texts[m, task] for task in block)] for m in methods]
            notes = [wording.corrected_note(table)] if block is last else []
            yield Section(title, plain(["Method", *block], rows), notes)
            title = ""
    if table.published:
        yield Section("Distance from the published values, suspect ones included", distances(table))
        yield Section("Verdicts", _verdicts(cells[cells.in_paper]))
    if len(table.placebo):
        yield Section(PLACEBO, plain(PLACEBO_HEAD, placebo_rows(table)))
    if table.anomalies:
        texts_ = [
            f"{odd.id} ({odd.kind}; {wording.concerned(table, odd)}): {odd.statement} Evidence: "
            f"{odd.evidence}"
            for odd, _ in table.anomalies
        ]
        marks = [mark for _, mark in table.anomalies]
        yield Section("Anomalies of the published values", items=texts_, marks=marks)


def distances(table: Table) -> Grid:
    """How far ours are from the published values, by method."""
    means = table.means["mean"]
    rows = [
        [row.label, *(wording.mean_text(row, what) for what in ("absolute", "difference"))]
        for row in means[means.in_paper].itertuples()
    ]
    return plain(["Method", "mean absolute difference", "mean difference"], rows)


def _verdicts(cells: pd.DataFrame) -> Grid:
    counts = pd.crosstab(cells.label, cells.verdict).loc[cells.label.unique()]
    counts.loc["all"] = counts.sum()
    shown = [str(verdict) for verdict in Verdict if verdict in counts]
    return plain(["Method", *shown], counts[shown].itertuples(name=None))


def placebo_rows(table: Table) -> list[list[str]]:
    """One row a published column, below :data:`PLACEBO_HEAD`."""
    labels = table.labels
    return [
        [
            labels[column.Index],
            str(column.cells),
            str(column.own),
            number(column.others),
            str(column.most),
            column.telling,
        ]
        for column in table.worth.itertuples()
    ]


def to_markdown(table: Table) -> str:
    """A table as GitHub Markdown, with everything that is said of it below."""
    parts = [f"## {markdown.escape(table.title)}", *map(markdown_grid, main_grids(table))]
    for section in sections(table):
        marks = section.marks or [""] * len(section.items)
        lines = [
            f"- {f'<sup>{mark}</sup> ' if mark else ''}{markdown.escape(item)}"
            for mark, item in zip(marks, section.items, strict=True)
        ]
        if section.grid or lines:
            parts.append(f"**{section.title}**" if section.title else "")
            parts.append(markdown_grid(section.grid) if section.grid else "")
            parts.append("\n".join(lines))
    return markdown.page(*parts)


def markdown_grid(grid: Grid) -> str:
    """A grid as a Markdown table."""

    def entry(place: Entry) -> str:
        text = markdown.escape(place.text)
        text = f"**{text}**" if place.bold else text
        return f"{text}<sup>{place.marks}</sup>" if place.marks else text

    rows = [[entry(place) for place in line] for line in grid.lines]
    return markdown.grid([markdown.escape(text) for text in grid.head], rows, grid.n_text)


_CHARACTERS = {
    # Brackets in braces: at the head of a row or an item they would be an optional argument.
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$",
    "#": r"\#", "_": r"\_", "~": r"$\sim$", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "[": "{[}", "]": "{]}", "`": r"\textasciigrave{}", "'": r"\textquotesingle{}",
    "–": "–", "…": r"\dots{}", "°": r"\textdegree{}", "†": r"\textdagger{}", "±": r"$\pm$",
    "−": "$-$", "≤": r"$\leq$", "√": r"$\surd$", "·": r"$\cdot$", "²": r"\textsuperscript{2}",
    "Σ": r"$\Sigma$", "→": r"$\rightarrow$", "↑": r"$\uparrow$", "↓": r"$\downarrow$",
}  # fmt: skip

_FRAME = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[a3paper, %s, margin=15mm]{geometry}
\usepackage{booktabs}
\usepackage{graphicx}
\usepackage{textcomp}
\pagestyle{empty}
\begin{document}
%s
\end{document}
"""


def to_latex(table: Table) -> str:
    r"""A table as a LaTeX document with booktabs: each table float can be copied into another.

    Below the table: the distances, repetitions that are not done, missing cells, suspect values.
    """
    title = table.title
    first, *others = main_grids(table)
    body = _float(first, " ".join([f"{title}.", *wording.caption(table)]))
    for grid in others:
        body += _float(grid, f"{title}, continued: the other tasks.")
    if table.published:
        about = f"{title}: distance from the published values, suspect ones included."
        body += _float(distances(table), about)
    suspect = [f"{m}: {a.statement} {a.evidence}" for a, m in table.anomalies if m]
    for head, items in (
        ("Repetitions that are not done", list(wording.failures(table))),
        ("Missing cells", list(wording.missing(table))),
        ("Suspect published values", suspect),
    ):
        if items:
            body += [rf"\noindent {head}:", r"\begin{itemize}"]
            body += [*(rf"\item {latex_escape(item)}" for item in items), r"\end{itemize}"]
    return _FRAME % ("portrait" if table.part else "landscape", "\n".join(body))


def latex_escape(text: str) -> str:
    """Make text mean itself in LaTeX; what the standard fonts lack becomes a question mark."""
    escaped = "".join(_latex_character(character) for character in " ".join(text.split()))
    # Two hyphens would become a dash; a dash of the text's own was written as such on purpose.
    return re.sub(r"-(?=-)", "-{}", escaped).replace("–", "--")


def _latex_character(character: str) -> str:
    latin = "À" <= character <= "ÿ" and unicodedata.category(character).startswith("L")
    known = " " <= character <= "~" or latin
    return _CHARACTERS.get(character, character if known else "?")


def _float(grid: Grid, caption: str) -> list[str]:
    def entry(place: Entry) -> str:
        text = latex_escape(place.text)
        # \boldmath reaches the plus-minus sign, which \textbf alone does not.
        text = rf"\textbf{{\boldmath {text}}}" if place.bold else text
        return rf"{text}\textsuperscript{{{place.marks}}}" if place.marks else text

    rows = [" & ".join(entry(place) for place in line) + r" \\" for line in grid.lines]
    return [
        r"\begin{table}[!ht]",
        r"\centering",
        rf"\caption{{{latex_escape(caption)}}}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{'l' * grid.n_text}{'r' * (len(grid.head) - grid.n_text)}}}",
        r"\toprule",
        " & ".join(latex_escape(text) for text in grid.head) + r" \\",
        *(rf"\midrule{chr(10)}{row}" if i in grid.rules or not i else row
          for i, row in enumerate(rows)),
        r"\bottomrule",
        r"\end{tabular}}",
        r"\end{table}",
    ]  # fmt: skip


def public(frame: pd.DataFrame, significant: int | None = None) -> pd.DataFrame:
    """A frame as it is written: true and false, no negative zero, perhaps fewer digits.

    The last digits of a float may depend on the processor.
    """
    out = frame.copy()
    for column in out:
        if out[column].dtype == bool:
            out[column] = out[column].map({True: "true", False: "false"})
        elif out[column].dtype == float and significant:
            out[column] = [float(f"{value:.{significant}g}") + 0.0 for value in out[column]]
        elif out[column].dtype == float:
            out[column] += 0.0
    return out
