"""The page of the simulated HEPMASS says what its stored numbers say; those are of this code."""

import json
from pathlib import Path

import numpy as np
import pytest

from experiments.datasets.collisions import FEATURES
from experiments.datasets.hepmass_checks import (
    measure_histograms,
    measure_statistics,
    published_accuracies,
    published_statistics,
    simulated_samples,
)
from experiments.reading.hepmass_fidelity import MODULES, deviations, draw, fill_page, tables
from experiments.store.fingerprint import code_fingerprint
from scripts import check_hepmass_sim

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "hepmass_sim.md"


@pytest.fixture(scope="module")
def numbers() -> dict:
    return json.loads((ROOT / "results" / "hepmass_sim_fidelity.json").read_text())


def test_the_stored_numbers_are_of_this_code(numbers: dict) -> None:
    assert numbers["code"] == code_fingerprint(MODULES), (
        "The simulation changed: run scripts/check_hepmass_sim.py again."
    )


def test_the_page_holds_the_tables_of_the_stored_numbers(numbers: dict) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert fill_page(page, numbers) == page
    assert "simulated" in page.splitlines()[0].lower()


def test_a_page_without_marks_is_refused(numbers: dict) -> None:
    with pytest.raises(ValueError, match="marks of 'statistics' once"):
        fill_page("# Nothing", numbers)


def test_the_simulation_is_as_near_to_the_published_numbers_as_the_page_claims(
    numbers: dict,
) -> None:
    misses = deviations(numbers)
    assert misses["all"] < 2.5
    assert misses["all"] == pytest.approx((20 * misses["source"] + 5 * misses["target"]) / 25)
    assert misses["lowest"] <= misses["first"] <= misses["highest"]


def test_the_published_matrix_takes_the_papers_anomaly_into_account() -> None:
    real = published_accuracies()
    np.testing.assert_allclose(np.diag(real), [56.3, 82.2, 89.2, 93.3, 95.4])
    assert real[0].tolist() == [56.3, 68.7, 67.2, 62.6, 58.0]
    assert real[1, 3] == real[1, 4] == 87.7


def test_published_statistics_are_in_order() -> None:
    real = published_statistics()
    assert len(real) == 87
    for feature in {f for s, f, k in real if s == "mixed" and k == "median"}:
        assert feature in FEATURES
        values = [real["mixed", feature, k] for k in ("min", "q25", "median", "q75", "max")]
        assert values == sorted(values)
    shares = [real["mixed", "b_tags", f"share_{k}"] for k in range(3)]
    assert sum(shares) == pytest.approx(1.0, abs=0.002)


def test_a_small_sample_gives_the_stored_statistics_within_its_error(numbers: dict) -> None:
    samples = simulated_samples(10_000)
    assert len(samples["mixed"]) == 10_000
    assert len(samples["normalised"]) == 2 * len(samples["background"])
    stored = {tuple(key): value for *key, value in numbers["statistics"]}
    measured = measure_statistics(samples)
    assert list(measured) == list(stored) == list(published_statistics())
    for key, value in measured.items():
        if key[2] in ("median", "q25", "q75", "log_mean") or key[1].endswith(("_eta", "_phi")):
            assert value == pytest.approx(stored[key], rel=0.06), key
    counts = measure_histograms(samples)
    assert list(counts) == list(numbers["histograms"])


def test_the_figure_is_drawn_the_same_each_time_with_fonts_embedded(
    numbers: dict, tmp_path: Path
) -> None:
    first = draw(numbers, tmp_path / "a")
    second = draw(numbers, tmp_path / "b")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert [path.suffix for path in first] == [".png", ".pdf"]
    assert b"/Type3" not in first[1].read_bytes()
    for suffix in (".png", ".pdf"):
        assert (ROOT / "results" / "figures" / f"hepmass_sim_fidelity{suffix}").is_file()


def test_the_command_prints_the_constants_of_the_normalisation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(check_hepmass_sim, "measure_reference", lambda: {"m_jj": (4.0, 0.5)})
    assert check_hepmass_sim.main(["--normalisation"]) == 0
    assert capsys.readouterr().out == '    "m_jj": (4.0000, 0.5000),\n'


def test_tables_name_every_published_statistic(numbers: dict) -> None:
    text = "\n".join(tables(numbers).values())
    for _, feature, _ in published_statistics():
        assert f"`{feature}`" in text
