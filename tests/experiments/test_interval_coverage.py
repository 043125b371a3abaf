"""Five overlapping subsamples under-cover; five independent samples do not."""

import numpy as np

from scripts.interval_coverage import coverage


def test_coverage_of_independent_and_of_overlapping_samples():
    # Means of 90 % subsamples of 200 standard normal values: the simplest case of the protocol.
    rng = np.random.default_rng(0)
    shared, independent = [], []
    for _ in range(1500):
        rows = rng.normal(size=200)
        shared.append([rng.choice(rows, 180, replace=False).mean() for _ in range(5)])
        independent.append(rng.normal(size=(5, 180)).mean(axis=1))
    assert 0.93 < coverage(np.array(independent), 0.0) < 0.97
    # Var of a subsample's mean around the sample's is 1/180 - 1/200, that of the sample's 1/200.
    assert 0.2 < coverage(np.array(shared), 0.0) < 0.5
