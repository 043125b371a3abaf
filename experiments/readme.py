"""Keep what documents say of results equal to the committed tables and records.

::

    python -m experiments.readme

writes the sections between marks anew, from results/records: the tables of results in README.md
and docs/reproduction.md, and where the time went in docs/performance.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from experiments.analysis.rounding import MISSING
from experiments.analysis.table import Table
from experiments.catalogue import method_label
from experiments.cells.plan import load_table
from experiments.published import METHODS, STAND_INS
from experiments.reading.markdown import escape, fill, grid
from experiments.reading.results import table_of
from experiments.reading.wording import mean_text, meanings, task_naming
from experiments.store.frame import to_frame

ROOT = Path(__file__).resolve().parents[1]
TITLES = {
    "moons": "moons, 9 angles",
    "hepmass": "HEPMASS, 20 tasks",
    "hepmass_sim": "simulated HEPMASS, 20 tasks",
    "amazon": "Amazon, 12 tasks",
}
"""What each table is called at the head of its columns."""
ROWS = (
    *METHODS.values(), "standardize", "quantiles", "ot_linear", "ot_sinkhorn", "krda_untrained",
    "krda_reversed", "affine", "auto", "krda_auto",
)  # fmt: skip
"""Methods of the table in docs/reproduction.md; the tables have all."""
FEW = (
    "source_only", "target_only", "sa", "ot", "krda", "ot_sinkhorn", "standardize", "quantiles",
    "auto", "krda_auto",
)  # fmt: skip
"""Methods of the README's table, whatever their accuracies: the two references; of the paper's
methods the linear and the transport one, and KRDA; of ours the simplest, those that the outcome
names, the one that chooses, and KRDA on top of it."""


def summary(tables: Sequence[Table], methods: Sequence[str] = ROWS) -> str:
    """Mean over each data set's tasks, ours and the paper's, as Markdown; a row a method.

    Beside simulated data the paper's mean has the mean absolute difference of the cells with it:
    the two are other data.
    """
    head, columns = ["Mean accuracy, %"], []
    for table in tables:
        title, simulated = TITLES[table.plan.name], table.plan.dataset in STAND_INS
        for label, means in table.means.items():
            rows = list(means.reindex(methods).itertuples())
            columns += [[mean_text(row, what) for row in rows] for what in ("ours", "published")]
            if simulated:
                gaps = [mean_text(row, "absolute") for row in rows]
                columns[-1] = [
                    text if gap == MISSING else f"{text} ({gap})"
                    for text, gap in zip(columns[-1], gaps, strict=True)
                ]
            where = title if label == "mean" else label.removeprefix("mean, ")
            head += [f"{where}: ours", "paper, real data (by cell)" if simulated else "paper"]
    return grid(head, zip(map(method_label, methods), *columns, strict=True))


def glossary(methods: Sequence[str], namings: Iterable[str] = ()) -> str:
    """What the names of methods mean, and those of tasks, as Markdown."""
    where = "References in full: docstrings of baselines/ and of krda/estimator.py."
    return escape(" ".join((f"Methods: {'; '.join(meanings(methods))}. {where}", *namings)))


def time_table(runs: pd.DataFrame) -> str:
    """Seconds of fits and predictions, each on one core, by data set; the longest method first.

    Over all repetitions that have both times.
    """
    runs = runs.assign(seconds=(runs.fit_seconds + runs.predict_seconds).fillna(0.0))
    seconds = runs.pivot_table("seconds", "method", "dataset", aggfunc="sum").sort_index()
    seconds["all"] = seconds.sum(axis=1)
    seconds = seconds.sort_values("all", ascending=False, kind="stable")
    seconds.loc["**all**"] = seconds.sum()
    rows = [[method_label(method), *map(_seconds, row)] for method, row in seconds.T.items()]
    return grid(["Seconds on one core", *seconds], rows)


def _seconds(value: float) -> str:
    return MISSING if math.isnan(value) else f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def contents(root: Path) -> dict[Path, str]:
    """What is between the marks of which document of the repository."""
    frame = to_frame(root / "results")
    every = (table_of(load_table(name), frame) for name in TITLES)
    tables = [table for table in every if table.cells.recorded.any()]
    titles = {task_naming(name): title.partition(",")[0] for name, title in TITLES.items()}
    namings = [f"Tasks, {title}: {naming}" for naming, title in titles.items()]
    return {
        root / "README.md": f"{summary(tables, FEW)}\n\n{glossary(FEW)}",
        root / "docs" / "reproduction.md": f"{summary(tables)}\n\n{glossary(ROWS, namings)}",
        root / "docs" / "performance.md": time_table(frame),
    }


def main() -> None:
    """Write the sections anew."""
    for path, text in contents(ROOT).items():
        fill(path, "results", text)


if __name__ == "__main__":
    main()
