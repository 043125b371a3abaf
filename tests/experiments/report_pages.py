"""Reports of made-up records, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PIL import Image, ImageDraw

from experiments.cells.cell import record_of
from experiments.cells.plan import TablePlan, load_table
from experiments.reading.report import render_report
from experiments.reading.summary import summarise
from experiments.store.records import Outcome, RecordStore

TASKS = {
    "moons": ("10", "40", "90"),
    "hepmass_sim": ("500-750", "750-500", "750-1250"),
    "amazon": ("B-D", "K-B"),
}
ERROR = 'ValueError: <script>alert("lost & found")</script>'
ENVIRONMENT = {
    "cpu": "Made-up <processor>", "cores": 2, "threads": 1, "system": "Linux", "machine": "x86_64",
    "python": "3.11.7", "git_revision": "c0ffee", "git_clean": True, "libraries": {"numpy": "2.0"},
}  # fmt: skip


def plans() -> list[TablePlan]:
    """All tables with all of their methods on a few tasks."""
    return [replace(load_table(name), tasks=tasks) for name, tasks in TASKS.items()]


def write_records(
    store: RecordStore,
    tables: Sequence[TablePlan],
    *,
    failed: tuple[str, str, str] | None = None,
    without: Sequence[str] = (),
) -> RecordStore:
    """A record of five accuracies for every cell; the last repetition of `failed` is not done."""
    for plan in tables:
        if plan.name in without:
            continue
        for number, ((task, method), cell) in enumerate(plan.cells.items()):
            outcomes = {
                i: Outcome(
                    i, i, "done", (500 + (number * 37 + 11 * i) % 500) / 1000, 0.1, 0.1, None
                )
                for i in range(5)
            }
            if (plan.name, task, method) == failed:
                outcomes[4] = Outcome(4, 4, "failed", None, 0.1, None, ERROR)
            record = replace(record_of(cell, "0" * 64, outcomes), environment=ENVIRONMENT)
            store.write(record)
    return store


def write_figure(results: Path, name: str, size: tuple[int, int] = (2000, 400)) -> None:
    """A wide picture with an edge that can be seen through."""
    image = Image.new("RGBA", size, (255, 255, 255, 0))
    ImageDraw.Draw(image).rectangle((10, 10, size[0] - 10, size[1] - 10), fill=(0, 114, 178, 255))
    path = results / "figures" / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)


def report_of(tables: Sequence[TablePlan], results: Path) -> Path:
    """The report of the records below a directory."""
    store = RecordStore(results / "records")
    return render_report(tables, summarise(tables, store), store, results)
