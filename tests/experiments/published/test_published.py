"""The paper's numbers, and every number that the list of anomalies quotes, recomputed."""

import csv
import itertools
from collections import Counter, defaultdict, namedtuple
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from experiments import published as package
from experiments.datasets.moons import rotate
from experiments.published import DATASETS, METHODS, PublishedCell, has_published, published
from experiments.published.anomalies import anomalies

MASSES = ["500", "750", "1000", "1250", "1500"]
TASKS = {
    "moons": [str(angle) for angle in range(10, 100, 10)],
    "hepmass": [f"{s}-{t}" for s, t in itertools.product(MASSES, MASSES) if s != t],
    "amazon": [f"{s}-{t}" for s, t in itertools.permutations("BDEK", 2)],
}


# One printed cell of one of the paper's two tables of a data set, exactly.
Row = namedtuple("Row", "part task method mean ci95 bold")


def printed(dataset):
    text = Path(package.__file__).with_name(f"{dataset}.csv").read_text(encoding="ascii")
    head, *rows = csv.reader(text.splitlines(), strict=True)
    assert head == list(Row._fields)
    return [
        Row(part, task.replace("->", "-"), METHODS[method], Decimal(mean), Decimal(ci95), bold)
        for part, task, method, mean, ci95, bold in rows
    ]


def test_some_cells_read_by_eye():
    assert published("moons")["40", "krda"] == PublishedCell(98.4, 2.2, True)
    assert published("moons", "main")["40", "kmm"] == PublishedCell(53.4, 27.3, False)
    assert published("hepmass")["500-1500", "shot"] == PublishedCell(90.8, 0.4, True)
    assert published("amazon", "appendix")["E-K", "jan"] == PublishedCell(64.4, 19.6, False)


def test_simulated_hepmass_has_the_values_and_anomalies_of_the_real_one_and_other_data_none():
    assert published("hepmass_sim") == published("hepmass")
    assert anomalies("hepmass_sim") == anomalies("hepmass")
    assert by_id("hepmass-750-1250-is-750-1500").concerns("hepmass_sim", "750-1250", "sa")
    assert not has_published("gaussians")
    assert anomalies("gaussians") == ()


@pytest.mark.parametrize("dataset", DATASETS)
def test_rows_are_those_of_the_papers_tables_in_their_order(dataset):
    assert set(published(dataset)) == set(itertools.product(TASKS[dataset], METHODS.values()))
    assert list(dict.fromkeys(task for task, _ in published(dataset))) == TASKS[dataset]
    rows = printed(dataset)
    assert len(rows) == {"moons": 135, "hepmass": 300, "amazon": 180}[dataset]
    assert len({row[:3] for row in rows}) == len(rows), "a cell is in the same table twice"
    assert [row.part for row in rows] == sorted((row.part for row in rows), reverse=True)
    values = defaultdict(set)
    for row in rows:
        assert 0 <= row.mean <= 100
        assert 0 <= row.ci95 <= 100
        assert row.bold in ("0", "1")
        cell = published(dataset, row.part)[row.task, row.method]
        assert cell == (float(row.mean), float(row.ci95), row.bold == "1")
        values[row.task, row.method].add((row.mean, row.ci95))
    # Main part and appendix agree on every value that both print: of these three methods.
    assert {len(printed_values) for printed_values in values.values()} == {1}
    both = set(published(dataset, "main")) & set(published(dataset, "appendix"))
    assert {method for _, method in both} == {"source_only", "target_only", "krda"}


def by_id(name):
    return next(anomaly for anomaly in anomalies() if anomaly.id == name)


def equal_methods(first, second):
    cells = published("hepmass")
    return {m for m in METHODS.values() if cells[first, m][:2] == cells[second, m][:2]}


"""Each number in the list, from the published CSV files or by computation."""


def test_no_number_of_an_anomaly_goes_unchecked():
    checked = {
        "hepmass-repeated-row", "hepmass-750-1250-is-750-1500", "kmm-moons-chance",
        "dan-moons-chance", "dan-hepmass-constant", "sa-moons-linear-svm", "bold-rule",
        "ci-formula-unstated", "amazon-source-above-target", "amazon-wide-intervals",
        "shot-moons-below-source", "hepmass-source-narrow-intervals",
    }  # fmt: skip
    assert {anomaly.id for anomaly in anomalies() if anomaly.numbers} == checked


def test_bold_print_follows_the_overlap_of_intervals_as_often_as_is_said():
    counts = Counter()
    for dataset in DATASETS:
        tables = defaultdict(list)
        for row in printed(dataset):
            if row.method not in ("source_only", "target_only"):
                tables[row.part, row.task].append(row)
        for rows in tables.values():
            best = max(row.mean for row in rows)
            reach = min(row.mean - row.ci95 for row in rows if row.mean == best)
            for row in rows:
                overlaps, bold = row.mean + row.ci95 >= reach, row.bold == "1"
                counts["decisions"] += 1
                counts["overlap"] += overlaps == bold
                counts["best_mean"] += (row.mean == best) == bold
                counts["overlap_not_bold"] += overlaps and not bold
                counts["bold_no_overlap"] += bold and not overlaps
    assert counts == by_id("bold-rule").numbers


def test_two_rows_of_hepmass_are_equal_for_as_many_methods_as_no_other_two():
    anomaly = by_id("hepmass-repeated-row")
    repeated = equal_methods("750-1250", "750-1500")
    assert {method for _, _, method in anomaly.cells} == repeated
    assert len(repeated) == anomaly.numbers["equal_methods"]
    elsewhere = [
        len(equal_methods(first, second))
        for first, second in itertools.combinations(TASKS["hepmass"], 2)
        if (first, second) != ("750-1250", "750-1500")
    ]
    assert max(elsewhere) == anomaly.numbers["most_equal_elsewhere"]


def test_target_of_the_repeated_row_is_that_of_1500():
    numbers = by_id("hepmass-750-1250-is-750-1500").numbers
    cells = published("hepmass")
    for mass in MASSES:
        for source in set(MASSES) - {mass, "750"}:
            mean = cells[f"{source}-{mass}", "target_only"].mean
            assert mean == numbers.get(f"target_only_{mass}", mean)
    assert cells["750-1250", "target_only"].mean == numbers["target_only_1500"]


def test_kmm_on_the_moons_is_chance():
    numbers = by_id("kmm-moons-chance").numbers
    cells = published("moons")
    kmm = [cells[task, "kmm"] for task in TASKS["moons"]]
    assert all(cell.mean - cell.ci95 <= 50 <= cell.mean + cell.ci95 for cell in kmm)
    assert len(kmm) == numbers["cells"]
    assert min(cell.ci95 for cell in kmm) == numbers["smallest_half_width"]
    assert max(cell.ci95 for cell in kmm) == numbers["largest_half_width"]
    assert kmm[0].mean == numbers["mean_at_10"]
    assert cells["10", "source_only"].mean == numbers["source_at_10"]


def test_dan_on_the_moons_is_chance():
    numbers = by_id("dan-moons-chance").numbers
    dan = {task: published("moons")[task, "dan"] for task in TASKS["moons"]}
    constant = {
        task for task, cell in dan.items() if cell.mean in (49.9, 50.0) and cell.ci95 <= 0.1
    }
    assert len(dan) == numbers["cells"]
    assert len(constant) == numbers["constant_cells"]
    others = [dan[task] for task in dan if task not in constant]
    assert [cell[:2] for cell in others] == [(48.5, 3.4), (56.1, 13.7)]
    assert all(cell.mean - cell.ci95 <= 50 <= cell.mean + cell.ci95 for cell in others)
    assert [published("moons")[task, "jan"].mean for task in ("10", "20")] == [100, 100]


def test_dan_on_hepmass_is_constant():
    anomaly = by_id("dan-hepmass-constant")
    dan = {task: cell for (task, m), cell in published("hepmass").items() if m == "dan"}
    chosen = {task: dan[task] for _, task, _ in anomaly.cells}
    assert sorted(cell.ci95 for cell in chosen.values()) == [0.0, 0.0, 0.0, 0.2]
    assert {cell.mean for cell in chosen.values()} == {50.0, 51.5}
    assert max(cell.ci95 for cell in dan.values()) == anomaly.numbers["largest_half_width"]


def test_sa_on_the_moons_is_a_linear_svm_on_the_source():
    numbers = by_id("sa-moons-linear-svm").numbers
    cells = published("moons")
    sa = np.array([cells[task, "sa"].mean for task in TASKS["moons"]])
    source = np.array([cells[task, "source_only"].mean for task in TASKS["moons"]])
    assert [sa[0], sa[-1], source[0], source[-1]] == [
        numbers["sa_at_10"], numbers["sa_at_90"],
        numbers["source_at_10"], numbers["source_at_90"],
    ]  # fmt: skip
    linear, rbf = [], []
    for draw in range(5):
        X, y = make_moons(300, noise=0.05, random_state=draw)
        X_test, y_test = make_moons(1000, noise=0.05, random_state=100 + draw)
        X, X_test = X - X.mean(axis=0), X_test - X_test.mean(axis=0)
        turned = [rotate(X_test, float(task)) for task in TASKS["moons"]]
        for kernel, scores in (("linear", linear), ("rbf", rbf)):
            svm = SVC(kernel=kernel).fit(X, y)
            scores.append([100 * svm.score(rows, y_test) for rows in turned])
    assert np.abs(np.mean(linear, axis=0) - sa).max() < numbers["linear_svm_within"]
    row = [float(line["mean"]) for line in committed("moons") if line["method"] == "sa_linear"]
    assert np.abs(row - sa).max() < numbers["linear_svm_within"]
    # The RBF kernel gives the column of Source only instead, from which SA's is far.
    assert np.abs(np.mean(rbf, axis=0) - source).mean() < 3
    assert np.abs(np.mean(rbf, axis=0) - sa).mean() > 15


def test_source_on_hepmass_has_narrower_intervals_than_the_protocol_gives():
    numbers = by_id("hepmass-source-narrow-intervals").numbers
    widths = [published("hepmass")[task, "source_only"].ci95 for task in TASKS["hepmass"]]
    assert np.mean(widths) == pytest.approx(numbers["mean_half_width"])
    assert max(widths) == numbers["largest_half_width"]
    ours = [float(r["ci95"]) for r in committed("hepmass_sim") if r["method"] == "source_only"]
    assert np.mean(ours) == pytest.approx(numbers["simulated"], abs=0.005)
    assert len(ours) == len(widths)


def test_students_t_is_that_much_wider_than_the_normal():
    ratio = stats.t.ppf(0.975, 4) / stats.norm.ppf(0.975)
    assert round(ratio, 2) == by_id("ci-formula-unstated").numbers["t_over_normal"]


def test_source_is_above_target_on_one_task_of_amazon():
    cells, numbers = published("amazon"), by_id("amazon-source-above-target").numbers
    assert cells["B-D", "source_only"].mean == numbers["source"]
    assert cells["B-D", "target_only"].mean == numbers["target"]
    above = {
        task for task in TASKS["amazon"]
        if cells[task, "source_only"].mean > cells[task, "target_only"].mean
    }  # fmt: skip
    assert above == {"B-D"}


def test_dan_and_jan_have_wide_intervals_on_amazon():
    cells, numbers = published("amazon"), by_id("amazon-wide-intervals").numbers
    own = [c.ci95 for (_, method), c in cells.items() if method in ("dan", "jan")]
    others = sorted(
        (cell.ci95, method) for (_, method), cell in cells.items()
        if method not in ("dan", "jan")
    )  # fmt: skip
    assert len(own) == numbers["cells"]
    assert sum(width > 5 for width in own) == numbers["wide"]
    assert max(own) == numbers["largest"]
    assert others[-2:] == [(numbers["cdan_second"], "cdan"), (numbers["cdan_first"], "cdan")]
    assert others[-3][0] == numbers["others"]
    assert (
        min(cells[task, "source_only"].mean for task in TASKS["amazon"])
        == (numbers["lowest_source"])
    )


def test_shot_is_below_source_on_the_moons():
    cells, numbers = published("moons"), by_id("shot-moons-below-source").numbers
    for task in TASKS["moons"]:
        assert cells[task, "shot"].mean < cells[task, "source_only"].mean
        assert (cells[task, "shot"].mean < 50) == (int(task) >= 40)
    for task in ("10", "40"):
        assert cells[task, "source_only"].mean == numbers[f"source_at_{task}"]
        assert cells[task, "shot"].mean == numbers[f"shot_at_{task}"]


def test_the_text_of_an_anomaly_holds_its_numbers():
    # Those spelt out as words or only implied are left to the tests above.
    for anomaly in anomalies():
        text = f"{anomaly.statement} {anomaly.evidence}"
        words = {"cells", "constant_cells", "equal_methods", "most_equal_elsewhere"}
        for name, value in anomaly.numbers.items():
            assert name in words or f"{value:g}" in text, (anomaly.id, name)


def committed(name):
    path = Path(package.__file__).parents[2] / "results" / "tables" / f"{name}.csv"
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_each_anomaly_concerns_its_cells_only():
    anomaly = by_id("kmm-moons-chance")
    assert anomaly.concerns("moons", "40", "kmm")
    assert not anomaly.concerns("moons", "40", "krda")
    assert not anomaly.concerns("amazon", "B-D", "kmm")
    assert anomaly not in anomalies("amazon")


def test_every_anomaly_has_its_own_name_and_concerns_cells_of_the_paper():
    assert len({anomaly.id for anomaly in anomalies()}) == len(anomalies())
    for anomaly in anomalies():
        # Else no cell of a whole table would be judged.
        assert not (anomaly.general and anomaly.suspect)
        assert anomaly.kind in ("fact", "inference")
        assert anomaly.cells, anomaly.id
        assert anomaly.statement
        assert anomaly.evidence
