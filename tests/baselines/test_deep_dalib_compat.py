"""dalib's losses are what the formulas say, and the fast parts equal dalib's own."""

import importlib.util
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch

# dalib is in memory by now, so that these imports load nothing more.
from dalib.adaptation.dan import MultipleKernelMaximumMeanDiscrepancy, _update_index_matrix
from dalib.adaptation.jan import JointMultipleKernelMaximumMeanDiscrepancy
from dalib.modules.kernels import GaussianKernel
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from baselines import dalib_compat
from baselines.dalib_compat import (
    Discriminator,
    GaussianKernels,
    GradientReversal,
    JointMeanDiscrepancy,
    MeanDiscrepancy,
    conditional_domain_adversarial_loss,
    domain_adversarial_loss,
    index_matrix,
    squared_distances,
)

ROOT = Path(__file__).parents[2]
FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0)


def draw(*shape, seed=0, shift=0.0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(*shape, generator=generator) + shift).requires_grad_()


def linear_discriminator(n_features, seed=3):
    layer = nn.Linear(n_features, 1)
    with torch.no_grad():
        layer.weight.copy_(draw(1, n_features, seed=seed) / 2)
        layer.bias.fill_(0.1)
    return nn.Sequential(layer, nn.Sigmoid())


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


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


def test_dann_loss_is_the_mean_cross_entropy_of_the_discriminator():
    f_s, f_t = draw(6, 4, seed=1), draw(6, 4, seed=2, shift=1.0)
    discriminator = linear_discriminator(4)
    value = domain_adversarial_loss(discriminator)(f_s, f_t).item()
    w, b = discriminator[0].weight.detach().numpy()[0], 0.1
    d_s, d_t = (sigmoid(f.detach().numpy().astype(float) @ w + b) for f in (f_s, f_t))
    assert value == pytest.approx(-0.5 * (np.log(d_s).mean() + np.log(1 - d_t).mean()), rel=1e-5)


def test_dann_turns_the_gradient_of_the_features_and_of_nothing_else():
    discriminator = linear_discriminator(4)
    loss = domain_adversarial_loss(discriminator, warmup_steps=10)
    loss.grl.iter_num = 7
    coefficient = 2 / (1 + np.exp(-0.7)) - 1
    f_s, f_t = draw(6, 4, seed=1), draw(6, 4, seed=2, shift=1.0)
    loss(f_s, f_t).backward()
    turned, weight_gradient = f_s.grad.clone(), discriminator[0].weight.grad.clone()

    f_s.grad = None
    discriminator.zero_grad()
    plain = -0.5 * (discriminator(f_s).log().mean() + (1 - discriminator(f_t)).log().mean())
    plain.backward()
    torch.testing.assert_close(turned, -coefficient * f_s.grad)
    torch.testing.assert_close(weight_gradient, discriminator[0].weight.grad)


@pytest.mark.parametrize("entropy_conditioning", [False, True])
def test_cdan_loss_is_the_cross_entropy_on_the_outer_product(entropy_conditioning):
    n, d, n_classes = 5, 3, 3
    f_s, f_t = draw(n, d, seed=1), draw(n, d, seed=2, shift=1.0)
    g_s, g_t = draw(n, n_classes, seed=4), draw(n, n_classes, seed=5)
    discriminator = linear_discriminator(d * n_classes)
    loss = conditional_domain_adversarial_loss(
        discriminator, entropy_conditioning=entropy_conditioning
    )
    value = loss(g_s, f_s, g_t, f_t).item()

    w = discriminator[0].weight.detach().numpy()[0].reshape(n_classes, d)
    f = torch.cat([f_s, f_t]).detach().numpy().astype(float)
    p = softmax(torch.cat([g_s, g_t]).detach().numpy().astype(float))
    probability = sigmoid(np.einsum("nk,kd,nd->n", p, w, f) + 0.1)
    is_source = np.arange(2 * n) < n
    terms = -np.where(is_source, np.log(probability), np.log(1 - probability))
    weight = 1 + np.exp((p * np.log(p)).sum(axis=1)) if entropy_conditioning else np.ones(2 * n)
    assert value == pytest.approx((weight * terms).sum() / weight.sum(), rel=1e-4)


def test_cdan_sends_no_gradient_through_the_predictions():
    f_s, f_t = draw(5, 3, seed=1), draw(5, 3, seed=2)
    g_s, g_t = draw(5, 2, seed=4), draw(5, 2, seed=5)
    loss = conditional_domain_adversarial_loss(linear_discriminator(6))
    loss.grl.iter_num = 100
    loss(g_s, f_s, g_t, f_t).backward()
    assert g_s.grad is None
    assert g_t.grad is None
    assert f_s.grad.abs().sum() > 0


def test_reversal_follows_dalibs_schedule_step_by_step():
    layer = GradientReversal(warmup_steps=50)
    seen = []
    for _ in range(120):
        x = torch.ones(3, requires_grad=True)
        layer(x).sum().backward()
        seen.append(-x.grad[0].item())
    expected = [2 / (1 + np.exp(-i / 50)) - 1 for i in range(120)]
    np.testing.assert_allclose(seen, expected, atol=1e-6)
    assert seen[0] == 0


def test_default_reversal_is_at_less_than_half_after_its_warm_up():
    layer = GradientReversal()
    layer.iter_num = 1000
    assert layer.coefficient == pytest.approx(0.46212, abs=1e-5)


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("n", [2, 3, 8, 33])
def test_index_matrix_equals_dalibs(n, linear):
    torch.testing.assert_close(index_matrix(n, linear), _update_index_matrix(n, None, linear))


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("n", [3, 6])
def test_dan_loss_is_the_mean_discrepancy(n, linear):
    z_s, z_t = draw(n, 4, seed=1), draw(n, 4, seed=2, shift=0.7)
    value = MeanDiscrepancy(FACTORS, linear)(z_s, z_t).item()
    z = torch.cat([z_s, z_t]).detach().numpy().astype(float)
    assert value == pytest.approx(mmd_of_kernel(kernel_sum(z, FACTORS), n, linear), rel=1e-4)


@pytest.mark.parametrize("linear", [True, False])
def test_jan_loss_is_the_joint_mean_discrepancy(linear):
    n = 5
    z_s, z_t = draw(n, 4, seed=1), draw(n, 4, seed=2, shift=0.7)
    p_s, p_t = (torch.softmax(draw(n, 3, seed=seed), dim=1) for seed in (4, 5))
    loss = JointMeanDiscrepancy((GaussianKernels(FACTORS), GaussianKernels(sigma=0.92)), linear)
    value = loss((z_s, p_s), (z_t, p_t)).item()
    z = torch.cat([z_s, z_t]).detach().numpy().astype(float)
    p = torch.cat([p_s, p_t]).detach().numpy().astype(float)
    d = ((p[:, None] - p[None]) ** 2).sum(axis=2)
    kernel = kernel_sum(z, FACTORS) * np.exp(-d / (2 * 0.92**2))
    assert value == pytest.approx(mmd_of_kernel(kernel, n, linear), rel=1e-4)


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize(("n", "d", "shift"), [(2, 3, 0.0), (8, 250, 0.3), (9, 5, 100.0)])
def test_dan_value_and_gradient_equal_dalibs(n, d, shift, linear):
    results = []
    theirs = MultipleKernelMaximumMeanDiscrepancy(
        tuple(GaussianKernel(alpha=factor) for factor in FACTORS), linear=linear
    )
    for loss in (MeanDiscrepancy(FACTORS, linear), theirs):
        z_s, z_t = draw(n, d, seed=1, shift=shift), draw(n, d, seed=2, shift=shift + 0.5)
        value = loss(z_s, z_t)
        value.backward()
        results.append((value.detach(), z_s.grad, z_t.grad))
    for ours, dalibs in zip(*results, strict=True):
        torch.testing.assert_close(ours, dalibs, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("linear", [True, False])
def test_jan_value_and_gradient_equal_dalibs(linear):
    results = []
    ours = JointMeanDiscrepancy((GaussianKernels(FACTORS), GaussianKernels(sigma=0.92)), linear)
    features = tuple(GaussianKernel(alpha=factor) for factor in FACTORS)
    softmaxes = (GaussianKernel(sigma=0.92, track_running_stats=False),)
    theirs = JointMultipleKernelMaximumMeanDiscrepancy((features, softmaxes), linear=linear)
    for loss in (ours, theirs):
        z_s, z_t = draw(8, 30, seed=1), draw(8, 30, seed=2, shift=0.5)
        g_s, g_t = draw(8, 3, seed=4), draw(8, 3, seed=5)
        value = loss((z_s, torch.softmax(g_s, dim=1)), (z_t, torch.softmax(g_t, dim=1)))
        value.backward()
        results.append((value.detach(), z_s.grad, z_t.grad, g_s.grad, g_t.grad))
    for mine, dalibs in zip(*results, strict=True):
        torch.testing.assert_close(mine, dalibs, rtol=1e-4, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 12), st.integers(1, 20), st.floats(-50, 50), st.integers(0, 2**31))
def test_squared_distances_do_not_depend_on_where_the_rows_lie(n, d, shift, seed):
    rows = draw(n, d, seed=seed).detach()
    direct = ((rows[:, None] - rows[None]) ** 2).sum(dim=2)
    moved = squared_distances(rows + shift)
    torch.testing.assert_close(moved, direct, rtol=1e-3, atol=1e-3)
    assert (moved >= 0).all()


def test_rows_on_one_point_have_distance_zero_exactly():
    rows = draw(1, 250, seed=1).detach().expand(64, 250)
    assert (squared_distances(rows) == 0).all()


def test_a_batch_on_one_point_has_no_discrepancy_as_in_dalib():
    rows = torch.ones(4, 3)
    assert MeanDiscrepancy(FACTORS, True)(rows, rows).isnan()
    theirs = MultipleKernelMaximumMeanDiscrepancy((GaussianKernel(alpha=1.0),), linear=True)
    assert theirs(rows, rows).isnan()


def test_batches_of_changing_size_find_their_index_matrix():
    loss = MeanDiscrepancy(FACTORS, False)
    for n in (4, 3, 4):
        z_s, z_t = draw(n, 2, seed=1), draw(n, 2, seed=2)
        z = torch.cat([z_s, z_t]).detach().numpy().astype(float)
        expected = mmd_of_kernel(kernel_sum(z, FACTORS), n, False)
        assert loss(z_s, z_t).item() == pytest.approx(expected, rel=1e-4)


def test_discriminator_names_itself_where_it_is_not_finite():
    discriminator = Discriminator(3, 4)
    with pytest.raises(FloatingPointError, match="discriminator"):
        discriminator(torch.full((5, 3), torch.inf))


CHECK_IMPORTS = """
import sys
import baselines.adversarial, baselines.discrepancy, baselines.source_hypothesis
for name in sys.modules:
    assert name.split(".")[0] not in ("qpsolvers", "torchvision", "PIL"), name
    assert not name.startswith("dalib.vision"), name
sys.path.insert(0, sys.argv[1])
import qpsolvers
assert qpsolvers.real, qpsolvers
print("clean")
"""


def test_importing_the_methods_is_silent_and_leaves_the_real_qpsolvers_alone(tmp_path):
    (tmp_path / "qpsolvers.py").write_text("real = True")
    command = [sys.executable, "-c", CHECK_IMPORTS, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "clean\n", done.stderr
    assert done.stderr == ""


def load_afresh(monkeypatch):
    """Run the module anew, with dalib not yet in memory."""
    for name in [name for name in sys.modules if name.split(".")[0] == "dalib"]:
        monkeypatch.delitem(sys.modules, name)
    spec = importlib.util.spec_from_file_location("afresh", dalib_compat.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_qpsolvers_that_is_already_in_memory_stays(monkeypatch):
    present = types.ModuleType("qpsolvers")
    monkeypatch.setitem(sys.modules, "qpsolvers", present)
    load_afresh(monkeypatch)
    assert sys.modules["qpsolvers"] is present


def test_a_missing_dalib_is_named_with_the_way_to_install_it(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "meta_path", [f for f in sys.meta_path if "editable" not in repr(f)])
    with pytest.raises(ModuleNotFoundError, match=r"--no-deps dalib==0\.2"):
        load_afresh(monkeypatch)
    assert getattr(sys.modules.get("qpsolvers"), "solve_qp", None) is not (
        dalib_compat._no_quadratic_program
    )
