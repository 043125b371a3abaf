"""From a seed to rows: collisions generated, measured and reconstructed in batches."""

from __future__ import annotations

import numpy as np

from experiments.datasets.collider.detector import Detector, measure
from experiments.datasets.collider.generator import Kind, Physics, generate
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
    physics: Physics | None = None,
    detector: Detector | None = None,
) -> FloatArray:
    """Simulate collisions until n have been selected.

    Parameters
    ----------
    kind : "signal" or "background"
    mass : float
        Of the resonance, in GeV; the background ignores it.
    n : int
    rng : numpy.random.Generator
        The first rows of a longer simulation with the same state are those of a shorter one.
    physics : Physics, optional
    detector : Detector, optional

    Returns
    -------
    X : ndarray of shape (n, 27)
        In GeV, radians and counts; columns in the order of
        :data:`experiments.datasets.collisions.FEATURES`.

    Raises
    ------
    ValueError
        Another kind, or a mass out of reach.
    RuntimeError
        A detector that selects nothing.
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
