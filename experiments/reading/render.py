"""From results to the files that a person reads; nothing is computed anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.analysis.cells import cells_csv
from experiments.analysis.table import Table
from experiments.reading import pages
from experiments.reading.figures import render_figures
from experiments.reading.report import render_report
from experiments.reading.results import Results, read_results, records_of
from experiments.reading.tables import public, to_latex, to_markdown
from experiments.store.frame import to_frame, write_csv
from experiments.store.records import Record, RecordStore
from experiments.whole_files import write_text

if TYPE_CHECKING:
    from experiments.cells.curves import CurvePlan
    from experiments.cells.plan import TablePlan


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


def render_summary(results: Results, records: Sequence[Record], directory: Path) -> list[Path]:
    """Write what is said across tasks and tables: comparisons, placebo, claims, provenance."""
    origins, names = pages.origins(records), [table.name for table in results.tables]
    return [
        write(directory / "comparison.md", pages.comparison_page(results)),
        write(directory / "claims.md", pages.claims_page(results.claims, results.notes)),
        write(directory / "provenance.md", pages.provenance_page(origins, results.seconds, names)),
        write_csv(public(results.comparison, 8), directory / "comparison.csv"),
        write_csv(public(results.tests, 8), directory / "comparison-tests.csv"),
        write_csv(public(results.pairs, 8), directory / "comparison-pairs.csv"),
        write_csv(public(results.placebo), directory / "placebo.csv"),
    ]


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
    paths = render_tables([*results.tables, *results.parts], directory / "tables")
    drawn, failures = render_figures(results, directory / "figures", say)
    if whole:
        records = records_of(plans, RecordStore(directory / "records"))
        paths += render_summary(results, records, directory / "tables")
        # Last, because it holds the figures.
        drawn.append(render_report(results, records, directory))
    for path in [*paths, *drawn]:
        say(f"wrote {path}")
    for line in failures:
        say(f"A figure could not be made: {line}")
    return not failures
