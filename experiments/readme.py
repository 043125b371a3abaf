"""Keep what documents say of results equal to the committed tables and records.

::

    python -m experiments.readme

writes the sections between marks anew: the table of results in README.md, from
results/tables/*.csv, where the time went in docs/performance.md, from results/records, and what
several draws of moons show in docs/statistics.md, from results/draws/moons.csv.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

from experiments.draws import Draws, survival
from experiments.glossary import methods_glossary, task_naming
from experiments.grid_times import time_table
from experiments.markdown import between, table
from experiments.plan import method_label
from experiments.records import RecordStore
from experiments.tables.markdown import escape
from experiments.tables.wording import number
from experiments.whole_files import write_text

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
# Head of the columns: ours, and the paper's.
TITLES = {
    "moons": ("moons, 9 angles: ours", "paper"),
    "hepmass": ("HEPMASS, 20 tasks: ours", "paper"),
    "hepmass_sim": ("simulated HEPMASS, 20 tasks: ours", "paper, real HEPMASS"),
    "amazon": ("Amazon, 12 tasks: ours", "paper"),
}


def summary(tables: Path) -> str:
    """Write the mean over each data set's tasks, ours and the paper's, as Markdown.

    Parameters
    ----------
    tables : Path
        Directory of the tables as CSV.

    Returns
    -------
    text : str
        One row a method. A mean stands only where all tasks have all repetitions; else a dash.
    """
    means: dict[tuple[str, str], tuple[str, str]] = {}
    methods: dict[str, None] = {}
    found = _read(tables)
    for name, rows in found.items():
        for method in dict.fromkeys(row["method"] for row in rows):
            methods[method] = None
            own = [row for row in rows if row["method"] == method]
            complete = all(row["n_done"] == row["n_repetitions"] for row in own)
            means[method, name] = (
                _mean([row["mean"] for row in own]) if complete else "–",
                _mean([row["published_mean"] for row in own]),
            )
    head = [
        "Mean accuracy, %",
        *(title for name in found for title in TITLES[name]),
    ]
    lines = [head, [":--", *["--:"] * (len(head) - 1)]]
    for method in methods:
        values = [means.get((method, name), ("–", "–")) for name in found]
        lines.append([method_label(method), *(value for pair in values for value in pair)])
    return table(lines)


def glossary_paragraph(tables: Path) -> str:
    """Write what the names in the summary and in the tables of single tasks mean, as Markdown.

    Parameters
    ----------
    tables : Path
        Directory of the tables as CSV.

    Returns
    -------
    text : str
        A paragraph.
    """
    methods: dict[str, None] = {}
    parts = []
    for name, rows in _read(tables).items():
        methods |= dict.fromkeys(row["method"] for row in rows)
        parts.append(f"Tasks, {TITLES[name][0].partition(',')[0]}: {task_naming(name)}")
    return escape(" ".join((methods_glossary(methods), *parts)))


def _read(tables: Path) -> dict[str, list[dict[str, str]]]:
    """Read the tables that are there: their rows by the data set's name."""
    found = {}
    for name in TITLES:
        path = tables / f"{name}.csv"
        if path.is_file():
            with path.open(newline="", encoding="utf-8") as file:
                found[name] = list(csv.DictReader(file))
    return found


def _mean(values: list[str]) -> str:
    if not values or "" in values:
        return "–"
    return number(math.fsum(map(float, values)) / len(values))


def with_summary(document: str, text: str) -> str:
    """Put a text between the marks of a document.

    Raises
    ------
    ValueError
        The marks are not there, once each and in order.
    """
    return between(document, BEGIN, END, text)


def contents(root: Path) -> dict[Path, str]:
    """Say what stands between the marks of which document.

    Parameters
    ----------
    root : Path
        Of the repository.

    Returns
    -------
    contents : dict
        From the document to the text between its marks.
    """
    results = root / "results"
    tables = results / "tables"
    return {
        root / "README.md": f"{summary(tables)}\n\n{glossary_paragraph(tables)}",
        root / "docs" / "performance.md": time_table(RecordStore(results / "records").scan()),
        root / "docs" / "statistics.md": survival(Draws.read(results / "draws" / "moons.csv")),
    }


def main() -> None:
    """Write the sections anew."""
    for path, text in contents(ROOT).items():
        new = with_summary(path.read_text(encoding="utf-8"), text)
        write_text(path, new)


if __name__ == "__main__":
    main()
