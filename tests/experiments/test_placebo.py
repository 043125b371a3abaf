"""The placebo: rows judged by other methods' columns, by hand, by made-up tables and by files."""

from __future__ import annotations

import csv
import io
import itertools
import math
from pathlib import Path

import pytest
from record_factory import failed, make_record, random_records
from rounding import one_decimal
from table_plans import ADDITIONS, spec_of

from experiments.analysis.verdicts import TEST_ROWS, Verdict
from experiments.published import PublishedCell
from experiments.published.anomalies import Anomaly
from experiments.reading.tables import (
    MethodRow,
    TableSpec,
    TaskColumn,
    render_latex,
    render_markdown,
    wording,
)
from experiments.reading.tables.comma_separated import placebo_csv
from experiments.reading.tables.model import Table, build_table
from experiments.reading.tables.placebo import Count, PlaceboColumn, Telling, placebo_of
from experiments.store.records import Record

RESULTS = Path(__file__).resolve().parents[2] / "results"
METHODS = ("source_only", "krda", "ot")
TASKS = tuple("abcd")


def spec(methods: tuple[str, ...] = METHODS, *, ours: tuple[str, ...] = ()) -> TableSpec:
    return TableSpec(
        "made_up",
        "Made up",
        tuple(TaskColumn(task, task) for task in TASKS),
        (
            *(MethodRow(name, name) for name in methods),
            *(MethodRow(name, name, published=False, ours=True) for name in ours),
        ),
        test_rows=1000,
    )


def table(
    means: dict[str, float],
    *,
    published: dict[str, float] | None = None,
    oddities: tuple[Anomaly, ...] = (),
    records: dict[tuple[str, str], Record] | None = None,
) -> Table:
    """Equal accuracies on all tasks; the published ones are the same unless given."""
    values = {
        (task, method): PublishedCell(mean, 0.5, False, "both")
        for task in TASKS
        for method, mean in (published or means).items()
    }
    kept = {
        (task, method): make_record("made_up", task, method, *[mean / 100] * 5)
        for task in TASKS
        for method, mean in means.items()
    } | (records or {})
    ours = tuple(method for method in means if published and method not in published)
    made = spec(tuple(method for method in means if method not in ours), ours=ours)
    return build_table(
        made, lambda task, method: kept.get((task, method)), values=values, oddities=oddities
    )


def test_methods_that_lie_apart_reproduce_their_own_columns_alone() -> None:
    placebo = placebo_of(table({"source_only": 60.0, "krda": 90.0, "ot": 75.0}))
    assert placebo is not None
    assert (placebo.own_share, placebo.others_share) == (100, 0)
    for column in placebo.columns:
        assert column.own == (4, 4)
        assert set(column.others.values()) == {(0, 0)}
        assert column.telling is Telling.TELLING


def test_where_methods_lie_closer_than_the_tolerance_no_column_tells_them_apart() -> None:
    placebo = placebo_of(table({"source_only": 75.0, "krda": 75.5, "ot": 76.0}))
    assert placebo is not None
    assert (placebo.own_share, placebo.others_share) == (100, 100)
    assert {column.telling for column in placebo.columns} == {Telling.NOT_TELLING}


def test_a_column_that_its_own_row_never_reproduces_is_called_so() -> None:
    means = {"source_only": 60.0, "krda": 90.0}
    placebo = placebo_of(table(means, published={"source_only": 90.0, "krda": 90.0}))
    assert placebo is not None
    # KRDA's row passes in both columns, Source only's in neither.
    assert [column.others for column in placebo.columns] == [
        {"krda": (4, 4)}, {"source_only": (0, 0)},
    ]  # fmt: skip
    assert [column.telling for column in placebo.columns] == [Telling.NOTHING, Telling.TELLING]


@pytest.mark.parametrize(
    ("own", "others", "expected"),
    [
        (20, [10, 10], Telling.TELLING),
        # A mean of others above half of the cells tells nothing, whatever the own row does.
        (20, [10, 11], Telling.NOT_TELLING),
        # Ten points, 2 of 20 cells, are enough; less is not.
        (4, [2, 2], Telling.TELLING),
        (4, [2, 3], Telling.NOT_TELLING),
        (4, [8, 8], Telling.NOT_TELLING),
        (1, [0, 0], Telling.NOT_TELLING),
        (0, [0, 0], Telling.NOTHING),
    ],
)
def test_the_rule_takes_the_own_rows_share_and_the_mean_of_the_others(
    own: int, others: list[int], expected: Telling
) -> None:
    counts = {str(i): Count(n, n) for i, n in enumerate(others)}
    assert PlaceboColumn("krda", 20, Count(own, own), counts).telling is expected


def test_own_counts_are_the_tables_verdicts_and_undecided_cells_are_no_reproductions() -> None:
    made = spec_of("moons", ADDITIONS)
    records = random_records(made, 5)
    built = build_table(made, lambda task, method: records[task, method])
    placebo = placebo_of(built)
    assert placebo is not None
    assert len(placebo.columns) > 3
    for column in placebo.columns:
        verdicts = built.summaries[column.method].verdicts
        assert column.own.reproduced == verdicts[Verdict.REPRODUCED]
        assert column.own.within - column.own.reproduced == verdicts[Verdict.UNDECIDED]
        assert column.n_cells == 9 - verdicts[Verdict.SUSPECT]
        assert list(column.others) == [m.name for m in made.rows if m.name != column.method]
    assert sum(column.own.within for column in placebo.columns) > sum(
        column.own.reproduced for column in placebo.columns
    )


def test_suspect_values_judge_nobody() -> None:
    cells = frozenset(("made_up", task, "ot") for task in "ab")
    oddity = Anomaly("odd", ("made_up",), cells, "fact", True, "Odd.", "See.", {}, False)
    placebo = placebo_of(table({"krda": 90.0, "ot": 75.0}, oddities=(oddity,)))
    assert placebo is not None
    assert [column.n_cells for column in placebo.columns] == [4, 2]
    everywhere = frozenset(("made_up", task, "ot") for task in TASKS)
    oddity = Anomaly("odd", ("made_up",), everywhere, "fact", True, "Odd.", "See.", {}, False)
    placebo = placebo_of(table({"krda": 90.0, "ot": 75.0}, oddities=(oddity,)))
    assert placebo is not None
    assert [column.method for column in placebo.columns] == ["krda"]


def test_a_row_that_is_not_complete_is_judged_by_no_column_and_its_column_judges_nobody() -> None:
    means = {"source_only": 60.0, "krda": 90.0, "ot": 75.0}
    cut = failed(make_record("made_up", "a", "ot", *[0.75] * 5))
    placebo = placebo_of(table(means, records={("a", "ot"): cut}))
    assert placebo is not None
    assert [column.method for column in placebo.columns] == ["source_only", "krda"]
    assert all("ot" not in column.others for column in placebo.columns)
    alone = placebo_of(table({"krda": 90.0, "ot": 75.0}, records={("a", "ot"): cut}))
    assert alone is None


def test_rows_that_are_not_in_the_paper_are_placebos_too_and_have_no_column() -> None:
    means = {"krda": 90.0, "ot": 60.0, "quantiles": 90.0}
    placebo = placebo_of(table(means, published={"krda": 90.0, "ot": 60.0}))
    assert placebo is not None
    assert [column.method for column in placebo.columns] == ["krda", "ot"]
    assert placebo.columns[0].others == {"ot": (0, 0), "quantiles": (4, 4)}
    assert placebo.columns[0].best_of_others == (4, ("quantiles",))


def test_simulated_data_are_judged_by_no_column() -> None:
    made = spec_of("hepmass_sim", ADDITIONS)
    records = random_records(made, 6)
    built = build_table(made, lambda task, method: records[task, method])
    assert placebo_of(built) is None
    assert placebo_csv({"hepmass_sim": built}).count("\n") == 1
    assert "Placebo" not in render_markdown(made, lambda task, method: records[task, method])


def test_every_format_says_what_a_verdict_is_worth() -> None:
    made = spec_of("moons", ADDITIONS)
    records = random_records(made, 7)

    def lookup(task: str, method: str) -> Record:
        return records[task, method]

    built = build_table(made, lookup)
    placebo = placebo_of(built)
    assert placebo is not None
    (sentence,) = wording.placebo_sentences(built, placebo)
    own, others = one_decimal(placebo.own_share), one_decimal(placebo.others_share)
    assert f"reproduced on {own} % of cells, judged by another method's on {others} %" in sentence
    text = render_markdown(made, lookup)
    assert sentence in text
    assert rf"reproduced on {own} \% of cells" in render_latex(made, lookup)
    lines = list(csv.DictReader(io.StringIO(placebo_csv({"moons": built}))))
    assert len(lines) == len(placebo.columns) * len(made.rows)
    shown = text.split("**Placebo: every row judged by every published column**")[1]
    for column in placebo.columns:
        label = next(m.label for m in made.rows if m.name == column.method)
        row = next(line for line in shown.splitlines() if line.startswith(f"| {label} |"))
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        counts = {
            line["row"]: int(line["reproduced"])
            for line in lines if line["published_column"] == column.method
        }  # fmt: skip
        assert int(cells[2]) == counts.pop(column.method)
        assert cells[3] == one_decimal(sum(counts.values()) / len(counts))
        assert int(cells[4]) == max(counts.values())
        assert cells[-1] == column.telling.value


@pytest.mark.parametrize("name", ["amazon", "moons"])
def test_the_committed_counts_follow_from_the_committed_table_by_the_formula(name: str) -> None:
    """From the CSV alone, past the code that judges."""
    with (RESULTS / "tables" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        cells = {(line["task"], line["method"]): line for line in csv.DictReader(file)}
    with (RESULTS / "tables" / "placebo.csv").open(newline="", encoding="utf-8") as file:
        lines = [line for line in csv.DictReader(file) if line["table"] == name]
    m = {"amazon": 4000, "moons": 1000}[name]
    tasks = tuple(dict.fromkeys(task for task, _ in cells))
    rows = tuple(dict.fromkeys(method for _, method in cells))
    shares = {}
    if name == "moons":
        for r in csv.DictReader(TEST_ROWS.read_text(encoding="ascii").splitlines()):
            a, v = float(r["accuracy"]), float(r["variance"])
            shares[r["task"], r["method"]] = min(1, v / (a * (100 - a) / m)) if 0 < a < 100 else 1
    seen = set()
    for line in lines:
        judged = reproduced = within = 0
        for task in tasks:
            ours, theirs = cells[task, line["row"]], cells[task, line["published_column"]]
            if theirs["verdict"] == Verdict.SUSPECT.value:
                continue
            a, h = float(ours["mean"]), float(ours["ci95"])
            b, k = float(theirs["published_mean"]), float(theirs["published_ci95"])
            p = (m * (a + b) / 200 + 2) / (m + 4)
            r = shares.get((task, line["published_column"]), 1)
            allowed = math.sqrt(h**2 + k**2 + 1.96**2 * 2 * r * p * (1 - p) / m * 1e4)
            judged += 1
            within += abs(a - b) <= allowed
            reproduced += abs(a - b) <= allowed <= 10
        told = (int(line["cells"]), int(line["reproduced"]), int(line["within_tolerance"]))
        assert told == (judged, reproduced, within)
        seen.add((line["published_column"], line["row"]))
    columns = {column for column, _ in seen}
    assert seen == set(itertools.product(columns, rows))
    own = [line for line in lines if line["row"] == line["published_column"]]
    others = [line for line in lines if line["row"] != line["published_column"]]
    passed = [
        100 * sum(int(li["reproduced"]) for li in found) / sum(int(li["cells"]) for li in found)
        for found in (own, others)
    ]
    told = f"| {one_decimal(passed[0])} % | {one_decimal(passed[1])} % |"
    documents = RESULTS.parent / "docs"
    title = {"amazon": "Amazon", "moons": "moons"}[name]
    assert f"| {title} {told}" in (documents / "statistics.md").read_text(encoding="utf-8")
