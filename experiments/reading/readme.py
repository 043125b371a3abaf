"""Keep what documents say of results equal to the committed tables and records.

::

    python -m experiments.reading.readme

writes the sections between marks anew: the table of results in README.md, from
results/tables/*.csv, and where the time went in docs/performance.md, from results/records.
"""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from experiments.analysis.intervals import over_tasks
from experiments.analysis.rounding import MISSING, number
from experiments.catalogue import method_label
from experiments.published import METHODS, STAND_INS
from experiments.reading.glossary import config, methods_glossary, task_naming
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
        table = config("table", name)
        kept = [task for task in table["tasks"] if task not in table.get("aside", ())]
        fields = {TITLES[name]: table["tasks"]}
        if kept != table["tasks"]:
            first, last = (table["task_label"].format(kept[place]) for place in (0, -1))
            fields[f"{first} to {last}"] = kept
        simulated = table["dataset"] in STAND_INS
        for title, tasks in fields.items():
            own = [rows[(rows.method == m) & rows.task.isin(tasks)] for m in ROWS]
            head += [f"{title}: ours", "paper, real data (by cell)" if simulated else "paper"]
            columns.append([_ours(cells) for cells in own])
            columns.append([_published(cells, by_cell=simulated) for cells in own])
    return grid(head, zip(map(method_label, ROWS), *columns, strict=True))


def _ours(cells: pd.DataFrame) -> str:
    if cells.empty or (cells.n_done != cells.n_repetitions).any():
        return MISSING
    interval = over_tasks([[float(a) for a in text.split(";")] for text in cells.accuracies])
    half = math.nan if interval.half_width is None else interval.half_width
    return number(cells["mean"].mean()) + plus_minus(half)


def _published(cells: pd.DataFrame, *, by_cell: bool) -> str:
    if cells.empty or cells.published_mean.isna().any():
        return MISSING
    text = number(cells.published_mean.mean())
    if not by_cell or cells.difference.isna().any():
        return text
    return f"{text} ({number(cells.difference.abs().mean())})"


def glossary_paragraph(tables: Path) -> str:
    """What the names in the summary and in the tables of single tasks mean, as Markdown."""
    parts = [f"Tasks, {TITLES[n].partition(',')[0]}: {task_naming(n)}" for n in _read(tables)]
    return escape(" ".join((methods_glossary(ROWS), *parts)))


def _read(tables: Path) -> dict[str, pd.DataFrame]:
    """The tables that are there, by the data set's name."""
    return {
        name: pd.read_csv(tables / f"{name}.csv", dtype={"task": str, "accuracies": str})
        for name in TITLES
        if (tables / f"{name}.csv").is_file()
    }


def time_table(runs: pd.DataFrame) -> str:
    """Seconds of fits and predictions, each on one core, by data set; the longest method first.

    Over all repetitions that have both times.
    """
    runs = runs.assign(seconds=(runs.fit_seconds + runs.predict_seconds).fillna(0.0))
    seconds = runs.pivot_table("seconds", "method", "dataset", aggfunc="sum").sort_index()
    order = seconds.sum(axis=1).sort_values(ascending=False, kind="stable")
    seconds = seconds.loc[order.index]
    seconds["all"] = seconds.sum(axis=1)
    seconds.loc["**all**"] = seconds.sum()
    rows = [
        [method_label(method), *(_seconds(value) for value in row)]
        for method, row in zip(seconds.index, seconds.to_numpy(), strict=True)
    ]
    return grid(["Seconds on one core", *seconds], rows)


def _seconds(value: float) -> str:
    return MISSING if math.isnan(value) else f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def contents(root: Path) -> dict[Path, str]:
    """What is between the marks of which document of the repository."""
    results = root / "results"
    tables = results / "tables"
    return {
        root / "README.md": f"{summary(tables)}\n\n{glossary_paragraph(tables)}",
        root / "docs" / "performance.md": time_table(to_frame(results)),
    }


def main() -> None:
    """Write the sections anew."""
    for path, text in contents(ROOT).items():
        write_text(path, between(path.read_text(encoding="utf-8"), BEGIN, END, text))


if __name__ == "__main__":
    main()
