"""What is saved of a fitted density holds arrays, and gives the same numbers again."""

from __future__ import annotations

import pickle

import numpy as np
import torch

from krda import RNADE, KnotheRosenblatt
from krda.density.gaussian import LinearGaussianDensity


def test_saved_densities_are_arrays_and_give_the_same_numbers_again():
    x = torch.zeros(1, 3, dtype=torch.float64)
    for density in (RNADE(3).density(0), LinearGaussianDensity(torch.ones(3), torch.eye(3))):
        state = density.__getstate__()
        assert not any(isinstance(value, torch.Tensor) for value in state.values())
        again = pickle.loads(pickle.dumps(density))
        assert torch.equal(again.log_prob(x), density.log_prob(x))


def test_a_fitted_map_survives_pickle():
    Xs = np.random.default_rng(0).normal(size=(60, 2))
    model = KnotheRosenblatt(max_steps=5).fit(Xs, Xs + 1)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(Xs), model.transform(Xs))
    assert again.history_.best_step == model.history_.best_step
