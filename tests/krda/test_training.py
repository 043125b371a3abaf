import numpy as np
import pytest
import torch

from krda import training
from krda.rnade import RNADE
from krda.training import (
    DivergenceError,
    TrainingOptions,
    fit_maximum_likelihood,
    hold_out,
    raise_if_diverged,
)


def domains(n_source=80, n_target=60, d=2, n_replicas=1, seed=0):
    generator = torch.Generator().manual_seed(seed)
    source = torch.randn(n_replicas, n_source, d, generator=generator)
    target = torch.randn(n_replicas, n_target, d, generator=generator)
    target[..., 1] = 0.3 * target[..., 1] + target[..., 0] ** 2 - 1
    return [source, target]


def total_nll(model, rows):
    with torch.no_grad():
        return sum(float(-model.log_prob(x, i).mean()) for i, x in enumerate(rows))


SHORT = TrainingOptions(max_steps=40, patience=40)


def test_training_raises_the_likelihood_of_rows_it_never_saw():
    model, fresh = RNADE(2), domains(1000, 1000, seed=1)
    before = total_nll(model, fresh)
    fit_maximum_likelihood(model, domains(400, 400), TrainingOptions(max_steps=150))
    assert total_nll(model, fresh) < before - 0.3


def test_training_approaches_the_entropy_of_a_known_density():
    # Standard normal rows: no density does better than the entropy d/2 log(2 pi e), on average.
    generator = torch.Generator().manual_seed(0)
    rows = [torch.randn(1, 3000, 2, generator=generator) for _ in range(2)]
    model = RNADE(2, n_components=2, hidden_size=10)
    fit_maximum_likelihood(model, rows, TrainingOptions(max_steps=100))
    fresh = [torch.randn(1, 20_000, 2, generator=generator) for _ in range(2)]
    excess = total_nll(model, fresh) / 2 - np.log(2 * np.pi * np.e)
    assert -0.01 < excess < 0.03


def test_the_parameters_with_the_lowest_held_out_nll_are_restored(monkeypatch):
    seen = {}
    original = training.hold_out

    def remember(n_rows, fraction, generator):
        split = original(n_rows, fraction, generator)
        seen[n_rows] = split[1]
        return split

    monkeypatch.setattr(training, "hold_out", remember)
    rows = domains(40, 30)
    model = RNADE(2, hidden_size=30)
    options = TrainingOptions(max_steps=200, patience=200, learning_rate=0.03)
    (history,) = fit_maximum_likelihood(model, rows, options)
    curve = history.held_out_nll.sum(1)
    assert history.best_step == int(history.steps[curve.argmin()])
    assert curve[-1] > curve.min() + 0.1, "the case must over-fit to show anything"
    held_out = [x[:, seen[x.shape[1]]] for x in rows]
    assert total_nll(model, held_out) == pytest.approx(float(curve.min()), rel=1e-5)


def test_training_stops_when_patience_runs_out():
    options = TrainingOptions(max_steps=500, patience=15, learning_rate=0.03)
    (history,) = fit_maximum_likelihood(RNADE(2, hidden_size=30), domains(40, 30), options)
    assert int(history.steps[-1]) == history.best_step + 15 < 500
    assert len(history.steps) == len(history.held_out_nll) == len(history.train_nll)


def test_replicas_trained_together_equal_replicas_trained_alone():
    rows = domains(n_replicas=3)
    options = TrainingOptions(max_steps=60, patience=10, batch_size=32)
    together = RNADE(2, seeds=[3, 1, 4])
    histories = fit_maximum_likelihood(together, rows, options)
    for r, seed in enumerate([3, 1, 4]):
        alone = RNADE(2, seeds=[seed])
        (history,) = fit_maximum_likelihood(alone, [x[r : r + 1] for x in rows], options)
        assert history.best_step == histories[r].best_step
        for name, parameter in together.named_parameters():
            torch.testing.assert_close(
                parameter[r], alone.get_parameter(name)[0], rtol=1e-3, atol=1e-4
            )


def test_same_seed_gives_the_same_bytes_whatever_torchs_global_seed():
    models = []
    for global_seed in (0, 1):
        torch.manual_seed(global_seed)
        state = torch.random.get_rng_state()
        model = RNADE(2, seeds=[7])
        fit_maximum_likelihood(model, domains(), TrainingOptions(max_steps=20, batch_size=16))
        assert torch.equal(state, torch.random.get_rng_state())
        models.append(model)
    for name, parameter in models[0].named_parameters():
        assert torch.equal(parameter, models[1].get_parameter(name))


@pytest.mark.parametrize(("n", "batch_size", "n_batches"), [(37, 10, 4), (11, 10, 2), (10, 1, 10)])
def test_every_pass_over_the_batches_holds_every_row_once(n, batch_size, n_batches):
    x = torch.arange(float(n)).reshape(1, n, 1, 1)
    stream = training._batches(x, batch_size, [torch.Generator().manual_seed(0)])
    passes = [[next(stream) for _ in range(n_batches)] for _ in range(2)]
    for batches in passes:
        assert sorted(torch.cat(batches, dim=1).flatten().tolist()) == list(range(n))
        sizes = [batch.shape[1] for batch in batches]
        assert max(sizes) <= batch_size
        assert max(sizes) - min(sizes) <= 1
    assert passes[0][0].tolist() != passes[1][0].tolist(), "each pass is shuffled anew"


@pytest.mark.parametrize("batch_size", [None, 37, 100])
def test_a_domain_that_fits_in_a_batch_is_taken_whole(batch_size):
    x = torch.arange(37.0).reshape(1, 37, 1, 1)
    stream = training._batches(x, batch_size, [torch.Generator().manual_seed(0)])
    assert next(stream) is x
    assert next(stream) is x


def explode(monkeypatch, when):
    """Let the density's log-likelihood become NaN where ``when(learning steps so far)``."""
    calls = {"n": 0}
    original = RNADE.log_prob

    def log_prob(self, x, domain, given=None):
        result = original(self, x, domain, given)
        if torch.is_grad_enabled():
            calls["n"] += 1
            if when(calls["n"]):
                return result * torch.nan
        return result

    monkeypatch.setattr(RNADE, "log_prob", log_prob)


def test_a_divergence_restarts_once_with_a_smaller_step(monkeypatch):
    explode(monkeypatch, lambda n: n == 7)  # Two domains a step: step 3 of the first attempt.
    (history,) = fit_maximum_likelihood(RNADE(2), domains(), SHORT)
    assert history.diverged_at is None
    assert history.learning_rate == pytest.approx(0.1 * SHORT.learning_rate)
    assert bool(torch.isfinite(history.held_out_nll).all())


def test_a_second_divergence_is_an_error_that_names_the_epoch(monkeypatch):
    # Step 3 of the first attempt; it ends at the evaluation after step 4 (ten calls). Then step 7.
    explode(monkeypatch, lambda n: n in (7, 10 + 15))
    options = TrainingOptions(max_steps=40, batch_size=40)  # 72 training rows: two steps an epoch.
    (history,) = fit_maximum_likelihood(RNADE(2), domains(), options)
    with pytest.raises(DivergenceError, match=r"epoch 3 \(step 7.*smaller learning rate 0\.001"):
        raise_if_diverged(history)


def test_one_replica_that_diverges_leaves_the_others_alone():
    rows = domains(n_replicas=2)
    rows[0][1, :, 0] = torch.nan
    histories = fit_maximum_likelihood(RNADE(2, seeds=[0, 1]), rows, SHORT)
    alone = fit_maximum_likelihood(RNADE(2, seeds=[0]), [x[:1] for x in rows], SHORT)
    assert histories[1].diverged_at == (0, 0)
    assert histories[0].diverged_at is None
    torch.testing.assert_close(histories[0].held_out_nll, alone[0].held_out_nll)


def test_a_point_mass_leaves_training_finite_with_a_floor():
    rows = domains()
    for x in rows:
        x[..., 1] = (x[..., 1] > 0).float()
    model = RNADE(2, sigma_floor=0.02)
    (history,) = fit_maximum_likelihood(model, rows, TrainingOptions(max_steps=300, patience=300))
    assert history.diverged_at is None
    with torch.no_grad():
        assert float(model.conditionals(rows[0], 0).stds.min()) >= 0.0199


@pytest.mark.parametrize(
    ("n_rows", "fraction", "expected"), [(100, 0.1, 10), (2, 0.1, 1), (3, 0.9, 2)]
)
def test_hold_out_splits_without_overlap_and_leaves_rows_on_both_sides(n_rows, fraction, expected):
    train, held_out = hold_out(n_rows, fraction, torch.Generator().manual_seed(0))
    assert len(held_out) == expected
    assert sorted(torch.cat([train, held_out]).tolist()) == list(range(n_rows))


def test_hold_out_of_a_single_row_is_refused():
    with pytest.raises(ValueError, match="at least two rows"):
        hold_out(1, 0.1, torch.Generator())


@pytest.mark.parametrize(
    ("name", "value"),
    [("learning_rate", 0.0), ("max_steps", 0), ("batch_size", 0), ("validation_fraction", 1.0),
     ("validation_fraction", 0.0), ("patience", 0), ("learning_rate", float("nan")),
     ("max_steps", 2.5)],
)  # fmt: skip
def test_options_that_cannot_work_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        TrainingOptions(**{name: value})
