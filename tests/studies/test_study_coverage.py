"""Five overlapping subsamples under-cover; five independent samples do not."""

import numpy as np
import pytest
from programs import ROOT
from scipy import stats

from studies.coverage import coverage, report

STATISTICS = ROOT / "docs" / "statistics.md"


def test_coverage_of_independent_and_of_overlapping_samples():
    # Means of 90 % subsamples of 200 standard normal values: the simplest case of the protocol.
    rng = np.random.default_rng(0)
    shared, independent = [], []
    for _ in range(1500):
        rows = rng.normal(size=200)
        shared.append([rng.choice(rows, 180, replace=False).mean() for _ in range(5)])
        independent.append(rng.normal(size=(5, 180)).mean(axis=1))
    assert 0.93 < coverage(np.array(independent), 0.0) < 0.97
    # Var of a subsample's mean around the sample's is 1/180 - 1/200 = 1/1800, that of the sample's
    # 1/200, so that of the five's mean 1/200 + 1/9000: 46 times the square of the standard error.
    expected = 2 * stats.t.cdf(stats.t.ppf(0.975, 4) / np.sqrt(46), 4) - 1
    assert round(expected, 2) == 0.30
    assert abs(coverage(np.array(shared), 0.0) - expected) < 0.04
    used = np.sqrt(np.var(shared, axis=1, ddof=1).mean() / 5)
    assert used / np.mean(shared, axis=1).std() == pytest.approx(0.15, abs=0.01)


def test_the_documented_numbers_are_what_fewer_draws_give_within_their_error():
    n = 8
    lines = STATISTICS.read_text(encoding="utf-8").splitlines()
    *head, lattice, random = report([90.0], n)
    assert all(f"    {line}" in lines for line in head)
    for angle, kind, *numbers in (lattice.split(), random.split()):
        (documented,) = (line.split() for line in lines if line.split()[:2] == [angle, kind])
        assert len(numbers) == len(documented) - 2
        mean, between = float(documented[2]), float(documented[4])
        assert abs(float(numbers[0]) - mean) < 4 * between / np.sqrt(n)
        assert 0.5 < float(numbers[2]) / between < 2
