"""From results to the files that a person reads; nothing is computed anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.analysis.cells import cells_csv
from experiments.analysis.table import Table
from experiments.reading import pages
from experiments.reading.figures import render_figures
from experiments.reading.report import report_page
from experiments.reading.results import read_results, records_of
from experiments.reading.tables import public, to_latex, to_markdown
from experiments.store.frame import to_frame, write_csv
from experiments.store.records import RecordStore
from experiments.whole_files import write_text

if TYPE_CHECKING:
    from experiments.cells.plan import CurvePlan, TablePlan


def render_tables(tables: Sequence[Table], directory: Path) -> list[Path]:
    """Write ``NAME``, ``NAME-main`` and ``NAME-appendix`` as Markdown, LaTeX and CSV."""
    paths = []
    for table in tables:
        paths += [
            write(directory / f"{table.name}.md", to_markdown(table)),
            write(directory / f"{table.name}.tex", to_latex(table)),
            write_csv(public(cells_csv(table.cells)), directory / f"{table.name}.csv"),
        ]
    return paths


def write(path: Path, text: str) -> Path:
    """Write a file whole."""
    write_text(path, text)
    return path


def render(
    plans: Sequence[TablePlan],
    curves: Sequence[CurvePlan],
    directory: Path,
    *,
    whole: bool = True,
    say: Callable[[str], None] = print,
) -> bool:
    """Write tables, figures and report below ``directory`` from its ``records``.

    ``whole`` says that these are all tables: a part of them has no comparison, claims or report.
    ``say`` takes a line for each file, and for each figure that is left out. Returns whether every
    figure could be made.
    """
    results = read_results(plans, curves, to_frame(directory))
    tables, figures = directory / "tables", directory / "figures"
    paths = render_tables([*results.tables, *results.parts], tables)
    drawn, failures = render_figures(results, figures, say)
    if whole:
        records = records_of(plans, RecordStore(directory / "records"))
        texts = {
            "comparison": pages.comparison_page(results),
            "claims": pages.claims_page(results.claims, results.notes),
            "provenance": pages.provenance_page(records),
        }
        frames = {
            "comparison": public(results.comparison, 8),
            "comparison-tests": public(results.tests, 8),
            "comparison-pairs": public(results.pairs, 8),
            "placebo": public(results.placebo),
        }
        paths += [write(tables / f"{name}.md", text) for name, text in texts.items()]
        paths += [write_csv(frame, tables / f"{name}.csv") for name, frame in frames.items()]
        texts = {table.name: to_markdown(table) for table in results.tables} | texts
        drawn.append(write(directory / "report.html", report_page(results, texts, figures)))
    for path in [*paths, *drawn]:
        say(f"wrote {path}")
    for line in failures:
        say(f"A figure could not be made: {line}")
    return not failures
