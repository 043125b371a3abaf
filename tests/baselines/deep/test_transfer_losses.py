"""The losses of DANN, CDAN, DAN and JAN are the formulas.

That a training with them is one with dalib's is tested in test_straightforward.py.
"""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from baselines.deep.adversarial import (
    DomainAdversary,
    domain_cross_entropy,
)
from baselines.deep.dalib_compat import (
    DomainDiscriminator,
)
from baselines.deep.discrepancy import (
    Discrepancy,
    adaptive_kernel,
    fixed_kernel,
    squared_distances,
)
from baselines.deep.stacked import build

CPU = torch.device("cpu")
FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0)


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


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_adversarial_loss_is_the_cross_entropy_of_the_domains(weighted):
    d = torch.sigmoid(draw(3, 10))
    w = 1 + torch.sigmoid(draw(3, 10, seed=1)) if weighted else torch.ones(3, 10)
    values = domain_cross_entropy(d, w if weighted else None)
    d, w = d.double().numpy(), w.double().numpy()
    source, target = (w * np.log(d))[:, :5], (w * np.log(1 - d))[:, 5:]
    expected = -0.5 * (source.mean(axis=1) + target.mean(axis=1))
    np.testing.assert_allclose(values.numpy(), expected, rtol=1e-5)


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
    own = [
        build(lambda: DomainDiscriminator(10, 10), torch.Generator().manual_seed(m), CPU)
        for m in range(3)
    ]
    ours = DomainAdversary(own, 5)
    features, logits = two_domains(4, 10)
    features[1, 2] = torch.inf
    assert torch.isfinite(ours(features, logits)).tolist() == [True, False, True]
    assert "discriminator" in ours.reason


def kernel_sum(x, factors):
    """Direct formula, in double precision and with a loop over pairs."""
    d = np.array([[((a - b) ** 2).sum() for b in x] for a in x])
    return sum(np.exp(-d / (2 * factor * d.mean())) for factor in factors)


def mmd_of_kernel(k, n, linear):
    """Direct formula from a kernel matrix of n source rows followed by n target rows."""
    s, t = range(n), range(n, 2 * n)
    if linear:
        total = 0.0
        for i in range(n):
            j = (i + 1) % n
            total += k[s[i], s[j]] + k[t[i], t[j]] - k[s[i], t[j]] - k[s[j], t[i]]
        return total / n + 2 / (n - 1)
    within = sum(k[s[i], s[j]] + k[t[i], t[j]] for i in range(n) for j in range(n) if i != j)
    across = sum(k[i, j] for i in s for j in t)
    return within / (n * (n - 1)) - 2 * across / n**2 + 2 / (n - 1)


def of_features(rows):
    return adaptive_kernel(rows, FACTORS)


def of_predictions(rows):
    return fixed_kernel(rows, 0.92)


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize(("n", "d", "shift"), [(2, 3, 0.0), (8, 250, 0.3), (9, 5, 100.0)])
def test_dans_loss_is_its_formula(n, d, shift, linear):
    features, logits = two_domains(n, d, shift=shift)
    values = Discrepancy(of_features, linear)(features, logits)
    for value, f in zip(values, features.numpy(), strict=True):
        expected = mmd_of_kernel(kernel_sum(f.astype(float), FACTORS), n, linear)
        assert value.item() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("linear", [True, False])
def test_jans_loss_is_its_formula(linear):
    n = 8
    features, logits = two_domains(n, 30)
    values = Discrepancy(of_features, linear, of_predictions)(features, logits)
    for value, f, g in zip(values, features.numpy(), logits.numpy(), strict=True):
        p = softmax(g.astype(float))
        d = ((p[:, None] - p[None]) ** 2).sum(axis=2)
        kernel = kernel_sum(f.astype(float), FACTORS) * np.exp(-d / (2 * 0.92**2))
        assert value.item() == pytest.approx(mmd_of_kernel(kernel, n, linear), rel=1e-4)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 12), st.integers(1, 20), st.floats(-50, 50), st.integers(0, 2**31))
def test_squared_distances_do_not_depend_on_the_origin(n, d, shift, seed):
    rows = draw(2, n, d, seed=seed)
    direct = ((rows[:, :, None] - rows[:, None]) ** 2).sum(dim=3)
    moved = squared_distances(rows + shift)
    torch.testing.assert_close(moved, direct, rtol=1e-3, atol=1e-3)
    assert (moved >= 0).all()
