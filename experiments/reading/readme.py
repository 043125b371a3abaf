"""Keep what documents say of results equal to the committed tables and records.

::

    python -m experiments.reading.readme

writes the sections between marks anew: the table of results in README.md, from
results/tables/*.csv, where the time went in docs/performance.md, from results/records, and what
several draws of moons show in docs/statistics.md, from results/draws/moons.csv.
"""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from experiments.analysis import draws
from experiments.analysis.cells import mean
from experiments.analysis.intervals import over_tasks
from experiments.analysis.rounding import MISSING, number
from experiments.analysis.times import seconds_by_method
from experiments.catalogue import method_label
from experiments.cells.plan import load_table
from experiments.published import METHODS, STAND_INS
from experiments.reading.draws import survival
from experiments.reading.glossary import methods_glossary, task_naming
from experiments.reading.markdown import between, escape, grid
from experiments.reading.wording import plus_minus
from experiments.store.frame import to_frame
from experiments.whole_files import write_text

ROOT = Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
TITLES = {
    "moons": "moons, 9 angles",
    "hepmass": "HEPMASS, 20 tasks",
    "hepmass_sim": "simulated HEPMASS, 20 tasks",
    "amazon": "Amazon, 12 tasks",
}
"""What each table is called at the head of its columns."""
ROWS = (
    *METHODS.values(), "standardize", "quantiles", "ot_linear", "ot_sinkhorn", "krda_untrained",
    "krda_reversed",
)  # fmt: skip
"""Methods of the README's table; the tables have all."""


def summary(tables: Path) -> str:
    """Mean over each data set's tasks, ours and the paper's, as Markdown; a row a method.

    Ours are shown only if all tasks have all repetitions. Beside simulated data the paper's mean
    has the mean absolute difference of the cells with it: the two are other data.
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
        for title, tasks in fields.items():
            own = [rows[(rows.method == m) & rows.task.isin(tasks)] for m in ROWS]
            head += [f"{title}: ours", "paper, real data (by cell)" if simulated else "paper"]
            columns.append([_ours(cells) for cells in own])
            columns.append([_published(cells, by_cell=simulated) for cells in own])
    rows_ = zip(map(method_label, ROWS), *columns, strict=True)
    return grid(head, rows_)


def _ours(cells: pd.DataFrame) -> str:
    if cells.empty or (cells.n_done != cells.n_repetitions).any():
        return MISSING
    interval = over_tasks([[float(a) for a in text.split(";")] for text in cells.accuracies])
    half = math.nan if interval.half_width is None else interval.half_width
    return number(mean(cells["mean"])) + plus_minus(half)


def _published(cells: pd.DataFrame, *, by_cell: bool) -> str:
    if cells.empty or cells.published_mean.isna().any():
        return MISSING
    text = number(mean(cells.published_mean))
    if not by_cell or cells.difference.isna().any():
        return text
    return f"{text} ({number(mean(cells.difference.abs()))})"


def glossary_paragraph(tables: Path) -> str:
    """What the names in the summary and in the tables of single tasks mean, as Markdown."""
    parts = [f"Tasks, {TITLES[n].partition(',')[0]}: {task_naming(n)}" for n in _read(tables)]
    return escape(" ".join((methods_glossary(ROWS), *parts)))


def _read(tables: Path) -> dict[str, pd.DataFrame]:
    """The tables that are there, by the data set's name."""
    paths = {name: tables / f"{name}.csv" for name in TITLES}
    return {
        name: pd.read_csv(path, dtype={"task": str, "accuracies": str})
        for name, path in paths.items()
        if path.is_file()
    }


def time_table(runs: pd.DataFrame) -> str:
    """Seconds of each method on each data set as Markdown, a row a method, the longest first."""
    seconds = seconds_by_method(runs)
    seconds["all"] = seconds.sum(axis=1)
    seconds.loc["**all**"] = seconds.sum()
    rows = [
        [method_label(method), *(_seconds(value) for value in row)]
        for method, row in zip(seconds.index, seconds.to_numpy(), strict=True)
    ]
    return grid(["Seconds on one core", *seconds], rows)


def _seconds(value: float) -> str:
    return MISSING if math.isnan(value) else f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def with_summary(document: str, text: str) -> str:
    """Put a text between the marks of a document; ValueError unless each is there once."""
    return between(document, BEGIN, END, text)


def contents(root: Path) -> dict[Path, str]:
    """What is between the marks of which document of the repository."""
    results = root / "results"
    tables = results / "tables"
    found = draws.accuracies(draws.read_results(results / "draws" / "moons.csv"))
    return {
        root / "README.md": f"{summary(tables)}\n\n{glossary_paragraph(tables)}",
        root / "docs" / "performance.md": time_table(to_frame(results)),
        root / "docs" / "statistics.md": survival(found),
    }


def main() -> None:
    """Write the sections anew."""
    for path, text in contents(ROOT).items():
        write_text(path, with_summary(path.read_text(encoding="utf-8"), text))


if __name__ == "__main__":
    main()
