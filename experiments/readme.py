"""Keep what documents say of results equal to the committed tables and records.

::

    python -m experiments.readme

writes the sections between marks anew: the table of results in README.md, from
results/tables/*.csv, and where the time went in docs/performance.md, from results/records.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

from experiments.grid_times import time_table
from experiments.markdown import between, table
from experiments.plan import METHOD_LABELS
from experiments.records import RecordStore
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
    names = [name for name in TITLES if (tables / f"{name}.csv").is_file()]
    for name in names:
        with (tables / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
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
        *(title for name in names for title in TITLES[name]),
    ]
    lines = [head, [":--", *["--:"] * (len(head) - 1)]]
    for method in methods:
        values = [means.get((method, name), ("–", "–")) for name in names]
        lines.append([METHOD_LABELS[method], *(value for pair in values for value in pair)])
    return table(lines)


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
    return {
        root / "README.md": summary(results / "tables"),
        root / "docs" / "performance.md": time_table(RecordStore(results / "records").scan()),
    }


def main() -> None:
    """Write the sections anew."""
    for path, text in contents(ROOT).items():
        new = with_summary(path.read_text(encoding="utf-8"), text)
        write_text(path, new)


if __name__ == "__main__":
    main()
