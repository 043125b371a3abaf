"""The stacked training is the straightforward loop over dalib's losses, in double precision.

In single precision the two part after some dozens of steps, for ReLU and Adam enlarge rounding;
that is why everything here is made double.
"""

import numpy as np
import pytest
import torch
from straightforward import (
    adapt_to_target,
    fit_straightforwardly,
    moons_cell,
    train_jointly,
    train_on_source,
)

from baselines import adversarial, networks
from baselines.adversarial import CDAN, DANN
from baselines.dalib_compat import DomainDiscriminator
from baselines.discrepancy import DAN, JAN
from baselines.networks import build, count_batches, epochs_of_rows, mlp
from baselines.source_hypothesis import SHOT

CPU = torch.device("cpu")
SMALL = {"hidden_size": 20, "n_layers": 4, "n_epochs": 8, "batch_size": 16, "random_state": 0}
SIZES = (50, 40)
N_CLASSES = 3


def double_build(*given):
    return build(*given).double()


@pytest.fixture(autouse=True)
def double_precision(monkeypatch):
    for module in (networks, adversarial):
        monkeypatch.setattr(module, "build", double_build)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def generators(seeds=(0, 1, 2)):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def data(n_models=3):
    """Rows of both domains and labels, of models of their own; the target is moved."""
    g = torch.Generator().manual_seed(7)
    labels = torch.randint(N_CLASSES, (n_models, SIZES[0]), generator=g)
    Xs = torch.randn(n_models, SIZES[0], 2, generator=g) + labels[:, :, None]
    return Xs, labels, torch.randn(n_models, SIZES[1], 2, generator=g) + 0.5


def train_stacked(method):
    """Train three models side by side; give their losses, networks, and the data."""
    method.classes_ = np.arange(N_CLASSES)
    Xs, labels, Xt = data()
    one_hot = torch.nn.functional.one_hot(labels, N_CLASSES).double()
    found, trained = type(method)._train([method] * 3, Xs, one_hot, Xt, generators())
    assert trained.errors == [None] * 3
    return np.column_stack(trained.losses), found, (Xs, labels, Xt)


def batches(tensors, rows, method):
    """The batches of a single model, epoch after epoch."""
    n_batches = count_batches(len(rows[0]), method.batch_size)
    for order in rows:
        for part in order.tensor_split(n_batches):
            yield tuple(tensor[part] for tensor in tensors)


JOINT = [
    DANN(**SMALL, warmup_steps=20),
    CDAN(**SMALL, warmup_steps=20),
    CDAN(**SMALL, warmup_steps=20, entropy_conditioning=True, trade_off=0.5),
    DAN(**SMALL),
    DAN(**SMALL, linear=False, trade_off=2.0),
    JAN(**SMALL),
    JAN(**SMALL, linear=True, trade_off=2.0),
    JAN(**SMALL, trade_off=0.0),
]


@pytest.mark.parametrize("method", JOINT, ids=str)
def test_joint_methods_take_the_steps_of_the_straightforward_loop(method):
    losses, found, (Xs, labels, Xt) = train_stacked(method)
    for model, generator in enumerate(generators()):
        network = build(lambda: mlp(2, N_CLASSES, 20, 4), generator, CPU).double()
        seed = int(torch.randint(2**31, (), generator=generator))
        discriminator = None
        if isinstance(method, DANN | CDAN):
            n_inputs = 20 * (N_CLASSES if isinstance(method, CDAN) else 1)
            (side,) = generators([seed])
            discriminator = build(lambda n=n_inputs: DomainDiscriminator(n, 20), side, CPU)
            discriminator.double()
        epochs = [[rows[0] for rows in epoch] for epoch in epochs_of_rows(SIZES, 8, [generator])]
        source = batches((Xs[model], labels[model]), [rows for rows, _ in epochs], method)
        target = batches((Xt[model],), [rows for _, rows in epochs], method)
        expected = train_jointly(method, network, discriminator, source, target, len(losses))
        np.testing.assert_allclose(losses[:, model], expected, rtol=1e-7)
        torch.testing.assert_close(
            found[model].state_dict(), network.state_dict(), rtol=1e-5, atol=1e-6
        )


def test_shot_takes_the_steps_of_the_straightforward_loop():
    method = SHOT(**SMALL, n_adaptation_epochs=5)
    losses, _, (Xs, labels, Xt) = train_stacked(method)
    n_s, n_t = (count_batches(size, 16) for size in SIZES)
    for model, generator in enumerate(generators()):
        network = networks.build(lambda: SHOT._network(2, N_CLASSES, 20, 4), generator, CPU)
        rows = [epoch[0][0] for epoch in epochs_of_rows(SIZES[:1], 8, [generator])]
        source = batches((Xs[model], labels[model]), rows, method)
        expected = train_on_source(method, network, source, 8 * n_s)
        rows = [epoch[0][0] for epoch in epochs_of_rows(SIZES[1:], 5, [generator])]
        target = batches((Xt[model], torch.arange(SIZES[1])), rows, method)
        expected += adapt_to_target(method, network, Xt[model], target, 5, n_t)
        # The loop adds a constant to the predictions before the logarithm.
        np.testing.assert_allclose(losses[: 8 * n_s, model], expected[: 8 * n_s], rtol=1e-7)
        np.testing.assert_allclose(losses[:, model], expected, atol=1e-3)


@pytest.mark.parametrize("method", [*JOINT, SHOT(**SMALL, n_adaptation_epochs=5)], ids=str)
def test_three_together_take_the_steps_of_each_alone(method):
    losses, found, (Xs, labels, Xt) = train_stacked(method)
    one_hot = torch.nn.functional.one_hot(labels, N_CLASSES).double()
    for model, generator in enumerate(generators()):
        one = slice(model, model + 1)
        (network,), trained = type(method)._train(
            [method], Xs[one], one_hot[one], Xt[one], [generator]
        )
        np.testing.assert_allclose(losses[:, model], trained.losses[0], rtol=1e-7, atol=1e-10)
        torch.testing.assert_close(
            found[model].state_dict(), network.state_dict(), rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("method", [DANN, CDAN, DAN, JAN, SHOT])
def test_the_benchmarks_loop_learns_what_the_method_learns(method):
    torch.set_default_dtype(torch.float32)
    (domains,) = moons_cell(1, 60, angle=10.0)
    model = method(hidden_size=32, n_layers=3, random_state=0)
    network = fit_straightforwardly(model, domains).eval()
    with torch.no_grad():
        scaler = networks.ColumnScaling.fit(np.vstack([domains.Xs, domains.Xt]))
        logits, _ = network(torch.from_numpy(scaler.transform(domains.Xs)).float())
    assert (logits.argmax(dim=1).numpy() == domains.ys).mean() > 0.8
