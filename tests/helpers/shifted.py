"""A small task for tests of KRDA, and settings for a quick fit."""

import numpy as np

QUICK = {"max_steps": 30, "hidden_size": 10, "n_components": 3, "random_state": 0}


def shifted_task(n=120, d=3, seed=0):
    """Gaussian source, target with another location, scale and correlation."""
    rng = np.random.default_rng(seed)
    Xs = rng.normal(size=(n, d))
    ys = (Xs[:, 0] > 0).astype(int)
    Xt = rng.normal(size=(n + 10, d)) * np.arange(1, d + 1) + 10
    Xt[:, -1] += Xt[:, 0]
    return Xs, ys, Xt
