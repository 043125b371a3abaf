"""The stacked training is the straightforward loop over dalib's losses, in double precision.

In single precision the two part after some dozens of steps, for ReLU and Adam enlarge rounding;
that is why everything here is made double.
"""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from baselines.deep import dalib_compat, joint, networks
from baselines.deep.adversarial import CDAN, DANN
from baselines.deep.dalib_compat import DomainDiscriminator, GradientReversal, adaptation
from baselines.deep.discrepancy import BANDWIDTH_FACTORS, DAN, JAN
from baselines.deep.networks import Data
from baselines.deep.source_hypothesis import SHOT, centroid_labels
from baselines.deep.stacked import build, mlp
from baselines.rows import count_batches, orders

CPU = torch.device("cpu")
SMALL = {"hidden_size": 20, "n_layers": 4, "n_epochs": 4, "batch_size": 16}
SIZES = (50, 40)
N_CLASSES = 3

JOINT = [
    (DANN, {"warmup_steps": 20}),
    (CDAN, {"warmup_steps": 20}),
    (CDAN, {"warmup_steps": 20, "entropy_conditioning": True, "trade_off": 0.5}),
    (DAN, {}),
    (DAN, {"linear": False, "trade_off": 2.0}),
    (JAN, {}),
    (JAN, {"linear": True, "trade_off": 2.0}),
    (JAN, {"trade_off": 0.0}),
]
SHOTS = [(SHOT, {"n_adaptation_epochs": 5})]


@pytest.fixture(autouse=True)
def double_precision(monkeypatch):
    for module in (networks, joint):
        monkeypatch.setattr(module, "build", lambda *given: build(*given).double())
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def data(n_models=3):
    """Rows of both domains and labels, of models of their own; the target is moved."""
    g = seeded(7)
    labels = torch.randint(N_CLASSES, (n_models, SIZES[0]), generator=g)
    Xs = torch.randn(n_models, SIZES[0], 2, generator=g) + labels[:, :, None]
    return Xs, labels, torch.randn(n_models, SIZES[1], 2, generator=g) + 0.5


def train_stacked(method, parameters, models=(0, 1, 2)):
    """Train models side by side."""
    fits = [method(**SMALL, **parameters, random_state=seed) for seed in models]
    for fit in fits:
        fit.classes_ = np.arange(N_CLASSES)
    Xs, labels, Xt = (tensor[list(models)] for tensor in data())
    one_hot = F.one_hot(labels, N_CLASSES).double()
    assert method._fit_group(fits, Data(Xs, one_hot, Xt)) == [None] * len(models)
    return fits


def batches(tensors, rows, n_batches):
    """The batches of a single model, epoch after epoch."""
    for order in rows:
        for part in order.tensor_split(n_batches):
            yield tuple(tensor[part] for tensor in tensors)


def dalibs_loss(fit, discriminator):
    """dalib's loss of source and target logits and features."""
    if isinstance(fit, CDAN):
        cdan = adaptation.cdan.ConditionalDomainAdversarialLoss(
            discriminator, entropy_conditioning=fit.entropy_conditioning
        )
        cdan.grl = GradientReversal(fit.warmup_steps)
        return cdan
    if isinstance(fit, DANN):
        dann = dalib_compat.domain_adversarial_loss(discriminator, fit.warmup_steps)
        return lambda g_s, f_s, g_t, f_t: dann(f_s, f_t)
    kernel = adaptation.jan.GaussianKernel
    kernels = tuple(kernel(alpha=factor) for factor in BANDWIDTH_FACTORS)
    if isinstance(fit, JAN):
        fixed = (kernel(sigma=fit.softmax_sigma, track_running_stats=False),)
        jan = adaptation.jan.JointMultipleKernelMaximumMeanDiscrepancy(
            (kernels, fixed), linear=fit.linear
        )
        return lambda g_s, f_s, g_t, f_t: jan(
            (f_s, torch.softmax(g_s, dim=1)), (f_t, torch.softmax(g_t, dim=1))
        )
    dan = adaptation.dan.MultipleKernelMaximumMeanDiscrepancy(kernels, linear=fit.linear)
    return lambda g_s, f_s, g_t, f_t: dan(f_s, f_t)


def descend(parameters, losses, learning_rate=1e-3):
    """Make a step of Adam for each loss; give the values."""
    optimizer, values = torch.optim.Adam(parameters, lr=learning_rate), []
    for loss in losses:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        values.append(loss.item())
    return values


def assert_fitted(fit, network, losses, rtol=1e-7, atol=0.0):
    """Compare with the network and the losses of another way to train."""
    np.testing.assert_allclose(fit.losses_, losses, rtol=rtol, atol=atol)
    torch.testing.assert_close(
        fit.network_.state_dict(), network.state_dict(), rtol=1e-5, atol=1e-6
    )


def joint_losses(network, transfer, trade_off, source, target):
    for (x_s, y_s), (x_t,) in zip(source, target, strict=True):
        (g_s, f_s), (g_t, f_t) = network(x_s), network(x_t)
        loss = F.cross_entropy(g_s, y_s)
        yield loss + trade_off * transfer(g_s, f_s, g_t, f_t) if trade_off > 0 else loss


@pytest.mark.parametrize(("method", "parameters"), JOINT, ids=str)
def test_joint_methods_take_the_steps_of_the_straightforward_loop(method, parameters):
    Xs, labels, Xt = data()
    for model, fit in enumerate(train_stacked(method, parameters)):
        generator = seeded(model)
        network = build(lambda: mlp(2, N_CLASSES, 20, 4), generator, CPU).double()
        side = seeded(int(torch.randint(2**31, (), generator=generator)))
        trained, discriminator = list(network.parameters()), None
        if method in (DANN, CDAN):
            n_inputs = 20 * (N_CLASSES if method is CDAN else 1)
            discriminator = build(lambda n=n_inputs: DomainDiscriminator(n, 20), side, CPU)
            trained += list(discriminator.double().parameters())
        epochs = list(orders(SIZES, SMALL["n_epochs"], generator))
        source = batches((Xs[model], labels[model]), [rows for rows, _ in epochs], 4)
        target = batches((Xt[model],), [rows for _, rows in epochs], 4)
        transfer = dalibs_loss(fit, discriminator)
        losses = joint_losses(network, transfer, fit.trade_off, source, target)
        assert_fitted(fit, network, descend(trained, losses))


def shot_losses(network, Xt, epochs):
    for (order,) in epochs:
        with torch.no_grad():
            logits, features = network.eval()(Xt)
        network.train()
        found = centroid_labels(features[None], torch.softmax(logits, dim=1)[None])[0]
        for x, y in batches((Xt, found), [order], count_batches(SIZES[1], 16)):
            logits, _ = network(x)
            p = torch.softmax(logits, dim=1)
            entropy = -(p * p.log()).sum(dim=1).mean()
            diversity = -(p.mean(dim=0) * p.mean(dim=0).log()).sum()
            yield entropy - diversity + 0.3 * F.cross_entropy(logits, y)


def test_shot_takes_the_steps_of_the_straightforward_loop():
    Xs, labels, Xt = data()
    for model, fit in enumerate(train_stacked(*SHOTS[0])):
        generator = seeded(model)
        network = build(lambda: SHOT._network(2, N_CLASSES, 20, 4), generator, CPU).double()
        rows = [order for (order,) in orders(SIZES[:1], SMALL["n_epochs"], generator)]
        source = batches((Xs[model], labels[model]), rows, count_batches(SIZES[0], 16))
        losses = (F.cross_entropy(network(x)[0], y, label_smoothing=0.1) for x, y in source)
        expected = descend(network.parameters(), losses)
        adapted = shot_losses(network, Xt[model], orders(SIZES[1:], 5, generator))
        expected += descend(network.features.parameters(), adapted)
        assert_fitted(fit, network, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("method", "parameters"), [*JOINT, *SHOTS], ids=str)
def test_three_together_take_the_steps_of_each_alone(method, parameters):
    for model, fit in enumerate(train_stacked(method, parameters)):
        (alone,) = train_stacked(method, parameters, (model,))
        assert_fitted(fit, alone.network_, alone.losses_, atol=1e-10)
