"""What is saved of a fitted density holds arrays, and gives the same numbers again."""

import pickle

import torch

from krda import RNADE
from krda.density.gaussian import LinearGaussianDensity


def test_saved_densities_are_arrays_and_give_the_same_numbers_again():
    x = torch.zeros(1, 3, dtype=torch.float64)
    for density in (RNADE(3).density(0), LinearGaussianDensity(torch.ones(3), torch.eye(3))):
        state = density.__getstate__()
        assert not any(isinstance(value, torch.Tensor) for value in state.values())
        again = pickle.loads(pickle.dumps(density))
        assert torch.equal(again.log_prob(x), density.log_prob(x))
