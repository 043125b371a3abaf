"""The page of the simulated HEPMASS says what its stored numbers say; those are of this code."""

import json

import numpy as np
import pytest

from experiments.datasets.collisions import FEATURES
from experiments.store.fingerprint import code_fingerprint
from studies import hepmass_sim as study


@pytest.fixture(scope="module")
def numbers():
    return json.loads(study._STORED.read_text())


def test_the_stored_numbers_are_of_this_code(numbers):
    assert numbers["code"] == code_fingerprint(study.MODULES), (
        "The simulation changed: run python -m studies.hepmass_sim again."
    )


def test_the_page_holds_the_tables_of_the_stored_numbers(numbers):
    page = study._PAGE.read_text(encoding="utf-8")
    assert study.fill_page(page, numbers) == page
    for _, feature, _ in study.published_statistics().index:
        assert f"`{feature}`" in page


def test_the_simulation_is_as_near_to_the_published_accuracies_as_the_page_claims(numbers):
    misses, single = study.deviations(numbers)
    assert misses.mean() < 2.5
    assert (single >= misses.mean()).all()


def test_the_published_matrix_takes_the_papers_anomaly_into_account():
    real = study.published_accuracies()
    np.testing.assert_allclose(np.diag(real), [56.3, 82.2, 89.2, 93.3, 95.4])
    assert real[0].tolist() == [56.3, 68.7, 67.2, 62.6, 58.0]
    assert real[1, 3] == real[1, 4] == 87.7


def test_published_statistics_are_in_order():
    real = study.published_statistics()
    assert len(real) == 87
    mixed = real.unstack().loc["mixed"]
    location = mixed[["min", "q25", "median", "q75", "max"]].dropna()
    assert set(location.index) <= set(FEATURES)
    assert (np.diff(location) > 0).all()
    assert mixed.loc["b_tags"].sum() == pytest.approx(1.0, abs=0.002)


def test_a_small_sample_gives_the_stored_statistics_within_its_error(numbers):
    stored = study.statistics(numbers)["simulated"]
    measured = study.measure_statistics(study.simulated_samples(10_000))
    assert not stored.isna().any()
    for key, value in measured.items():
        if key[2] in ("median", "q25", "q75", "log_mean") or key[1].endswith(("_eta", "_phi")):
            assert value == pytest.approx(stored[key], rel=0.06), key


def test_the_figure_is_drawn_the_same_each_time_with_fonts_embedded(numbers, tmp_path):
    for name in "ab":
        study.draw(numbers, tmp_path / name)
    for kind in ("pdf", "svg"):
        first, second = ((tmp_path / f"{name}.{kind}").read_bytes() for name in "ab")
        assert first == second
        assert b"/Type3" not in first
