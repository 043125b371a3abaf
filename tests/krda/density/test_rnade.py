import numpy as np
import pytest
import torch
from rnade_models import make_rnade
from scipy import stats

from krda.density import mixture
from krda.density.rnade import MAX_LOG_VARIANCE, RNADE

pytestmark = pytest.mark.usefixtures("fast_or_plain")


def conditional_of_the_paper(density, i, a):
    """Equations 3 to 6 for states of rows: weights, means, standard deviations."""
    C, weight, bias = (np.asarray(getattr(density, n)) for n in ("C", "head_weight", "head_bias"))
    lin1, lin2, lin3 = np.split(np.maximum(C[i] * a, 0.0) @ weight[i] + bias[i], 3, axis=1)
    return np.exp(lin1) / np.exp(lin1).sum(1, keepdims=True), lin2, np.exp(0.5 * lin3)


def log_prob_of_the_paper(density, x):
    """Equations 1 to 6, one coordinate after another."""
    x, W = np.asarray(x), np.asarray(density.W)
    a, total = np.tile(np.asarray(density.c), (len(x), 1)), np.zeros(len(x))
    for i, x_i in enumerate(x.T[..., None]):
        w, mu, sigma = conditional_of_the_paper(density, i, a)
        total += np.log((w * stats.norm.pdf(x_i, mu, sigma)).sum(1))
        a = a + x_i * W[i]
    return total


@pytest.mark.parametrize("n_features", [1, 2, 5])
@pytest.mark.parametrize("domain", [0, 1])
def test_log_prob_equals_a_slow_loop_over_the_papers_equations(n_features, domain):
    model = make_rnade(n_features)
    x = torch.randn(20, n_features, generator=torch.Generator().manual_seed(3))
    density = model.density(domain)
    expected = log_prob_of_the_paper(density, x)
    np.testing.assert_allclose(density.log_prob(x.double()), expected, rtol=1e-9)
    with torch.no_grad():  # The module trains in float32: same equations, fewer digits.
        np.testing.assert_allclose(model.log_prob(x, domain), expected, rtol=1e-4)
        in_double = model.double().log_prob(x.double(), domain)
    np.testing.assert_allclose(in_double, expected, atol=1e-6)


def test_a_conditional_depends_on_earlier_coordinates_only():
    density = make_rnade(4).density(0)
    x = density.sample(6, torch.Generator().manual_seed(0))
    changed = x.clone()
    changed[:, 2] += 1.0
    before, after = density.rosenblatt(x), density.rosenblatt(changed)
    assert torch.equal(before[:, :2], after[:, :2])
    assert not torch.allclose(before[:, 2], after[:, 2])
    assert not torch.allclose(before[:, 3], after[:, 3])


def test_domains_share_c_W_and_C_and_have_heads_of_their_own():
    model = make_rnade(2)
    source, target = model.density(0), model.density(1)
    for name in ("c", "W", "C"):
        assert torch.equal(getattr(source, name), getattr(target, name))
    assert not torch.equal(source.head_weight, target.head_weight)


def test_standard_deviations_stay_above_the_floor():
    model = make_rnade(2, sigma_floor=0.05)
    with torch.no_grad():
        model.head_bias[..., 6:] -= 100.0
    stds = model.density(0).conditional(1, torch.randn(50, 8, dtype=torch.float64)).stds
    assert float(stds.min()) >= 0.05 * (1 - 1e-6)


def test_conditioning_values_may_differ_from_the_row_itself():
    model = make_rnade(3, seed=1)
    x = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    density = model.density(0, conditioning_value=lambda i, z: torch.floor(z) if i == 1 else z)
    conditioning_rows = x.clone()
    conditioning_rows[..., 1] = torch.floor(x[..., 1])
    with torch.no_grad():
        expected = model.log_prob(x, 0, conditioning_rows)
        plain = model.log_prob(x, 0)
    rows = x.to(torch.float64)
    np.testing.assert_allclose(density.log_prob(rows), expected, rtol=1e-4, atol=1e-4)
    assert not torch.allclose(plain, expected, atol=0.1)
    u = density.rosenblatt(rows)
    np.testing.assert_allclose(density.inverse_rosenblatt(u), rows, atol=1e-8)


def test_transforms_take_conditional_by_conditional():
    model = make_rnade(5, sigma_floor=0.1).double()
    with torch.no_grad():
        model.C[::2] *= -1.0  # both signs: relu(C a) is taken apart
    density = model.density(1)
    x = 2.0 * torch.randn(50, 5, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    u, a = density.rosenblatt(x), density.c.expand(50, -1)
    for i in range(5):
        log_weights, means, stds = density.conditional(i, a)
        expected = mixture.cdf(x[:, i], log_weights.exp(), means, stds)
        np.testing.assert_allclose(u[:, i], expected, atol=1e-13)
        a = density.next_state(i, a, x[:, i])
    inner = u.clamp(0.01, 0.99)
    back = density.rosenblatt(density.inverse_rosenblatt(inner))
    np.testing.assert_allclose(back, inner, atol=1e-12)


def test_log_variances_are_bounded_far_out_and_untouched_elsewhere():
    log_variances = torch.tensor([-80.0, -60.0, -59.9, -3.0, 0.1, 59.9, 60.0, 1e30]).double()
    density = RNADE(1, n_components=8, hidden_size=2).density(0)
    density.head_weight.zero_()
    density.head_bias[0, 16:] = log_variances
    stds = density.conditional(0, density.c[None]).stds[0]
    bounded = log_variances.clamp(-MAX_LOG_VARIANCE, MAX_LOG_VARIANCE)
    np.testing.assert_allclose(stds, torch.exp(0.5 * bounded))
