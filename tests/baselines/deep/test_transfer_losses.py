"""The losses of DANN, CDAN, DAN and JAN are the formulas.

That a training with them is one with dalib's is tested in test_straightforward.py.
"""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from baselines.deep.adversarial import domain_cross_entropy
from baselines.deep.discrepancy import BANDWIDTH_FACTORS, DAN, JAN, squared_distances


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def two_domains(n, d, n_classes=3, shift=0.0, n_models=3):
    """Features and logits of models whose scales differ."""
    features = [
        torch.cat([draw(n, d, seed=m), draw(n, d, seed=m + 50) + 0.5]) * 2.0**m + shift
        for m in range(n_models)
    ]
    logits = [2 * draw(2 * n, n_classes, seed=m + 100) for m in range(n_models)]
    return torch.stack(features), torch.stack(logits)


@pytest.mark.parametrize("z", [-200.0, -90.0, -30.0, -17.0, 17.0, 90.0, 200.0])
def test_a_discriminator_that_is_certain_has_the_loss_and_gradient_of_dalib(z):
    """Single precision takes some of its outputs for 0 or 1."""
    ours, theirs = (torch.full((1, 8), z, requires_grad=True) for _ in range(2))
    values = domain_cross_entropy(torch.sigmoid(ours))
    values.sum().backward()
    labels = torch.tensor([[1.0] * 4 + [0.0] * 4])
    expected = nn.functional.binary_cross_entropy(torch.sigmoid(theirs), labels)
    expected.backward()
    torch.testing.assert_close(values[0], expected)
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_a_discriminator_without_a_finite_output_has_no_finite_loss():
    d = torch.full((3, 8), 0.5)
    d[1, 2] = torch.nan
    assert torch.isfinite(domain_cross_entropy(d)).tolist() == [True, False, True]


def kernel_sum(x):
    """Direct formula, in double precision and with a loop over pairs."""
    d = np.array([[((a - b) ** 2).sum() for b in x] for a in x])
    return sum(np.exp(-d / (2 * factor * d.mean())) for factor in BANDWIDTH_FACTORS)


def mmd_of_kernel(k, n, linear):
    """Direct formula from a kernel matrix of n source rows followed by n target rows."""
    s, t = range(n), range(n, 2 * n)
    if linear:
        ring = [(s[i], s[j], t[i], t[j]) for i, j in zip(range(n), [*range(1, n), 0], strict=True)]
        total = sum(k[a, b] + k[c, d] - k[a, d] - k[b, c] for a, b, c, d in ring)
        return total / n + 2 / (n - 1)
    within = sum(k[s[i], s[j]] + k[t[i], t[j]] for i in range(n) for j in range(n) if i != j)
    across = sum(k[i, j] for i in s for j in t)
    return within / (n * (n - 1)) - 2 * across / n**2 + 2 / (n - 1)


@pytest.mark.parametrize("method", [DAN, JAN])
@pytest.mark.parametrize(("n", "d", "shift"), [(2, 3, 0.0), (8, 250, 0.3), (9, 5, 100.0)])
def test_the_discrepancies_are_their_formulas(method, n, d, shift):
    features, logits = two_domains(n, d, shift=shift)
    by_pairs = method(linear=False)._transfer_loss(features, logits, None)
    in_linear_time = method(linear=True)._transfer_loss(features, logits, None)
    assert torch.equal(method(linear=True)._divergence(features, logits), by_pairs)
    for r, (f, p) in enumerate(zip(features, torch.softmax(logits, 2).double(), strict=True)):
        kernel = kernel_sum(f.double().numpy())
        if method is JAN:
            kernel = kernel * np.exp(-torch.cdist(p, p).square().numpy() / (2 * 0.92**2))
        for values, linear in ((by_pairs, False), (in_linear_time, True)):
            assert values[r].item() == pytest.approx(mmd_of_kernel(kernel, n, linear), rel=1e-4)


@given(st.integers(2, 12), st.integers(1, 20), st.floats(-50, 50), st.integers(0, 2**31))
def test_squared_distances_do_not_depend_on_the_origin(n, d, shift, seed):
    rows = draw(2, n, d, seed=seed)
    direct = ((rows[:, :, None] - rows[:, None]) ** 2).sum(dim=3)
    moved = squared_distances(rows + shift)
    torch.testing.assert_close(moved, direct, rtol=1e-3, atol=1e-3)
    assert (moved >= 0).all()
