from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rnade_models import make_rnade
from scipy import stats

from krda import transport
from krda.density.gaussian import LinearGaussianDensity
from krda.transport import knothe_rosenblatt

pytestmark = pytest.mark.usefixtures("fast_or_plain")


def random_gaussian(d, seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(d, d)) / np.sqrt(d)
    return rng.normal(size=d), root @ root.T + 0.2 * np.eye(d)


def central_jacobian(function, x, step=1e-6):
    columns = []
    for j in range(len(x)):
        shift = torch.zeros_like(x)
        shift[j] = step
        high, low = function((x + shift)[None])[0], function((x - shift)[None])[0]
        columns.append((high - low) / (2 * step))
    return torch.stack(columns, dim=1)


@given(d=st.integers(1, 6), seed=st.integers(0, 10_000))
def test_map_between_gaussians_is_the_cholesky_map(d, seed):
    (m_s, cov_s), (m_t, cov_t) = random_gaussian(d, seed), random_gaussian(d, seed + 1)
    source = LinearGaussianDensity(torch.from_numpy(m_s), torch.from_numpy(cov_s))
    target = LinearGaussianDensity(torch.from_numpy(m_t), torch.from_numpy(cov_t))
    z = np.random.default_rng(seed).uniform(-4, 4, size=(50, d))
    x = m_s + z @ np.linalg.cholesky(cov_s).T
    expected = m_t + z @ np.linalg.cholesky(cov_t).T
    got = knothe_rosenblatt(source, target, torch.from_numpy(x))
    np.testing.assert_allclose(got, expected, atol=1e-6)


def test_linear_gaussian_log_prob_equals_scipys():
    mean, covariance = random_gaussian(4, 0)
    density = LinearGaussianDensity(torch.from_numpy(mean), torch.from_numpy(covariance))
    x = np.random.default_rng(0).normal(size=(20, 4))
    expected = stats.multivariate_normal(mean, covariance).logpdf(x)
    np.testing.assert_allclose(density.log_prob(torch.from_numpy(x)), expected, rtol=1e-10)


@pytest.mark.parametrize(
    "covariance", [[[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.5], [0.0, 1.0]], [[1.0]]]
)
def test_linear_gaussian_refuses_what_is_no_covariance(covariance):
    with pytest.raises(ValueError, match="covariance must be"):
        LinearGaussianDensity(torch.zeros(2), torch.tensor(covariance))


@pytest.mark.parametrize("method", ["newton", "bisection"])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_rosenblatt_of_its_inverse_returns_the_quantiles(d, method):
    density = replace(make_rnade(d).density(1), quantile_method=method)
    u = torch.from_numpy(np.random.default_rng(d).uniform(1e-6, 1 - 1e-6, size=(400, d)))
    np.testing.assert_allclose(density.rosenblatt(density.inverse_rosenblatt(u)), u, atol=1e-9)


def test_jacobian_is_lower_triangular_and_satisfies_the_change_of_variables():
    model = make_rnade(4)
    source, target = model.density(0), model.density(1)
    for x in source.sample(10, torch.Generator().manual_seed(8)):
        jacobian = central_jacobian(lambda rows: knothe_rosenblatt(source, target, rows), x)
        assert float(torch.triu(jacobian, diagonal=1).abs().max()) == 0.0
        assert float(jacobian.diagonal().min()) > 0.0
        transported = knothe_rosenblatt(source, target, x[None])
        expected = target.log_prob(transported) + jacobian.diagonal().log().sum()
        np.testing.assert_allclose(source.log_prob(x[None]), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("rows", "message"),
    [(torch.zeros(3, 5), "x must have shape"), (torch.zeros(2), "x must have shape"),
     (torch.full((1, 2), torch.nan), "NaN or infinity")],
)  # fmt: skip
def test_rows_of_other_dimensions_or_not_finite_are_refused(rows, message):
    model = make_rnade(2)
    with pytest.raises(ValueError, match=message):
        knothe_rosenblatt(model.density(0), model.density(1), rows)


@pytest.fixture
def set_threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_the_number_of_threads_changes_no_bit_and_is_left_alone(monkeypatch, set_threads):
    monkeypatch.setattr(transport, "BLOCK_ROWS", 1000)
    model = make_rnade(4)
    source, target = (
        model.density(i, conditioning_value=lambda i, z: torch.floor(z)) for i in (0, 1)
    )
    x = source.sample(5500, torch.Generator().manual_seed(9))
    transported = []
    for n_threads in (1, 2, 5):
        set_threads(n_threads)
        transported.append(knothe_rosenblatt(source, target, x))
        assert torch.get_num_threads() == n_threads
    assert torch.equal(transported[0], transported[1])
    assert torch.equal(transported[0], transported[2])


class Recorder:
    """The uniform density on [0, 1]^2; notes how many rows it is given at once."""

    n_features = 2

    def __init__(self, result=None):
        self.sizes, self.result = [], result

    def rosenblatt(self, x):
        self.sizes.append(len(x))
        return x if self.result is None else torch.full_like(x, self.result)

    inverse_rosenblatt = rosenblatt


@pytest.mark.parametrize("n_threads", [1, 3])
def test_densities_see_a_block_of_rows_at_a_time(set_threads, n_threads):
    set_threads(n_threads)
    source, target = Recorder(), Recorder()
    n = 2 * transport.BLOCK_ROWS + 5
    x = torch.linspace(0.1, 0.9, 2 * n, dtype=torch.float64).reshape(n, 2)
    assert torch.equal(knothe_rosenblatt(source, target, x), x)
    assert max(source.sizes + target.sizes) == transport.BLOCK_ROWS
    assert sum(source.sizes) == sum(target.sizes) == n


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("where", ["source", "target"])
def test_a_row_that_leaves_floating_point_is_reported(set_threads, n_threads, where):
    set_threads(n_threads)
    broken, sound = Recorder(float("nan")), Recorder()
    densities = (broken, sound) if where == "source" else (sound, broken)
    x = torch.full((3 * transport.BLOCK_ROWS, 2), 0.5)
    with pytest.raises(FloatingPointError, match=r"Row 7 cannot be .* mapped to nan in column 0"):
        knothe_rosenblatt(*densities, x, first_row=7)
    assert torch.get_num_threads() == n_threads


def test_a_row_with_an_infinite_hidden_state_is_reported_by_its_number_in_the_table(monkeypatch):
    monkeypatch.setattr(transport, "BLOCK_ROWS", 4)
    density = make_rnade(3).density(0)
    x = torch.zeros(7, 3, dtype=torch.float64)
    x[6] = 1e300
    density = replace(density, W=1e10 * density.W)
    with pytest.raises(FloatingPointError, match=r"Row 6 .* of a conditional hold NaN or infinity"):
        knothe_rosenblatt(density, density, x)
    with pytest.raises(FloatingPointError, match="of mixture 6 hold NaN or infinity"):
        density.inverse_rosenblatt(density.rosenblatt(x).clamp(0.1, 0.9))


@pytest.mark.parametrize("factor", [1e3, -1e3])
def test_a_state_far_out_no_longer_overflows_standard_deviations(factor):
    model = make_rnade(3)
    with torch.no_grad():
        model.head_weight[..., 6:] = factor
    far = torch.tensor([[1e4, -1e4, 1e4], [-1e4, 1e4, -1e4]])
    transported = knothe_rosenblatt(model.density(0), model.density(1), far)
    assert bool(torch.isfinite(transported).all())
