import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rnade_models import make_rnade

from krda.rnade import RNADE
from krda.rnade_objective import Objective, Parameters


def stack(n_features, n_domains, seeds, *, sigma_floor=0.05):
    """Replicas of pronounced, different parameters, in double precision."""
    models = [
        make_rnade(n_features, seed=s, n_domains=n_domains, sigma_floor=sigma_floor) for s in seeds
    ]
    both = RNADE(
        n_features,
        n_domains,
        n_components=3,
        hidden_size=8,
        sigma_floor=sigma_floor,
        seeds=seeds,
    )
    with torch.no_grad():
        for name, parameter in both.named_parameters():
            parameter.copy_(torch.cat([model.get_parameter(name) for model in models]))
    return both.double()


def rows_of(model, sizes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = [(len(model.seeds), n, model.n_features) for n in sizes]
    return [torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes]


def closed_form(model, rows, conditioned):
    parameters = Parameters.of(model)
    objective = Objective(parameters, max(x.shape[1] for x in rows), model.sigma_floor)
    for domain, (x, given_rows) in enumerate(zip(rows, conditioned, strict=True)):
        objective.load(domain, x, given_rows)
    sizes = [x.shape[1] for x in rows]
    weights = objective.weights(sizes, sizes)
    nll, gradient = objective.nll(weights), parameters.zeros_like()
    objective.gradient(weights, gradient)
    return nll, gradient


def automatic(model, rows, conditioned):
    """The plain form, and its gradient as torch differentiates it."""
    nll = torch.stack(
        [
            -model.log_prob(x, domain, given_rows).mean(1)
            for domain, (x, given_rows) in enumerate(zip(rows, conditioned, strict=True))
        ],
        dim=1,
    )
    nll.sum().backward()
    gradient = RNADE(
        model.n_features,
        model.n_domains,
        n_components=model.n_components,
        hidden_size=model.hidden_size,
        seeds=model.seeds,
    ).double()
    with torch.no_grad():
        for name, parameter in gradient.named_parameters():
            derivative = model.get_parameter(name).grad
            parameter.copy_(torch.zeros_like(parameter) if derivative is None else derivative)
    return nll.detach(), Parameters.of(gradient)


@settings(deadline=None, max_examples=30)
@given(
    d=st.integers(1, 5),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=3),
    n_replicas=st.integers(1, 3),
    sigma_floor=st.sampled_from([0.0, 0.3]),
    same=st.booleans(),
)
def test_the_closed_form_is_the_plain_form_and_its_derivative(
    d, sizes, n_replicas, sigma_floor, same
):
    model = stack(d, len(sizes), range(n_replicas), sigma_floor=sigma_floor)
    rows = rows_of(model, sizes)
    conditioned = rows if same else [x.round() for x in rows]
    expected_nll, expected = automatic(model, rows, conditioned)
    nll, gradient = closed_form(model, rows, conditioned)
    torch.testing.assert_close(nll, expected_nll, rtol=1e-10, atol=1e-10)
    for mine, theirs in zip(gradient.parts, expected.parts, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("scale", [0.0, -0.7, 1e-12])
def test_the_derivative_by_a_rescaling_holds_for_any_sign_and_at_zero(scale):
    model = stack(3, 2, [0])
    with torch.no_grad():
        model.C[0, 1] = scale
    rows = rows_of(model, [20, 15])
    expected = automatic(model, rows, rows)[1]
    gradient = closed_form(model, rows, rows)[1]
    torch.testing.assert_close(gradient.scales, expected.scales, rtol=1e-9, atol=1e-12)


def test_rows_far_from_all_components_keep_a_finite_likelihood_and_their_derivative():
    model = stack(2, 2, [0])
    rows = [100.0 * x for x in rows_of(model, [20, 15])]
    expected_nll, expected = automatic(model, rows, rows)
    nll, gradient = closed_form(model, rows, rows)
    assert float(expected_nll.max()) > 1000
    torch.testing.assert_close(nll, expected_nll, rtol=1e-10, atol=0.0)
    for mine, theirs in zip(gradient.parts, expected.parts, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-8, atol=1e-8)


def test_log_variances_beyond_their_bounds_pass_nothing_on():
    model = stack(2, 2, [0])
    with torch.no_grad():
        model.head_bias[..., 6] += 80.0
        model.head_bias[..., 7] -= 80.0
    rows = rows_of(model, [20, 15])
    expected_nll, expected = automatic(model, rows, rows)
    nll, gradient = closed_form(model, rows, rows)
    assert not gradient.heads[..., 6:8].any()
    assert gradient.heads[..., 8].any()
    torch.testing.assert_close(nll, expected_nll, rtol=1e-10, atol=1e-10)
    for mine, theirs in zip(gradient.parts, expected.parts, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-10)


def test_places_without_a_row_count_for_nothing():
    model = stack(2, 2, [0, 1])
    rows = rows_of(model, [6, 4])
    parameters = Parameters.of(model)
    objective = Objective(parameters, 6, model.sigma_floor)
    for domain, x in enumerate(rows_of(model, [6, 6], seed=1)):
        objective.load(domain, x, x)  # What an earlier, larger batch leaves behind.
    for domain, x in enumerate(rows):
        objective.load(domain, x, x)
    weights = objective.weights([6, 4], [6, 4])
    left_over, gradient = objective.nll(weights), parameters.zeros_like()
    objective.gradient(weights, gradient)
    nll, expected = closed_form(model, rows, rows)
    assert torch.equal(left_over, nll)
    assert torch.equal(gradient.flat, expected.flat)


def test_blocks_add_up_to_the_whole():
    model = stack(3, 2, [0])
    rows = rows_of(model, [7, 4])
    objective = Objective(Parameters.of(model), 4, model.sigma_floor, differentiable=False)
    total = torch.zeros(1, 2, dtype=torch.float64)
    for start, used in ((0, [4, 4]), (4, [3, 0])):
        for domain, x in enumerate(rows):
            part = x[:, start : start + used[domain]]
            objective.load(domain, part, part)
        total += objective.nll(objective.weights(used, [7, 4]))
    torch.testing.assert_close(total, closed_form(model, rows, rows)[0], rtol=1e-12, atol=1e-12)


def test_parameters_come_back_to_the_model_as_they_were():
    model, other = stack(3, 2, [0, 1]), stack(3, 2, [5, 6])
    Parameters.of(model).copy_to(other)
    for name, parameter in model.named_parameters():
        mine = other.get_parameter(name)
        if name == "W":  # Nothing depends on the last column's part, and it is not carried.
            parameter, mine = parameter[:, :-1], mine[:, :-1]
        assert torch.equal(mine, parameter)


def test_a_single_standard_normal_component_has_its_known_likelihood():
    model = RNADE(1, 1, n_components=1, hidden_size=4, seeds=[0]).double()
    with torch.no_grad():
        model.head_weight.zero_()
        model.head_bias.zero_()
    x = torch.tensor([[[0.0], [2.0]]], dtype=torch.float64)
    nll, _ = closed_form(model, [x], [x])
    assert float(nll) == pytest.approx(0.5 * math.log(2 * math.pi) + 1.0)
