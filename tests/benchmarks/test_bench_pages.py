import re
from pathlib import Path

import pytest

from benchmarks import claims, machine, pages, plots, tables

ROOT = Path(__file__).resolve().parents[2]


def row(case, n, seconds, d=27, **more):
    return {
        "case": case, "d": d, "n": n, "threads": 1, "status": "done", "seconds": seconds,
        "seconds_min": round(0.9 * seconds, 6), "seconds_max": round(1.2 * seconds, 6),
        "cpu_seconds": seconds, "repetitions": 3,
        "rows_per_second": n / seconds, "peak_mb": 12.0, **more,
    }  # fmt: skip


def transport_rows(ratio):
    own = [row("KR transport", n, n / 20_000) for n in (1_000, 100_000)]
    other = row("KR transport, bisection", 100_000, 5 * ratio, ratio=ratio,
                compared_to="KR transport")  # fmt: skip
    gone = {"case": "nflows, affine", "d": 27, "n": 1_000, "threads": 1,
            "status": "not run: not installed"}  # fmt: skip
    return [*own, other, gone]


def test_rows_survive_their_file(tmp_path):
    rows = transport_rows(4.5)[:2] + transport_rows(4.5)[3:]
    rows[0] |= {"ratio": 1234.5678, "note": None}
    tables.write(tmp_path / "t.csv", rows)
    rows[0] |= {"ratio": 1235}  # to four digits
    del rows[0]["note"]
    assert tables.read(tmp_path / "t.csv") == rows


def test_a_table_gives_the_reason_where_there_is_no_time():
    text = tables.markdown(transport_rows(4.5)).splitlines()
    assert text[0] == (
        "|  | d | rows | threads | time | min – max | runs | rows/s | peak memory, MB | ratio |"
    )
    assert text[4] == (
        "| KR transport, bisection | 27 | 100,000 | 1 | 22.5 s | 20.2 s – 27 s | 3 | 4,400 | 12 | "
        "4.5 |"
    )
    assert text[5] == (
        "| nflows, affine | 27 | 1,000 | 1 | not run: not installed |  |  |  |  |  |"
    )


@pytest.mark.parametrize(("ratio", "said"), [(4.52, "4.5"), (0.25, "0.25"), (37.4, "37")])
def test_sentences_say_what_the_files_say_whichever_side_they_favour(tmp_path, ratio, said):
    tables.write(tmp_path / "transport.csv", transport_rows(ratio))
    first, second = claims.claims(tmp_path)
    assert (
        first.text == "On one thread, the KR transport carries 20,000 rows of 27 columns a second."
    )
    assert second.text == (
        f"With the paper's bisection it takes {said} times as long (100,000 rows of 27 columns)."
    )
    assert first.file == second.file == "transport.csv"


def test_the_arithmetic_follows_the_measured_rate(tmp_path):
    tables.write(tmp_path / "scale.csv", [row("KRDA.transform", 1_000_000, 50.0)])
    text = claims.arithmetic(tmp_path)
    # 1e8 rows at 20,000 a second are 5,000 s; 1e8 x 27 x 8 bytes are 21.6 GB.
    assert "| time on one core | 100,000,000 / 20,000 rows a second | 1.4 h |" in text
    assert "| on 16 cores | the same / 16 | 312 s |" in text
    assert text.rstrip().count("21.6 GB") == 1


def test_without_a_run_documents_say_so(tmp_path):
    for text in (claims.speed(tmp_path, "x"), claims.arithmetic(tmp_path),
                 claims.machine_text(tmp_path)):  # fmt: skip
        assert text == claims.MISSING


def test_marked_parts_are_replaced_and_others_are_kept(tmp_path):
    tables.write(tmp_path / "transport.csv", transport_rows(4.5))
    text = "a\n<!-- benchmarks speed: begin -->\nold\n<!-- benchmarks speed: end -->\nb\n"
    new = pages.filled(text, tmp_path, "link")
    assert new.startswith("a\n<!-- benchmarks speed: begin -->\n- On one thread")
    assert "[transport.csv](link/transport.csv)" in new
    assert new.endswith("\n<!-- benchmarks speed: end -->\nb\n")
    assert pages.filled(new, tmp_path, "link") == new


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!-- benchmarks speed: begin -->", "needs its"),
        ("<!-- benchmarks sped: begin --><!-- benchmarks sped: end -->", "may be named"),
    ],
)
def test_wrong_marks_are_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        pages.filled(text, tmp_path, "link")


@pytest.mark.parametrize("name", pages.DOCUMENTS)
def test_documents_claim_the_speed_that_the_committed_files_hold_and_no_other(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    results = ROOT / "results" / "benchmarks"
    assert pages.filled(text, results, pages.link_from(name)) == text
    assert claims.untraced(text) == []


@pytest.mark.parametrize(
    "line",
    ["It is 5 times faster.", "4.1 × as fast as zuko", "10,000 rows per second", "3 s for a fit"],
)
def test_a_speed_outside_the_marks_is_found(line):
    marked = "<!-- benchmarks speed: begin -->\n5 times faster\n<!-- benchmarks speed: end -->\n"
    assert claims.untraced(f"{marked}{line}\nNothing of speed here: 5 repetitions.") == [line]


def test_plots_are_the_same_bytes_each_time_with_their_fonts(tmp_path):
    rows = transport_rows(4.5)
    first = [path.read_bytes() for path in plots.draw("transport", rows, tmp_path / "a")]
    again = [path.read_bytes() for path in plots.draw("transport", rows, tmp_path / "b")]
    assert first == again
    assert first[0].startswith(b"\x89PNG")
    assert re.search(rb"/FontFile2", first[1])


def test_one_size_alone_is_not_drawn(tmp_path):
    assert plots.draw("transport", transport_rows(2)[1:3], tmp_path / "a") == []
    assert list(tmp_path.iterdir()) == []


def test_the_machine_is_described_without_the_day(tmp_path):
    machine.write(tmp_path / "machine.json")
    found = machine.read(tmp_path / "machine.json")
    assert found["usable_cores"] >= 1
    assert found["packages"]["torch"]
    assert "date" not in found
    assert found["cpu"] in claims.machine_text(tmp_path)


def test_headlines_are_the_first_sentences_of_their_files(tmp_path):
    tables.write(tmp_path / "transport.csv", transport_rows(4.5))
    rows = [
        {"method": name, "straightforward": 6.0, "alone": 4.0, "stacked": 2.0, "ratio": ratio}
        for name, ratio in (("dan", 3.0), ("jan", 4.0))
    ]
    tables.write(tmp_path / "deep_baselines.csv", rows)
    lines = claims.headlines(tmp_path, "link").splitlines()
    assert set(lines) <= set(claims.speed(tmp_path, "link").splitlines())
    assert "takes 3 to 4 times as long as ours" in lines[-1]
    assert sum("transport.csv" in line for line in lines) == 2
