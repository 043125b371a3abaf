"""The losses of DANN, CDAN, DAN and JAN are the formulas, and for each model dalib's own."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from baselines.deep.adversarial import (
    ConditionalDomainAdversary,
    DomainAdversary,
    domain_cross_entropy,
)
from baselines.deep.dalib_compat import (
    DomainDiscriminator,
    GaussianKernel,
    JointMultipleKernelMaximumMeanDiscrepancy,
    MultipleKernelMaximumMeanDiscrepancy,
    conditional_domain_adversarial_loss,
    domain_adversarial_loss,
)
from baselines.deep.discrepancy import (
    Discrepancy,
    adaptive_kernel,
    fixed_kernel,
    mean_discrepancy,
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
    return torch.stack(features).requires_grad_(), torch.stack(logits).requires_grad_()


def assert_dalibs(ours, theirs, features, logits, **tolerance):
    """Compare value and gradients of each model with those of a loss of one model."""
    f, g = (z.detach().clone().requires_grad_() for z in (features, logits))
    values = ours(f, g)
    values.sum().backward()
    for model in range(len(f)):
        own_f, own_g = (z[model].detach().clone().requires_grad_() for z in (features, logits))
        (f_s, f_t), (g_s, g_t) = own_f.chunk(2), own_g.chunk(2)
        value = theirs(model, f_s, g_s, f_t, g_t)
        value.backward()
        torch.testing.assert_close(values[model], value, **tolerance)
        torch.testing.assert_close(f.grad[model], own_f.grad, **tolerance)
        assert (g.grad is None) == (own_g.grad is None)
        if g.grad is not None:
            torch.testing.assert_close(g.grad[model], own_g.grad, **tolerance)


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


def adversaries(conditional, entropy_conditioning=False):
    """The losses of three models of 10 features and 3 classes, and dalib's of each."""
    n_inputs = 30 if conditional else 10
    discriminators, own = (
        [
            build(lambda: DomainDiscriminator(n_inputs, 10), torch.Generator().manual_seed(m), CPU)
            for m in range(3)
        ]
        for _ in range(2)
    )
    if conditional:
        ours = ConditionalDomainAdversary(own, 5)
        ours.entropy_conditioning = entropy_conditioning
        losses = [
            conditional_domain_adversarial_loss(one, 5, entropy_conditioning)
            for one in discriminators
        ]
        return ours, lambda m, f_s, g_s, f_t, g_t: losses[m](g_s, f_s, g_t, f_t), discriminators
    losses = [domain_adversarial_loss(one, 5) for one in discriminators]
    ours = DomainAdversary(own, 5)
    return ours, lambda m, f_s, g_s, f_t, g_t: losses[m](f_s, f_t), discriminators


@pytest.mark.parametrize(
    "kind", [(False,), (True, False), (True, True)], ids=["DANN", "CDAN", "CDAN+E"]
)
def test_adversarial_values_and_gradients_are_dalibs_step_by_step(kind):
    """Those of the discriminators included; the reversed gradient grows with the step."""
    ours, theirs, discriminators = adversaries(*kind)
    for step in range(4):
        features, logits = two_domains(7 + step, 10)
        assert_dalibs(ours, theirs, features, logits, rtol=1e-3, atol=1e-6)
    for model, discriminator in enumerate(discriminators):
        for name, parameter in discriminator.named_parameters():
            found = ours.discriminator.get_parameter(name).grad
            if parameter.requires_grad:
                torch.testing.assert_close(found[model], parameter.grad, rtol=1e-3, atol=1e-5)


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


@pytest.mark.parametrize("conditional", [False, True])
def test_a_discriminator_without_a_finite_output_has_no_finite_loss(conditional):
    ours, _, _ = adversaries(conditional)
    features, logits = (z.detach() for z in two_domains(4, 10))
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
@pytest.mark.parametrize(("n", "d", "shift"), [(3, 3, 0.0), (8, 250, 0.3), (9, 5, 100.0)])
def test_dan_is_dalibs_and_the_formula(n, d, shift, linear):
    features, logits = two_domains(n, d, shift=shift)
    ours = Discrepancy(of_features, linear)
    dalibs = MultipleKernelMaximumMeanDiscrepancy(
        tuple(GaussianKernel(alpha=factor) for factor in FACTORS), linear=linear
    )
    assert_dalibs(
        ours, lambda m, f_s, g_s, f_t, g_t: dalibs(f_s, f_t), features, logits,
        rtol=1e-4, atol=1e-6,
    )  # fmt: skip
    for value, f in zip(ours(features, logits), features.detach().numpy(), strict=True):
        expected = mmd_of_kernel(kernel_sum(f.astype(float), FACTORS), n, linear)
        assert value.item() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("linear", [True, False])
def test_jan_is_dalibs_and_the_formula(linear):
    n = 8
    features, logits = two_domains(n, 30)
    ours = Discrepancy(of_features, linear, of_predictions)
    kernels = tuple(GaussianKernel(alpha=factor) for factor in FACTORS)
    softmaxes = (GaussianKernel(sigma=0.92, track_running_stats=False),)
    dalibs = JointMultipleKernelMaximumMeanDiscrepancy((kernels, softmaxes), linear=linear)

    def theirs(m, f_s, g_s, f_t, g_t):
        return dalibs((f_s, torch.softmax(g_s, dim=1)), (f_t, torch.softmax(g_t, dim=1)))

    assert_dalibs(ours, theirs, features, logits, rtol=1e-4, atol=1e-6)
    models = zip(features.detach().numpy(), logits.detach().numpy(), strict=True)
    for value, (f, g) in zip(ours(features, logits), models, strict=True):
        p = softmax(g.astype(float))
        d = ((p[:, None] - p[None]) ** 2).sum(axis=2)
        kernel = kernel_sum(f.astype(float), FACTORS) * np.exp(-d / (2 * 0.92**2))
        assert value.item() == pytest.approx(mmd_of_kernel(kernel, n, linear), rel=1e-4)


def test_a_batch_of_two_rows_follows_the_formula():
    kernel = draw(1, 4, 4).double()
    for linear in (True, False):
        expected = mmd_of_kernel((kernel + kernel.mT)[0].numpy(), 2, linear)
        assert mean_discrepancy(kernel + kernel.mT, linear).item() == pytest.approx(expected)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 12), st.integers(1, 20), st.floats(-50, 50), st.integers(0, 2**31))
def test_squared_distances_do_not_depend_on_the_origin(n, d, shift, seed):
    rows = draw(2, n, d, seed=seed)
    direct = ((rows[:, :, None] - rows[:, None]) ** 2).sum(dim=3)
    moved = squared_distances(rows + shift)
    torch.testing.assert_close(moved, direct, rtol=1e-3, atol=1e-3)
    assert (moved >= 0).all()


def test_rows_on_one_point_have_distance_zero_and_no_discrepancy_as_in_dalib():
    rows = draw(1, 1, 250, seed=1).expand(1, 64, 250)
    assert (squared_distances(rows) == 0).all()
    assert Discrepancy(of_features, True)(rows, rows).isnan().all()
    dalibs = MultipleKernelMaximumMeanDiscrepancy((GaussianKernel(alpha=1.0),), linear=True)
    assert dalibs(rows[0, :32], rows[0, 32:]).isnan()
