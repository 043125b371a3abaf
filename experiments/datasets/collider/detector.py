"""What a detector sees of a collision: a lepton, jets with b-tags, and missing momentum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.datasets.collider.generator import Collisions
from experiments.datasets.collider.kinematics import (
    E,
    FloatArray,
    X,
    Y,
    azimuth,
    distance_squared,
    pseudorapidity,
    transverse_momentum,
)


@dataclass(frozen=True)
class Detector:
    """Constants of the detector. docs/hepmass_sim.md says what each was fitted to.

    Attributes
    ----------
    merging_distance : float
        Partons nearer than this in (eta, phi) end in one jet.
    response : float
        Mean of a jet's measured over its true energy.
    jet_sampling, jet_constant, jet_noise : float
        Resolution: (sigma / pt)^2 = jet_sampling^2 / pt + jet_constant^2 + (jet_noise / pt)^2.
    lepton_resolution : float
        sigma / pt of the lepton.
    missing_constant, missing_sampling : float
        Resolution (GeV) of each component of the missing momentum beside that of the jets:
        sigma^2 = missing_constant^2 + missing_sampling^2 H_t; H_t is the sum of the jets' pt.
    lepton_pt, lepton_eta, isolation : float
        The lepton must exceed this pt, lie within this |eta| and this far from every jet.
    jet_pt, jet_eta : float
        Jets count above this pt and within this |eta|.
    tag_efficiency : float
        That a jet with a b quark is tagged.
    min_tags : int
        Events with fewer tagged jets are not selected.
    """

    merging_distance: float = 0.54
    response: float = 1.02
    jet_sampling: float = 0.86
    jet_constant: float = 0.076
    jet_noise: float = 1.0
    lepton_resolution: float = 0.02
    missing_constant: float = 5.2
    missing_sampling: float = 0.5
    lepton_pt: float = 15.0
    lepton_eta: float = 2.5
    isolation: float = 0.35
    jet_pt: float = 20.0
    jet_eta: float = 3.0
    tag_efficiency: float = 1.0
    min_tags: int = 2


#: Without smearing, merging or losses: measures the partons as they are.
PERFECT = Detector(
    merging_distance=0.0,
    response=1.0,
    jet_sampling=0.0,
    jet_constant=0.0,
    jet_noise=0.0,
    lepton_resolution=0.0,
    missing_constant=0.0,
    missing_sampling=0.0,
    lepton_pt=0.0,
    lepton_eta=np.inf,
    isolation=0.0,
    jet_pt=0.0,
    jet_eta=np.inf,
)

#: Jets that an event must have, and whose features are recorded.
MIN_JETS = 4


@dataclass(frozen=True)
class Measured:
    """What was measured in n selected collisions.

    Attributes
    ----------
    event : ndarray of shape (n,)
        Their numbers among all collisions.
    lepton : ndarray of shape (4, n)
    missing : ndarray of shape (2, n)
        Components x and y of the missing transverse momentum.
    jets : ndarray of shape (4, n, J)
        By falling pt; behind the last jet of an event, zeros.
    tags : bool ndarray of shape (n, J)
        Which jets carry a b-tag.
    n_jets : ndarray of shape (n,)
    """

    event: NDArray[np.intp]
    lepton: FloatArray
    missing: FloatArray
    jets: FloatArray
    tags: NDArray[np.bool_]
    n_jets: NDArray[np.int64]


def measure(
    collisions: Collisions, rng: np.random.Generator, detector: Detector | None = None
) -> Measured:
    """Measure collisions and select those with a lepton, four jets and the b-tags.

    Parameters
    ----------
    collisions : Collisions
    rng : numpy.random.Generator
    detector : Detector, optional

    Returns
    -------
    measured : Measured
    """
    detector = Detector() if detector is None else detector
    n = len(collisions)
    jets = np.concatenate([collisions.partons, collisions.isr], axis=2)
    bs = np.zeros(jets.shape[1:], dtype=bool)
    bs[:, [0, 2]] = True
    merge(jets, bs, detector.merging_distance)
    pt = transverse_momentum(jets)

    factor = np.zeros_like(pt)
    there = pt > 0
    variance = (
        detector.jet_sampling**2 * pt + (detector.jet_constant * pt) ** 2 + detector.jet_noise**2
    )
    np.divide(np.sqrt(variance), pt, out=factor, where=there)
    factor = detector.response * np.maximum(1.0 + factor * rng.standard_normal(pt.shape), 0.0)
    jets *= factor
    pt *= factor
    lepton = collisions.lepton * np.maximum(
        1.0 + detector.lepton_resolution * rng.standard_normal(n), 0.01
    )
    sigma = np.sqrt(detector.missing_constant**2 + detector.missing_sampling**2 * pt.sum(axis=1))
    visible = jets.sum(axis=2) + lepton + collisions.soft
    missing = -visible[[X, Y]] + sigma * rng.standard_normal((2, n))

    eta = pseudorapidity(jets)
    kept = (pt > detector.jet_pt) & (np.abs(eta) < detector.jet_eta)
    lepton_eta = pseudorapidity(lepton)
    near = (
        distance_squared(eta, azimuth(jets), lepton_eta[:, None], azimuth(lepton)[:, None])
        < detector.isolation**2
    )
    tags = bs & kept & (rng.random(bs.shape) < detector.tag_efficiency)
    selected = (
        (transverse_momentum(lepton) > detector.lepton_pt)
        & (np.abs(lepton_eta) < detector.lepton_eta)
        & ~(near & kept).any(axis=1)
        & (kept.sum(axis=1) >= MIN_JETS)
        & (tags.sum(axis=1) >= detector.min_tags)
    )
    event = np.flatnonzero(selected)
    pt, kept, tags = pt[event], kept[event], tags[event]
    order = np.argsort(np.where(kept, -pt, 0.0), axis=1, kind="stable")
    kept = np.take_along_axis(kept, order, axis=1)
    return Measured(
        event=event,
        lepton=lepton[:, event],
        missing=missing[:, event],
        jets=np.take_along_axis(jets[:, event], order[None], axis=2) * kept,
        tags=np.take_along_axis(tags, order, axis=1),
        n_jets=kept.sum(axis=1),
    )


def merge(partons: FloatArray, bs: NDArray[np.bool_], distance: float) -> None:
    """Add up the nearest two partons of each event while they are nearer than a distance.

    Parameters
    ----------
    partons : ndarray of shape (4, n, J)
        Changed in place: the second parton of a pair becomes zero, the first their sum.
    bs : bool ndarray of shape (n, J)
        Which are b quarks; a jet with a b quark is one. Changed in place.
    distance : float
        In (eta, phi).
    """
    first, second = np.triu_indices(partons.shape[2], 1)
    rows = np.arange(partons.shape[1])
    while len(rows) and distance > 0:
        some = partons[:, rows]
        # Partons that are not there lie far out, each at a place of its own.
        eta = pseudorapidity(some)
        eta = np.where(some[E] > 0, eta, 1e3 * (1.0 + np.arange(eta.shape[1])))
        phi = azimuth(some)
        squares = distance_squared(eta[:, first], phi[:, first], eta[:, second], phi[:, second])
        nearest = squares.argmin(axis=1)
        close = squares[np.arange(len(rows)), nearest] < distance**2
        rows, nearest = rows[close], nearest[close]
        i, j = first[nearest], second[nearest]
        partons[:, rows, i] += partons[:, rows, j]
        partons[:, rows, j] = 0.0
        bs[rows, i] |= bs[rows, j]
        bs[rows, j] = False
