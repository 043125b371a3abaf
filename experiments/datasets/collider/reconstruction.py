"""From measured objects to the 27 features: what an analysis can know without the truth."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from experiments.datasets.collider.detector import MIN_JETS, Measured
from experiments.datasets.collider.generator import TOP_MASS, W_MASS
from experiments.datasets.collider.kinematics import (
    E,
    FloatArray,
    X,
    Y,
    Z,
    azimuth,
    mass,
    pseudorapidity,
    transverse_momentum,
)

# Jets that compete for a place in the hadronic top.
_CANDIDATES = 5


def neutrino_pz(
    lepton: FloatArray, missing: FloatArray, w_mass: float = W_MASS
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Solve (lepton + neutrino)^2 = w_mass^2 for the neutrino's momentum along the beam.

    With a = w_mass^2 / 2 + lepton_t . missing: p_z = (a l_z +- l sqrt(a^2 - l_t^2 missing^2)) /
    l_t^2. Of two solutions the one with the smaller |p_z|; where there is none, the real part.

    Parameters
    ----------
    lepton : ndarray of shape (4, n)
        Massless.
    missing : ndarray of shape (2, n)
    w_mass : float
        In GeV.

    Returns
    -------
    pz : ndarray of shape (n,)
    real : bool ndarray of shape (n,)
        Where the equation has a solution.
    """
    lepton_pt2 = lepton[X] ** 2 + lepton[Y] ** 2
    a = 0.5 * w_mass**2 + lepton[X] * missing[0] + lepton[Y] * missing[1]
    discriminant = a * a - lepton_pt2 * (missing[0] ** 2 + missing[1] ** 2)
    root = lepton[E] * np.sqrt(np.maximum(discriminant, 0.0))
    # Opposite signs cancel in the smaller solution.
    centre = a * lepton[Z]
    return (centre - np.copysign(root, centre)) / lepton_pt2, discriminant >= 0


def neutrino(lepton: FloatArray, missing: FloatArray) -> FloatArray:
    """Four-momentum of the neutrino by the W's mass, shape (4, n)."""
    pz, _ = neutrino_pz(lepton, missing)
    return np.stack([np.sqrt(missing[0] ** 2 + missing[1] ** 2 + pz * pz), *missing, pz])


def assign(measured: Measured) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Decide which jets are which, by rule.

    The hadronic top is the triple of the five leading jets whose mass is nearest the top's; the
    leading jet of the three is taken for its b, the other two for the W. The leptonic b is the
    leading jet that remains, a tagged one if there is one.

    Parameters
    ----------
    measured : Measured
        With at least four jets in each event.

    Returns
    -------
    hadronic_w, hadronic_b, leptonic_b : ndarray of shape (4, n)
    """
    n = len(measured.event)
    events = np.arange(n)
    leading = measured.jets[:, :, :_CANDIDATES]
    triples = np.array(list(combinations(range(_CANDIDATES), 3)))
    there = np.arange(_CANDIDATES) < measured.n_jets[:, None]
    masses = np.stack([mass(leading[:, :, triple].sum(axis=2)) for triple in triples], axis=1)
    misses = np.where(there[:, triples[:, 2]], np.abs(masses - TOP_MASS), np.inf)
    chosen = triples[misses.argmin(axis=1)]
    free = there.copy()
    free[events[:, None], chosen] = False
    rank = np.where(free, 2 * measured.tags[:, :_CANDIDATES] + 1, 0)
    last = rank.argmax(axis=1)
    b, first, second = (leading[:, events, chosen[:, i]] for i in range(3))
    return first + second, b, leading[:, events, last]


def raw_features(measured: Measured) -> FloatArray:
    """The 27 features in GeV, radians and counts.

    Parameters
    ----------
    measured : Measured

    Returns
    -------
    X : ndarray of shape (n, 27)
        Columns in the order of :data:`experiments.datasets.collisions.FEATURES`.
    """
    lepton, missing, jets = measured.lepton, measured.missing, measured.jets[:, :, :MIN_JETS]
    hadronic_w, hadronic_b, leptonic_b = assign(measured)
    leptonic_w = lepton + neutrino(lepton, missing)
    columns = [
        transverse_momentum(lepton),
        pseudorapidity(lepton),
        azimuth(lepton),
        np.hypot(missing[0], missing[1]),
        np.arctan2(missing[1], missing[0]),
        measured.n_jets,
    ]
    pt, eta, phi = transverse_momentum(jets), pseudorapidity(jets), azimuth(jets)
    for i in range(MIN_JETS):
        columns += [pt[:, i], eta[:, i], phi[:, i], measured.tags[:, i]]
    columns += [
        mass(hadronic_w),
        mass(hadronic_w + hadronic_b),
        mass(leptonic_w),
        mass(leptonic_w + leptonic_b),
        mass(leptonic_w + jets.sum(axis=2)),
    ]
    return np.stack(columns, axis=1).astype(np.float64)
