"""Tables as Markdown, as LaTeX with booktabs, and as the frames of CSV files.

A table has methods in rows, three lines a method, and tasks in columns. The paper's own two tables
have tasks in rows and methods in columns, as the paper prints them. Both formats write the same
grids of plain texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from experiments.analysis.comparisons import average_ranks, task_means
from experiments.analysis.rounding import number
from experiments.analysis.table import Table
from experiments.analysis.verdicts import HALF, MARGIN
from experiments.reading import markdown, wording

MOST_COLUMNS = 12
"""Tasks that fit beside each other on a page."""
KINDS = ("ours", "paper", "difference")


def _texts(table: Table) -> pd.Series:
    """What is shown, by (method's label, kind, column); ours alone if the paper has no value."""
    found = {}
    paper = set(table.cells.method[table.cells.in_paper]) if table.published else set()

    def put(method: str, column: str, *texts: str) -> None:
        for kind, text in zip(KINDS if method in paper else KINDS[:1], texts, strict=False):
            found[table.labels[method], kind, column] = text

    for cell in table.cells.itertuples():
        ours = wording.ours_text(cell)
        published = wording.published_text(cell, table.marks(cell.anomalies))
        put(
            cell.method,
            cell.task_label,
            f"**{ours}**" if cell.bold else ours,
            f"**{published}**" if cell.published_bold else published,
            wording.difference_text(cell),
        )
    for label, means in table.means.items():
        for row in means.itertuples():
            whats = ("ours", "published", "difference")
            put(row.Index, label, *(wording.mean_text(row, what) for what in whats))
    return pd.Series(found)


def main_grids(table: Table) -> list[pd.DataFrame]:
    """The table itself: one grid, or one for each block of tasks that fit beside each other."""
    texts = _texts(table)
    if table.plan.part:
        return [_grid("Task", texts.unstack(0, sort=False).swaplevel())]
    wide, tasks = texts.unstack(sort=False), list(table.cells.task_label.unique())
    outside = ~wide.index.get_level_values(0).isin(table.cells.label[table.cells.in_paper])
    if table.published and outside.any():
        place = pd.MultiIndex.from_tuples([(wording.NOT_IN_PAPER, "")])
        heading = pd.DataFrame("", place, wide.columns)
        wide = pd.concat([wide[~outside], heading, wide[outside]])
    blocks = [list(b) for b in np.array_split(tasks, math.ceil(len(tasks) / MOST_COLUMNS))]
    blocks[-1] += list(table.means)
    return [_grid("Method", wide[block]) for block in blocks]


def _grid(head: str, texts: pd.DataFrame) -> pd.DataFrame:
    names, kinds = (texts.index.get_level_values(level) for level in (0, 1))
    grid = texts.reset_index(drop=True)
    grid.insert(0, "", kinds)
    grid.insert(0, head, names.where(~names.duplicated(), ""))
    return grid


def sections(table: Table) -> Iterator[tuple[str, pd.DataFrame | list[str]]]:
    """Everything below the table itself: titles, which may be empty, with a grid or sentences."""
    yield "", wording.caption(table)
    yield "Methods and tasks", wording.glossary(table)
    yield "Repetitions that are not done", list(wording.failures(table))
    if table.published:
        yield "Distances from the published values, and verdicts", _distances(table)
    else:
        yield "Means over the tasks, and mean ranks", _two_measures(table)
        yield "", [wording.BALANCED]
        for part, grid in enumerate(_balanced_grids(table)):
            yield "" if part else "Balanced accuracy", grid
    if len(table.placebo):
        yield (
            "Placebo: cells of each published column that its own row and other rows reproduce",
            _placebo(table),
        )
        telling = (
            "It says what 'reproduced' is worth. A column is telling if its own row reproduces a "
            f"share of it that is at least {MARGIN:g} points above the mean share of the other "
            f"rows, and that mean is at most {HALF:g} %. Else 'reproduced' says that the "
            "accuracies are close, and no more."
        )
        yield "", [telling]
    odds = [
        f"{f'({mark}) ' if mark else ''}{odd.id} ({odd.kind}): {odd.statement} Evidence: "
        f"{odd.evidence}"
        for odd, mark in table.anomalies
    ]
    yield "Anomalies of the published values", odds


def _distances(table: Table) -> pd.DataFrame:
    cells, means = table.cells[table.cells.in_paper], table.means["mean"]
    counts = pd.crosstab(cells.method, cells.verdict)
    grid = pd.DataFrame(
        {
            "Method": row.label,
            "mean absolute difference": wording.mean_text(row, "absolute"),
            "mean difference": wording.mean_text(row, "difference"),
            **counts.loc[row.Index],
        }
        for row in means[means.in_paper].itertuples()
    )
    grid.loc["all"] = ["all", "", "", *counts.sum()]
    return grid


def _two_measures(table: Table) -> pd.DataFrame:
    cells, means = table.cells, table.means["mean"]
    balanced = cells.groupby("method").balanced.mean()
    ranks = {of: average_ranks(task_means(cells, of)) for of in ("mean", "balanced")}
    return pd.DataFrame(
        {
            "Method": row.label,
            "accuracy": wording.mean_text(row, "ours"),
            "rank": wording.rank_text(ranks["mean"].get(row.Index, math.nan)),
            "balanced accuracy": number(math.nan if row.incomplete else balanced[row.Index]),
            "rank by it": wording.rank_text(ranks["balanced"].get(row.Index, math.nan)),
        }
        for row in means.itertuples()
    )


def _balanced_grids(table: Table) -> list[pd.DataFrame]:
    cells = table.cells
    texts = cells.assign(text=cells.balanced.map(number)).pivot(
        index="label", columns="task_label", values="text"
    )
    texts = texts.reindex(cells.label.unique()).rename_axis(index="Method", columns=None)
    tasks = cells.task_label.unique()
    blocks = np.array_split(tasks, math.ceil(len(tasks) / MOST_COLUMNS))
    return [texts[list(block)].reset_index() for block in blocks]


def _placebo(table: Table) -> pd.DataFrame:
    heads = {
        "published_column": "Published column", "cells": "cells", "own": "its own row",
        "others": "other rows, mean", "most": "another row, at most", "telling": "the column is",
    }  # fmt: skip
    worth = table.worth.assign(others=table.worth.others.map(number))
    return worth.rename(index=table.labels).reset_index()[list(heads)].rename(columns=heads)


def _set(text: object, escape: Callable[[str], str], bold: str) -> str:
    """A text of a grid in a format; ``**`` around it makes it bold."""
    text = str(text)
    return bold % escape(text[2:-2]) if text.startswith("**") else escape(text)


def markdown_grid(grid: pd.DataFrame, n_words: int = 1) -> str:
    """Plain texts as a Markdown table; the first ``n_words`` columns are flush left."""
    rows = [
        [_set(text, markdown.escape, "**%s**") for text in row]
        for row in grid.itertuples(index=False, name=None)
    ]
    return markdown.grid([markdown.escape(text) for text in grid], rows, n_words)


def to_markdown(table: Table) -> str:
    """A table as GitHub Markdown, with everything that is said of it below."""
    parts = [f"## {markdown.escape(table.plan.title)}"]
    parts += [markdown_grid(grid, 2) for grid in main_grids(table)]
    return markdown.page(*parts, details_page(table))


def details_page(table: Table) -> str:
    """Everything that is said below a table."""
    parts = []
    for title, content in sections(table):
        if len(content):
            parts.append(f"**{title}**" if title else "")
            listed = isinstance(content, list)
            parts.append(markdown.items(content) if listed else markdown_grid(content))
    return markdown.page(*parts).rstrip("\n")


_LATEX = str.maketrans(
    {
        # Brackets in braces: at the head of a row they would be an optional argument.
        "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$",
        "#": r"\#", "_": r"\_", "~": r"$\sim$", "^": r"\textasciicircum{}",
        "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
        "[": "{[}", "]": "{]}", "`": r"\textasciigrave{}", "'": r"\textquotesingle{}",
        "°": r"\textdegree{}", "†": r"\textdagger{}", "±": r"$\pm$", "−": "$-$", "≤": r"$\leq$",
        "√": r"$\surd$", "·": r"$\cdot$", "²": r"\textsuperscript{2}", "↑": r"$\uparrow$",
        "↓": r"$\downarrow$",
    }
)  # fmt: skip

_FLOAT = r"""\begin{table}[!ht]
\centering
\caption{%s}
\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%%
\begin{tabular}{%s}
\toprule
%s
\bottomrule
\end{tabular}}
\end{table}"""


def to_latex(table: Table) -> str:
    """A table as floats for a LaTeX document that uses booktabs, graphicx and textcomp."""
    suspect = [f"({mark}) {odd.statement}" for odd, mark in table.anomalies if mark]
    about = " ".join([f"{table.plan.title}.", *wording.caption(table), *suspect])
    floats = []
    for grid in main_grids(table):
        floats.append(_float(grid, about))
        about = f"{table.plan.title}, continued: the other tasks."
    return "\n".join(floats) + "\n"


def latex_escape(text: str) -> str:
    """Make text mean itself in LaTeX."""
    # Two hyphens would become a dash.
    return re.sub("-(?=-)", "-{}", " ".join(text.split()).translate(_LATEX))


def _float(grid: pd.DataFrame, caption: str) -> str:
    lines = [" & ".join(map(latex_escape, grid)) + r" \\"]
    above = ""
    for row in grid.itertuples(index=False, name=None):
        # A rule above what has several lines, and below it.
        if row[0] and not above:
            lines.append(r"\midrule")
        # \boldmath reaches the plus-minus sign, which \textbf alone does not.
        texts = (_set(text, latex_escape, r"\textbf{\boldmath %s}") for text in row)
        lines.append(" & ".join(texts) + r" \\")
        above = row[0]
    columns = "ll" + "r" * (len(grid.columns) - 2)
    return _FLOAT % (latex_escape(caption), columns, "\n".join(lines))


def public(frame: pd.DataFrame, significant: int = 17) -> pd.DataFrame:
    """A frame as it is written: true and false, no negative zero, perhaps fewer digits.

    The last digits of a float may depend on the processor.
    """
    out = frame.copy()
    for column, values in frame.items():
        if values.dtype == bool:
            out[column] = values.map({True: "true", False: "false"})
        elif values.dtype == float:
            out[column] = [float(f"{value:.{significant}g}") + 0.0 for value in values]
    return out
