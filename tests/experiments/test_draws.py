"""What is told of several draws of moons is what their accuracies say."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from rounding import one_decimal
from scipy import stats

from experiments import draws
from experiments.draws import Draws, page, spread, summary_csv, survival
from experiments.plan import load_table
from experiments.records import RecordStore
from experiments.render import stored
from scripts.tabulate_draws import Progress, main

RESULTS = Path(__file__).resolve().parents[2] / "results"
COMMITTED = Draws.read(RESULTS / "draws" / "moons.csv")


def made(values, positions="lattice", tasks=("10", "20")):
    """Draws of a dict from method to rows of accuracies, one row a draw."""
    return Draws(
        {
            (positions, draw, method, task): str(result)
            for method, rows in values.items()
            for draw, row in enumerate(rows)
            for task, result in zip(tasks, row, strict=True)
        }
    )


def test_the_committed_page_and_summary_are_made_from_the_committed_accuracies():
    directory = RESULTS / "draws"
    assert COMMITTED.csv().encode() == (directory / "moons.csv").read_bytes()
    assert summary_csv(COMMITTED).encode() == (directory / "summary.csv").read_bytes()
    assert page(COMMITTED).encode() == (directory / "README.md").read_bytes()


def test_the_committed_draws_are_complete():
    plan = load_table("moons")
    assert COMMITTED.positions == ("lattice", "random")
    # Rows that were added later may be missing, the paper's may not.
    assert COMMITTED.methods == tuple(m for m in plan.methods if m in COMMITTED.methods)
    assert set(plan.paper) <= set(COMMITTED.methods)
    assert COMMITTED.tasks == plan.tasks
    n_draws = [COMMITTED.n_draws(positions) for positions in COMMITTED.positions]
    assert len(COMMITTED.results) == sum(n_draws) * len(COMMITTED.methods) * len(plan.tasks)


def test_draw_0_on_the_lattice_is_repetition_0_of_the_committed_records():
    store = RecordStore(RESULTS / "records")
    for (task, method), cell in load_table("moons").cells.items():
        if method not in COMMITTED.methods:
            continue
        outcome = stored(cell, store).outcomes[0]
        result = COMMITTED.results["lattice", 0, method, task]
        assert float(result) == pytest.approx(100 * outcome.accuracy, abs=1e-8), (task, method)


def test_every_number_of_the_committed_summary_traces_back_to_the_accuracies():
    """Read as plain CSV and recomputed with numpy, past all code that made the summary."""
    with (RESULTS / "draws" / "moons.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    tasks = list(lines[0])[3:]

    def column(positions, method, task):
        own = [x for x in lines if (x["positions"], x["method"]) == (positions, method)]
        angles = tasks if task == "mean" else [task]
        return np.array([[float(x[angle]) for angle in angles] for x in own]).mean(axis=1)

    with (RESULTS / "draws" / "summary.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    text = (RESULTS / "draws" / "README.md").read_text(encoding="utf-8")
    for row in rows:
        values = column(row["positions"], row["method"], row["task"])
        minus = column(row["positions"], "krda", row["task"]) - values
        n, t = len(values), stats.t.ppf(0.975, len(values) - 1)
        assert int(row["n"]) == n
        for name, value in (
            ("mean", values.mean()),
            ("sd", values.std(ddof=1)),
            ("half_width", t * values.std(ddof=1) / np.sqrt(n)),
            ("krda_minus", minus.mean()),
            ("krda_minus_half_width", t * minus.std(ddof=1) / np.sqrt(n)),
        ):
            assert float(row[name]) == pytest.approx(value, abs=1e-6)
        mean, width, sd = (float(row[name]) for name in ("mean", "half_width", "sd"))
        assert f"{one_decimal(mean)} ± {one_decimal(width)} ({one_decimal(sd)})" in text


def test_the_interval_is_students_over_draws_and_differences_are_within_draws():
    values = {"krda": [[90, 80], [92, 82], [91, 84]], "ot": [[80, 70], [81, 76], [83, 71]]}
    found = made(values)
    own, other = (np.mean(values[name], axis=1) for name in ("krda", "ot"))
    (row,) = [
        row
        for row in csv.DictReader(summary_csv(found).splitlines())
        if (row["method"], row["task"]) == ("ot", "mean")
    ]
    interval = stats.ttest_1samp(own - other, 0).confidence_interval()
    assert float(row["krda_minus"]) == pytest.approx(np.mean(interval))
    assert float(row["krda_minus_half_width"]) == pytest.approx((interval[1] - interval[0]) / 2)
    assert [row[name] for name in ("krda_above", "ties", "krda_below")] == ["3", "0", "0"]


def test_a_lost_fit_shows_wherever_it_is_missing():
    found = made({"krda": [[90, 80], [92, 82]], "dan": [["diverged", 70], [81, 71]]})
    assert Draws.read_text(found.csv()).results == found.results
    cells = [line.split(" | ") for line in page(found).splitlines() if line.startswith("| DAN ")]
    assert cells[0][1:] == ["81.0 (1/2)", "70.5 ± 6.4 (0.7)", "76.0 (1/2) |"]
    assert cells[1][1:4] == ["+11.0 (1/2)", "+10.5 ± 6.4", "+11.0 (1/2)"]


def test_a_method_without_any_fit_is_named_as_failed():
    found = made({"krda": [[90, 80], [92, 82]], "dan": [["failed", "failed"]] * 2})
    assert "| DAN | failed (0/2) | failed (0/2) | failed (0/2) |" in page(found)
    assert "| DAN | – | – | – | 0/0/0 |" in page(found)


def test_pairs_are_kept_reversed_or_undecided_by_the_interval_of_their_difference():
    # The paper's order of these four on the last two angles: KRDA, OT, CDAN, Source only.
    found = made(
        {
            "krda": [[90, 90], [91, 91], [92, 92]],
            "ot": [[95, 95], [96, 96], [97, 97.5]],
            "cdan": [[94, 94], [97, 97], [97, 97]],
            "source_only": [[10, 10], [11, 11], [12, 13]],
        },
        tasks=("80", "90"),
    )
    (line,) = (line for line in survival(found).splitlines() if "with a star" in line)
    assert "the 6 pairs in the paper's order 3 keep it, 1 are undecided, 2 reversed" in line
    assert line.endswith("(KRDA below OT; KRDA below CDAN).")


def test_ranks_share_the_lower_number_and_put_lost_fits_last():
    found = made({"krda": [[90, 90]], "ot": [[90, 90]], "dan": [["failed", 99]], "sa": [[1, 1]]})
    ranked = draws.ranks(found, "lattice", ["krda", "ot", "dan", "sa"])
    assert ranked.tolist() == [[1, 1, 4, 3]]


def test_spread_of_one_value_and_of_none():
    assert spread(np.array([np.nan])) == (0, None, None, None)
    assert spread(np.array([np.nan, 5.0])) == (1, 5.0, None, None)
    assert spread(np.array([-5.0, -5.1])).sign == -1
    assert spread(np.array([5.0, -5.1])).sign == 0


class Counted:
    """A cell of which only its identity matters."""

    def __init__(self, name):
        self.name = name

    def data_sha256(self):
        return "data"

    def identity(self, data_sha256):
        return f"{self.name} {data_sha256}"


def test_finished_fits_are_kept_and_a_cut_line_counts_as_not_written(tmp_path, monkeypatch):
    fits = []

    def fit(cell, repetitions):
        fits.append((cell.name, *repetitions))
        return [type("Outcome", (), {"accuracy": 0.75 + repetitions[0] / 1000, "status": "done"})]

    monkeypatch.setattr("scripts.tabulate_draws.run_repetitions", fit)
    path = tmp_path / "below" / "progress.jsonl"
    first = Progress(path)
    assert [first.result(Counted("a"), r) for r in (0, 3, 0)] == ["75", "75.3", "75"]
    assert fits == [("a", 0), ("a", 3)]
    with path.open("a") as file:
        file.write(json.dumps({"key": "cut"})[:-3])
    again = Progress(path)
    assert [again.result(Counted("a"), r) for r in (0, 3)] == ["75", "75.3"]
    assert again.result(Counted("b"), 0) == "75"
    assert fits[2:] == [("b", 0)]
    assert len(path.read_text().splitlines()) == 3


def test_the_command_measures_each_draw_by_its_own_repetition_and_nothing_twice(
    tmp_path, monkeypatch
):
    fits = []

    def fit(cell, repetitions):
        (repetition,) = repetitions
        fits.append((cell.dataset, cell.config["dataset"]["data"]["draw"], repetition, cell.label))
        lost = cell.method == "dan" and cell.task == "40"
        outcome = {"accuracy": None if lost else 0.5, "status": "failed", "error": "odd"}
        return [type("Outcome", (), outcome)]

    monkeypatch.setattr("scripts.tabulate_draws.run_repetitions", fit)
    options = ["--draws", "2", "--output", str(tmp_path), "--progress", str(tmp_path / "progress")]
    main(options)
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert sorted(written) == ["README.md", "moons.csv", "progress", "summary.csv"]
    assert len(fits) == len(set(fits)) == 2 * 2 * len(load_table("moons").methods) * 9
    assert all(draw == repetition for _, draw, repetition, _ in fits)
    assert written["moons.csv"].decode().count("failed") == 4
    main(options)
    main([*options, "--render"])
    assert len(fits) == 2 * 2 * len(load_table("moons").methods) * 9
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == written


def test_what_the_page_on_statistics_says_in_words_of_the_draws_holds():
    others = draws.competitors(COMMITTED)
    for positions in COMMITTED.positions:
        ranked = draws.ranks(COMMITTED, positions, others)
        by_name = dict(zip(others, ranked.T, strict=True))
        assert (by_name["krda"] == 1).all()
        assert (by_name["ot"] == 2).all()
        assert (by_name["jan"] > 3).all()
        assert (by_name["kmm"] == 3).all()
        deep = [by_name[method] for method in ("dann", "cdan", "dan", "jan", "shot")]
        assert min(np.ptp(ranks) for ranks in deep) == 3
        own, sinkhorn = (COMMITTED.accuracies(positions, m) for m in ("krda", "ot_sinkhorn"))
        assert (sinkhorn[:, -1] > own[:, -1]).all()
    lattice, random = (COMMITTED.accuracies(p, "krda") for p in COMMITTED.positions)
    assert (lattice[:, :4] == 100).all()
    assert random[:, :4].min(axis=0).tolist() == [91.3, 90.4, 86.1, 87.1]
    assert random[:, -1].std(ddof=1) / lattice[:, -1].std(ddof=1) == pytest.approx(5, abs=0.5)
    tca = spread(random[:, 2] - COMMITTED.accuracies("random", "tca")[:, 2])
    assert tca.mean < 0
    assert tca.sign == 0
    lattice_pairs, random_pairs = (
        set(line.rpartition("(")[2].rstrip(").").split("; "))
        for line in survival(COMMITTED).splitlines()
        if "with a star" in line
    )
    both = {"Source only below SHOT", "TCA below DANN"}
    assert lattice_pairs & random_pairs == both
    assert lattice_pairs - both == {"JAN below TCA", "JAN below CDAN", "JAN below DANN"}
