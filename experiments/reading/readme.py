"""Keep what documents say of results equal to the committed tables and records.

::

    python -m experiments.reading.readme

writes the sections between marks anew: the table of results in README.md, from
results/tables/*.csv, where the time went in docs/performance.md, from results/records, and what
several draws of moons show in docs/statistics.md, from results/draws/moons.csv.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

from experiments.analysis.draws import Draws, survival
from experiments.analysis.grid_times import time_table
from experiments.analysis.statistics import over_tasks
from experiments.cells.plan import load_table, method_label
from experiments.published import METHODS, STAND_INS
from experiments.reading.glossary import methods_glossary, task_naming
from experiments.reading.markdown import between, table
from experiments.reading.tables.markdown import escape
from experiments.reading.tables.wording import MISSING, number
from experiments.store.records import RecordStore
from experiments.whole_files import write_text

ROOT = Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
# What each table is called at the head of its columns.
TITLES = {
    "moons": "moons, 9 angles",
    "hepmass": "HEPMASS, 20 tasks",
    "hepmass_sim": "simulated HEPMASS, 20 tasks",
    "amazon": "Amazon, 12 tasks",
}
ROWS = (
    *METHODS.values(), "standardize", "quantiles", "ot_linear", "ot_sinkhorn", "krda_untrained",
    "krda_reversed",
)  # fmt: skip
"""Methods of the README's table; the tables have all."""


def summary(tables: Path) -> str:
    """Write the mean over each data set's tasks, ours and the paper's, as Markdown.

    Parameters
    ----------
    tables : Path
        Directory of the tables as CSV.

    Returns
    -------
    text : str
        One row a method of :data:`ROWS`. Of ours a mean and its interval stand only where all tasks
        have all repetitions; else a dash. Beside simulated data the paper's mean has the mean
        absolute difference of the cells with it: the two are other data.
    """
    head, columns = ["Mean accuracy, %"], []
    for name, rows in _read(tables).items():
        plan = load_table(name)
        kept = [task for task in plan.tasks if task not in plan.aside]
        fields = {TITLES[name]: list(plan.tasks)}
        if plan.aside:
            first, last = (plan.task_label.format(kept[place]) for place in (0, -1))
            fields[f"{first} to {last}"] = kept
        simulated = plan.dataset in STAND_INS
        theirs = "paper, real data (by cell)" if simulated else "paper"
        for title, tasks in fields.items():
            own = {m: [r for r in rows if r["method"] == m and r["task"] in tasks] for m in ROWS}
            head += [f"{title}: ours", theirs]
            columns.append([_ours(own[method]) for method in ROWS])
            columns.append([_published(own[method], by_cell=simulated) for method in ROWS])
    lines = [head, [":--", *["--:"] * (len(head) - 1)]]
    for method, *values in zip(ROWS, *columns, strict=True):
        lines.append([method_label(method), *values])
    return table(lines)


def _ours(rows: list[dict[str, str]]) -> str:
    if not rows or any(row["n_done"] != row["n_repetitions"] for row in rows):
        return MISSING
    interval = over_tasks([[float(a) for a in row["accuracies"].split(";")] for row in rows])
    mean = _mean([row["mean"] for row in rows])
    return mean if interval.half_width is None else f"{mean} ± {number(interval.half_width)}"


def _published(rows: list[dict[str, str]], *, by_cell: bool) -> str:
    mean = _mean([row["published_mean"] for row in rows])
    gaps = [row["difference"] for row in rows]
    if not by_cell or "" in gaps or mean == MISSING:
        return mean
    return f"{mean} ({number(math.fsum(abs(float(gap)) for gap in gaps) / len(gaps))})"


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
    parts = []
    for name in _read(tables):
        parts.append(f"Tasks, {TITLES[name].partition(',')[0]}: {task_naming(name)}")
    return escape(" ".join((methods_glossary(ROWS), *parts)))


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
        return MISSING
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
