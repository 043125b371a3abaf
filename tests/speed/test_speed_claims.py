"""Tables, figures and sentences of the measurements say what the files hold."""

import re
from pathlib import Path

import pandas as pd
import pytest

from speed import claims, tables
from speed.__main__ import RESULTS, ROOT
from speed.plots import draw
from speed.sections import SECTIONS

TRANSPORT = SECTIONS[0]
# Words that state a speed: a number and a unit of it.
SPEED = re.compile(
    r"\b\d[\d,.]*\s*(?:x|×|times)\s+(?:as (?:fast|long|slow)|faster|slower)"
    r"|\brows (?:a|per) second|\brows/s\b"
    r"|\b\d[\d,.]*\s*(?:µs|ms|s|seconds|minutes)\s+(?:a|per|for|on|with)\b",
    re.IGNORECASE,
)


def row(case, n, seconds, **more):
    return {
        "case": case, "d": 27, "n": n, "threads": 1, "status": "done", "seconds": seconds,
        "seconds_min": 0.9 * seconds, "seconds_max": 1.2 * seconds, "cpu_seconds": seconds,
        "repetitions": 3, "rows_per_second": n / seconds, "peak_mb": 12.0, **more,
    }  # fmt: skip


def rows(ratio=4.5):
    return [
        *(row("KR transport", n, n / 20_000) for n in (1_000, 100_000)),
        row("KR transport, bisection", 100_000, 5 * ratio, ratio=ratio),
        {"case": "nflows, affine", "d": 27, "n": 1_000, "threads": 1,
         "status": "not run: not installed"},
    ]  # fmt: skip


def test_files_keep_four_digits_and_whole_numbers(tmp_path):
    tables.write(tmp_path / "t.csv", [{"case": "a", "n": 123456, "seconds": 1234.5678}, {"n": 7}])
    assert (tmp_path / "t.csv").read_text() == "case,n,seconds\na,123456,1235\n,7,\n"


def test_a_table_gives_the_reason_if_there_is_no_time(tmp_path):
    tables.write(tmp_path / "t.csv", rows())
    text = tables.markdown(pd.read_csv(tmp_path / "t.csv")).splitlines()
    assert text[4] == (
        "| KR transport, bisection | 27 | 100,000 | 1 | 22.5 s | 20.2 s – 27 s | 3 | 4,400 | 12 | "
        "4.5 |"
    )
    assert text[5].startswith("| nflows, affine | 27 | 1,000 | 1 | not run: not installed |  |")


@pytest.mark.parametrize(("ratio", "said"), [(4.52, "4.5"), (0.25, "0.25"), (37.4, "37")])
def test_sentences_say_what_the_files_say_whichever_side_they_favour(tmp_path, ratio, said):
    tables.write(tmp_path / "transport.csv", rows(ratio))
    first, second = claims.bullets(tmp_path, "link", headlines=True).splitlines()
    assert "20,000 rows of 27 columns" in first
    assert "100,000,000 rows take 83 min" in first
    assert f"{said} times as long (100,000 rows of 27 columns)" in second
    assert second.endswith("([transport.csv](link/transport.csv))")


def test_without_a_run_documents_say_so(tmp_path):
    assert claims.bullets(tmp_path, "link", headlines=False) == claims.MISSING


def test_marked_parts_are_replaced_and_others_are_kept(tmp_path):
    tables.write(tmp_path / "transport.csv", rows())
    text = "a\n<!-- speed sentences: begin -->\nold\n<!-- speed sentences: end -->\nb\n"
    new = claims.filled(text, tmp_path, "link")
    assert new.startswith("a\n<!-- speed sentences: begin -->\n- ")
    assert new.endswith("\n<!-- speed sentences: end -->\nb\n")
    assert "old" not in new
    assert claims.filled(new, tmp_path, "link") == new


@pytest.mark.parametrize(
    "text",
    ["<!-- speed machine: begin -->", "<!-- speed sped: begin --><!-- speed sped: end -->"],
)
def test_wrong_marks_are_refused(tmp_path, text):
    with pytest.raises(ValueError, match="must come in pairs"):
        claims.filled(text, tmp_path, "link")


@pytest.mark.parametrize("name", claims.DOCUMENTS)
def test_documents_claim_the_speed_that_the_committed_files_hold_and_no_other(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    link = "../" * name.count("/") + "results/benchmarks"
    assert "<!-- speed " in text
    assert claims.filled(text, RESULTS, link) == text
    outside = re.sub(r"<!-- speed (\S+): begin -->.*?<!-- speed \1: end -->", "", text, flags=re.S)
    assert [line for line in outside.splitlines() if SPEED.search(line)] == []


def test_every_sentence_is_made_from_the_committed_files():
    silent = [s for s in claims.SENTENCES if claims.say(s, RESULTS) is None]
    assert silent == []


def test_the_committed_page_is_made_from_the_committed_files():
    page = (RESULTS / "README.md").read_text(encoding="utf-8")
    assert tables.page(RESULTS, SECTIONS, "make bench") == page


def test_figures_are_the_same_bytes_each_time(tmp_path):
    frame = pd.DataFrame(rows())
    first = [path.read_bytes() for path in draw(TRANSPORT, frame, tmp_path / "a")]
    again = [path.read_bytes() for path in draw(TRANSPORT, frame, tmp_path / "b")]
    assert first == again
    assert first[0].startswith(b"\x89PNG")


def test_one_size_alone_is_not_drawn(tmp_path):
    assert draw(TRANSPORT, pd.DataFrame(rows()[1:3]), tmp_path / "a") == []


def test_the_machine_is_described_without_the_day(tmp_path):
    tables.write(tmp_path / "transport.csv", rows())
    tables.write_machine(tmp_path / "machine.json")
    text = tables.machine(tmp_path)
    assert re.search(r"torch \d", text)
    assert re.search(r"median 1\.00, largest 1\.00", text)
    assert not Path(tmp_path / "machine.json").read_text().count("date")
