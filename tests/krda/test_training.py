import numpy as np
import pytest
import torch

from krda import training
from krda.rnade import RNADE
from krda.rnade_objective import Objective, Parameters
from krda.training import (
    Adam,
    Batches,
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


@pytest.mark.parametrize(
    ("d", "hidden", "n", "options"),
    [
        (1, 7, (40, 30), TrainingOptions(max_steps=60, patience=15, batch_size=16)),
        (2, 50, (90, 61), TrainingOptions(max_steps=80, patience=15, batch_size=32)),
        (3, 8, (50, 80), TrainingOptions(max_steps=30, patience=10, batch_size=None)),
        (9, 20, (70, 70), TrainingOptions(max_steps=12)),
    ],
)
def test_a_replica_is_the_same_to_the_last_bit_whatever_trains_beside_it(d, hidden, n, options):
    seeds = [3, 1, 4, 1, 5]
    rows = [torch.randn(5, m, d, generator=torch.Generator().manual_seed(m)) for m in n]
    given = [x.round() if i else x for i, x in enumerate(rows)]
    together = RNADE(d, hidden_size=hidden, seeds=seeds)
    histories = fit_maximum_likelihood(together, rows, options, given)
    for r, seed in enumerate(seeds):
        alone = RNADE(d, hidden_size=hidden, seeds=[seed])
        own_rows, own_given = ([x[r : r + 1] for x in all_rows] for all_rows in (rows, given))
        (history,) = fit_maximum_likelihood(alone, own_rows, options, own_given)
        assert history.best_step == histories[r].best_step
        for name in ("steps", "train_nll", "held_out_nll"):
            assert torch.equal(getattr(history, name), getattr(histories[r], name))
        for name, parameter in together.named_parameters():
            assert torch.equal(parameter[r], alone.get_parameter(name)[0])


def test_replicas_leave_the_stack_when_they_are_done(monkeypatch):
    sizes = []
    original = Objective.gradient

    def gradient(self, weights, out):
        sizes.append(len(self.x))
        original(self, weights, out)

    monkeypatch.setattr(Objective, "gradient", gradient)
    model = RNADE(2, hidden_size=30, seeds=[0, 1, 2, 3])
    options = TrainingOptions(max_steps=300, patience=15, learning_rate=0.03)
    histories = fit_maximum_likelihood(model, domains(40, 30, n_replicas=4), options)
    ends = sorted({int(h.steps[-1]) for h in histories})
    assert len(ends) > 1, "the case must have replicas that end apart to show anything"
    expected = [sum(int(h.steps[-1]) > step for h in histories) for step in range(ends[-1])]
    assert sizes == expected


def test_adam_makes_the_steps_of_the_published_algorithm():
    # Kingma and Ba (2015), algorithm 1, with a step size of its own in each step.
    parameters = Parameters.of(RNADE(2))
    adam = Adam(parameters)
    theta = parameters.flat.double().numpy().copy()
    m, v = np.zeros_like(theta), np.zeros_like(theta)
    rng = np.random.default_rng(0)
    for t in range(1, 21):
        g = rng.normal(size=theta.shape) * 10.0 ** rng.integers(-3, 2, size=theta.shape)
        adam.gradient.flat.copy_(torch.from_numpy(g))
        adam.step(0.01 / t)
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g**2
        theta -= 0.01 / t * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    np.testing.assert_allclose(parameters.flat, theta, rtol=1e-5, atol=1e-6)


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
    rows = torch.arange(n)[None] + 100
    stream = Batches(rows, batch_size, [torch.Generator().manual_seed(0)])
    assert stream.n_batches == n_batches
    passes = [[stream.next() for _ in range(n_batches)] for _ in range(2)]
    for batches in passes:
        assert sorted(torch.cat(batches, dim=1).flatten().tolist()) == rows[0].tolist()
        sizes = [batch.shape[1] for batch in batches]
        assert max(sizes) == stream.largest <= batch_size
        assert max(sizes) - min(sizes) <= 1
    assert passes[0][0].tolist() != passes[1][0].tolist(), "each pass is shuffled anew"


def test_replicas_that_are_kept_go_on_with_the_pass_that_they_are_in():
    def streams(seeds):
        rows = torch.stack([torch.arange(20) + 100 * seed for seed in seeds])
        return Batches(rows, 6, [torch.Generator().manual_seed(seed) for seed in seeds])

    some, all_ = streams([5]), streams([7, 5, 8])
    for step in range(11):
        if step == 2:
            all_.keep([1])
        batch = all_.next()
        assert torch.equal(some.next()[0], batch[1] if step < 2 else batch[0])


@pytest.mark.parametrize("batch_size", [None, 37, 100])
def test_a_domain_that_fits_in_a_batch_is_taken_whole(batch_size):
    rows = torch.arange(37)[None]
    stream = Batches(rows, batch_size, [torch.Generator().manual_seed(0)])
    assert stream.largest == 37
    assert stream.next() is rows
    assert stream.next() is rows


def explode(monkeypatch, when):
    """Let the loss become NaN where ``when(learning steps so far)``."""
    calls = {"n": 0}
    original = training._TrainingBlock.step

    def step(self, gradient):
        calls["n"] += 1
        result = original(self, gradient)
        return result * torch.nan if when(calls["n"]) else result

    monkeypatch.setattr(training._TrainingBlock, "step", step)


def test_a_divergence_restarts_once_with_a_smaller_step(monkeypatch):
    explode(monkeypatch, lambda n: n == 4)  # Step 3 of the first attempt.
    (history,) = fit_maximum_likelihood(RNADE(2), domains(), SHORT)
    assert history.diverged_at is None
    assert history.learning_rate == pytest.approx(0.1 * SHORT.learning_rate)
    assert bool(torch.isfinite(history.held_out_nll).all())


def test_a_second_divergence_is_an_error_that_names_the_epoch(monkeypatch):
    # Step 3 of the first attempt; it ends at the evaluation after step 4. Then step 7.
    explode(monkeypatch, lambda n: n in (4, 5 + 8))
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
    assert torch.equal(histories[0].held_out_nll, alone[0].held_out_nll)


def test_a_replica_that_restarts_is_the_same_beside_others():
    # A value whose square overflows: both attempts fail for replica 1; 0 and 2 do not notice.
    rows = domains(n_replicas=3)
    rows[1][1, :, 0] = 1e30
    seeds = [0, 1, 2]
    histories = fit_maximum_likelihood(RNADE(2, seeds=seeds), rows, SHORT)
    assert [h.diverged_at is None for h in histories] == [True, False, True]
    for r in seeds:
        alone = RNADE(2, seeds=[seeds[r]])
        (history,) = fit_maximum_likelihood(alone, [x[r : r + 1] for x in rows], SHORT)
        assert history.diverged_at == histories[r].diverged_at
        assert history.learning_rate == histories[r].learning_rate
        assert torch.equal(history.steps, histories[r].steps)


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
    ("n_rows", "fraction", "expected"),
    [(100, 0.1, 10), (2, 0.1, 1), (3, 0.9, 2), (30_000, 0.1, training.MAX_HELD_OUT)],
)
def test_hold_out_splits_without_overlap_and_leaves_rows_on_both_sides(n_rows, fraction, expected):
    train, held_out = hold_out(n_rows, fraction, torch.Generator().manual_seed(0))
    assert len(held_out) == expected
    assert sorted(torch.cat([train, held_out]).tolist()) == list(range(n_rows))


def test_held_out_rows_are_looked_at_block_by_block_to_the_same_result(monkeypatch):
    curves = []
    for block in (256, 7):
        monkeypatch.setattr(training, "_HELD_OUT_BLOCK", block)
        options = TrainingOptions(max_steps=10, validation_fraction=0.3)
        (history,) = fit_maximum_likelihood(RNADE(2), domains(80, 31), options)
        curves.append(history.held_out_nll)
    assert len(curves[0]) == 2
    torch.testing.assert_close(curves[0], curves[1], rtol=1e-5, atol=1e-5)


def test_training_takes_denormals_as_zero_and_leaves_the_processor_as_it_was(monkeypatch):
    def half_of_the_smallest():
        return (torch.full((), torch.finfo(torch.float32).smallest_normal) * 0.5).item()

    seen = []
    original = training._TrainingBlock.step

    def step(self, gradient):
        seen.append(half_of_the_smallest())
        return original(self, gradient)

    monkeypatch.setattr(training._TrainingBlock, "step", step)
    before = half_of_the_smallest()
    fit_maximum_likelihood(RNADE(2), domains(), TrainingOptions(max_steps=2))
    assert half_of_the_smallest() == before
    assert seen == ([0.0, 0.0] if torch.set_flush_denormal(False) else [before, before])


def test_hold_out_of_a_single_row_is_refused():
    with pytest.raises(ValueError, match="at least two rows"):
        hold_out(1, 0.1, torch.Generator())


@pytest.mark.parametrize(
    ("name", "value"),
    [("learning_rate", 0.0), ("max_steps", -1), ("batch_size", 0), ("validation_fraction", 1.0),
     ("validation_fraction", 0.0), ("patience", 0), ("learning_rate", float("nan")),
     ("max_steps", 2.5)],
)  # fmt: skip
def test_options_that_cannot_work_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        TrainingOptions(**{name: value})
