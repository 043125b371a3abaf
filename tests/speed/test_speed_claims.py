"""The page and the sentences on speed say what the files hold."""

import re

import pytest

from speed import claims
from speed.__main__ import RESULTS, ROOT
from speed.cases import SECTIONS

# Words that state a speed: a number and a unit of it.
SPEED = re.compile(
    r"\b\d[\d,.]*\s*(?:x|×|times)\s+(?:as (?:fast|long|slow)|faster|slower)"
    r"|\brows (?:a|per) second|\brows/s\b"
    r"|\b\d[\d,.]*\s*(?:µs|ms|s|seconds|minutes)\s+(?:a|per|for|on|with)\b",
    re.IGNORECASE,
)


def row(case, n, seconds, **more):
    return {"case": case, "d": 27, "n": n, "threads": 1, "status": "done", "seconds": seconds,
            "rows_per_second": n / seconds, "cpu_seconds": seconds, **more}  # fmt: skip


def rows(ratio):
    return [
        *(row("KR transport", n, n / 20_000) for n in (1_000, 100_000)),
        row("KR transport, bisection", 100_000, 5 * ratio, ratio=ratio),
        {"case": "zuko, affine", "d": 27, "n": 1_000, "threads": 1, "status": "not run: odd"},
    ]


def test_files_keep_four_digits_and_whole_numbers(tmp_path):
    claims.write(tmp_path / "t.csv", [{"case": "a", "n": 123456, "seconds": 1234.5678}, {"n": 7}])
    assert (tmp_path / "t.csv").read_text() == "case,n,seconds\na,123456,1235\n,7,\n"


@pytest.mark.parametrize(("ratio", "said"), [(4.52, "4.5"), (0.25, "0.25"), (37.4, "37")])
def test_a_sentence_is_on_the_most_rows_whichever_side_it_favours(tmp_path, ratio, said):
    claims.write(tmp_path / "transport.csv", rows(ratio))
    first, second, third = (claims.say(one, tmp_path) for one in claims.SENTENCES[:3])
    assert "20,000 rows of 27 columns" in first
    assert "100,000,000 rows take 83 min" in first
    assert f"{said} times as long (100,000 rows of 27 columns)" in second
    assert third is None  # its case was not measured


@pytest.mark.parametrize("name", claims.DOCUMENTS)
def test_documents_claim_the_speed_that_the_committed_files_hold_and_no_other(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    link = "../" * name.count("/") + "results/benchmarks"
    assert "<!-- speed " in text
    assert claims.filled(text, RESULTS, link) == text
    outside = re.sub(r"<!-- speed (\S+): begin -->.*?<!-- speed \1: end -->", "", text, flags=re.S)
    assert [line for line in outside.splitlines() if SPEED.search(line)] == []


def test_every_sentence_is_made_from_the_committed_files():
    assert [s for s in claims.SENTENCES if claims.say(s, RESULTS) is None] == []


def test_the_committed_page_is_made_from_the_committed_files():
    page = (RESULTS / "README.md").read_text(encoding="utf-8")
    titles = {name: section.title for name, section in SECTIONS.items()}
    assert claims.page(RESULTS, titles, "make bench") == page
