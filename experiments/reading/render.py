"""From results to the files that a person reads; nothing is computed anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from experiments.analysis.cells import cells_csv
from experiments.analysis.table import Table
from experiments.reading import pages
from experiments.reading.figures import render_figures
from experiments.reading.report import report_page
from experiments.reading.results import Results
from experiments.reading.tables import public, to_latex, to_markdown
from experiments.store.frame import write_csv
from experiments.store.records import RecordStore
from experiments.whole_files import write_text


def render_tables(tables: Sequence[Table], directory: Path) -> list[Path]:
    """Write each table as Markdown, LaTeX and CSV."""
    paths = []
    for table in tables:
        for kind, text in (("md", to_markdown(table)), ("tex", to_latex(table))):
            paths.append(directory / f"{table.plan.name}.{kind}")
            write_text(paths[-1], text)
        paths.append(
            write_csv(public(cells_csv(table.cells)), directory / f"{table.plan.name}.csv")
        )
    return paths


def render(
    results: Results, directory: Path, say: Callable[[str], None], *, whole: bool = True
) -> bool:
    """Write figures and pages below ``directory``, whose ``records`` the results are of.

    ``whole`` says that these are all tables: a part of them has no comparison, claims or report.
    ``say`` takes a few words on what is being done. Returns whether every figure could be made.
    """
    tables, figures = directory / "tables", directory / "figures"
    drawn, failures = render_figures(results, figures, say)
    if whole:
        say("writing the report")
        provenance = pages.provenance_page(RecordStore(directory / "records").scan())
        texts = {
            "comparison": pages.comparison_page(results),
            "claims": pages.claims_page(results.claims, results.notes),
            "provenance": provenance,
        }
        frames = {
            "comparison": public(results.comparison, 8),
            "comparison-tests": public(results.tests, 8),
            "placebo": public(results.placebo),
        }
        for name, text in texts.items():
            write_text(tables / f"{name}.md", text)
        for name, frame in frames.items():
            write_csv(frame, tables / f"{name}.csv")
        write_text(directory / "report.html", report_page(results, provenance, drawn))
    for line in failures:
        print(f"A figure could not be made: {line}")
    return not failures
