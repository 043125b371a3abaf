"""What a detector sees of a collision: a lepton, jets with b-tags, and missing momentum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

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
    """Constants of the detector. docs/hepmass_sim.md says what each was fitted to."""

    #: Partons nearer than this in (eta, phi) end in one jet.
    merging_distance: float = 0.5
    #: Mean of a jet's measured over its true energy.
    response: float = 0.95
    #: Transverse momentum (GeV) that the underlying event adds to a jet. It comes evenly from all
    #: around, so that the missing momentum does not know of it.
    offset: float = 7.0
    #: Jets: (sigma / pt)^2 = jet_sampling^2 / pt + jet_constant^2 + (jet_noise / pt)^2.
    jet_sampling: float = 1.2
    jet_constant: float = 0.12
    jet_noise: float = 1.0
    #: sigma / pt of the lepton.
    lepton_resolution: float = 0.02
    #: Each component of the missing momentum, beside the jets' resolution (GeV):
    #: sigma^2 = missing_constant^2 + missing_sampling^2 H_t; H_t is the sum of the jets' pt.
    missing_constant: float = 5.2
    missing_sampling: float = 0.6
    #: The lepton must exceed this pt, be within this |eta| and this far from every jet.
    lepton_pt: float = 15.0
    lepton_eta: float = 2.5
    isolation: float = 0.35
    #: Jets count above this pt and within this |eta|.
    jet_pt: float = 20.0
    jet_eta: float = 3.0
    #: A jet with a b quark is tagged with probability 1 - exp(-pt / tag_turn_on) (GeV), and no
    #: other jet is. A constant factor below one would only lose events.
    tag_turn_on: float = 28.0
    #: Events with fewer tagged jets are not selected.
    min_tags: int = 2


DETECTOR = Detector()

#: Jets that an event must have, and whose features are recorded.
MIN_JETS = 4


class Measured(NamedTuple):
    """What was measured in the n collisions selected; ``event`` is their place among all.

    ``lepton`` has shape (4, n); ``missing``, the missing momentum along x and y, (2, n); ``jets``
    (4, n, J), by falling pt, with zeros after an event's last jet; ``tags``, of jets, (n, J).
    """

    event: NDArray[np.intp]
    lepton: FloatArray
    missing: FloatArray
    jets: FloatArray
    tags: NDArray[np.bool_]
    n_jets: NDArray[np.int64]


def measure(collisions: Collisions, rng: np.random.Generator) -> Measured:
    """Measure collisions and select those with a lepton, four jets and the b-tags."""
    n = collisions.lepton.shape[1]
    jets = np.concatenate([collisions.partons, collisions.isr], axis=2)
    bs = np.zeros(jets.shape[1:], dtype=bool)
    bs[:, [0, 2]] = True
    merge(jets, bs, DETECTOR.merging_distance)
    pt = transverse_momentum(jets)

    factor = np.zeros_like(pt)
    there = pt > 0
    variance = (
        DETECTOR.jet_sampling**2 * pt + (DETECTOR.jet_constant * pt) ** 2 + DETECTOR.jet_noise**2
    )
    np.divide(np.sqrt(variance), pt, out=factor, where=there)
    factor = DETECTOR.response * np.maximum(1.0 + factor * rng.standard_normal(pt.shape), 0.0)
    jets *= factor
    visible = jets.sum(axis=2) + collisions.soft
    pt *= factor
    factor = np.divide(pt + DETECTOR.offset, pt, out=np.zeros_like(pt), where=pt > 0)
    jets *= factor
    pt *= factor
    lepton = collisions.lepton * np.maximum(
        1.0 + DETECTOR.lepton_resolution * rng.standard_normal(n), 0.01
    )
    sigma = np.sqrt(DETECTOR.missing_constant**2 + DETECTOR.missing_sampling**2 * pt.sum(axis=1))
    missing = -(visible + lepton)[[X, Y]] + sigma * rng.standard_normal((2, n))

    eta = pseudorapidity(jets)
    kept = (pt > DETECTOR.jet_pt) & (np.abs(eta) < DETECTOR.jet_eta)
    lepton_eta = pseudorapidity(lepton)
    near = (
        distance_squared(eta, azimuth(jets), lepton_eta[:, None], azimuth(lepton)[:, None])
        < DETECTOR.isolation**2
    )
    tags = bs & kept & (rng.random(bs.shape) < -np.expm1(-pt / DETECTOR.tag_turn_on))
    selected = (
        (transverse_momentum(lepton) > DETECTOR.lepton_pt)
        & (np.abs(lepton_eta) < DETECTOR.lepton_eta)
        & ~(near & kept).any(axis=1)
        & (kept.sum(axis=1) >= MIN_JETS)
        & (tags.sum(axis=1) >= DETECTOR.min_tags)
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

    In place: ``partons`` of shape (4, n, J) become jets, in no order, then zeros; of ``bs`` (n, J),
    which of them are b quarks, a jet with a b quark is one.
    """
    there = partons[E] > 0
    count = there.sum(axis=1)
    order = np.argsort(~there, axis=1, kind="stable")
    partons[:] = np.take_along_axis(partons, order[None], axis=2)
    bs[:] = np.take_along_axis(bs, order, axis=1)
    eta, phi = pseudorapidity(partons), azimuth(partons)
    # Events with k partons at once: one that merges two of them comes again among those with k - 1.
    for k in range(partons.shape[2], 1, -1):
        rows = np.flatnonzero(count == k)
        first, second = np.triu_indices(k, 1)
        some_eta, some_phi = eta[rows, :k].T.copy(), phi[rows, :k].T.copy()
        squares = distance_squared(
            some_eta[first], some_phi[first], some_eta[second], some_phi[second]
        )
        close = squares.min(axis=0) < distance**2
        rows, nearest = rows[close], squares[:, close].argmin(axis=0)
        i, j = first[nearest], second[nearest]
        partons[:, rows, i] += partons[:, rows, j]
        bs[rows, i] |= bs[rows, j]
        eta[rows, i] = pseudorapidity(partons[:, rows, i])
        phi[rows, i] = azimuth(partons[:, rows, i])
        for array in (partons, bs, eta, phi):
            array[..., rows, j] = array[..., rows, k - 1]
            array[..., rows, k - 1] = 0
        count[rows] -= 1
