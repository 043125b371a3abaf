"""``report.html``: all pages and figures on one page that needs no network and no other file."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader
from markdown_it import MarkdownIt
from markupsafe import Markup

from experiments.analysis.cells import KRDA
from experiments.analysis.claims import claims
from experiments.analysis.rounding import MISSING, signed
from experiments.analysis.table import Table
from experiments.reading import pages, summary, wording
from experiments.reading.figures import BESIDE, OVERVIEW
from experiments.reading.figures.style import read_words
from experiments.reading.tables import details_page

if TYPE_CHECKING:
    from experiments.reading.results import Results

UNFOLDED = 2
"""Figures of a section that are seen without opening it."""
WHATS = ("ours", "published", "difference")
_SCROLL = '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>'


def report_page(results: Results, provenance: str, figures: Mapping[str, Sequence[Path]]) -> str:
    """The report as HTML, from the results, the page on provenance and the figures by section.

    The same results and figures give the same text.
    """
    tables = summary.in_order(results.tables)
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"html": _to_html, "figure": _figure}
    means = {path.stem: path for path in figures.get(OVERVIEW, ())}
    overview = [means[name] for table in tables if (name := f"means_{table.plan.name}") in means]
    return environment.get_template("report.html").render(
        sentence=summary.sentence(tables),
        notes=results.notes,
        cards=summary.cards(tables),
        tables=[(table, summary.short(table), list(_rows(table))) for table in tables],
        overview=overview,
        figures=figures,
        beside=BESIDE,
        unfolded=UNFOLDED,
        details=details_page,
        comparison=lambda table: pages.comparison_of(table, results),
        claims_intro=pages.CLAIMS,
        claims=[(claim, results.claims[results.claims.claim == claim.id]) for claim in claims()],
        sides=pages.SIDES,
        provenance=provenance,
    )


def _rows(table: Table) -> Iterator[dict[str, Any]]:
    """What the table shows of each method, in the order of the template's ``cell``."""
    for method, own in table.cells.groupby("method", sort=False):
        inside = bool(own.in_paper.all())
        whats = WHATS if inside and table.published else WHATS[:1]
        yield {
            "label": table.labels[method],
            "kind": "krda" if method == KRDA else "inside" if inside else "outside",
            "means": [
                [wording.mean_text(frame.loc[method], what) for what in whats]
                for frame in table.means.values()
            ],
            "cells": [
                (
                    wording.ours_text(cell),
                    wording.published_text(cell, table.marks(cell.anomalies)).strip(MISSING),
                    "" if math.isnan(cell.difference) else signed(cell.difference),
                    cell.bold,
                    cell.verdict,
                )
                for cell in own.itertuples()
            ],
        }


def _to_html(text: str) -> Markup:
    """Markdown as HTML, without links, which would lead to other files; wide tables scroll."""
    made = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    made = re.sub(r'<a href="[^"]*">(.*?)</a>', r"\1", made)
    return Markup(made.replace("<table>", _SCROLL).replace("</table>", "</table></div>"))


def _figure(path: Path) -> dict[str, Any]:
    """A saved figure: an address that holds it, its width in points, and its words."""
    content = path.read_bytes()
    found = re.search(rb'width="([\d.]+)pt"', content)
    seen, finding, _ = read_words(path)
    return {
        "address": "data:image/svg+xml;base64," + base64.b64encode(content).decode("ascii"),
        "width": float(found[1]) if found else 504.0,
        "seen": seen,
        "finding": finding,
    }
