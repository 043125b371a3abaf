"""The page and the tables on speed say what the files hold."""

import re

import pytest

from experiments.reading.markdown import filled
from speed import claims
from speed.__main__ import RESULTS, ROOT

# Words that state a speed: a number and a unit of it.
SPEED = re.compile(
    r"\b\d[\d,.]*\s*(?:x|×|times)\s+(?:as (?:fast|long|slow)|faster|slower)"
    r"|\brows (?:a|per) second|\brows/s\b"
    r"|\b\d[\d,.]*\s*(?:µs|ms|s|seconds|minutes)\s+(?:a|per|for|on|with)\b",
    re.IGNORECASE,
)


def test_files_keep_four_digits_and_whole_numbers(tmp_path):
    claims.write(tmp_path / "t.csv", [{"case": "a", "n": 123456, "seconds": 1234.5678}, {"n": 7}])
    assert (tmp_path / "t.csv").read_text() == "case,n,seconds\na,123456,1235\n,7,\n"


def test_the_table_holds_each_case_at_its_largest_size_with_27_columns(tmp_path):
    row = {"case": "KR", "d": 27, "n": 10, "status": "done", "seconds": 0.25, "peak_mb": 3.0}
    claims.write(tmp_path / "scale.csv", [row | {"case": "fit"}])
    claims.write(tmp_path / "transport.csv", [
        row, row | {"n": 100, "ratio": 4.5}, row | {"d": 100}, row | {"status": "not run: odd"},
    ])  # fmt: skip
    *_, first, second = claims.largest(tmp_path).splitlines()
    assert first == "| KR | 100 | 0.25 | 3 | 4.5 |"
    assert second == "| fit | 10 | 0.25 | 3 |  |"


def test_the_three_lines_have_krda_and_every_peer(tmp_path):
    row = {"d": 27, "n": 1000, "status": "done", "seconds": 2.0, "peak_mb": 3.0, "ratio": 4.26}
    files = {"transport": ("KR map", "peer, affine"), "scale": ("KRDA.fit", "KRDA.transform")}
    for name, cases in files.items():
        claims.write(tmp_path / f"{name}.csv", [row | {"case": case} for case in cases])
    fit, transform, peers = claims.three_lines(tmp_path).splitlines()
    assert "`KRDA.fit` of 1,000 rows" in fit
    assert "2 seconds, and 3 MB" in transform
    assert "peer, affine (4.3)" in peers
    assert "KR map" not in peers


@pytest.mark.parametrize(("name", "claim"), claims.documents(RESULTS).items())
def test_documents_claim_the_speed_that_the_committed_files_hold_and_no_other(name, claim):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert filled(text, "speed", claim) == text
    outside = filled(text, "speed", "")
    assert [line for line in outside.splitlines() if SPEED.search(line)] == []


def test_the_committed_page_is_made_from_the_committed_files():
    page = (RESULTS / "README.md").read_text(encoding="utf-8")
    assert claims.benchmarks_page(RESULTS, "make bench") == page
