import numpy as np
import pytest
import torch

from krda.density.options import MAX_HELD_OUT, TrainingOptions
from krda.density.rnade import RNADE
from krda.density.training import (
    DivergenceError,
    Progress,
    batches,
    fit_maximum_likelihood,
    hold_out,
    n_batches,
    raise_if_diverged,
)

pytestmark = pytest.mark.usefixtures("fast_or_plain")


def domains(n_source=80, n_target=60, d=2, seed=0):
    generator = torch.Generator().manual_seed(seed)
    source = torch.randn(n_source, d, generator=generator)
    target = torch.randn(n_target, d, generator=generator)
    target[:, 1] = 0.3 * target[:, 1] + target[:, 0] ** 2 - 1
    return [source, target]


def fit(model, rows, options):
    """Train one model."""
    (history,) = fit_maximum_likelihood([model], [rows], options)
    return history


def total_nll(model, rows):
    with torch.no_grad():
        return sum(float(-model.log_prob(x, i).mean()) for i, x in enumerate(rows))


SHORT = TrainingOptions(max_steps=40, patience=40)


def test_training_raises_the_likelihood_of_rows_it_never_saw():
    model, fresh = RNADE(2), domains(1000, 1000, seed=1)
    before = total_nll(model, fresh)
    fit(model, domains(400, 400), TrainingOptions(max_steps=150))
    assert total_nll(model, fresh) < before - 0.3


def test_training_approaches_the_entropy_of_a_known_density():
    # Standard normal rows: no density does better than the entropy d/2 log(2 pi e), on average.
    generator = torch.Generator().manual_seed(0)
    rows = [torch.randn(3000, 2, generator=generator) for _ in range(2)]
    model = RNADE(2, n_components=2, hidden_size=10)
    fit(model, rows, TrainingOptions(max_steps=100))
    fresh = [torch.randn(20_000, 2, generator=generator) for _ in range(2)]
    excess = total_nll(model, fresh) / 2 - np.log(2 * np.pi * np.e)
    assert -0.01 < excess < 0.03


def test_the_parameters_with_the_lowest_held_out_nll_are_kept():
    rows, model = domains(40, 30), RNADE(2, hidden_size=30, seed=3)
    options = TrainingOptions(max_steps=200, patience=200, learning_rate=0.03)
    history = fit(model, rows, options)
    curve = history.held_out_nll.sum(1)
    assert history.best_step == int(history.steps[curve.argmin()])
    assert curve[-1] > curve.min() + 0.1, "the case must over-fit to show anything"
    generator = torch.Generator().manual_seed(3)
    held_out = [x[hold_out(len(x), 0.1, generator)[1]] for x in rows]
    assert total_nll(model, held_out) == pytest.approx(float(curve.min()), rel=1e-5)


def test_training_stops_when_patience_runs_out():
    options = TrainingOptions(max_steps=500, patience=15, learning_rate=0.03)
    history = fit(RNADE(2, hidden_size=30), domains(40, 30), options)
    assert int(history.steps[-1]) == history.best_step + 15 < 500
    assert len(history.steps) == len(history.held_out_nll) == len(history.train_nll)


def test_same_seed_gives_the_same_bytes_whatever_torchs_global_seed():
    models = []
    for global_seed in (0, 1):
        torch.manual_seed(global_seed)
        state = torch.random.get_rng_state()
        model = RNADE(2, seed=7)
        fit(model, domains(), TrainingOptions(max_steps=20, batch_size=16))
        assert torch.equal(state, torch.random.get_rng_state())
        models.append(model)
    for name, parameter in models[0].named_parameters():
        assert torch.equal(parameter, models[1].get_parameter(name))


@pytest.mark.parametrize(("n", "batch_size", "expected"), [(37, 10, 4), (11, 10, 2), (10, 1, 10)])
def test_every_pass_over_the_batches_holds_every_row_once(n, batch_size, expected):
    rows = torch.arange(n) + 100
    stream = batches(rows, batch_size, torch.Generator().manual_seed(0))
    assert n_batches(n, batch_size) == expected
    passes = [[next(stream) for _ in range(expected)] for _ in range(2)]
    for one in passes:
        assert sorted(torch.cat(one).tolist()) == rows.tolist()
        sizes = [len(batch) for batch in one]
        assert max(sizes) <= batch_size
        assert max(sizes) - min(sizes) <= 1
    assert passes[0][0].tolist() != passes[1][0].tolist(), "each pass is shuffled anew"


@pytest.mark.parametrize("batch_size", [None, 37, 100])
def test_a_domain_that_fits_in_a_batch_is_taken_whole(batch_size):
    rows = torch.arange(37)
    stream = batches(rows, batch_size, torch.Generator().manual_seed(0))
    assert all(torch.equal(next(stream), rows) for _ in range(3))


def explode(monkeypatch, where):
    """Let losses become NaN: ``where`` maps the number of an evaluation to a loss before it."""
    calls = {"n": 0}
    original = Progress.record

    def record(self, n_steps, losses, held_out):
        losses = list(losses)
        if calls["n"] in where:
            losses[where[calls["n"]]] = torch.nan * held_out
        calls["n"] += 1
        return original(self, n_steps, losses, held_out)

    monkeypatch.setattr(Progress, "record", record)


def test_a_divergence_restarts_once_with_a_smaller_step(monkeypatch):
    explode(monkeypatch, {0: 3})
    history = fit(RNADE(2), domains(), SHORT)
    assert history.failure is None
    assert history.learning_rate == pytest.approx(0.1 * SHORT.learning_rate)
    assert bool(torch.isfinite(history.held_out_nll).all())


def test_a_second_divergence_is_an_error_that_names_the_epoch(monkeypatch):
    explode(monkeypatch, {0: 3, 2: 2})  # step 3 of the first attempt, step 5 + 2 of the second
    options = TrainingOptions(max_steps=40, batch_size=40)  # 72 training rows: two steps an epoch.
    history = fit(RNADE(2), domains(), options)
    with pytest.raises(DivergenceError, match=r"epoch 3 \(step 7.*smaller learning rate 0\.001"):
        raise_if_diverged(history)


def test_rows_without_a_finite_likelihood_diverge():
    rows = domains()
    rows[1][:, 0] = 1e30  # whose square overflows
    assert fit(RNADE(2), rows, SHORT).failure.startswith("a loss was not finite in epoch 0")


def test_held_out_rows_without_a_finite_likelihood_diverge_and_no_step_is_blamed():
    rows, model = domains(), RNADE(2, seed=1)
    _, held_out = hold_out(len(rows[0]), 0.1, torch.Generator().manual_seed(model.seed))
    rows[0][held_out] = 1e30
    history = fit(model, rows, SHORT)
    with pytest.raises(DivergenceError, match="held-out rows never had a finite likelihood, also"):
        raise_if_diverged(history)


def test_without_any_step_the_initial_parameters_are_judged_and_kept():
    model, rows = RNADE(2, seed=1), domains()
    history = fit(model, rows, TrainingOptions(max_steps=0))
    assert torch.equal(model.W, RNADE(2, seed=1).W)
    assert (history.steps.tolist(), history.best_step) == ([0], 0)
    assert bool(history.held_out_nll.isfinite().all() and history.train_nll.isnan().all())


@pytest.mark.parametrize(
    ("n_rows", "fraction", "expected"),
    [(100, 0.1, 10), (2, 0.1, 1), (3, 0.9, 2), (30_000, 0.1, MAX_HELD_OUT)],
)
def test_hold_out_splits_without_overlap_and_leaves_rows_on_both_sides(n_rows, fraction, expected):
    train, held_out = hold_out(n_rows, fraction, torch.Generator().manual_seed(0))
    assert len(held_out) == expected
    assert sorted(torch.cat([train, held_out]).tolist()) == list(range(n_rows))


def test_hold_out_of_a_single_row_is_refused():
    with pytest.raises(ValueError, match="at least two rows"):
        hold_out(1, 0.1, torch.Generator())
