"""dalib's losses are what the formulas say, and the losses of many models equal dalib's own."""

import importlib.util
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from baselines import dalib_compat
from baselines.adversarial import (
    ConditionalDomainAdversary,
    DomainAdversary,
    reversal_coefficient,
)
from baselines.dalib_compat import (
    DomainDiscriminator,
    GaussianKernel,
    GradientReversal,
    JointMultipleKernelMaximumMeanDiscrepancy,
    MultipleKernelMaximumMeanDiscrepancy,
    conditional_domain_adversarial_loss,
    domain_adversarial_loss,
    index_matrix,
)
from baselines.discrepancy import Discrepancy, GaussianKernels, squared_distances
from baselines.networks import build

# dalib is in memory by now, so that this import loads nothing more.
from dalib.adaptation.dan import _update_index_matrix  # isort: skip

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


def test_reversal_follows_dalibs_schedule_step_by_step(monkeypatch):
    monkeypatch.setattr(np, "float", float, raising=False)
    original = dalib_compat.WarmStartGradientReverseLayer(max_iters=50, auto_step=True)
    ours = GradientReversal(warmup_steps=50)
    for step in range(120):
        expected = 2 / (1 + np.exp(-step / 50)) - 1
        assert reversal_coefficient(step, 50) == pytest.approx(expected, abs=1e-12)
        for layer in (ours, original):
            x = torch.ones(3, requires_grad=True)
            layer(x).sum().backward()
            assert -x.grad[0].item() == pytest.approx(expected, abs=1e-6)
    assert reversal_coefficient(0, 50) == 0
    assert reversal_coefficient(1000, 1000) == pytest.approx(0.46212, abs=1e-5)


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("n", [2, 3, 8, 33])
def test_index_matrix_equals_dalibs(n, linear):
    dalibs = _update_index_matrix(n, None, linear)
    torch.testing.assert_close(index_matrix(n, linear), (dalibs + dalibs.T) / 2)


def stacks_of_two_domains(n, d, n_classes=3, shift=0.0, n_models=3):
    """Features and logits of models whose scales differ."""
    features = [
        torch.cat([draw(n, d, seed=m), draw(n, d, seed=m + 50) + 0.5]) * 2.0**m + shift
        for m in range(n_models)
    ]
    logits = [2 * draw(2 * n, n_classes, seed=m + 100) for m in range(n_models)]
    return torch.stack(features).detach(), torch.stack(logits).detach()


def check_against(theirs, ours, features, logits, weight, tolerance):
    """Compare value and gradients of each model with those of a loss of one model."""
    for model, (own_f, own_g) in enumerate(zip(features, logits, strict=True)):
        f, g = own_f.clone().requires_grad_(), own_g.clone().requires_grad_()
        f_s, f_t = f.chunk(2)
        g_s, g_t = g.chunk(2)
        value = theirs(model, f_s, g_s, f_t, g_t)
        (weight * value).backward()
        torch.testing.assert_close(ours.values[model], value.detach(), **tolerance)
        torch.testing.assert_close(ours.on_features[model], f.grad, **tolerance)
        assert (g.grad is None) == (ours.on_logits is None)
        if g.grad is not None:
            torch.testing.assert_close(ours.on_logits[model], g.grad, **tolerance)


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize(("n", "d", "shift"), [(2, 3, 0.0), (8, 250, 0.3), (9, 5, 100.0)])
def test_dan_value_and_gradient_equal_dalibs_and_the_formula(n, d, shift, linear):
    features, logits = stacks_of_two_domains(n, d, shift=shift)
    loss = Discrepancy(GaussianKernels(FACTORS), linear)
    ours = loss.loss(features, logits, 0.7)
    theirs = MultipleKernelMaximumMeanDiscrepancy(
        tuple(GaussianKernel(alpha=factor) for factor in FACTORS), linear=linear
    )
    tolerance = {"rtol": 1e-4, "atol": 1e-6}
    check_against(
        lambda _, f_s, g_s, f_t, g_t: theirs(f_s, f_t), ours, features, logits, 0.7, tolerance
    )
    if n > 2:
        for value, own in zip(ours.values, features, strict=True):
            kernel = kernel_sum(own.numpy().astype(float), FACTORS)
            expected = mmd_of_kernel(kernel, n, linear)
            assert value.item() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("linear", [True, False])
def test_jan_value_and_gradient_equal_dalibs_and_the_formula(linear):
    n = 8
    features, logits = stacks_of_two_domains(n, 30)
    loss = Discrepancy(GaussianKernels(FACTORS), linear, GaussianKernels(sigma=0.92))
    ours = loss.loss(features, logits, 0.7)
    kernels = tuple(GaussianKernel(alpha=factor) for factor in FACTORS)
    softmaxes = (GaussianKernel(sigma=0.92, track_running_stats=False),)
    theirs = JointMultipleKernelMaximumMeanDiscrepancy((kernels, softmaxes), linear=linear)

    def of_one(_, f_s, g_s, f_t, g_t):
        return theirs((f_s, torch.softmax(g_s, dim=1)), (f_t, torch.softmax(g_t, dim=1)))

    check_against(of_one, ours, features, logits, 0.7, {"rtol": 1e-4, "atol": 1e-6})
    for value, f, g in zip(ours.values, features.numpy(), logits.numpy(), strict=True):
        p = softmax(g.astype(float))
        d = ((p[:, None] - p[None]) ** 2).sum(axis=2)
        kernel = kernel_sum(f.astype(float), FACTORS) * np.exp(-d / (2 * 0.92**2))
        assert value.item() == pytest.approx(mmd_of_kernel(kernel, n, linear), rel=1e-4)


def generators():
    return [torch.Generator().manual_seed(seed) for seed in range(3)]


def check_adversary(adversary, n_inputs, loss_of_discriminator, n_steps=4):
    """Compare several steps, discriminators' gradients included; nothing is updated between."""
    discriminators = [
        build(lambda: DomainDiscriminator(n_inputs, 10), generator, torch.device("cpu"))
        for generator in generators()
    ]
    losses = [loss_of_discriminator(discriminator) for discriminator in discriminators]
    (stack,) = adversary.stacks
    for step in range(n_steps):
        n = 7 + step
        features, logits = stacks_of_two_domains(n, 10)
        ours = adversary.loss(features, logits, 0.7)
        for discriminator in discriminators:
            discriminator.zero_grad()
        check_against(
            lambda model, *given: losses[model](*given),
            ours,
            features,
            logits,
            0.7,
            {"rtol": 1e-3, "atol": 1e-6},
        )
    for model, discriminator in enumerate(discriminators):
        ours = torch.cat([g[model].flatten() for layer in stack._layers for g in layer.gradients])
        theirs = torch.cat([p.grad.flatten() for p in discriminator.parameters()])
        # The same numbers, but for the order within a weight.
        torch.testing.assert_close(ours.square().sum(), theirs.square().sum(), rtol=1e-4, atol=0.0)
        torch.testing.assert_close(ours.sum(), theirs.sum(), rtol=1e-3, atol=1e-4)


def test_dann_values_and_gradients_equal_dalibs_step_by_step():
    adversary = DomainAdversary(10, 10, 5, generators(), torch.device("cpu"))

    def loss(discriminator):
        theirs = domain_adversarial_loss(discriminator, warmup_steps=5)
        return lambda f_s, g_s, f_t, g_t: theirs(f_s, f_t)

    check_adversary(adversary, 10, loss)


@pytest.mark.parametrize("entropy_conditioning", [False, True])
def test_cdan_values_and_gradients_equal_dalibs_step_by_step(entropy_conditioning):
    adversary = ConditionalDomainAdversary(
        3, 10, 5, entropy_conditioning, generators(), torch.device("cpu")
    )

    def loss(discriminator):
        theirs = conditional_domain_adversarial_loss(discriminator, 5, entropy_conditioning)
        return lambda f_s, g_s, f_t, g_t: theirs(g_s, f_s, g_t, f_t)

    check_adversary(adversary, 30, loss)


@pytest.mark.parametrize("z", [-200.0, -90.0, -17.0, 17.0, 90.0, 200.0])
def test_a_discriminator_that_is_certain_has_the_loss_and_gradient_of_dalib(z):
    """Where single precision takes its output for 0 or 1."""
    adversary = DomainAdversary(2, 4, 5, generators(), torch.device("cpu"))
    (stack,) = adversary.stacks
    with torch.no_grad():
        stack._layers[-1].values[0].zero_()
        stack._layers[-1].values[1].fill_(z)
    values = adversary.loss(torch.randn(3, 8, 2), torch.zeros(3, 8, 2), 1.0).values
    logits = torch.full((8, 1), z, requires_grad=True)
    labels = torch.tensor([1.0] * 4 + [0.0] * 4)[:, None]
    expected = nn.functional.binary_cross_entropy(torch.sigmoid(logits), labels)
    expected.backward()
    torch.testing.assert_close(values, expected.detach().expand(3), rtol=1e-3, atol=1e-6)
    of_bias = stack._layers[-1].gradients[1].flatten()
    torch.testing.assert_close(of_bias, logits.grad.sum().expand(3), rtol=1e-3, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 12), st.integers(1, 20), st.floats(-50, 50), st.integers(0, 2**31))
def test_squared_distances_do_not_depend_on_where_the_rows_lie(n, d, shift, seed):
    rows = draw(2, n, d, seed=seed).detach()
    direct = ((rows[:, :, None] - rows[:, None]) ** 2).sum(dim=3)
    moved, centred = squared_distances(rows + shift)
    torch.testing.assert_close(moved, direct, rtol=1e-3, atol=1e-3)
    assert (moved >= 0).all()
    torch.testing.assert_close(centred, rows - rows.mean(dim=1, keepdim=True), rtol=0, atol=1e-4)


def test_rows_on_one_point_have_distance_zero_exactly():
    rows = draw(2, 1, 250, seed=1).detach().expand(2, 64, 250)
    assert (squared_distances(rows)[0] == 0).all()


def test_a_batch_on_one_point_has_no_discrepancy_as_in_dalib():
    rows = torch.ones(1, 8, 3)
    loss = Discrepancy(GaussianKernels(FACTORS), True)
    assert loss.loss(rows, rows, 1.0).values.isnan().all()
    theirs = MultipleKernelMaximumMeanDiscrepancy((GaussianKernel(alpha=1.0),), linear=True)
    assert theirs(rows[0, :4], rows[0, 4:]).isnan()


@pytest.mark.parametrize("conditional", [False, True])
def test_a_discriminator_without_a_finite_output_has_no_finite_loss(conditional):
    device = torch.device("cpu")
    adversary = (
        ConditionalDomainAdversary(2, 3, 5, True, generators(), device)
        if conditional
        else DomainAdversary(3, 4, 5, generators(), device)
    )
    features = torch.randn(3, 8, 3)
    features[1, 2] = torch.inf
    finite = torch.isfinite(adversary.loss(features, torch.zeros(3, 8, 2), 1.0).values)
    assert finite.tolist() == [True, False, True]
    assert "discriminator" in adversary.reason


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


def test_the_index_matrix_of_a_training_can_be_part_of_a_graph():
    index_matrix.cache_clear()
    with torch.inference_mode():
        index_matrix(3, False)
    kernel = torch.rand(6, 6, requires_grad=True)
    (index_matrix(3, False) * kernel).sum().backward()
    assert torch.equal(kernel.grad, index_matrix(3, False))
