"""Small pairs of domains for tests of methods."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.datasets import make_moons


class Domains(NamedTuple):
    """A source with labels, a target, and labels of the target for scoring."""

    Xs: np.ndarray
    ys: np.ndarray
    Xt: np.ndarray
    yt: np.ndarray


def rotated_moons(n_source: int = 60, n_target: int = 50) -> Domains:
    Xs, ys = make_moons(n_source, noise=0.05, random_state=0)
    Xt, yt = make_moons(n_target, noise=0.05, random_state=1)
    c, s = np.cos(np.pi / 6), np.sin(np.pi / 6)
    rotation = np.array([[c, s], [-s, c]])
    return Domains(Xs - Xs.mean(axis=0), ys, (Xt - Xt.mean(axis=0)) @ rotation, yt)


def shifted_blobs() -> Domains:
    rng = np.random.default_rng(2)
    ys, yt = np.repeat([0, 1, 2], 20), np.repeat([0, 1, 2], 25)
    centres = 4 * rng.normal(size=(3, 5))
    Xs = centres[ys] + rng.normal(size=(60, 5))
    Xt = 1.5 * (centres[yt] + rng.normal(size=(75, 5))) + 1
    return Domains(Xs, ys, Xt, yt)


def skewed_columns() -> Domains:
    rng = np.random.default_rng(3)
    ys, yt = rng.integers(0, 2, 70), rng.integers(0, 2, 64)
    Xs = rng.gamma(1.5, size=(70, 8)) + ys[:, None] * np.linspace(0, 2, 8)
    Xt = np.exp(0.5 * rng.normal(size=(64, 8))) + yt[:, None] * np.linspace(0, 2, 8)
    return Domains(Xs, ys, Xt, yt)


def label_shift() -> Domains:
    """Two classes, half and half in the source and one to seven in the target."""
    rng = np.random.default_rng(0)
    ys, yt = np.repeat([0, 1], [80, 80]), np.repeat([0, 1], [20, 140])
    Xs, Xt = (rng.normal(size=(160, 2)) + 2 * y[:, None] for y in (ys, yt))
    return Domains(Xs, ys, Xt, yt)


DOMAINS = {"moons": rotated_moons, "blobs": shifted_blobs, "skewed": skewed_columns}
