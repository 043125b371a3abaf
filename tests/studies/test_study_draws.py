"""Draws of moons: each is measured by its own repetition; the test rows' variance is committed."""

from types import SimpleNamespace

import pandas as pd
import pytest

from experiments.analysis.verdicts import TEST_ROWS
from experiments.cells.plan import load_table
from studies import draws


def test_each_draw_is_measured_by_its_own_repetition(tmp_path, monkeypatch, capsys):
    fits = []

    def fit(cell, repetitions):
        (repetition,) = repetitions
        fits.append((cell.dataset, cell.config["dataset"]["data"]["draw"], repetition, cell.label))
        lost = cell.method == "dan" and cell.task == "40"
        return [SimpleNamespace(accuracy=None if lost else 0.5, status="failed", error="odd")]

    monkeypatch.setattr("studies.common.run_repetitions", fit)
    monkeypatch.setattr(draws, "FOLDER", tmp_path)
    monkeypatch.setattr(draws, "PAGE", tmp_path / "statistics.md")
    (tmp_path / "statistics.md").write_text("<!-- results: begin --><!-- results: end -->")
    monkeypatch.setattr(draws, "N_DRAWS", 2)
    monkeypatch.setattr(draws, "variance_over_test_rows", lambda cell: {"task": cell.task})
    draws.main([])
    assert "odd" in capsys.readouterr().out
    methods = load_table("moons").methods
    assert len(fits) == len(set(fits)) == 2 * 2 * len(methods) * 9
    assert all(draw == repetition for _, draw, repetition, _ in fits)
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert sorted(written) == ["moons.csv", "statistics.md", "summary.csv", "test_rows.csv"]
    assert written["moons.csv"].decode().count("failed") == 4
    found = pd.read_csv(tmp_path / "moons.csv")
    assert found.columns.tolist() == pd.read_csv("results/draws/moons.csv").columns.tolist()
    assert found["method"].tolist() == [*methods] * 4
    draws.main(["--render"])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == written


@pytest.mark.parametrize(("task", "method"), [("90", "source_only"), ("10", "ot")])
def test_the_committed_variance_over_test_rows_is_what_is_measured(task, method, capsys):
    found = draws.variance_over_test_rows(load_table("moons").cells[task, method])
    committed = pd.read_csv(TEST_ROWS)
    same = (committed["task"] == int(task)) & (committed["method"] == method)
    (expected,) = committed[same].to_dict("records")
    assert list(found) == list(expected)
    assert [found["fits"], found["test_rows"]] == [expected["fits"], expected["test_rows"]]
    assert float(found["accuracy"]) == pytest.approx(expected["accuracy"], abs=0.1)
    assert float(found["variance"]) == pytest.approx(expected["variance"], rel=0.1, abs=1e-9)
    capsys.readouterr()
