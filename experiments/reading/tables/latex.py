"""A table as LaTeX, with booktabs: a document of its own, or its body for another one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from experiments.published import PublishedCell
from experiments.published.anomalies import Anomaly
from experiments.reading.tables import wording
from experiments.reading.tables.grid import N_TEXT, Entry, Grid, Line, grids
from experiments.reading.tables.model import Lookup, Table, TableSpec, build_table

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

_HEAD = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[a3paper, %s, margin=15mm]{geometry}
\usepackage{booktabs}
\usepackage{graphicx}
\usepackage{textcomp}
\pagestyle{empty}
\begin{document}
"""
_TAIL = r"""\end{document}
"""


def render_latex(
    spec: TableSpec,
    lookup: Lookup,
    *,
    values: Mapping[tuple[str, str], PublishedCell] | None = None,
    oddities: tuple[Anomaly, ...] | None = None,
    standalone: bool = True,
) -> str:
    r"""Render a table as LaTeX.

    Parameters
    ----------
    spec, lookup, values, oddities
        As for :func:`experiments.reading.tables.model.build_table`.
    standalone : bool
        A whole document; else only its body, for ``\input`` under a preamble that loads booktabs,
        graphicx, textcomp and the T1 font encoding.

    Returns
    -------
    text : str
        ASCII but for letters of Latin-1.
    """
    table = build_table(spec, lookup, values=values, oddities=oddities)
    caption = " ".join(escape(line) for line in (f"{spec.title}.", *wording.caption(table)))
    first, *others = grids(table)
    body = _float(first, caption)
    for grid in others:
        body += _float(grid, escape(f"{spec.title}, continued: the other tasks."))
    if table.has_published:
        body += _float(
            _distances(table),
            escape(f"{spec.title}: distance from the published values, suspect ones included."),
        )
    marked = [anomaly for anomaly in table.anomalies if anomaly.id in table.marks]
    for title, items in (
        ("Repetitions that are not done", [escape(line) for line in wording.failures(table)]),
        ("Missing cells", [escape(line) for line in wording.missing(table)]),
        (
            "Suspect published values",
            [f"{table.marks[a.id]}: {escape(a.statement)} {escape(a.evidence)}" for a in marked],
        ),
    ):
        if items:
            body += [rf"\noindent {title}:", r"\begin{itemize}"]
            body += [rf"\item {item}" for item in items]
            body += [r"\end{itemize}"]
    text = "\n".join(body) + "\n"
    orientation = "portrait" if spec.tasks_in_rows else "landscape"
    return f"{_HEAD % orientation}{text}{_TAIL}" if standalone else text


def escape(text: str) -> str:
    """Make text mean itself in LaTeX, on one line.

    Parameters
    ----------
    text : str

    Returns
    -------
    escaped : str
        A character that the standard fonts lack becomes a question mark.
    """
    escaped = "".join(_character(character) for character in " ".join(text.split()))
    # Two hyphens would become a dash; a dash of the text's own was written as such on purpose.
    return re.sub(r"-(?=-)", "-{}", escaped).replace("–", "--")


def _character(character: str) -> str:
    if character in _CHARACTERS:
        return _CHARACTERS[character]
    if " " <= character <= "~" or (
        "À" <= character <= "ÿ" and unicodedata.category(character).startswith("L")
    ):
        return character
    return "?"


def _float(grid: Grid, caption: str) -> list[str]:
    rows = []
    for line in grid.lines:
        if line.above:
            rows.append(r"\midrule")
        rows.append(_row([_entry(entry) for entry in line.entries]))
    return [
        r"\begin{table}[!ht]",
        r"\centering",
        rf"\caption{{{caption}}}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{'l' * N_TEXT}{'r' * (len(grid.head) - N_TEXT)}}}",
        r"\toprule",
        _row([escape(text) for text in grid.head]),
        *rows,
        r"\bottomrule",
        r"\end{tabular}}",
        r"\end{table}",
    ]


def _distances(table: Table) -> Grid:
    n_tasks = len(table.spec.tasks)
    return Grid(
        ("Method", "", "mean absolute difference", "mean difference"),
        tuple(
            Line(
                (
                    Entry(method.label),
                    Entry(""),
                    Entry(wording.mean_text(summary.absolute, n_tasks)),
                    Entry(wording.mean_text(summary.difference, n_tasks, sign=True)),
                ),
                "rule" if number == 0 else "",
            )
            for number, method in enumerate(m for m in table.spec.rows if m.published)
            for summary in [table.summaries[method.name]]
        ),
    )


def _entry(entry: Entry) -> str:
    text = _strong(escape(entry.text), entry.bold)
    return rf"{text}\textsuperscript{{{entry.marks}}}" if entry.marks else text


def _strong(text: str, bold: bool) -> str:
    # \boldmath reaches the plus-minus sign, which \textbf alone does not.
    return rf"\textbf{{\boldmath {text}}}" if bold else text


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
