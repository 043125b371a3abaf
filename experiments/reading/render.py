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
    from experiments.cells.plan import TablePlan


def render_tables(tables: Sequence[Table], directory: Path) -> list[Path]:
    """Write ``NAME``, ``NAME-main`` and ``NAME-appendix`` as Markdown, LaTeX and CSV."""
    paths = []
    for table in tables:
        path = directory / table.name
        paths.append(write(path.with_name(f"{table.name}.md"), to_markdown(table)))
        paths.append(write(path.with_name(f"{table.name}.tex"), to_latex(table)))
        cells = public(cells_csv(table.cells))
        paths.append(write_csv(cells, path.with_name(f"{table.name}.csv")))
    return paths


def render_summary(results: Results, records: Sequence[Record], directory: Path) -> list[Path]:
    """Write what is said across tasks and tables: comparisons, placebo, claims, provenance."""
    frames = results.comparison, results.tests, results.pairs
    names = [table.name for table in results.tables]
    texts = {
        "comparison.md": pages.comparison_page(results.tables, *frames),
        "claims.md": pages.claims_page(results.claims, results.notes),
        "provenance.md": pages.provenance_page(pages.origins(records), results.seconds, names),
    }
    files = {
        "comparison.csv": public(results.comparison, 8),
        "comparison-tests.csv": public(results.tests, 8),
        "comparison-pairs.csv": public(results.pairs, 8),
        "placebo.csv": public(results.placebo),
    }
    return [
        *(write(directory / name, text) for name, text in texts.items()),
        *(write_csv(frame, directory / name) for name, frame in files.items()),
    ]


def write(path: Path, text: str) -> Path:
    """Write a file whole."""
    write_text(path, text)
    return path


def render(
    plans: Sequence[TablePlan],
    directory: Path,
    *,
    compute: bool,
    whole: bool = True,
    say: Callable[[str], None] = print,
) -> bool:
    """Write tables, figures and report below ``directory`` from its ``records``.

    ``compute`` fits what figures show beyond the records, if it is not stored. ``whole`` says that
    these are all tables: a part of them has no comparison, claims or report. ``say`` takes a line
    for each file, and for each figure that is left out. Returns whether every figure could be made.
    """
    store = RecordStore(directory / "records")
    results = read_results(plans, to_frame(directory))
    paths = render_tables([*results.tables, *results.parts], directory / "tables")
    records = records_of(plans, store) if whole else []
    if whole:
        paths += render_summary(results, records, directory / "tables")
    figures = render_figures(results, directory / "figures", compute=compute, say=say)
    paths += figures.paths
    if whole:  # last, because it holds the figures
        paths.append(render_report(results, records, directory))
    for path in paths:
        say(f"wrote {path}")
    for line in figures.failures:
        say(f"A figure could not be made: {line}")
    return not figures.failures
