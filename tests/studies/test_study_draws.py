"""Draws of moons are measured once each, and what is finished is kept."""

import json

from experiments.cells.plan import load_table
from studies.common import Finished
from studies.draws import main


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

    monkeypatch.setattr("studies.common.run_repetitions", fit)
    path = tmp_path / "below" / "progress.jsonl"
    first = Finished(path)
    assert [first.result(Counted("a"), r) for r in (0, 3, 0)] == ["75", "75.3", "75"]
    assert fits == [("a", 0), ("a", 3)]
    with path.open("a") as file:
        file.write(json.dumps({"key": "cut"})[:-3])
    again = Finished(path)
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

    monkeypatch.setattr("studies.common.run_repetitions", fit)
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


def test_methods_that_are_not_measured_anew_keep_their_accuracies(tmp_path, monkeypatch):
    accuracy = 0.5

    def fit(cell, repetitions):
        return [type("Outcome", (), {"accuracy": accuracy, "status": "done"})]

    monkeypatch.setattr("studies.common.run_repetitions", fit)
    options = ["--draws", "2", "--output", str(tmp_path)]
    main([*options, "--progress", str(tmp_path / "a"), "--methods", "source_only", "krda"])
    accuracy = 0.75
    main([*options, "--progress", str(tmp_path / "b"), "--methods", "krda"])
    lines = (tmp_path / "moons.csv").read_text().splitlines()[1:]
    assert len(lines) == 2 * 2 * 2
    for line in lines:
        assert line.endswith(",50" if "source_only" in line else ",75")
    assert [line.split(",")[2] for line in lines] == ["source_only", "krda"] * 4
