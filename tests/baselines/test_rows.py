"""Scaled columns, held-out rows, and batches that each model draws by its own generator."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines.rows import ColumnScaling, epochs_of_batches, hold_out


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(2, 90), min_size=1, max_size=2), st.integers(2, 40), st.integers(1, 4))
def test_every_epoch_passes_once_over_the_largest_domain(sizes, batch_size, n_epochs):
    numbers = [(torch.arange(size)[None],) for size in sizes]
    stacked = epochs_of_batches(numbers, batch_size, n_epochs, [generator()])
    epochs = [[[rows[0] for rows in batch] for batch in batches] for batches in stacked]
    assert len(epochs) == n_epochs
    largest = max(range(len(sizes)), key=lambda domain: sizes[domain])
    seen = [[] for _ in sizes]
    for batches in epochs:
        lengths = [len(batch[0]) for batch in batches]
        assert min(lengths) >= 2
        assert max(lengths) - min(lengths) <= 1
        assert max(lengths) <= max(batch_size, 3)
        for batch in batches:
            assert len({len(rows) for rows in batch}) == 1
            for domain, rows in enumerate(batch):
                seen[domain] += rows.tolist()
        rows_of_epoch = torch.cat([batch[largest] for batch in batches])
        assert sorted(rows_of_epoch.tolist()) == list(range(sizes[largest]))
    for domain, size in enumerate(sizes):
        counts = np.bincount(seen[domain], minlength=size)
        assert len(counts) == size
        assert counts.max() - counts.min() <= 1


def test_each_model_draws_its_rows_and_what_belongs_to_a_row_stays_with_it():
    values = torch.randn(2, 11, 2, generator=generator())
    domains = [(values, values.sum(dim=2)), (torch.arange(7).repeat(2, 1),)]

    def batches(models):
        chosen = [tuple(tensor[models] for tensor in tensors) for tensors in domains]
        epochs = epochs_of_batches(chosen, 4, 3, [generator(model) for model in models])
        return [batch for epoch in epochs for batch in epoch]

    for together, *alone in zip(batches([0, 1]), batches([0]), batches([1]), strict=True):
        assert torch.equal(together[0].sum(dim=2), together[1])
        for model, own in enumerate(alone):
            assert all(torch.equal(a[model], b[0]) for a, b in zip(together, own, strict=True))


@pytest.mark.parametrize(("n", "n_held_out"), [(4, 2), (30, 6), (5000, 500)])
def test_rows_are_either_trained_on_or_held_out(n, n_held_out):
    training, held_out = hold_out(n, 0.2, [generator(0), generator(1)])
    assert held_out.shape == (2, n_held_out)
    every = torch.cat([training, held_out], 1).sort(1).values
    assert torch.equal(every, torch.arange(n).repeat(2, 1))
    assert not torch.equal(held_out[0].sort().values, held_out[1].sort().values) or n == 4


def test_scaling_handles_constant_and_huge_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3)) * [1.0, 1e300, 1e-300]
    X = np.column_stack([X, np.full(50, 0.1), np.zeros(50)])
    scaled = ColumnScaling.fit(X).transform(X)
    np.testing.assert_allclose(scaled[:, :3].std(axis=0), 1, rtol=1e-9)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_array_equal(scaled[:, 3:], 0)
    others = ColumnScaling.fit(X).transform(X + 7.0)
    np.testing.assert_array_equal(others[:, 3:], 0)  # in rows where they vary, too
