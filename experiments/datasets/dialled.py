"""One simulated table whose target is changed by one kind of shift, dialled from none to full.

For curves of accuracy against the strength of a shift. No random number depends on the kind or the
strength: the tasks differ by the shift alone, and at strength 0 all three kinds are one task.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.datasets.base import Rows, Task, require_task
from experiments.seeds import derive_seed

KINDS = ("rotation", "warp", "shares")
STRENGTHS = ("0.00", "0.25", "0.50", "0.75", "1.00")
N_COLUMNS = 8
N_COMPONENTS = 3
"""Of either class."""
N_TRAINING, N_TEST = 300, 1000


def rotate(X: NDArray[np.float64], strength: float) -> NDArray[np.float64]:
    """Turn columns 0 and 1, 2 and 3, and so on about the origin; by 90 degrees at full strength."""
    angle = strength * np.pi / 2
    first, second = X[:, ::2], X[:, 1::2]
    out = np.empty_like(X)
    out[:, ::2] = np.cos(angle) * first - np.sin(angle) * second
    out[:, 1::2] = np.sin(angle) * first + np.cos(angle) * second
    return out


@dataclass
class Dialled:
    """A mixture of Gaussians in eight columns, two classes; task ``warp-0.25`` is a quarter warped.

    Each class is a mixture of three Gaussians. Columns have mean 0 and deviation 1 in the source's
    distribution. 300 source, 300 target and 1000 test rows are independent draws. The kinds of
    shift at strength s:

    ``rotation``
        target rows turned by 90 s degrees in four planes of two columns;
    ``warp``
        each column x of the target replaced by (1 - s) x + s g(x), with a monotone g of its own
        that moves, stretches and skews it;
    ``shares``
        the share of class 1 in the target is 0.5 + 0.4 s; it is 0.5 in the source.

    Another ``draw`` gives another mixture, other warps and other rows.
    """

    name = "dialled"

    task_names = tuple(f"{kind}-{strength}" for kind in KINDS for strength in STRENGTHS)

    draw: int = 0

    def task(self, name: str) -> Task:
        """Draw one task."""
        require_task(self, name)
        kind, strength = name.split("-")
        return Task.lock(
            self.name,
            name,
            source=self._draw("source", N_TRAINING),
            target=self._shifted("target", N_TRAINING, kind, float(strength)),
            test=self._shifted("test", N_TEST, kind, float(strength)),
        )

    def _rng(self, part: str) -> np.random.Generator:
        return np.random.default_rng(derive_seed("dialled", part, self.draw))

    def _draw(self, part: str, n: int, share: float = 0.5) -> Rows:
        """Draw rows of the mixture; ``share`` of them are of class 1."""
        shape = (2, N_COMPONENTS, N_COLUMNS)
        rng = self._rng("mixture")
        means = rng.normal(size=shape)
        factors = rng.normal(scale=1 / np.sqrt(N_COLUMNS), size=(*shape, N_COLUMNS))
        # Mean and variance of the columns at equal shares.
        centre = means.mean(axis=(0, 1))
        variance = means.var(axis=(0, 1)) + (factors**2).sum(axis=-1).mean(axis=(0, 1))
        rng = self._rng(part)
        y = (rng.random(n) < share).astype(np.int64)
        component = rng.integers(N_COMPONENTS, size=n)
        noise = rng.normal(size=(n, N_COLUMNS))
        X = means[y, component] + np.einsum("nij,nj->ni", factors[y, component], noise)
        return (X - centre) / np.sqrt(variance), y

    def _shifted(self, part: str, n: int, kind: str, strength: float) -> Rows:
        X, y = self._draw(part, n, 0.5 + 0.4 * strength * (kind == "shares"))
        if kind == "rotation":
            X = rotate(X, strength)
        if kind == "warp":
            X = (1 - strength) * X + strength * self._warped(X)
        return X, y

    def _warped(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map each column by a monotone function of its own: sinh(a arsinh(x) + b), a > 0."""
        rng = self._rng("warps")
        a = np.exp(rng.uniform(-0.5, 0.5, N_COLUMNS))
        return np.asarray(np.sinh(a * np.arcsinh(X) + rng.uniform(-1, 1, N_COLUMNS)))
