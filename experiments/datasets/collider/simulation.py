"""From a seed to rows: collisions generated, measured and reconstructed in batches."""

from __future__ import annotations

import numpy as np

from experiments.datasets.collider.detector import DETECTOR, Detector, measure
from experiments.datasets.collider.generator import PHYSICS, Kind, Physics, generate
from experiments.datasets.collider.kinematics import FloatArray
from experiments.datasets.collider.reconstruction import raw_features

# Collisions at once: large enough for NumPy, small enough for the processor's cache. The rows of a
# seed depend on it.
_BATCH = 4096


def simulate(
    kind: Kind,
    mass: float,
    n: int,
    rng: np.random.Generator,
    physics: Physics = PHYSICS,
    detector: Detector = DETECTOR,
) -> FloatArray:
    """Simulate collisions until n have been selected; give their 27 features in GeV and radians.

    The first rows of a longer simulation with the same state of ``rng`` are those of a shorter one.
    """
    parts: list[FloatArray] = []
    selected = 0
    while selected < n or not parts:
        rows = raw_features(measure(generate(kind, mass, _BATCH, rng, physics), rng, detector))
        if not len(rows):
            raise RuntimeError(f"None of {_BATCH} collisions was selected; loosen the detector.")
        parts.append(rows)
        selected += len(rows)
    return np.concatenate(parts)[:n]
