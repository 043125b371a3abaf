"""Everything rendered from a store: complete, repeatable, and of the plan's own cells alone."""

import html
import re
from dataclasses import replace

import pytest

from experiments.analysis.claims import claims
from experiments.analysis.rounding import number
from experiments.catalogue import method_label
from experiments.cells.plan import curves_of
from experiments.reading import summary
from experiments.reading.render import render, render_tables
from experiments.reading.results import read_results, select
from experiments.reading.tables import to_markdown
from experiments.reading.wording import ours_text
from experiments.store.frame import to_frame

NAMES = ("moons", "hepmass_sim")


def read(plans, directory):
    return read_results(plans, curves_of(plans), to_frame(directory))


def test_every_file_is_written(rendered):
    tables = {path.name for path in (rendered.directory / "tables").iterdir()}
    assert tables == {
        *(f"{name}.{suffix}" for name in NAMES for suffix in ("md", "tex", "csv")),
        "comparison.md", "comparison.csv", "comparison-tests.csv", "placebo.csv", "claims.md",
        "provenance.md",
    }  # fmt: skip
    figures = {path.stem for path in (rendered.directory / "figures").glob("*.svg")}
    kinds = ("accuracy", "differences", "means")
    assert figures >= {f"{kind}_{name}" for kind in kinds for name in NAMES}


def test_rendering_again_gives_the_same_bytes(rendered, tmp_path):
    (tmp_path / "records").symlink_to(rendered.directory / "records")
    results = read(rendered.plans, tmp_path)
    render_tables(results.tables, tmp_path / "tables")
    render(results, tmp_path, str)
    for path in rendered.directory.rglob("*"):
        if path.is_file() and "records" not in path.parts:
            again = tmp_path / path.relative_to(rendered.directory)
            assert again.read_bytes() == path.read_bytes(), path.name


def test_a_part_of_the_tables_has_no_comparisons_and_no_report(rendered, tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.reading.render.render_figures", lambda *_: ([], []))
    (tmp_path / "records").symlink_to(rendered.directory / "records")
    plan = replace(rendered.plans[0], paper=("source_only",), ours=())
    assert render(read([plan], tmp_path), tmp_path, str, whole=False)
    assert not (tmp_path / "report.html").exists()
    assert not (tmp_path / "tables" / "claims.md").exists()


def test_records_of_another_config_are_not_taken(rendered):
    frame = to_frame(rendered.directory)
    plan = rendered.plans[0]
    n = len(plan.cells) * 5
    assert len(select(plan, frame)) == n
    assert select(plan, frame.assign(config="0" * 12)).empty
    other = replace(plan, overrides=("protocol.n_repetitions=4",))
    assert select(other, frame).empty


def test_the_pages_of_comparisons_and_claims_hold_what_the_frames_do(rendered):
    text = (rendered.directory / "tables" / "comparison.md").read_text(encoding="utf-8")
    frame = rendered.results.comparison
    for row in frame[frame.table == "moons"].itertuples():
        line = f"| {method_label(row.method)} | {number(row.mean)} "
        assert line in text
    assert "JAN: 1 of 2 tasks are complete" in text
    text = (rendered.directory / "tables" / "claims.md").read_text(encoding="utf-8")
    assert text.count("\n- ") == len(rendered.results.claims)
    assert "for orientation (simulated)" in text


@pytest.fixture(scope="module")
def report(rendered):
    return (rendered.directory / "report.html").read_text(encoding="utf-8")


def test_the_report_needs_no_other_file_and_has_words_for_its_figures(report):
    images = re.findall(r"<img [^>]*>", report)
    assert images
    assert all(re.search(r'alt="[^"]+"', image) for image in images)
    assert report.count("<figcaption>") == len(images)
    assert "<figcaption></figcaption>" not in report
    assert not re.findall(r'(?:src="|url\()(?!data:image/svg)', report)


def test_the_links_of_the_report_lead_somewhere(rendered, report):
    ids = re.findall(r'id="([^"]*)"', report)
    assert len(ids) == len(set(ids))
    for address in re.findall(r'href="([^"]*)"', report):
        here = address[1:] in ids if address[0] == "#" else (rendered.directory / address).exists()
        assert here or address.startswith("https://arxiv.org/") or address == "all.csv", address


def test_the_report_holds_every_cell_and_errors_are_escaped(rendered, report):
    assert "(4/5)" in report
    assert "<script>" not in report
    assert "&lt;script&gt;alert" in report
    plain = html.unescape(re.sub(r"\s*<[^>]*>\s*", "|", report))
    for table in rendered.results.tables:
        for cell in table.cells.itertuples():
            assert f"|{ours_text(cell)}|" in plain


def test_the_report_has_the_moons_first_marks_krda_and_says_what_is_simulated(report):
    assert report.index('<section id="moons">') < report.index('<section id="hepmass_sim">')
    assert report.count('<tr class="krda">') == len(NAMES)
    for heading in re.findall(r"<h[23]>HEPMASS.*?</h[23]>", report):
        assert "simulated" in heading


def test_claims_are_called_by_what_the_paper_says(report):
    for claim in claims():
        assert f"<q>{html.escape(claim.quote)}</q>" in report.replace("&#39;", "&#x27;")
        assert f">{claim.id}<" not in report


def test_the_verdict_counts_what_is_reproduced_and_who_leads(rendered):
    moons, simulated = rendered.results.tables
    text = summary.sentence([moons, simulated])
    own = moons.cells[moons.cells.method == "krda"]
    assert f"{(own.verdict == 'reproduced').sum()} of {len(own)} on Moons" in text
    assert summary.leaders(moons)[1] == moons.means["mean"].ours.drop("target_only").idxmax()
    reproduced, best, trusted = summary.cards([moons, simulated])
    assert any("not judged" in reason for reason in reproduced[2])
    assert len(best[2]) == 2
    assert trusted[2]


def test_results_of_part_of_the_records_show_what_is_missing(rendered):
    frame = to_frame(rendered.directory).query("method != 'krda'")
    results = read_results(rendered.plans, [], frame)
    assert summary.leaders(results.tables[0]) == ("", "")
    assert "not complete" in summary.sentence(results.tables)
    assert "| KRDA | ours | – | – | – |" in to_markdown(results.tables[0])


def test_an_empty_store_gives_pages_without_numbers(rendered, tmp_path):
    (tmp_path / "records").mkdir()
    plans = [
        replace(plan, tasks=plan.tasks[:1], paper=("krda",), ours=()) for plan in rendered.plans
    ]
    results = read(plans, tmp_path)
    assert render(results, tmp_path, str)
    assert "there is no verdict yet" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "| KRDA | ours | – |" in to_markdown(results.tables[0])
    assert not list(tmp_path.rglob("*.svg"))
