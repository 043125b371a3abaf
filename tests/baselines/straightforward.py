"""The straightforward loop that a user of dalib would write, as a reference for the deep methods.

It trains one model after another: torch's DataLoader for each domain, torch's modules and autograd,
dalib's losses as they are, Adam as it comes, ``loss.item()`` each step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.datasets import make_moons
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from baselines.adversarial import CDAN, DANN
from baselines.dalib_compat import (
    DomainDiscriminator,
    GaussianKernel,
    JointMultipleKernelMaximumMeanDiscrepancy,
    MultipleKernelMaximumMeanDiscrepancy,
    conditional_domain_adversarial_loss,
    domain_adversarial_loss,
)
from baselines.discrepancy import DAN
from baselines.networks import ColumnScaling, Network, count_batches, mlp
from baselines.source_hypothesis import SHOT
from baselines.stacked import WeightNormLinear
from krda.adaptation import Domains

Transfer = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def forever(loader: DataLoader[Any]) -> Iterator[Any]:
    """Go through a loader again and again."""
    while True:
        yield from loader


def load(batch_size: int, *tensors: Tensor) -> Iterator[Any]:
    """Shuffled batches of rows, without end."""
    dataset = TensorDataset(*tensors)
    return forever(DataLoader(dataset, batch_size=batch_size, shuffle=True, drop_last=True))


def transfer_loss(method: Any, discriminator: nn.Module | None) -> Transfer | None:
    """Return dalib's loss for a method's parameters."""
    if method.trade_off == 0:
        return None
    if isinstance(method, DANN) and discriminator is not None:
        dann = domain_adversarial_loss(discriminator, method.warmup_steps)
        return lambda f_s, g_s, f_t, g_t: dann(f_s, f_t)
    if isinstance(method, CDAN) and discriminator is not None:
        cdan = conditional_domain_adversarial_loss(
            discriminator, method.warmup_steps, method.entropy_conditioning
        )
        return lambda f_s, g_s, f_t, g_t: cdan(g_s, f_s, g_t, f_t)
    kernels = tuple(GaussianKernel(alpha=factor) for factor in method.bandwidth_factors)
    if isinstance(method, DAN):
        loss = MultipleKernelMaximumMeanDiscrepancy(kernels, linear=method.linear)
    else:
        fixed = GaussianKernel(sigma=method.softmax_sigma, track_running_stats=False)
        loss = JointMultipleKernelMaximumMeanDiscrepancy((kernels, (fixed,)), linear=method.linear)

    def discrepancy(f_s: Tensor, g_s: Tensor, f_t: Tensor, g_t: Tensor) -> Tensor:
        if isinstance(method, DAN):
            return loss(f_s, f_t)
        return loss((f_s, torch.softmax(g_s, dim=1)), (f_t, torch.softmax(g_t, dim=1)))

    return discrepancy


def train_jointly(
    method: Any,
    network: Network,
    discriminator: nn.Module | None,
    source: Iterator[tuple[Tensor, Tensor]],
    target: Iterator[tuple[Tensor]],
    n_steps: int,
) -> list[float]:
    """Train DANN, CDAN, DAN or JAN as dalib's examples do."""
    transfer = transfer_loss(method, discriminator)
    along = [] if discriminator is None else list(discriminator.parameters())
    optimizer = torch.optim.Adam([*network.parameters(), *along], lr=method.learning_rate)
    losses = []
    for _ in range(n_steps):
        x_s, y_s = next(source)
        (x_t,) = next(target)
        g_s, f_s = network(x_s)
        g_t, f_t = network(x_t)
        loss = F.cross_entropy(g_s, y_s)
        if transfer is not None:
            loss = loss + method.trade_off * transfer(f_s, g_s, f_t, g_t)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    return losses


def shot_network(n_features: int, n_classes: int, hidden_size: int, n_layers: int) -> Network:
    """Return SHOT's network, of torch's modules with torch's start."""
    layers: list[nn.Module] = []
    for width in [n_features] + [hidden_size] * (n_layers - 2):
        layers += [nn.Linear(width, hidden_size), nn.ReLU()]
    layers[-1] = nn.BatchNorm1d(hidden_size)
    head = WeightNormLinear(hidden_size, n_classes)
    plain = nn.Linear(hidden_size, n_classes)
    with torch.no_grad():
        head.direction.copy_(plain.weight)
        head.length.copy_(plain.weight.norm(dim=1))
        head.bias.copy_(plain.bias)
    return Network(nn.Sequential(*layers), head)


def train_on_source(
    method: SHOT, network: Network, source: Iterator[tuple[Tensor, Tensor]], n_steps: int
) -> list[float]:
    """Train SHOT's source network with smoothed labels written out."""
    optimizer = torch.optim.Adam(network.parameters(), lr=method.learning_rate)
    losses = []
    for _ in range(n_steps):
        x, y = next(source)
        logits, _ = network(x)
        log_p = torch.log_softmax(logits, dim=1)
        labels = torch.zeros_like(log_p).scatter_(1, y[:, None], 1)
        labels = (1 - method.label_smoothing) * labels + method.label_smoothing / logits.shape[1]
        loss = (-labels * log_p).mean(dim=0).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def pseudo_labels(features: NDArray[Any], p: NDArray[Any]) -> NDArray[np.intp]:
    """Label rows by class centroids, class by class in NumPy (Liang et al. 2020, eqs. 5, 6)."""
    rows = np.concatenate([features, np.ones((len(features), 1))], axis=1)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    labels, weights = p.argmax(axis=1), p
    for _ in range(2):
        present = np.unique(labels)
        centroids = [weights[:, k] @ rows / weights[:, k].sum() for k in present]
        labels = present[cdist(rows, np.array(centroids), "cosine").argmin(axis=1)]
        weights = np.eye(p.shape[1])[labels]
    return labels


def adapt_to_target(
    method: SHOT,
    network: Network,
    rows: Tensor,
    target: Iterator[tuple[Tensor, Tensor]],
    n_epochs: int,
    n_batches: int,
) -> list[float]:
    """Adapt SHOT's features to the target: rows, and batches of rows and their numbers."""
    network.head.requires_grad_(False)
    optimizer = torch.optim.Adam(network.features.parameters(), lr=method.learning_rate)
    losses = []
    for _ in range(n_epochs):
        network.eval()
        with torch.no_grad():
            logits, features = network(rows)
        found = pseudo_labels(features.numpy(), torch.softmax(logits, dim=1).numpy())
        labels = torch.from_numpy(found)
        network.train()
        for _ in range(n_batches):
            x, numbers = next(target)
            logits, _ = network(x)
            p = torch.softmax(logits, dim=1)
            entropy = -(p * torch.log(p + 1e-5)).sum(dim=1).mean()
            mean = p.mean(dim=0)
            diversity = -(mean * torch.log(mean + 1e-5)).sum()
            loss = entropy - diversity
            loss = loss + method.pseudo_label_weight * F.cross_entropy(logits, labels[numbers])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(loss.item())
    return losses


def fit_straightforwardly(method: Any, domains: Domains) -> Network:
    """Train one network for a method's parameters, as set out above."""
    Xs, ys, Xt = domains
    torch.manual_seed(method.random_state)
    shot = isinstance(method, SHOT)
    scaling = ColumnScaling.fit(Xs if shot else np.vstack([Xs, Xt]))
    x_s, x_t = (torch.from_numpy(scaling.transform(X)).float() for X in (Xs, Xt))
    y_s, n_classes = torch.from_numpy(ys), int(ys.max()) + 1
    hidden_size = method._width(Xs.shape[1], n_classes)
    shape = (Xs.shape[1], n_classes, hidden_size, method.n_layers)
    n_batches = count_batches(max(len(x_s), len(x_t)), method.batch_size)
    size = len(x_s) // n_batches
    if shot:
        network = shot_network(*shape)
        train_on_source(method, network, load(size, x_s, y_s), method.n_epochs * n_batches)
        numbered = load(size, x_t, torch.arange(len(x_t)))
        adapt_to_target(method, network, x_t, numbered, method.n_adaptation_epochs, n_batches)
        return network
    network, discriminator = mlp(*shape), None
    if isinstance(method, DANN | CDAN):
        n_inputs = hidden_size * (n_classes if isinstance(method, CDAN) else 1)
        discriminator = DomainDiscriminator(n_inputs, hidden_size)
    source, target = load(size, x_s, y_s), load(size, x_t)
    n_steps = method.n_epochs * n_batches
    train_jointly(method, network, discriminator, source, target, n_steps)
    return network


def moons_cell(n_repetitions: int = 5, n_rows: int = 270, angle: float = 40.0) -> list[Domains]:
    """Repetitions of two half-circles, the target turned by an angle in degrees."""
    c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    turn = np.array([[c, s], [-s, c]])
    cell = []
    for repetition in range(n_repetitions):
        Xs, ys = make_moons(n_rows, noise=0.05, random_state=2 * repetition)
        Xt, _ = make_moons(n_rows, noise=0.05, random_state=2 * repetition + 1)
        cell.append(Domains(Xs - Xs.mean(axis=0), ys, (Xt - Xt.mean(axis=0)) @ turn))
    return cell
