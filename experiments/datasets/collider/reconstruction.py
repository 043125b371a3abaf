"""From measured objects to the 27 features: what an analysis can know without the truth."""

from __future__ import annotations

from itertools import combinations

import numpy as np

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

# Leading jets that compete for a place in the hadronic top, and their triples.
_CANDIDATES = 6
_TRIPLES = np.array(list(combinations(range(_CANDIDATES), 3)))
# Above every mass, in GeV.
_UNLIKELY = 1e6


def neutrino(lepton: FloatArray, missing: FloatArray) -> FloatArray:
    """Four-momentum of the neutrino, shape (4, n), from (lepton + neutrino)^2 = W_MASS^2.

    With a = W_MASS^2 / 2 + lepton_t . missing: p_z = (a l_z +- l sqrt(a^2 - l_t^2 missing^2)) /
    l_t^2. Of two solutions the one with the smaller |p_z|; if there is none, the real part.
    """
    lepton_pt2 = lepton[X] ** 2 + lepton[Y] ** 2
    a = 0.5 * W_MASS**2 + lepton[X] * missing[0] + lepton[Y] * missing[1]
    discriminant = a * a - lepton_pt2 * (missing[0] ** 2 + missing[1] ** 2)
    root = lepton[E] * np.sqrt(np.maximum(discriminant, 0.0))
    # Opposite signs cancel in the smaller solution.
    centre = a * lepton[Z]
    pz = (centre - np.copysign(root, centre)) / lepton_pt2
    return np.stack([np.sqrt(missing[0] ** 2 + missing[1] ** 2 + pz * pz), *missing, pz])


def assign(measured: Measured) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Decide which jets are which, by rule.

    The hadronic top is, among the triples of leading jets of which exactly one carries a b-tag, the
    one whose mass is nearest the top's; the tagged jet is its b, the other two are the W. If no
    triple has exactly one tag, all compete and the leading jet is the b. The leptonic b is the
    leading jet that remains. Returned: hadronic W, hadronic b, leptonic b, each of shape (4, n).
    """
    events = np.arange(len(measured.event))
    jets, tags = measured.jets[:, :, :_CANDIDATES], measured.tags[:, :_CANDIDATES]
    there = np.arange(_CANDIDATES) < measured.n_jets[:, None]
    first, second = np.triu_indices(_CANDIDATES, 1)
    squares = np.zeros((len(events), _CANDIDATES, _CANDIDATES))
    squares[:, first, second] = mass(jets[:, :, first] + jets[:, :, second]) ** 2
    own = mass(jets) ** 2
    # The square of a triple's mass is the sum of its pairs' less that of its jets'.
    i, j, k = _TRIPLES.T
    square = squares[:, i, j] + squares[:, i, k] + squares[:, j, k]
    square -= own[:, i] + own[:, j] + own[:, k]
    misses = np.abs(np.sqrt(np.maximum(square, 0.0)) - TOP_MASS)
    one_tag = tags[:, _TRIPLES].sum(axis=2) == 1
    misses += np.where(one_tag, 0.0, _UNLIKELY) + np.where(there[:, k], 0.0, 2 * _UNLIKELY)
    chosen = misses.argmin(axis=1)
    triple = _TRIPLES[chosen]
    which = np.where(one_tag[events, chosen], tags[events[:, None], triple].argmax(axis=1), 0)
    hadronic_b = jets[:, events, triple[events, which]]
    three = jets[:, events[:, None], triple].sum(axis=2)
    there[events[:, None], triple] = False
    return three - hadronic_b, hadronic_b, jets[:, events, there.argmax(axis=1)]


def raw_features(measured: Measured) -> FloatArray:
    """The 27 features in GeV, radians and counts, columns as in ``collisions.FEATURES``."""
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
