"""Files rendered from a store: complete, repeatable to the byte, and never better than it is."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from cell_factory import make_cell
from record_factory import make_record
from report_pages import ENVIRONMENT, report_of
from table_plans import ADDITIONS, plan_of

from experiments.cells.cell import Cell
from experiments.cells.plan import TablePlan
from experiments.reading.render import (
    ReadOnce,
    lookup_of,
    render_provenance,
    render_summary,
    render_table,
    stored,
)
from experiments.reading.summary import summarise
from experiments.store.records import Outcome, RecordError, RecordStore

METHODS = ("source_only", "target_only", "krda", "ot", "sa", "jan", "tca")
TASKS = ("10", "20")


@pytest.fixture(scope="module")
def plan() -> TablePlan:
    """A small plan whose cells are real ones."""
    found = replace(
        plan_of("moons", ("krda_reversed",)),
        tasks=TASKS,
        paper=METHODS,
        overrides=("protocol=smoke",),
    )
    cells = {
        (task, method): make_cell(f"dataset.task={task}", method=method)
        for task in TASKS
        for method in found.methods
    }
    found.__dict__["cells"] = cells
    return found


def fill(plan: TablePlan, root: Path) -> RecordStore:
    """A store with a record for each cell of the plan."""
    store = RecordStore(root)
    for number, ((task, method), cell) in enumerate(plan.cells.items()):
        n = cell.config["protocol"]["n_repetitions"]
        values = [(number * 37 + 11 * i) % 100 / 100 for i in range(n)]
        record = make_record(plan.dataset, task, method, *values)
        store.write(
            replace(
                record,
                config=cell.config,
                config_sha256=cell.config_sha256,
                environment=ENVIRONMENT,
            )
        )
    return store


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def files(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def test_the_wide_table_and_the_papers_two_are_written_in_three_formats(
    plan: TablePlan, tmp_path: Path
) -> None:
    paths = render_table(plan, fill(plan, tmp_path / "records"), tmp_path / "tables")
    assert [path.name for path in paths] == [
        f"moons{part}.{suffix}" for part in ("", "-main", "-appendix")
        for suffix in ("md", "tex", "csv")
    ]  # fmt: skip
    methods = {
        path.stem: list(dict.fromkeys(row["method"] for row in lines(path)))
        for path in paths
        if path.suffix == ".csv"
    }
    assert methods == {
        "moons": [*METHODS, "krda_reversed"],
        "moons-main": ["source_only", "target_only", "krda", "ot", "sa"],
        "moons-appendix": ["source_only", "target_only", "krda", "jan", "tca"],
    }


def test_rendering_twice_gives_the_same_bytes(plan: TablePlan, tmp_path: Path) -> None:
    store = fill(plan, tmp_path / "records")
    for name in ("first", "second"):
        render_table(plan, store, tmp_path / name / "tables")
        render_summary(summarise([plan], store), tmp_path / name)
    first, second = files(tmp_path / "first"), files(tmp_path / "second")
    assert first == second
    assert set(first) >= {
        "tables/comparison.md", "tables/comparison.csv", "tables/comparison-tests.csv",
        "tables/comparison-pairs.csv", "tables/claims.md", "figures/ranks_moons.png",
        "figures/ranks_moons.pdf",
    }  # fmt: skip


def test_a_trial_run_says_so_on_every_page(plan: TablePlan, tmp_path: Path) -> None:
    store = fill(plan, tmp_path / "records")
    paths = render_table(plan, store, tmp_path) + render_summary(summarise([plan], store), tmp_path)
    for path in paths:
        if path.suffix in (".md", ".tex"):
            assert "This is a trial run" in path.read_text(encoding="utf-8"), path.name


def test_an_empty_store_renders_without_a_number_of_ours(plan: TablePlan, tmp_path: Path) -> None:
    store = RecordStore(tmp_path / "records")
    render_table(plan, store, tmp_path)
    paths = render_summary(summarise([plan], store), tmp_path)
    assert not any(path.suffix == ".png" for path in paths)
    rows = lines(tmp_path / "moons.csv")
    assert {(row["mean"], row["verdict"]) for row in rows} <= {
        ("", "missing"), ("", "no published value"),
    }  # fmt: skip


@pytest.fixture(params=["copied", "empty"])
def unpublished(request: pytest.FixtureRequest) -> TablePlan:
    """A table of data that the paper does not have, with its list of methods copied or empty."""
    methods = (*METHODS, "quantiles", "my_method")
    n_paper = len(METHODS) if request.param == "copied" else 0
    found = TablePlan(
        name="mine",
        title="Data of my own",
        dataset="gaussians",
        tasks=("2-3", "3-2"),
        task_label="{}",
        paper=methods[:n_paper],
        ours=methods[n_paper:],
        test_rows=1000,
    )
    cells = {}
    for task in found.tasks:
        for method in methods:
            known = make_cell(f"dataset.task={task}", dataset="gaussians", method="source_only")
            config = {**known.config, "method": {**known.config["method"], "name": method}}
            cells[task, method] = Cell(config, None)
    found.__dict__["cells"] = cells
    return found


def test_a_table_without_published_values_shows_ours_alone(
    unpublished: TablePlan, tmp_path: Path
) -> None:
    store = fill(unpublished, tmp_path / "records")
    paths = render_table(unpublished, store, tmp_path / "tables")
    assert [path.name for path in paths] == ["mine.md", "mine.tex", "mine.csv"]
    text = paths[0].read_text(encoding="utf-8")
    accuracies, corrected = [part.splitlines()[2:] for part in text.split("\n\n") if part[0] == "|"]
    for rows in (accuracies, corrected):
        assert len(rows) == len(unpublished.methods)
        assert {row.split(" | ")[1] for row in rows} == {"ours"}
    report = report_of([unpublished], tmp_path).read_text(encoding="utf-8")
    table = report.partition('id="table-mine"')[2].partition("</table>")[0]
    latex = paths[1].read_text(encoding="utf-8")
    for page in (text, latex, table):
        assert "not in the paper" not in page
        assert " paper " not in page
        assert "difference" not in page
        assert "my_method" in page.replace("\\_", "_")
    assert latex.count(r"\midrule") == 1


def test_of_data_that_the_paper_lacks_its_methods_are_known_whichever_list_has_them(
    unpublished: TablePlan, tmp_path: Path
) -> None:
    store = fill(unpublished, tmp_path / "records")
    render_table(unpublished, store, tmp_path)
    known = {row["method"]: row["in_paper"] for row in lines(tmp_path / "mine.csv")}
    assert known == dict.fromkeys(METHODS, "true") | {"quantiles": "false", "my_method": "false"}
    summary = summarise([unpublished], store)
    render_summary(summary, tmp_path)
    (comparison,) = summary.datasets[0].comparison.ranks[:1]
    assert set(comparison.methods) == set(METHODS) - {"target_only"}
    text = render_provenance([unpublished], store, tmp_path).read_text(encoding="utf-8")
    assert "| my\\_method | " in text, "a method without a label goes by its name"


def test_names_of_methods_and_tasks_are_told_below_a_table(plan: TablePlan, tmp_path: Path) -> None:
    store = fill(plan, tmp_path / "records")
    render_table(plan, store, tmp_path)
    told = "Methods: Source only: the classifier trained on the source as it is;"
    for name in ("moons.md", "moons-main.md"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        (line,) = [line for line in text.splitlines() if told in line]
        assert "SA: subspace alignment (Fernando et al., 2013)" in line
        assert line.endswith("Tasks: 40° is the target rotated by 40 degrees.")
        assert ("TCA: " in line) == (name == "moons.md"), "only what the table has"
    assert told in report_of([plan], tmp_path).read_text(encoding="utf-8")


class TestNothingUnfinishedLooksDone:
    def test_nan_is_no_accuracy(self) -> None:
        with pytest.raises(ValueError, match="finite"):
            Outcome(0, 1, "done", float("nan"), 0.1, 0.1, None)

    def test_a_file_with_nan_counts_as_missing(self, plan: TablePlan, tmp_path: Path) -> None:
        store = fill(plan, tmp_path / "records")
        cell = plan.cells["10", "krda"]
        assert stored(cell, store) is not None
        (path,) = (tmp_path / "records" / "moons" / "10").glob("krda-*.json")
        content = json.loads(path.read_text())
        content["outcomes"][0]["accuracy"] = float("nan")
        path.write_text(json.dumps(content))
        assert lookup_of(plan, store)("10", "krda") is None
        render_table(plan, store, tmp_path)
        text = (tmp_path / "moons.md").read_text(encoding="utf-8")
        assert "- KRDA: 10°" in text.split("**Missing cells**")[1]

    @pytest.mark.parametrize("status", ["failed", "diverged", "timeout"])
    def test_a_lost_repetition_is_counted(
        self, plan: TablePlan, tmp_path: Path, status: str
    ) -> None:
        cell = plan.cells["10", "krda"]
        n = cell.config["protocol"]["n_repetitions"]
        values = [0.9] * (n - 1) + [f"{status}: made up"]
        record = make_record("moons", "10", "krda", *values)
        record = replace(record, config=cell.config, config_sha256=cell.config_sha256)
        store = RecordStore(tmp_path / "records")
        store.write(record)
        render_table(plan, store, tmp_path)
        (line,) = [
            row for row in lines(tmp_path / "moons.csv")
            if (row["task"], row["method"]) == ("10", "krda")
        ]  # fmt: skip
        assert (line["n_done"], line["n_repetitions"]) == (str(n - 1), str(n))
        assert line["verdict"] == "incomplete"
        for name in ("moons.md", "moons-main.md", "moons.tex", "moons-appendix.tex"):
            text = (tmp_path / name).read_text(encoding="utf-8")
            assert f"({n - 1}/{n})" in text, name
            assert "Repetitions that are not done" in text

    def test_a_record_of_another_config_is_not_taken(self, plan: TablePlan, tmp_path: Path) -> None:
        store = RecordStore(tmp_path / "records")
        store.write(make_record("moons", "10", "krda", *[0.9] * 5))
        assert lookup_of(plan, store)("10", "krda") is None


def test_additions_of_the_tests_are_those_of_the_tables() -> None:
    from experiments.cells.plan import load_table

    assert load_table("moons").ours == ADDITIONS


def test_a_store_to_render_from_reads_each_file_once(plan: TablePlan, tmp_path: Path) -> None:
    store = fill(plan, tmp_path / "records")
    once = ReadOnce(store.root)
    first, second, third = list(plan.cells.values())[:3]
    path = store.path(first.dataset, first.task, first.method, first.config_sha256)
    store.path(second.dataset, second.task, second.method, second.config_sha256).unlink()
    damaged = store.path(third.dataset, third.task, third.method, third.config_sha256)
    damaged.write_text("{")
    for _ in range(2):
        assert stored(first, once) is not None
        assert stored(first, once) == stored(first, store)
        assert stored(second, once) is None
        assert once.get(
            second.dataset, second.task, second.method, second.config_sha256
        ) is None  # fmt: skip
        with pytest.raises(RecordError):
            once.read(damaged)
    path.unlink()
    assert stored(first, store) is None
    assert stored(first, once) is not None
