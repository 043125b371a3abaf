"""Everything rendered from a store: complete, repeatable, and of the plan's own cells alone."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from experiments.analysis.claims import claims
from experiments.cells.curves import curves_of
from experiments.reading.headline import headline_of
from experiments.reading.pages import comparison_rows, judgements, origins
from experiments.reading.render import render
from experiments.reading.results import read_results, records_of, select
from experiments.store.frame import to_frame
from experiments.store.records import RecordStore

NAMES = ("moons", "hepmass_sim")


def test_every_file_is_written_and_named(rendered) -> None:
    tables = {path.name for path in (rendered.directory / "tables").iterdir()}
    assert tables == {
        *(f"{name}{part}.{suffix}" for name in NAMES for part in ("", "-main", "-appendix")
          for suffix in ("md", "tex", "csv")),
        "comparison.md", "comparison.csv", "comparison-tests.csv", "comparison-pairs.csv",
        "placebo.csv", "claims.md", "provenance.md",
    }  # fmt: skip
    figures = {path.stem for path in (rendered.directory / "figures").glob("*.png")}
    kinds = ("accuracy", "differences", "runtime", "ranks")
    assert figures >= {f"{kind}_{name}" for kind in kinds[:3] for name in NAMES}
    assert any("marginals_moons: left out" in line for line in rendered.lines)


def test_rendering_again_gives_the_same_bytes(rendered, tmp_path: Path) -> None:
    (tmp_path / "records").symlink_to(rendered.directory / "records")
    render(rendered.plans, curves_of(rendered.plans), tmp_path, say=lambda line: None)
    for path in rendered.directory.rglob("*"):
        if path.is_file() and "records" not in path.parts:
            again = tmp_path / path.relative_to(rendered.directory)
            assert again.read_bytes() == path.read_bytes(), path.name


def test_a_part_of_the_tables_has_no_comparisons_and_no_report(rendered, tmp_path: Path) -> None:
    (tmp_path / "records").symlink_to(rendered.directory / "records")
    plan = replace(rendered.plans[0], paper=("source_only",), ours=())
    assert render([plan], [], tmp_path, whole=False, say=lambda line: None)
    assert not (tmp_path / "report.html").exists()
    assert not (tmp_path / "tables" / "claims.md").exists()


def test_records_of_another_config_are_not_taken(rendered) -> None:
    frame = to_frame(rendered.directory)
    plan = rendered.plans[0]
    n = len(plan.cells) * 5
    assert len(select(plan, frame)) == n
    assert select(plan, frame.assign(config="0" * 12)).empty
    other = replace(plan, overrides=("protocol.n_repetitions=4",))
    assert select(other, frame).empty


def test_the_page_of_comparisons_holds_the_frames_numbers(rendered) -> None:
    text = (rendered.directory / "tables" / "comparison.md").read_text(encoding="utf-8")
    for table in rendered.results.tables:
        head, rows = comparison_rows(table, rendered.results.comparison)
        for row in rows:
            assert len(row) == len(head)
            assert f"{row[1]} | {row[2]}" in text
    assert "JAN: 1 of 2 tasks are complete" in text


def test_the_page_of_claims_holds_every_judgement(rendered) -> None:
    text = (rendered.directory / "tables" / "claims.md").read_text(encoding="utf-8")
    assert text.count("\n- ") == sum(len(judgements(c, rendered.results.claims)) for c in claims())
    assert "for orientation (simulated)" in text


def test_provenance_counts_cells_and_says_the_revision_as_it_was_found(rendered) -> None:
    store = RecordStore(rendered.directory / "records")
    records = records_of(rendered.plans, store)
    found = origins(records)
    assert set(found.cells[found.kind == "code"]) == {len(records)}
    for clean, said in ((True, "as committed"), (False, "uncommitted"), (None, "not known")):
        where = records[0].environment | {"git_clean": clean}
        text = origins([replace(records[0], environment=where)]).text
        assert text.str.contains(said).any()


def test_an_empty_store_gives_pages_without_numbers(rendered, tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    plans = [
        replace(plan, tasks=plan.tasks[:1], paper=("krda",), ours=()) for plan in rendered.plans
    ]
    assert render(plans, [], tmp_path, say=lambda line: None)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "nothing of this table was run" in text
    assert not list(tmp_path.rglob("*.png"))


class Page(HTMLParser):
    """Ids, addresses and table cells of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            if name in ("href", "src") and tag != "a":
                self.addresses.append(str(value))
            if name == "href" and str(value).startswith("#"):
                self.addresses.append(str(value))


@pytest.fixture(scope="module")
def report(rendered) -> str:
    return (rendered.directory / "report.html").read_text(encoding="utf-8")


def test_the_report_needs_no_other_file_and_its_anchors_lead_somewhere(report: str) -> None:
    page = Page(report)
    assert len(page.ids) == len(set(page.ids))
    for address in page.addresses:
        assert address.startswith("data:") or address[1:] in page.ids, address


def test_every_cell_of_the_tables_is_in_the_report(rendered, report: str) -> None:
    for table in rendered.results.tables:
        section = report.partition(f'<section id="{table.name}">')[2].partition("</section>")[0]
        values = re.findall(r'<td data-value="([^"]*)"', section)
        for mean in table.cells["mean"].dropna():
            assert repr(round(mean, 8) + 0.0) in values


def test_errors_are_escaped_in_the_report(report: str) -> None:
    assert "<script>alert" not in report
    assert "&lt;script&gt;alert" in report
    assert "(4/5)" in report


def test_simulated_data_are_called_so_in_every_heading_of_the_report(report: str) -> None:
    for heading in re.findall(r"<h[23][^>]*>HEPMASS.*?</h[23]>", report):
        assert "simulated" in heading


def test_a_figure_that_is_not_there_is_named(report: str) -> None:
    assert "The figure <code>marginals_moons</code> is not there" in report


def test_states_of_cells_add_up_and_krdas_place_is_said(rendered) -> None:
    moons, simulated = (headline_of(table) for table in rendered.results.tables)
    assert [moons[state] for state in ("done", "failed", "missing")] == [11, 1, 0]
    assert sum(simulated[state] for state in ("done", "failed", "missing")) == 12
    assert any("Column quantiles is" in sentence for sentence in moons["sentences"])
    assert any("which is other data" in sentence for sentence in simulated["sentences"])


def test_results_of_part_of_the_records_name_what_is_missing(rendered) -> None:
    frame = to_frame(rendered.directory).query("method != 'krda'")
    table = read_results(rendered.plans, [], frame).tables[0]
    sentences = headline_of(table)["sentences"]
    assert sentences == ["KRDA is complete on 0 of 2 tasks, so nothing is said of it here."]
