"""A table as LaTeX, with booktabs: a document of its own, or its body for another one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from experiments.published import PublishedCell
from experiments.published.anomalies import Anomaly
from experiments.tables import wording
from experiments.tables.model import Lookup, Table, TableSpec, build_table

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
\usepackage[a3paper, landscape, margin=15mm]{geometry}
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
        As for :func:`experiments.tables.model.build_table`.
    standalone : bool
        A whole document; else only its body, for ``\input`` under a preamble that loads booktabs,
        graphicx, textcomp and the T1 font encoding.

    Returns
    -------
    text : str
        ASCII but for letters of Latin-1.
    """
    table = build_table(spec, lookup, values=values, oddities=oddities)
    columns = "ll" + "r" * (len(spec.tasks) + 1)
    heads = ["Method", "", *(escape(task.label) for task in spec.tasks), "mean"]
    caption = " ".join(escape(line) for line in (f"{spec.title}.", *wording.caption(table)))
    body = [
        r"\begin{table}[!ht]",
        r"\centering",
        rf"\caption{{{caption}}}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _row(heads),
        *_rows(table),
        r"\bottomrule",
        r"\end{tabular}}",
        r"\end{table}",
    ]
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
    return f"{_HEAD}{text}{_TAIL}" if standalone else text


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


def _rows(table: Table) -> list[str]:
    spec = table.spec
    n_tasks = len(spec.tasks)
    rows = []
    separated = False
    for method in spec.rows:
        # A rule above each method of three lines, and above the first that is not in the paper.
        if not method.ours or not separated:
            rows.append(r"\midrule")
        separated = separated or method.ours
        cells = [table.cells[task.name, method.name] for task in spec.tasks]
        summary = table.summaries[method.name]
        rows.append(
            _row(
                [
                    escape(method.label),
                    wording.NOT_IN_PAPER if method.ours else "ours",
                    *(_strong(escape(wording.ours_text(cell)), cell.bold) for cell in cells),
                    escape(wording.mean_text(summary.ours, n_tasks)),
                ]
            )
        )
        if not method.published:
            continue
        printed = []
        for cell in cells:
            text = _strong(
                escape(wording.published_text(cell)),
                cell.published is not None and cell.published.bold,
            )
            letters = wording.suspicions(table, cell)
            printed.append(rf"{text}\textsuperscript{{{letters}}}" if letters else text)
        rows.append(
            _row(["", "paper", *printed, escape(wording.mean_text(summary.published, n_tasks))])
        )
        rows.append(
            _row(
                [
                    "",
                    "difference",
                    *(escape(wording.difference_text(cell)) for cell in cells),
                    escape(wording.mean_text(summary.difference, n_tasks, sign=True)),
                ]
            )
        )
    return rows


def _strong(text: str, bold: bool) -> str:
    # \boldmath reaches the plus-minus sign, which \textbf alone does not.
    return rf"\textbf{{\boldmath {text}}}" if bold else text


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
