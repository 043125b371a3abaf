"""From a seed to rows: collisions generated, measured and reconstructed in batches."""

from __future__ import annotations

import numpy as np

from experiments.datasets.collider.detector import measure
from experiments.datasets.collider.generator import Kind, generate
from experiments.datasets.collider.kinematics import FloatArray
from experiments.datasets.collider.reconstruction import raw_features

# Collisions at once: large enough for NumPy, small enough for the processor's cache. The rows of a
# seed depend on it.
_BATCH = 4096


def simulate(kind: Kind, mass: float, n: int, rng: np.random.Generator) -> FloatArray:
    """Simulate collisions until n have been selected; give their 27 features in GeV and radians.

    The first rows of a longer simulation with the same state of ``rng`` are those of a shorter one.
    """
    parts: list[FloatArray] = []
    while sum(map(len, parts)) < n:
        parts.append(raw_features(measure(generate(kind, mass, _BATCH, rng), rng)))
    return np.concatenate(parts)[:n]
