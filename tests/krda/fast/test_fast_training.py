"""The closed form beside automatic differentiation, and models side by side beside each alone."""

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rnade_models import make_rnade

from krda import _switch
from krda._fast import training as fast
from krda._fast.objective import Parameters, gradient, nll, pack
from krda.density.options import TrainingOptions
from krda.density.rnade import RNADE
from krda.density.training import fit_maximum_likelihood


def models_of(n_features, n_domains, seeds, *, sigma_floor=0.05):
    """Models of pronounced, different parameters, in double precision."""
    return [
        make_rnade(n_features, seed=s, n_domains=n_domains, sigma_floor=sigma_floor).double()
        for s in seeds
    ]


def rows_of(models, sizes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = [(len(models), n, models[0].n_features) for n in sizes]
    return [torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes]


def closed_form(models, rows, conditioning_rows):
    parameters, sizes = Parameters.of(models), [x.shape[1] for x in rows]
    packed = pack(list(zip(rows, conditioning_rows, strict=True)), max(sizes))
    found, after = nll(parameters, packed, models[0].sigma_floor)
    return found, gradient(parameters, packed, after)


def automatic(models, rows, conditioning_rows):
    """The plain form, and its gradient as torch differentiates it."""
    found, derivatives = [], []
    for r, model in enumerate(models):
        losses = [
            -model.log_prob(x[r], domain, values[r]).mean()
            for domain, (x, values) in enumerate(zip(rows, conditioning_rows, strict=True))
        ]
        found.append(torch.stack(losses))
        parameters = dict(model.named_parameters())
        gradients = torch.autograd.grad(sum(losses), parameters.values(), materialize_grads=True)
        derivatives.append(copy.deepcopy(model))
        derivatives[-1].load_state_dict(dict(zip(parameters, gradients, strict=True)))
    return torch.stack(found).detach(), Parameters.of(derivatives)


def assert_equal_to_rounding(models, rows, conditioning_rows=None, rtol=1e-9, atol=1e-10):
    expected_nll, expected = automatic(models, rows, conditioning_rows or rows)
    found, mine = closed_form(models, rows, conditioning_rows or rows)
    torch.testing.assert_close(found, expected_nll, rtol=1e-10, atol=1e-10)
    for part, other in zip(mine, expected, strict=True):
        torch.testing.assert_close(part, other, rtol=rtol, atol=atol)
    return found, mine


@given(
    d=st.integers(1, 5),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=3),
    n_models=st.integers(1, 3),
    sigma_floor=st.sampled_from([0.0, 0.3]),
    same=st.booleans(),
)
def test_the_closed_form_is_the_plain_form_and_its_derivative(
    d, sizes, n_models, sigma_floor, same
):
    models = models_of(d, len(sizes), range(n_models), sigma_floor=sigma_floor)
    rows = rows_of(models, sizes)
    assert_equal_to_rounding(models, rows, rows if same else [x.round() for x in rows])


@pytest.mark.parametrize("scale", [0.0, -0.7, 1e-12])
def test_the_derivative_by_a_rescaling_holds_for_any_sign_and_at_zero(scale):
    models = models_of(3, 2, [0])
    with torch.no_grad():
        models[0].C[1] = scale
    assert_equal_to_rounding(models, rows_of(models, [20, 15]))


def test_log_variances_beyond_their_bounds_pass_nothing_on():
    models = models_of(2, 2, [0])
    with torch.no_grad():
        models[0].head_bias[..., 6] += 80.0
        models[0].head_bias[..., 7] -= 80.0
    _, mine = assert_equal_to_rounding(models, rows_of(models, [20, 15]))
    assert not mine.heads[..., 6:8].any()
    assert mine.heads[..., 8].any()


def tables(d, n, seeds):
    """Rows of two domains for each model, and their conditioning rows."""
    rows = [
        [torch.randn(m, d, generator=torch.Generator().manual_seed(m + 10 * k)) for m in n]
        for k in range(len(seeds))
    ]
    return rows, [[source, target.round()] for source, target in rows]


@pytest.mark.parametrize(
    ("d", "n", "options"),
    [
        (1, (40, 30), TrainingOptions(max_steps=40, patience=15, batch_size=16)),
        (3, (50, 80), TrainingOptions(max_steps=30, patience=10, batch_size=None)),
    ],
)
def test_the_fast_training_takes_the_steps_of_the_plain_one(d, n, options):
    seeds = [3, 1]
    rows, conditioning_rows = tables(d, n, seeds)
    models, plain_models = ([RNADE(d, hidden_size=8, seed=s) for s in seeds] for _ in range(2))
    histories = fit_maximum_likelihood(models, rows, options, conditioning_rows)
    with _switch.plain_only():
        plain_histories = fit_maximum_likelihood(plain_models, rows, options, conditioning_rows)
    for one, other in zip(histories, plain_histories, strict=True):
        assert torch.equal(one.steps, other.steps)
        assert one.best_step == other.best_step
        for name in ("train_nll", "held_out_nll"):
            torch.testing.assert_close(getattr(one, name), getattr(other, name), rtol=0, atol=1e-3)
    for model, plain_model in zip(models, plain_models, strict=True):
        torch.testing.assert_close(model.state_dict(), plain_model.state_dict(), rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    ("d", "hidden", "n", "options"),
    [
        (1, 7, (40, 30), TrainingOptions(max_steps=60, patience=15, batch_size=16)),
        (2, 50, (90, 61), TrainingOptions(max_steps=80, patience=15, batch_size=32)),
        (3, 8, (50, 80), TrainingOptions(max_steps=30, patience=10, batch_size=None)),
        (9, 20, (70, 70), TrainingOptions(max_steps=12)),
    ],
)
def test_a_model_is_the_same_to_the_last_bit_whatever_trains_beside_it(d, hidden, n, options):
    seeds = [3, 1, 4, 1, 5]
    rows, conditioning_rows = tables(d, n, seeds)
    together = [RNADE(d, hidden_size=hidden, seed=s) for s in seeds]
    histories = fit_maximum_likelihood(together, rows, options, conditioning_rows)
    for r, seed in enumerate(seeds):
        alone = RNADE(d, hidden_size=hidden, seed=seed)
        (history,) = fit_maximum_likelihood(
            [alone], rows[r : r + 1], options, conditioning_rows[r : r + 1]
        )
        assert history.best_step == histories[r].best_step
        for name in ("steps", "train_nll", "held_out_nll"):
            assert torch.equal(getattr(history, name), getattr(histories[r], name))
        for name, parameter in together[r].named_parameters():
            assert torch.equal(parameter, alone.get_parameter(name))


@pytest.fixture
def stack_sizes(monkeypatch):
    """The number of models in each step."""
    sizes = []
    original = fast.gradient

    def counting(p, rows, after):
        sizes.append(len(rows.x))
        return original(p, rows, after)

    monkeypatch.setattr(fast, "gradient", counting)
    return sizes


def test_models_leave_the_stack_when_they_have_ended(stack_sizes):
    seeds = [0, 1, 2, 3]
    models = [RNADE(2, hidden_size=30, seed=s) for s in seeds]
    options = TrainingOptions(max_steps=300, patience=15, learning_rate=0.03)
    histories = fit_maximum_likelihood(models, tables(2, (40, 30), seeds)[0], options)
    ends = sorted({int(h.steps[-1]) for h in histories})
    assert len(ends) > 1, "the case must have models that end apart to show anything"
    expected = [sum(int(h.steps[-1]) > step for h in histories) for step in range(ends[-1])]
    assert stack_sizes == expected


def test_models_of_equal_shape_are_trained_as_one_unless_they_are_large(stack_sizes, monkeypatch):
    seeds = range(4)
    rows = [tables(3, (n, 40), [0])[0][0] for n in (60, 50, 60, 60)]

    def fit():
        stack_sizes.clear()
        fit_maximum_likelihood([RNADE(3, hidden_size=10, seed=s) for s in seeds], rows,
                TrainingOptions(max_steps=1))  # fmt: skip
        return list(stack_sizes)

    assert fit() == [3, 1]
    monkeypatch.setattr(fast, "STACKED_STATES", 2 * (60 + 40) * 3 * 10)
    assert fit() == [2, 1, 1]


def test_a_model_that_diverges_and_restarts_is_the_same_beside_others():
    # A value whose square overflows: both attempts fail for model 1; 0 and 2 do not notice.
    seeds, options = [0, 1, 2], TrainingOptions(max_steps=40, patience=40)
    rows, _ = tables(2, (80, 60), seeds)
    rows[1][1][:, 0] = 1e30
    histories = fit_maximum_likelihood([RNADE(2, seed=s) for s in seeds], rows, options)
    assert [h.failure is None for h in histories] == [True, False, True]
    for seed, own, history in zip(seeds, rows, histories, strict=True):
        (alone,) = fit_maximum_likelihood([RNADE(2, seed=seed)], [own], options)
        assert alone.failure == history.failure
        assert alone.learning_rate == history.learning_rate
        assert torch.equal(alone.steps, history.steps)


def test_training_takes_denormals_as_zero_and_leaves_the_processor_as_it_was(monkeypatch):
    def half_of_the_smallest():
        return (torch.full((), torch.finfo(torch.float32).smallest_normal) * 0.5).item()

    seen = []
    original = fast.gradient

    def watch(*arguments):
        seen.append(half_of_the_smallest())
        return original(*arguments)

    monkeypatch.setattr(fast, "gradient", watch)
    before = half_of_the_smallest()
    fit_maximum_likelihood([RNADE(2)], tables(2, (20, 20), [0])[0], TrainingOptions(max_steps=2))
    assert half_of_the_smallest() == before
    assert seen == ([0.0, 0.0] if torch.set_flush_denormal(False) else [before, before])
