"""Tables: golden files, each number traced to its accuracies, nothing unfinished looks done."""

from __future__ import annotations

import csv
import io
import math
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_factory import make_record as record
from record_factory import random_records
from rounding import one_decimal
from scipy import stats
from table_plans import ADDITIONS, OURS, plan_of, spec_of

import experiments
from experiments.analysis.paper_claims import check_claims
from experiments.analysis.verdicts import Verdict
from experiments.published import METHODS, PARTS, PublishedCell, published, published_rows
from experiments.published.anomalies import Anomaly, anomalies
from experiments.reading.readme import _mean as readme_mean
from experiments.reading.table_specs import table_parts, table_spec
from experiments.reading.tables import (
    Lookup,
    MethodRow,
    TableSpec,
    TaskColumn,
    render_csv,
    render_latex,
    render_markdown,
    wording,
)
from experiments.reading.tables import latex as latex_module
from experiments.reading.tables.markdown import escape as escape_markdown
from experiments.reading.tables.model import build_table
from experiments.store.records import Record, RecordStore

GOLDEN = Path(__file__).parents[1] / "golden" / "tables"
NASTY = r"LinAlgError: 50% of x_{1} & \alpha <b>|`y`|</b> #1 $2 ^~ [a] -- é ∞ 'q' \"r\""


def lookup_of(*records: Record) -> Lookup:
    found = {(r.task, r.method): r for r in records if r.dataset != "other"}
    return lambda task, method: found.get((task, method))


TINY = TableSpec(
    "tiny",
    "A tiny table & more",
    (TaskColumn("a-b", "a→b"), TaskColumn("b-a", "b→a"), TaskColumn("x_y", "x_y")),
    (
        MethodRow("naive", "[Naive] 100%", published=False, ours=True),
        MethodRow("source_only", "Source only"),
        MethodRow("krda", "KRDA"),
        MethodRow("ot", "OT"),
        MethodRow("sa", "SA"),
    ),
    test_rows=1000,
    notes=("Everything here is made up.",),
)
TINY_BY_TASK = replace(TINY, methods=TINY.methods[1:], tasks_in_rows=True)
LAYOUTS = {"tiny": TINY, "tiny-by-task": TINY_BY_TASK}
TINY_RECORDS = (
    record("tiny", "a-b", "source_only", 0.70, 0.71, 0.72, 0.71, 0.71),
    record("tiny", "b-a", "source_only", 0.5, 0.5, 0.5, 0.5, 0.5),
    record("tiny", "x_y", "source_only", 1.0, 1.0, 1.0, 1.0, 0.999),
    record("tiny", "a-b", "krda", 0.80, 0.82, 0.81, 0.83, 0.79),
    record("tiny", "b-a", "krda", 0.61, "failed: " + NASTY, 0.60, "timeout: 600 s", 0.62),
    record("tiny", "x_y", "krda", 0.95, 0.96, 0.955, 0.945, 0.96),
    record("tiny", "a-b", "ot", 0.79, 0.78, 0.80, 0.79, 0.81),
    record("tiny", "b-a", "ot", *["diverged: NaN"] * 5),
    record("tiny", "a-b", "sa", 0.3, 0.9, 0.6, 0.4, 0.8),
    record("tiny", "b-a", "sa", 0.6, 0.61, 0.6, 0.6, 0.6),
    record("tiny", "x_y", "sa", 0.9, 0.9, 0.9),
    record("tiny", "a-b", "naive", 0.84, 0.84, 0.85, 0.84, 0.84),
    record("tiny", "x_y", "naive", 0.955, 0.955, 0.955, 0.955, 0.955),
    record("other", "a-b", "krda", 0.1),
)
TINY_VALUES = {
    ("a-b", "source_only"): PublishedCell(70.9, 0.3, False, "both"),
    ("b-a", "source_only"): PublishedCell(60.0, 0.0, False, "both"),
    ("x_y", "source_only"): PublishedCell(100.0, 0.0, False, "both"),
    ("a-b", "krda"): PublishedCell(75.0, 1.0, True, "both"),
    ("b-a", "krda"): PublishedCell(61.0, 0.5, True, "both"),
    ("x_y", "krda"): PublishedCell(95.0, 1.5, False, "both"),
    ("a-b", "ot"): PublishedCell(79.5, 0.5, True, "main"),
    ("b-a", "ot"): PublishedCell(55.0, 0.5, False, "main"),
    ("x_y", "ot"): PublishedCell(96.0, 0.5, True, "main"),
    ("a-b", "sa"): PublishedCell(65.0, 20.0, False, "main"),
    ("b-a", "sa"): PublishedCell(60.2, 0.4, False, "main"),
    ("x_y", "sa"): PublishedCell(90.0, 0.4, False, "main"),
}
TINY_ODDITIES = (
    Anomaly(
        "tiny-sa", ("tiny",), frozenset({("tiny", "b-a", "sa")}), "inference", True,
        "Copied from x_y.", "Look at 1 & 2.", MappingProxyType({}), False,
    ),
    Anomaly(
        "tiny-ot", ("tiny",), frozenset({("tiny", t, "ot") for t in ("a-b", "b-a", "x_y")}),
        "fact", False, "No variant given.", "Section 5.", MappingProxyType({}), False,
    ),
    Anomaly(
        "tiny-all", ("tiny",), frozenset(("tiny", *key) for key in TINY_VALUES), "fact", False,
        "No formula given.", "Section 5.", MappingProxyType({}), True,
    ),
    Anomaly(
        "elsewhere", ("moons",), frozenset({("moons", "40", "krda")}), "fact", True,
        "Of no concern here.", "None.", MappingProxyType({}), False,
    ),
)  # fmt: skip
RENDERERS: dict[str, Callable[..., str]] = {
    "md": render_markdown,
    "tex": render_latex,
    "csv": render_csv,
}


def render_tiny(suffix: str, lookup: Lookup | None = None, layout: str = "tiny") -> str:
    lookup = lookup_of(*TINY_RECORDS) if lookup is None else lookup
    return RENDERERS[suffix](LAYOUTS[layout], lookup, values=TINY_VALUES, oddities=TINY_ODDITIES)


class TestGolden:
    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize("suffix", RENDERERS)
    def test_table_from_a_store_is_the_golden_one(
        self, tmp_path: Path, suffix: str, layout: str
    ) -> None:
        store = RecordStore(tmp_path)
        for entry in TINY_RECORDS:
            store.write(entry)
        text = render_tiny(suffix, lookup_of(*store.scan()), layout)
        path = GOLDEN / f"{layout}.{suffix}"
        if os.environ.get("UPDATE_GOLDEN"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8"))
            pytest.fail(f"{path.name} was written anew; review it, then run without UPDATE_GOLDEN")
        assert text.encode("utf-8") == path.read_bytes()

    def test_order_of_records_does_not_matter(self) -> None:
        for suffix in RENDERERS:
            shuffled = lookup_of(*TINY_RECORDS[::-1])
            assert render_tiny(suffix, shuffled) == render_tiny(suffix)

    def test_hash_seed_does_not_matter(self) -> None:
        program = (
            "import hashlib; from experiments.reading.tables import *;"
            "from table_plans import spec_of; s = spec_of('hepmass');"
            "print([hashlib.sha256(r(s, lambda t, m: None).encode()).hexdigest()"
            " for r in (render_markdown, render_latex, render_csv)])"
        )
        root = Path(experiments.__file__).parents[1]
        outputs = {
            subprocess.run(
                [sys.executable, "-c", program],
                env=os.environ
                | {"PYTHONHASHSEED": seed, "PYTHONPATH": f"{root}:{Path(__file__).parent}"},
                cwd=root,
                check=True,
                capture_output=True,
            ).stdout
            for seed in ("1", "2")
        }
        assert len(outputs) == 1


class Row(list[str]):
    """Cells of a row of a Markdown table, and the method that it belongs to."""

    method = ""


def grid(markdown: str, number: int = 0) -> list[Row]:
    """Rows of the nth table of a Markdown text, without head and rule."""
    tables = re.findall(r"(?:^\|.*\|\n?)+", markdown, flags=re.MULTILINE)
    rows = []
    method = ""
    for line in tables[number].splitlines()[2:]:
        row = Row(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
        method = row[0] or method
        row.method = method
        rows.append(row)
    return rows


def plain(cell: str) -> str:
    return re.sub(r"<sup>.*?</sup>|\*\*", "", cell).replace("−", "-").replace("\\", "")


class TestNumbersAreTraced:
    """Recomputed here by numpy and scipy from the five accuracies and the published rows."""

    @pytest.mark.parametrize("dataset", ["moons", "amazon"])
    def test_every_number_of_the_markdown_table(self, dataset: str) -> None:
        spec = spec_of(dataset, (OURS,))
        records = random_records(spec, 1)
        names = {method.label: method.name for method in spec.methods}
        printed = {(r.task, r.method): r for r in published_rows(dataset)}
        rows = grid(render_markdown(spec, lookup_of(*records.values())))
        seen: Counter[str] = Counter()
        for row in rows:
            if row[0].startswith("*"):
                assert set(row[1:]) == {""}
                continue
            method = names[row.method]
            numbers = []
            n = len(spec.tasks)
            for task, cell in zip(spec.tasks, row[2 : 2 + n], strict=True):
                five = 100 * np.array(records[task.name, method].accuracies)
                half = stats.t.ppf(0.975, 4) * five.std(ddof=1) / np.sqrt(5)
                if row[1] in ("ours", "not in the paper"):
                    assert plain(cell) == f"{one_decimal(five.mean())} ± {one_decimal(half)}"
                    numbers.append(five.mean())
                    continue
                value = printed[task.name, method]
                if row[1] == "paper":
                    assert plain(cell) == f"{one_decimal(value.mean)} ± {one_decimal(value.ci95)}"
                    numbers.append(float(value.mean))
                else:
                    assert row[1] == "difference"
                    numbers.append(five.mean() - float(value.mean))
                    assert float(plain(cell).split()[0]) == pytest.approx(numbers[-1], abs=0.0501)
            kept = [x for x, t in zip(numbers, spec.tasks, strict=True) if t.name not in spec.aside]
            for mean, cell in zip((numbers, kept), row[2 + n :], strict=False):
                assert float(plain(cell).split()[0]) == pytest.approx(np.mean(mean), abs=0.0501)
            assert len(row) == 3 + n + bool(spec.aside)
            if row[1] in ("ours", "not in the paper"):
                every = np.mean([records[t.name, method].accuracies for t in spec.tasks], axis=0)
                half = 100 * stats.t.ppf(0.975, 4) * every.std(ddof=1) / np.sqrt(5)
                assert plain(row[2 + n]).endswith(f" ± {one_decimal(half)}")
            seen[row[1]] += 1
        assert seen == {"ours": 12, "paper": 12, "difference": 12, "not in the paper": 1}

    def test_distances_and_counts_below_the_table(self) -> None:
        spec = spec_of("moons")
        records = random_records(spec, 2)
        text = render_markdown(spec, lookup_of(*records.values()))
        cells = published("moons")
        for row, (paper, method) in zip(grid(text, 2), METHODS.items(), strict=True):
            assert row[0].startswith(paper)
            differences = np.array(
                [
                    100 * np.mean(records[task.name, method].accuracies)
                    - cells[task.name, method].mean
                    for task in spec.tasks
                ]
            )
            assert float(row[1]) == pytest.approx(np.abs(differences).mean(), abs=0.0501)
            assert float(plain(row[2])) == pytest.approx(differences.mean(), abs=0.0501)
        counts = grid(text, 3)
        for row in counts:
            assert sum(int(n) for n in row[1:]) == (9 if row[0] != "all" else 9 * 12)
        verdicts = Counter(line["verdict"] for line in read_csv(spec, records))
        assert sorted(int(n) for n in counts[-1][1:]) == sorted(verdicts.values())

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_latex_table_shows_the_same_cells_as_markdown(self, layout: str) -> None:
        text = render_tiny("tex", layout=layout).split(r"\end{table}")[0]
        body = [line for line in text.splitlines() if line.endswith(r"\\")][1:]
        markdown = render_tiny("md", layout=layout)
        expected = [row for row in grid(markdown) if not row[0].startswith("*")]
        assert len(body) == len(expected)
        back = {"$\\pm$": "±", "$-$": "-", r"\textdagger{}": "†", "$\\sim$": "~", "--": "–",
                "$\\uparrow$": "↑", "$\\downarrow$": "↓", r"\%": "%", "{[}": "[", "{]}": "]",
                "\\boldmath ": "", "$\\rightarrow$": "→", r"\_": "_"}  # fmt: skip
        for line, row in zip(body, expected, strict=True):
            got = line.removesuffix(r" \\")
            for old, new in back.items():
                got = got.replace(old, new)
            got = re.sub(r"\\textsuperscript\{.*?\}", "", got)
            got = re.sub(r"\\textbf\{(.*?)\}", r"\1", got)
            assert got.split(" & ") == [plain(cell) for cell in row]


def read_csv(
    spec: TableSpec, records: dict[tuple[str, str], Record], **options: object
) -> list[dict[str, str]]:
    text = render_csv(spec, lookup_of(*records.values()), **options)  # type: ignore[arg-type]
    return list(csv.DictReader(io.StringIO(text), strict=True))


class TestCsv:
    def test_reads_back_to_the_accuracies_and_what_follows_from_them(self) -> None:
        spec = spec_of("hepmass", (OURS,))
        records = random_records(spec, 3)
        lines = read_csv(spec, records)
        assert {(line["task"], line["method"]) for line in lines} == set(records)
        for line in lines:
            entry = records[line["task"], line["method"]]
            five = np.array([float(a) for a in line["accuracies"].split(";")])
            assert five.tolist() == [round(100 * a, 8) for a in entry.accuracies]
            assert float(line["mean"]) == pytest.approx(five.mean(), abs=1e-7)
            half = stats.t.ppf(0.975, 4) * five.std(ddof=1) / np.sqrt(5)
            assert float(line["ci95"]) == pytest.approx(half, abs=1e-7)
            for column, ratio in (("ci95_nadeau_bengio", 1 / 9), ("ci95_shared_rows", 9)):
                wide = stats.t.ppf(0.975, 4) * five.std(ddof=1) * np.sqrt(1 / 5 + ratio)
                assert float(line[column]) == pytest.approx(wide, abs=1e-6)
            assert (line["n_done"], line["n_repetitions"]) == ("5", "5")
            if line["method"] == OURS:
                assert line["in_paper"] == "false"
                assert line["verdict"] == "no published value"
                assert line["published_mean"] == line["difference"] == line["tolerance"] == ""
                continue
            assert line["in_paper"] == "true"
            cell = published("hepmass")[line["task"], line["method"]]
            assert (float(line["published_mean"]), float(line["published_ci95"])) == cell[:2]
            difference = five.mean() - cell.mean
            assert float(line["difference"]) == pytest.approx(difference, abs=1e-7)
            ids = [
                anomaly.id
                for anomaly in anomalies("hepmass")
                if not anomaly.general and anomaly.concerns("hepmass", line["task"], line["method"])
            ]
            assert line["anomalies"] == ";".join(ids)
            if line["verdict"] in ("reproduced", "undecided"):
                assert abs(difference) <= float(line["tolerance"]) + 1e-7
            elif line["verdict"] == "published value suspect":
                assert {"hepmass-750-1250-is-750-1500", "dan-hepmass-constant"} & set(ids)
                assert line["tolerance"] == ""
            else:
                assert line["verdict"] == ("better" if difference > 0 else "worse")
                assert abs(difference) > float(line["tolerance"]) - 1e-7

    def test_missing_and_failed_cells_have_their_lines(self) -> None:
        lines = {
            (line["task"], line["method"]): line
            for line in csv.DictReader(io.StringIO(render_tiny("csv")))
        }
        assert len(lines) == 15
        missing, failed = lines["x_y", "ot"], lines["b-a", "ot"]
        assert (missing["n_done"], missing["mean"], missing["verdict"]) == ("0", "", "missing")
        assert (failed["n_done"], failed["mean"], failed["verdict"]) == ("0", "", "incomplete")
        assert lines["b-a", "krda"]["accuracies"] == "61.0;60.0;62.0"


@st.composite
def unfinished_tables(draw: st.DrawFn) -> list[Record]:
    """Records of TINY, each whole, failed in part, cut short, or not there."""
    records = []
    for task in TINY.tasks:
        for method in TINY.methods:
            values = draw(
                st.lists(
                    st.sampled_from([0.5, 0.8, 0.81, 0.9, "failed: x", "timeout: y"]), max_size=5
                )
            )
            if values:
                records.append(record("tiny", task.name, method.name, *values))
    return records


class TestUnfinished:
    @given(unfinished_tables())
    @settings(max_examples=60, deadline=None)
    def test_never_looks_finished(self, records: list[Record]) -> None:
        lookup = lookup_of(*records)
        rows = {
            row.method: row
            for row in grid(render_tiny("md", lookup))
            if row[1] in ("ours", "not in the paper")
        }
        tex = render_tiny("tex", lookup)
        text = render_tiny("md", lookup)
        lines = {
            (line["task"], line["method"]): line
            for line in csv.DictReader(io.StringIO(render_tiny("csv", lookup)))
        }
        for method in TINY.methods:
            row = rows[escape_markdown(method.label)]
            done = {}
            for task, cell in zip(TINY.tasks, row[2:-1], strict=True):
                entry = lookup(task.name, method.name)
                done[task.name] = n = 0 if entry is None else len(entry.accuracies)
                line = lines[task.name, method.name]
                assert (line["n_done"], line["n_repetitions"]) == (str(n), "5")
                if n == 5:
                    assert re.fullmatch(r"(\*\*)?\d+\.\d ± \d+\.\d(\*\*)?", cell)
                    continue
                assert cell != ""
                assert "**" not in cell
                assert line["verdict"] in ("incomplete", "missing", "no published value")
                if entry is None:
                    assert cell == "–"
                    label = re.escape(escape_markdown(method.label))
                    tasks = f"all tasks|.*{re.escape(escape_markdown(task.label))}"
                    assert re.search(rf"^- {label}: ({tasks})", text, flags=re.MULTILINE)
                else:
                    assert cell.endswith(f"({n}/5)")
                    label = latex_module.escape(method.label)
                    assert re.search(rf"{re.escape(label)} & .*\({n}/5\).*\\\\\n", tex)
                    for failed in entry.unfinished:
                        head = f"{method.label}, {task.label}, repetition {failed.repetition + 1}"
                        assert f"- {escape_markdown(head)} (seed" in text
                        assert rf"\item {latex_module.escape(head)} (seed" in tex
            covered = sum(n > 0 for n in done.values())
            if 0 < covered < 3:
                assert f"({covered}/3 tasks)" in row[-1]
            if covered == 0:
                assert row[-1] == "–"
            assert ("†" in row[-1]) == any(0 < n < 5 for n in done.values())

    def test_record_that_never_held_all_repetitions_is_incomplete(self) -> None:
        short = record("tiny", "a-b", "krda", 0.8, 0.8, 0.8)
        assert short.complete
        text = render_tiny("md", lookup_of(short))
        assert "80.0 ± 0.0 (3/5)" in text
        assert "2 repetitions were never run" in text

    def test_more_repetitions_than_needed_all_count(self) -> None:
        long = record("tiny", "a-b", "krda", *[0.8] * 9, "failed: x")
        assert "80.0 ± 0.0 (9/10)" in render_tiny("md", lookup_of(long))

    def test_single_value_has_no_interval(self) -> None:
        single = record("tiny", "a-b", "krda", 0.8, *["failed: x"] * 4)
        assert "| 80.0 (1/5) |" in render_tiny("md", lookup_of(single))

    def test_incomplete_best_does_not_set_the_bold(self) -> None:
        best = record("tiny", "a-b", "krda", 0.99, 0.99, 0.99, 0.99, "failed: x")
        second = record("tiny", "a-b", "ot", 0.8, 0.8, 0.8, 0.8, 0.8)
        table = build_table(TINY, lookup_of(best, second), values={}, oddities=())
        assert not table.cells["a-b", "krda"].bold
        assert table.cells["a-b", "ot"].bold

    def test_empty_store_renders(self) -> None:
        text = render_tiny("md", lookup_of())
        assert "Naive\\] 100%: all tasks" in text
        assert all(set(row[2:]) == {"–"} for row in grid(text) if row[1] == "ours")


class TestBold:
    def bold(self, *records: Record) -> set[str]:
        table = build_table(TINY, lookup_of(*records), values={}, oddities=())
        return {method for (task, method), cell in table.cells.items() if cell.bold}

    def test_overlap_with_the_best_is_bold_and_references_stand_aside(self) -> None:
        assert self.bold(
            record("tiny", "a-b", "source_only", 1.0, 1.0, 1.0, 1.0, 1.0),
            record("tiny", "a-b", "krda", 0.80, 0.82, 0.81, 0.83, 0.79),
            record("tiny", "a-b", "ot", 0.79, 0.78, 0.80, 0.79, 0.81),
            record("tiny", "a-b", "sa", 0.70, 0.70, 0.70, 0.70, 0.70),
        ) == {"krda", "ot"}

    def test_additions_of_ours_compete(self) -> None:
        assert self.bold(
            record("tiny", "a-b", "krda", 0.80, 0.80, 0.80, 0.80, 0.80),
            record("tiny", "a-b", "naive", 0.9, 0.9, 0.9, 0.9, 0.9),
        ) == {"naive"}

    def test_equal_values_without_spread_are_tied(self) -> None:
        assert self.bold(
            record("tiny", "a-b", "krda", 0.9, 0.9, 0.9, 0.9, 0.9),
            record("tiny", "a-b", "ot", 0.9, 0.9, 0.9, 0.9, 0.9),
            record("tiny", "a-b", "sa", 0.899, 0.899, 0.899, 0.899, 0.899),
        ) == {"krda", "ot"}

    def test_published_line_is_bold_as_printed(self) -> None:
        row = next(r for r in grid(render_tiny("md")) if r.method == "OT" and r[1] == "paper")
        assert [cell.startswith("**") for cell in row[2:-1]] == [True, False, True]


class TestLayout:
    def test_paper_first_then_a_line_then_ours(self) -> None:
        rows = grid(render_tiny("md"))
        assert [row[1] for row in rows] == ["ours", "paper", "difference"] * 4 + [
            "", "not in the paper",
        ]  # fmt: skip
        assert rows[-2][0] == "*not in the paper*"

    def test_suspect_value_is_marked_and_explained(self) -> None:
        text = render_tiny("md")
        assert "60.2 ± 0.4<sup>a</sup>" in text
        assert "- <sup>a</sup> `tiny-sa` (inference; SA: b→a): Copied from x\\_y." in text
        assert "- `tiny-ot` (fact; OT: all tasks)" in text
        assert "- `tiny-all` (fact; the whole table)" in text
        assert "elsewhere" not in text
        assert r"60.2 $\pm$ 0.4\textsuperscript{a}" in render_tiny("tex")

    def test_caption_states_the_rules(self) -> None:
        for text in (render_tiny("md"), render_tiny("tex")):
            for words in ("t(0.975, n", "Source only aside", "tolerance", "1000", "made up"):
                assert words in text

    def test_simulated_data_are_never_judged(self) -> None:
        spec = spec_of("hepmass_sim")
        records = random_records(spec, 4)
        assert {line["verdict"] for line in read_csv(spec, records)} == {"other data"}
        text = render_markdown(spec, lookup_of(*records.values()))
        assert "for orientation" in text
        assert "reproduced" not in text

    def test_table_without_published_values_has_no_comparison(self) -> None:
        spec = TableSpec(
            "gaussians",
            "Gaussians",
            (TaskColumn("2-3", "2→3"),),
            (MethodRow("krda", "KRDA", published=False),),
            test_rows=1000,
        )
        text = render_markdown(spec, lookup_of(record("gaussians", "2-3", "krda", *[0.8] * 5)))
        assert "| KRDA | ours | **80.0 ± 0.0** | 80.0 ± 0.0 |" in text
        assert "paper" not in text

    @pytest.mark.parametrize("dataset", ["moons", "hepmass", "hepmass_sim", "amazon"])
    def test_papers_tables_hold_all_published_cells(self, dataset: str) -> None:
        spec = spec_of(dataset)
        table = build_table(spec, lookup_of())
        assert {key: cell.published for key, cell in table.cells.items()} == dict(
            published(dataset)
        )
        assert {cell.judgement.verdict for cell in table.cells.values()} == {Verdict.MISSING}

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            # Each is a half in decimal; in binary it lies above or below.
            (75.85, "75.9"), (math.nextafter(75.85, 76), "75.9"), (0.05, "0.1"), (0.25, "0.3"),
            (-0.25, "-0.3"), (-0.04, "0.0"), (75.849, "75.8"), (100.0, "100.0"),
        ],
    )  # fmt: skip
    def test_halves_are_rounded_away_from_zero_however_they_were_added(
        self, value: float, expected: str
    ) -> None:
        assert wording.number(value) == one_decimal(value) == expected
        assert wording.number(np.float64(value)) == expected

    def test_a_published_mean_is_the_same_in_every_document(self) -> None:
        # 75.85: the sum of its twelve terms depends on their order in the last digit.
        values = [cell.mean for (_, m), cell in published("amazon").items() if m == "krda"]
        assert round(sum(values) / 12, 8) == 75.85
        assert readme_mean([str(value) for value in values]) == "75.9"
        table = build_table(spec_of("amazon"), lookup_of())
        assert wording.mean_text(table.summaries["krda"].published, 12) == "75.9"
        claims = {(c.claim.id, c.dataset): c for c in check_claims([])}
        told = claims["others-underperform", "amazon"].published.numbers
        assert told.startswith("KRDA's mean over the tasks is 75.9;")

    def test_negative_zero_is_not_printed(self) -> None:
        entry = record("tiny", "b-a", "sa", 0.6019, 0.6019, 0.6019, 0.6019, 0.6019)
        rows = grid(render_tiny("md", lookup_of(entry)))
        assert next(r for r in rows if r.method == "SA" and r[1] == "difference")[3] == "0.0 ?"


class TestRefusal:
    def test_record_of_another_cell(self) -> None:
        with pytest.raises(ValueError, match="the lookup gave"):
            render_tiny("md", lambda task, method: TINY_RECORDS[0])

    def test_row_both_published_and_ours(self) -> None:
        with pytest.raises(ValueError, match="not be in the paper"):
            MethodRow("krda", "KRDA", published=True, ours=True)

    @pytest.mark.parametrize(
        "changes",
        [
            {"tasks": ()},
            {"tasks": (TaskColumn("a", "A"), TaskColumn("a", "B"))},
            {"methods": ()},
            {"test_rows": 0},
            {"repetitions": 0},
        ],
    )
    def test_specification_without_sense(self, changes: dict[str, object]) -> None:
        values = {
            "dataset": "tiny",
            "title": "",
            "tasks": TINY.tasks,
            "methods": TINY.methods,
            "test_rows": 10,
        }
        with pytest.raises(ValueError, match="must be at least"):
            TableSpec(**(values | changes))  # type: ignore[arg-type]

    def test_part_of_a_data_set_without_a_table_in_the_paper(self) -> None:
        plan = replace(plan_of("moons"), dataset="gaussians")
        assert table_parts(plan) == (None,)
        with pytest.raises(KeyError, match="no table"):
            table_spec(plan, "main", repetitions=5)

    def test_simulated_data_under_a_title_that_does_not_say_so(self) -> None:
        plan = replace(plan_of("hepmass_sim"), title="HEPMASS")
        with pytest.raises(ValueError, match="must say 'simulated'"):
            table_spec(plan, repetitions=5)


class TestEscaping:
    def test_error_text_means_itself_in_markdown(self) -> None:
        text = render_tiny("md")
        (line,) = [line for line in text.splitlines() if "LinAlgError" in line]
        unescaped = re.sub(r"\\([\\`*_\[\]<>|~#$&])", r"\1", line)
        assert unescaped.endswith(NASTY)
        assert re.search(r"(?<!\\)[`*_<>|$#~&]", re.sub(r"\\\\", "", line)) is None

    def test_a_failure_is_listed_with_its_error(self) -> None:
        assert "- OT, b→a, repetition 1 (seed 100): diverged: NaN\n" in render_tiny("md")

    @pytest.mark.parametrize(
        ("text", "expected"),
        [("- x", "\\- x"), ("1. x", "1\\. x"), ("-1.5", "-1.5"), ("a\n\n# b", "a \\# b")],
    )
    def test_no_markdown_block_is_opened(self, text: str, expected: str) -> None:
        assert escape_markdown(text) == expected

    @given(st.text())
    def test_latex_has_no_special_character_of_the_texts_own(self, text: str) -> None:
        escaped = latex_module.escape(text)
        assert set(escaped) <= set(map(chr, [*range(32, 127), *range(0xC0, 0x100)]))
        assert "\n" not in escaped
        kept = re.sub(r"\\[a-z]+\{\}|\\textsuperscript\{2\}|\\[{}&%$#_]|\$\\[a-zA-Z]+\$|\$-\$",
                      "", escaped)  # fmt: skip
        kept = kept.replace("{[}", "").replace("{]}", "").replace("-{}", "")
        assert not set(kept) & set("\\{}&%$#_^~<>|\"`'[]")

    def test_latex_is_balanced_and_its_rows_are_equally_long(self) -> None:
        text = render_tiny("tex")
        unescaped = re.sub(r"\\[{}&]", "", text)
        assert unescaped.count("{") == unescaped.count("}")
        begun = re.findall(r"\\begin\{(\w+)\}", text)
        assert sorted(begun) == sorted(re.findall(r"\\end\{(\w+)\}", text))
        assert {"document", "table", "tabular", "itemize"} <= set(begun)
        for command in (r"\toprule", r"\midrule", r"\bottomrule", r"\usepackage{booktabs}"):
            assert command in text
        tables = unescaped.split(r"\end{table}")[:-1]
        widths = [
            {line.count("&") for line in table.splitlines() if line.endswith(r"\\")}
            for table in tables
        ]
        assert widths == [{len(TINY.tasks) + 2}, {3}]

    def test_body_alone_is_the_document_without_its_frame(self) -> None:
        body = render_latex(TINY, lookup_of(), standalone=False)
        whole = render_latex(TINY, lookup_of())
        assert body in whole
        assert r"\documentclass" not in body
        assert r"\begin{table}" in body

    @pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
    @pytest.mark.parametrize(
        "spec",
        [
            pytest.param(TINY, id="tiny"),
            pytest.param(TINY_BY_TASK, id="tiny-by-task"),
            pytest.param(spec_of("hepmass_sim", ADDITIONS), id="20-tasks"),
            pytest.param(spec_of("hepmass_sim", part="main"), id="20-tasks-by-task"),
            pytest.param(spec_of("amazon", ADDITIONS), id="12-tasks"),
        ],
    )
    def test_latex_compiles_and_fits_its_pages(self, tmp_path: Path, spec: TableSpec) -> None:
        if spec.dataset == "tiny":
            text = render_latex(
                spec, lookup_of(*TINY_RECORDS), values=TINY_VALUES, oddities=TINY_ODDITIES
            )
        else:
            text = render_latex(spec, lookup_of(*random_records(spec, 5).values()))
        (tmp_path / "table.tex").write_text(text, encoding="utf-8")
        run = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"],
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        log = run.stdout.decode("latin-1")
        assert run.returncode == 0, log[-2000:]
        assert "Warning" not in log, log[-2000:]  # such as: Float too large for page
        assert (tmp_path / "table.pdf").is_file()


class TestCorrectedIntervals:
    def test_stand_in_a_table_of_their_own_and_in_both_columns_of_the_csv(self) -> None:
        spec = spec_of("moons", (OURS,))
        records = random_records(spec, 8)
        rows = grid(render_markdown(spec, lookup_of(*records.values())), 1)
        assert len(rows) == len(spec.methods)
        names = {method.label: method.name for method in spec.methods}
        for row in rows:
            for task, cell in zip(spec.tasks, row[2:], strict=True):
                five = 100 * np.array(records[task.name, names[row.method]].accuracies)
                for shown, ratio in zip(plain(cell).split(" / "), (1 / 9, 9), strict=True):
                    half = stats.t.ppf(0.975, 4) * five.std(ddof=1) * np.sqrt(1 / 5 + ratio)
                    assert shown == (one_decimal(half) if half <= 100 else "> 100")

    def test_a_cell_that_is_not_complete_has_none(self) -> None:
        rows = {row.method: row for row in grid(render_tiny("md"), 1)}
        assert rows["KRDA"][3] == "–"
        assert "/" in rows["KRDA"][2]


class TestTasksAside:
    def test_the_second_mean_is_without_them_in_every_layout(self) -> None:
        spec = replace(TINY, aside=("x_y",), aside_why="for a reason.")
        records = lookup_of(*TINY_RECORDS)
        for layout in (spec, replace(TINY_BY_TASK, aside=("x_y",), aside_why="for a reason.")):
            text = render_markdown(layout, records, values=TINY_VALUES, oddities=())
            assert "mean, a→b to b→a: for a reason." in text.replace("\\", "")
        table = build_table(spec, records, values=TINY_VALUES, oddities=())
        found = table.kept["source_only"]
        assert found.ours.value == pytest.approx((71 + 50) / 2)
        assert found.published.value == pytest.approx((70.9 + 60) / 2)
        assert found.ours.n_tasks == 2
        assert table.summaries["source_only"].ours.n_tasks == 3

    def test_moons_has_a_mean_without_90_degrees_and_says_why(self) -> None:
        spec = spec_of("moons")
        assert spec.kept_label == "mean, 10° to 80°"
        assert "add up to 100" in spec.aside_why

    def test_without_tasks_aside_there_is_one_mean(self) -> None:
        table = build_table(TINY, lookup_of(*TINY_RECORDS), values=TINY_VALUES, oddities=())
        assert [label for label, *_ in table.means] == ["mean"]


class TestPapersOwnTables:
    @pytest.mark.parametrize("part", PARTS)
    @pytest.mark.parametrize("dataset", ["moons", "hepmass", "hepmass_sim", "amazon"])
    def test_have_its_methods_tasks_values_and_bold_print(self, dataset: str, part: str) -> None:
        spec = spec_of(dataset, (OURS,), part)
        rows = [row for row in published_rows(dataset) if row.part == part]
        assert [m.name for m in spec.methods] == list(dict.fromkeys(r.method for r in rows))
        assert [t.name for t in spec.tasks] == list(dict.fromkeys(r.task for r in rows))
        table = build_table(spec, lookup_of())
        for row in rows:
            cell = table.cells[row.task, row.method].published
            assert cell is not None
            assert (cell.mean, cell.ci95) == (float(row.mean), float(row.ci95))
            assert cell.bold == row.bold

    def test_bold_is_among_the_methods_of_the_table(self) -> None:
        records = lookup_of(
            record("moons", "40", "krda", *[0.8] * 5), record("moons", "40", "jan", *[0.9] * 5)
        )
        for part, bold in (("main", True), ("appendix", False)):
            table = build_table(spec_of("moons", part=part), records)
            assert table.cells["40", "krda"].bold == bold

    def test_tasks_stand_in_rows_and_methods_in_columns(self) -> None:
        spec = spec_of("moons", part="main")
        records = random_records(spec, 6)
        text = render_markdown(spec, lookup_of(*records.values()))
        head, *_ = text.split("| Task |")[1].splitlines()
        assert [cell.strip() for cell in head.split("|")][1:-1] == [
            "Source only", "Target only", "DANN", "SA", "KMM", "OT", "SHOT", "KRDA",
        ]  # fmt: skip
        rows = grid(text)
        angles = [f"{a}°" for a in range(10, 91, 10)]
        means = ["mean", "mean, 10° to 80°"]
        assert [row[0] for row in rows if row[0]] == [*angles, *means]
        for row in rows[:-6]:
            if row[1] == "ours":
                for method, cell in zip(spec.methods, row[2:], strict=True):
                    five = 100 * np.array(records[row.method[:-1], method.name].accuracies)
                    half = stats.t.ppf(0.975, 4) * five.std(ddof=1) / np.sqrt(5)
                    assert plain(cell) == f"{one_decimal(five.mean())} ± {one_decimal(half)}"


class TestManyTasks:
    def test_are_split_into_blocks_that_fit_a_page(self) -> None:
        spec = spec_of("hepmass_sim", (OURS,))
        records = random_records(spec, 7)
        text = render_markdown(spec, lookup_of(*records.values()))
        heads = [
            [cell.strip() for cell in line.split("|")][3:-1]
            for line in text.splitlines()
            if line.startswith("| Method |  |")
        ]
        # The corrected half-widths stand below in the same blocks, without a mean.
        assert [len(head) for head in heads] == [10, 11, 10, 10]
        assert heads[2] + heads[3] == [task.label for task in spec.tasks]
        heads = heads[:2]
        assert heads[0] + heads[1] == [*(task.label for task in spec.tasks), "mean"]
        for number, head in enumerate(heads):
            rows = grid(text, number)
            assert {len(row) for row in rows} == {len(head) + 2}
            assert len(rows) == 12 * 3 + 2
        first = next(row for row in grid(text, 1) if row.method == "KRDA" and row[1] == "ours")
        mean = 100 * np.mean(records[heads[1][0], "krda"].accuracies)
        assert plain(first[2]).startswith(f"{one_decimal(mean)} ±")
