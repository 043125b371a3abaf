"""Collisions: a pair of top quarks from a resonance or from the Standard Model, down to partons.

Every collision is p p -> t tbar + radiation; both tops decay as t -> W b, one W to a charged lepton
and its neutrino, the other to two quarks. Four-momentum is conserved in every step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from experiments.datasets.collider.kinematics import (
    E,
    FloatArray,
    X,
    Y,
    Z,
    boost_to_rest,
    decay,
    from_pt_eta_phi,
    from_transverse,
    mass,
)

Kind = Literal["signal", "background"]
Pair = tuple[FloatArray, FloatArray]

#: Masses and widths in GeV (Particle Data Group, rounded).
TOP_MASS, TOP_WIDTH = 172.5, 1.4
W_MASS, W_WIDTH = 80.4, 2.1
B_MASS = 4.7

# Breit-Wigner curves are cut this many widths from their peak.
_WIDTHS = 5.0


@dataclass(frozen=True)
class Physics:
    """Constants of the collisions. docs/hepmass_sim.md says what each was fitted to."""

    #: Of the two beams together, GeV.
    collision_energy: float = 8000.0
    #: Width of the resonance over its mass.
    relative_width: float = 0.013
    #: Exponent of the background's mass spectrum, see :func:`background_masses`.
    slope: float = 6.5
    #: Standard deviation of the pair's rapidity at a mass of 500 GeV.
    rapidity_width: float = 1.0
    #: Mean number of jets from initial-state radiation in the signal, and the background's factor.
    isr_mean: float = 1.4
    isr_background: float = 0.7
    #: Their transverse momentum falls as pt^-isr_slope above isr_pt_min (GeV).
    isr_pt_min: float = 24.0
    isr_slope: float = 1.75
    #: Standard deviation of their pseudorapidity.
    isr_eta_width: float = 2.0
    #: Standard deviation (GeV) of each transverse component of the soft radiation together.
    soft_kt: float = 17.0
    #: Share of longitudinal W bosons in top decays; the others are left-handed.
    longitudinal: float = 0.69
    #: Probability that a quark radiates a gluon.
    fsr_probability: float = 0.4
    #: Smallest virtuality (GeV) of a radiating quark.
    fsr_scale: float = 8.0
    #: Smallest share of a radiating quark's energy that the gluon takes.
    fsr_soft: float = 0.1


PHYSICS = Physics()

#: The largest number of jets of initial-state radiation.
MAX_ISR = 4


class Collisions(NamedTuple):
    """What happened in n collisions: four-momenta of shape (4, n) in GeV.

    ``pair`` is the two tops together, in the signal the resonance. Of ``tops``, ``ws`` and ``bs``
    the first is leptonic and the second hadronic, by what its W decays to; ``quarks`` are those of
    the hadronic W. Quarks are as before they radiate: one that will is off its mass shell.
    ``partons``, of shape (4, n, 8), holds quark and radiated gluon of both bs and both quarks, and
    ``isr``, of shape (4, n, MAX_ISR), initial-state radiation; what is absent is zero. ``soft`` is
    the sum of the soft radiation.
    """

    pair: FloatArray
    tops: Pair
    ws: Pair
    bs: Pair
    quarks: Pair
    lepton: FloatArray
    neutrino: FloatArray
    partons: FloatArray
    isr: FloatArray
    soft: FloatArray


def generate(kind: Kind, resonance_mass: float, n: int, rng: np.random.Generator) -> Collisions:
    """Generate n collisions; the background ignores the resonance's mass (GeV)."""
    if kind == "signal":
        width = PHYSICS.relative_width * resonance_mass
        pair_mass = _breit_wigner(resonance_mass, width, n, rng)
        cos_theta = rng.uniform(-1.0, 1.0, n)
        isr_factor = 1.0
    else:
        pair_mass = background_masses(n, rng)
        cos_theta = _forward_angles(pair_mass, rng)
        isr_factor = PHYSICS.isr_background
    pair, isr, soft = _produce(pair_mass, isr_factor, rng)
    top_masses = _breit_wigner(TOP_MASS, TOP_WIDTH, (2, n), rng)
    tops = decay(pair, top_masses[0], top_masses[1], cos_theta, _turns(n, rng))
    (w_1, b_1), (w_2, b_2) = (_decay_top(top, rng) for top in tops)
    ws, bs = (w_1, w_2), (b_1, b_2)
    lepton, neutrino = _decay_w(ws[0], bs[0], 0.0, 0.0, rng)
    first = _virtualities(0.95 * mass(ws[1]), 0.0, rng)
    second = _virtualities(0.9 * (mass(ws[1]) - first), 0.0, rng)
    quarks = _decay_w(ws[1], bs[1], first, second, rng)
    radiated = [
        parton
        for quark, at_rest in ((bs[0], B_MASS), (bs[1], B_MASS), (quarks[0], 0.0), (quarks[1], 0.0))
        for parton in _radiate(quark, at_rest, rng)
    ]
    partons = np.stack(radiated, axis=2)
    return Collisions(pair, tops, ws, bs, quarks, lepton, neutrino, partons, isr, soft)


def background_masses(n: int, rng: np.random.Generator) -> FloatArray:
    """Masses of the Standard Model's pairs: dN/dm proportional to v (m / m_0)^-slope.

    m_0 is the threshold, 359 GeV, twice the greatest mass that a top can be drawn with, and
    v = sqrt(1 - (m_0 / m)^2) the phase space that opens there. Drawn by inverting the tabulated
    distribution function.
    """
    threshold = 2 * (TOP_MASS + _WIDTHS * TOP_WIDTH)
    grid = np.geomspace(threshold, PHYSICS.collision_energy / 2, 2001)
    velocity = np.sqrt(1.0 - (threshold / grid) ** 2)
    density = velocity * (grid / threshold) ** -PHYSICS.slope
    steps = 0.5 * (density[1:] + density[:-1]) * np.diff(grid)
    cumulative = np.concatenate([[0.0], np.cumsum(steps)])
    return np.interp(rng.random(n) * cumulative[-1], cumulative, grid)


def _breit_wigner(
    peak: float, width: float, shape: int | tuple[int, ...], rng: np.random.Generator
) -> FloatArray:
    bound = np.arctan(2 * _WIDTHS)
    return peak + 0.5 * width * np.tan(rng.uniform(-bound, bound, shape))


def _turns(n: int, rng: np.random.Generator) -> FloatArray:
    return rng.uniform(-np.pi, np.pi, n)


def _forward_angles(pair_mass: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Cosines c of the top's polar angle with density 1 / (1 - v^2 c^2), v the top's velocity.

    The propagators of t- and u-channel exchange in g g -> t tbar.
    """
    v = np.sqrt(1.0 - (2 * TOP_MASS / pair_mass) ** 2)
    return np.tanh(rng.uniform(-1.0, 1.0, len(v)) * np.arctanh(v)) / v


def _decay_w(
    w: FloatArray,
    b: FloatArray,
    m_1: FloatArray | float,
    m_2: FloatArray | float,
    rng: np.random.Generator,
) -> Pair:
    """Decay a W about its flight in its top's rest frame, as the W's own rest frame sees it.

    There the top, and with it the b, comes from the opposite side.
    """
    seen, n = boost_to_rest(b, w), w.shape[1]
    flight = np.stack([seen[E], -seen[X], -seen[Y], -seen[Z]])
    return decay(w, m_1, m_2, _helicity_angles(n, rng), _turns(n, rng), flight)


def _helicity_angles(n: int, rng: np.random.Generator) -> FloatArray:
    """Cos theta of the lepton (or down quark) about the W's flight in its top's rest frame.

    Longitudinal W: 3/4 (1 - c^2), the density of the median of three uniform numbers; left-handed
    W: 3/8 (1 - c)^2.
    """
    u = rng.uniform(-1.0, 1.0, (3, n))
    median = np.maximum(np.minimum(u[0], u[1]), np.minimum(np.maximum(u[0], u[1]), u[2]))
    left = 1.0 - 2.0 * np.cbrt(0.5 * (u[0] + 1.0))
    return np.where(rng.random(n) < PHYSICS.longitudinal, median, left)


def _produce(
    pair_mass: FloatArray, isr_factor: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The pair, the initial-state radiation it recoils against, and the soft radiation.

    Radiation that the beams have no energy for is not emitted: E + |p_z| of all stays below the
    energy of the collision, so that each beam gives less than its own.
    """
    n = len(pair_mass)
    energy = PHYSICS.collision_energy
    limit = 0.95 * np.log(energy / pair_mass)
    sigma = PHYSICS.rapidity_width * np.log(energy / pair_mass) / np.log(energy / 500.0)
    rapidity = sigma * ndtri(rng.uniform(ndtr(-limit / sigma), ndtr(limit / sigma)))
    count = rng.poisson(isr_factor * PHYSICS.isr_mean, n)
    # Inverse of the distribution function of a power law between two bounds.
    power = 1.0 - PHYSICS.isr_slope
    low, high = PHYSICS.isr_pt_min**power, (0.5 * pair_mass) ** power
    u = rng.random((n, MAX_ISR))
    pt = (low + u * (high[:, None] - low)) ** (1.0 / power)
    pt *= np.arange(MAX_ISR) < count[:, None]
    eta = PHYSICS.isr_eta_width * rng.standard_normal((n, MAX_ISR))
    phi = rng.uniform(-np.pi, np.pi, (n, MAX_ISR))
    soft_x, soft_y = PHYSICS.soft_kt * rng.standard_normal((2, n))
    soft = from_transverse(soft_x, soft_y, rapidity, np.zeros(n))
    recoil = np.hypot(soft_x, soft_y)[:, None] * 2 + np.cumsum(pt, axis=1)
    for sign in (1.0, -1.0):
        used = (pair_mass[:, None] + recoil) * np.exp(sign * rapidity)[:, None]
        pt *= used + np.cumsum(pt * np.exp(sign * eta), axis=1) < energy
    isr = from_pt_eta_phi(pt, eta, phi)
    recoil_x, recoil_y = -soft_x - isr[X].sum(axis=1), -soft_y - isr[Y].sum(axis=1)
    return from_transverse(recoil_x, recoil_y, rapidity, pair_mass), isr, soft


def _decay_top(top: FloatArray, rng: np.random.Generator) -> Pair:
    n: int = top.shape[1]
    w_mass = _breit_wigner(W_MASS, W_WIDTH, n, rng)
    b_mass = _virtualities(0.95 * (mass(top) - w_mass), B_MASS, rng)
    return decay(top, w_mass, b_mass, rng.uniform(-1.0, 1.0, n), _turns(n, rng))


def _virtualities(highest: FloatArray, at_rest: float, rng: np.random.Generator) -> FloatArray:
    """Masses of quarks: their own, or in those that will radiate dQ/Q above ``fsr_scale``."""
    highest = np.maximum(highest, PHYSICS.fsr_scale)
    radiating = rng.random(len(highest)) < PHYSICS.fsr_probability
    virtuality = PHYSICS.fsr_scale * (highest / PHYSICS.fsr_scale) ** rng.random(len(highest))
    # A quark whose parent has no mass to spare does not radiate.
    radiating &= highest > PHYSICS.fsr_scale
    return np.where(radiating, virtuality, at_rest)


def _radiate(quark: FloatArray, at_rest: float, rng: np.random.Generator) -> Pair:
    """Split quarks off their mass shell into quark and gluon; the gluon's share falls as 1/z."""
    n = quark.shape[1]
    share = PHYSICS.fsr_soft ** rng.random(n)
    phi = _turns(n, rng)
    off_shell: NDArray[np.bool_] = mass(quark) > at_rest + 1.0
    gluon = np.zeros_like(quark)
    parent = quark[:, off_shell]
    # In the massless limit the share is (1 + cos theta) / 2 of the gluon in the parent's frame.
    gluon[:, off_shell] = decay(
        parent, 0.0, at_rest, 2.0 * share[off_shell] - 1.0, phi[off_shell], parent
    )[0]
    return quark - gluon, gluon
