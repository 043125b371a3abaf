"""The report: whole, well-formed, one file, the same each time, and as plain as the records."""

from __future__ import annotations

import base64
import csv
import io
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image
from report_pages import ERROR, plans, report_of, write_figure, write_records
from rounding import one_decimal

from experiments import reproduce
from experiments.cells.plan import METHOD_LABELS, TablePlan
from experiments.reading.render import render_table
from experiments.reading.report.headline import headline_of
from experiments.reading.summary import DatasetSummary, summarise
from experiments.store.records import RecordStore

FAILED = ("moons", "40", "jan")
VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """Checks that tags are balanced, and keeps what the tests ask for."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[str] = []
        self.words: list[str] = []
        self.rows: dict[str, list[list[tuple[dict[str, str | None], str]]]] = {}
        self._table = ""
        self.feed(text)
        self.close()
        assert self.open == [], "tags that nothing closes"

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"an attribute of {tag} stands twice"
        self.tags.append((tag, dict(attributes)))
        if tag in VOID:
            return
        self.open.append(tag)
        if tag in ("h2", "h3", "dt"):
            self.headings.append("")
        if tag == "table":
            self._table = dict(attributes).get("id") or ""
            self.rows[self._table] = []
        if tag == "tr":
            self.rows[self._table].append([])
        if tag in ("td", "th"):
            self.rows[self._table][-1].append((dict(attributes), ""))

    def handle_endtag(self, tag: str) -> None:
        assert tag not in VOID, f"{tag} has no end"
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another tag"

    def handle_data(self, data: str) -> None:
        if {"script", "style"} & set(self.open):
            return
        self.words.append(data)
        if {"h2", "h3", "dt"} & set(self.open):
            self.headings[-1] += data
        if {"td", "th"} & set(self.open):
            attributes, text = self.rows[self._table][-1].pop()
            self.rows[self._table][-1].append((attributes, text + data))

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def attributes(self, name: str) -> list[tuple[str, str]]:
        return [(tag, v) for tag, a in self.tags if (v := a.get(name)) is not None]


@pytest.fixture(scope="module")
def tables() -> list[TablePlan]:
    return plans()


@pytest.fixture(scope="module")
def results(tables: list[TablePlan], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of everything but Amazon, one failed repetition, two figures of many."""
    directory = tmp_path_factory.mktemp("results")
    store = RecordStore(directory / "records")
    write_records(store, tables, failed=FAILED, without=("amazon",))
    write_figure(directory, "accuracy_moons")
    write_figure(directory, "hepmass_sim_fidelity", (300, 200))
    return directory


@pytest.fixture(scope="module")
def text(tables: list[TablePlan], results: Path) -> str:
    path = report_of(tables, results)
    assert path == results / "report.html"
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_the_same_records_give_the_same_bytes_wherever_they_lie(
    tables: list[TablePlan], text: str, tmp_path: Path
) -> None:
    store = RecordStore(tmp_path / "records")
    write_records(store, list(reversed(tables)), failed=FAILED, without=("amazon",))
    write_figure(tmp_path, "accuracy_moons")
    write_figure(tmp_path, "hepmass_sim_fidelity", (300, 200))
    assert report_of(tables, tmp_path).read_text(encoding="utf-8") == text


def test_no_resource_is_fetched(text: str, page: Page) -> None:
    resources = page.attributes("src") + [
        (tag, value) for tag, value in page.attributes("href") if tag != "a"
    ]
    assert resources
    assert all(value.startswith("data:") for _, value in resources)
    for name in ("srcset", "data", "action", "poster", "background"):
        assert page.attributes(name) == []
    assert {tag for tag, _ in page.tags}.isdisjoint({"iframe", "object", "embed", "base"})
    assert re.search(r"url\(|@import|\bimport\b|fetch\(|XMLHttpRequest", text) is None
    links = [value for tag, value in page.attributes("href") if tag == "a"]
    outside = {link for link in links if not link.startswith("#")}
    assert all(link.startswith("https://arxiv.org/") for link in outside)


def test_anchors_lead_somewhere_and_no_id_stands_twice(page: Page) -> None:
    ids = Counter(value for _, value in page.attributes("id"))
    assert set(ids.values()) == {1}
    inside = {v[1:] for tag, v in page.attributes("href") if tag == "a" and v.startswith("#")}
    assert inside
    assert inside <= set(ids)


def test_every_mean_of_the_tables_stands_in_its_row_and_column(
    tables: list[TablePlan], results: Path, page: Page, tmp_path: Path
) -> None:
    store = RecordStore(results / "records")
    seen = 0
    for plan in tables:
        if plan.name == "amazon":
            continue
        render_table(plan, store, tmp_path)
        head, *rows = page.rows[f"table-{plan.name}"]
        columns = [text for _, text in head]
        labels = {attributes["data-value"]: row for row in rows for attributes, _ in row[:1]}
        assert len(labels) == len(plan.methods)
        with (tmp_path / f"{plan.name}.csv").open(newline="", encoding="utf-8") as file:
            for line in csv.DictReader(file):
                row = labels[METHOD_LABELS[line["method"]]]
                attributes, shown = row[columns.index(plan.task_label.format(line["task"]))]
                assert attributes["data-value"] == line["mean"]
                mean, width = (one_decimal(float(line[key])) for key in ("mean", "ci95"))
                assert shown.startswith(f"{mean} ± {width}")
                if line["published_mean"]:
                    assert f"paper: {one_decimal(float(line['published_mean']))} ±" in shown
                    if line["verdict"] != "no published value":
                        assert shown.endswith(line["verdict"])
                seen += 1
    assert seen == sum(len(p.cells) for p in tables if p.name != "amazon")


def test_bold_is_that_of_the_tables(tables: list[TablePlan], results: Path, text: str) -> None:
    store = RecordStore(results / "records")
    summary = summarise(tables, store)
    bold = sum(cell.bold for found in summary.datasets for cell in found.table.cells.values())
    assert bold > 0
    assert len(re.findall(r"<td [^>]*><strong>", text)) == bold


def test_a_lost_repetition_is_seen_in_its_cell_with_its_error_escaped(
    text: str, page: Page
) -> None:
    (row,) = [r for r in page.rows["table-moons"] if r[0][0].get("data-value") == "JAN"]
    assert [("(4/5)" in shown, a["class"]) for a, shown in row[1:4]] == [
        (False, "done"), (True, "partial"), (False, "done"),
    ]  # fmt: skip
    assert "(4/5)" in row[2][1]
    assert "incomplete" in row[2][1]
    assert ERROR in page.text
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text
    assert "python -m experiments.explain moons/40 jan" in page.text
    assert "Made-up <processor>" in page.text


def test_simulated_data_are_called_so_in_every_heading(page: Page) -> None:
    headings = [h for h in page.headings if "HEPMASS" in h or "hepmass_sim" in h]
    assert len(headings) >= 4
    assert all("simulated" in heading for heading in headings)
    assert "these are not the HEPMASS data" in page.text
    assert "for orientation (simulated)" in page.text
    regions = [label for _, label in page.attributes("aria-label") if "HEPMASS" in label]
    assert len(regions) >= 3
    assert all("simulated" in label for label in regions)


def test_a_table_without_records_is_told_and_shows_no_number(page: Page) -> None:
    assert "table-amazon" not in page.rows
    assert "comparison-amazon" not in page.rows
    assert "No record is stored: nothing of this table was run" in page.text
    assert "make reproduce-tables TABLE=amazon" in page.text
    (row,) = [r for r in page.rows[""] if r[0][1].startswith("Amazon")]
    assert [shown for _, shown in row[3:]] == [
        "0 of 46", "0", "0", "46", "–", "–", "–", "–", "–",
    ]  # fmt: skip
    assert "KRDA is complete on 0 of 2 tasks" in page.text


def test_an_empty_store_gives_a_page(tables: list[TablePlan], tmp_path: Path) -> None:
    path = report_of(tables, tmp_path)
    page = Page(path.read_text(encoding="utf-8"))
    assert page.text.count("No record is stored: nothing of this table was run") == len(tables)
    assert "No record is stored, so none tells." in page.text


def test_figures_are_inside_small_and_described_and_missing_ones_are_told(page: Page) -> None:
    images = [attributes for tag, attributes in page.tags if tag == "img"]
    assert len(images) == 2
    for attributes in images:
        assert len(attributes["alt"] or "") > 20
        head, _, data = (attributes["src"] or "").partition(",")
        assert head == "data:image/png;base64"
        image = Image.open(io.BytesIO(base64.b64decode(data)))
        assert (str(image.width), str(image.height)) == (attributes["width"], attributes["height"])
        assert image.width <= 1400
        # What could be seen through is white, as the page is.
        assert image.convert("RGB").getpixel((0, 0)) == (255, 255, 255)
    assert "The figure differences_moons is not there" in page.text
    assert "The figure moons_40 is not there" in page.text


def test_columns_are_sorted_by_buttons_that_say_how(page: Page) -> None:
    tables = [a for tag, a in page.tags if tag == "table" and "sortable" in (a["class"] or "")]
    assert {a["id"] for a in tables} >= {
        "table-moons", "table-hepmass_sim", "comparison-moons", "table-claims", "table-seconds",
    }  # fmt: skip
    heads = [a for tag, a in page.tags if tag == "th" and "aria-sort" in a]
    buttons = [a for tag, a in page.tags if tag == "button"]
    assert len(heads) == len(buttons) > 0
    assert {a["aria-sort"] for a in heads} == {"none"}
    assert {a["type"] for a in buttons} == {"button"}


def test_a_trial_run_says_so_at_the_top(tables: list[TablePlan], tmp_path: Path) -> None:
    trial = [replace(plan, overrides=("protocol=smoke",)) for plan in tables[:1]]
    path = report_of(trial, tmp_path)
    page = Page(path.read_text(encoding="utf-8"))
    assert page.text.index("This is a trial run") < page.text.index("What was run")
    assert "python -m experiments.reproduce --protocol smoke" in page.text


def test_rendering_everything_writes_it_and_a_part_of_the_tables_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reproduce, "default_tables", lambda records: ("moons",))
    part, everything = tmp_path / "part", tmp_path / "everything"
    reproduce.main(["--render", "--table", "moons", "--results", str(part)])
    assert (part / "tables" / "moons.md").is_file()
    assert not (part / "report.html").exists()
    reproduce.main(["--render", "--results", str(everything)])
    assert (everything / "report.html").is_file()
    assert capsys.readouterr().out.rstrip().endswith(f"wrote {everything / 'report.html'}")


class TestHeadline:
    """KRDA's paragraph is computed, and hides nothing."""

    @pytest.fixture
    def found(self, tables: list[TablePlan], results: Path) -> DatasetSummary:
        store = RecordStore(results / "records")
        by_name = {d.name: d for d in summarise(tables, store).datasets}
        return by_name["hepmass_sim"]

    def test_every_number_is_that_of_the_table(self, found: DatasetSummary) -> None:
        table = found.table
        told = " ".join(headline_of(found).sentences)
        bold = sum(table.cells[task.name, "krda"].bold for task in table.spec.tasks)
        assert f"not in the paper, on {bold}." in told
        mean = table.summaries["krda"].ours.value
        source = table.summaries["source_only"].ours.value
        assert mean is not None
        assert source is not None
        assert f"Its mean over the tasks is {one_decimal(mean)};" in told
        assert "is of hepmass, which is other data" in told
        side = "above" if source > mean else "below"
        gap = f"{one_decimal(abs(source - mean))} points {side}"
        assert f"Source only is {gap} KRDA in the mean ({one_decimal(source)})" in told

    def test_a_naive_row_above_krda_is_said_to_be_above(self, found: DatasetSummary) -> None:
        table = found.table
        told = " ".join(headline_of(found).sentences)
        own = table.summaries["krda"].ours.value
        assert own is not None
        for method, label in (
            ("standardize", "Each domain standardised"), ("quantiles", "Column quantiles"),
        ):  # fmt: skip
            naive = table.summaries[method].ours.value
            assert naive is not None
            higher = sum(
                sum(table.cells[t.name, method].accuracies)
                > sum(table.cells[t.name, "krda"].accuracies) + 1e-6
                for t in table.spec.tasks
            )
            side = "above" if naive > own else "below"
            assert (
                f"{label} is {one_decimal(abs(naive - own))} points {side} KRDA in the mean "
                f"({one_decimal(naive)}) "
                f"and has the higher mean on {higher} of 3 tasks."
            ) in told

    def test_states_of_cells_add_up(self, tables: list[TablePlan], results: Path) -> None:
        store = RecordStore(results / "records")
        for found in summarise(tables, store).datasets:
            progress = headline_of(found).progress
            states = (progress.done, progress.failed, progress.interrupted, progress.missing)
            assert sum(states) == progress.total == len(found.table.cells)
            assert progress.failed == (found.name == "moons")
