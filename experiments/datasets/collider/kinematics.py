"""Relativistic kinematics of many particles at once; energies, momenta and masses in GeV, c = 1.

A four-momentum is an array of shape (4, ...): energy, then momentum along x, y and the beam z. The
trailing axes count events (and particles) and broadcast.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Indices of the components.
E, X, Y, Z = range(4)


def from_pt_eta_phi(pt: FloatArray, eta: FloatArray, phi: FloatArray) -> FloatArray:
    """Four-momentum of massless particles from transverse momentum, pseudorapidity and azimuth."""
    return np.stack([pt * np.cosh(eta), pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta)])


def from_transverse(px: FloatArray, py: FloatArray, y: FloatArray, m: FloatArray) -> FloatArray:
    """Four-momentum from transverse momentum, rapidity and mass."""
    transverse_mass = np.sqrt(m * m + px * px + py * py)
    return np.stack([transverse_mass * np.cosh(y), px, py, transverse_mass * np.sinh(y)])


def transverse_momentum(p: FloatArray) -> FloatArray:
    """Momentum across the beam."""
    return np.sqrt(p[X] * p[X] + p[Y] * p[Y])


def momentum(p: FloatArray) -> FloatArray:
    """Magnitude of the three-momentum."""
    return np.sqrt(p[X] * p[X] + p[Y] * p[Y] + p[Z] * p[Z])


def mass(p: FloatArray) -> FloatArray:
    """Invariant mass, sqrt(E^2 - |p|^2); rounding below zero counts as zero."""
    square = p[E] * p[E] - p[X] * p[X] - p[Y] * p[Y] - p[Z] * p[Z]
    return np.sqrt(np.maximum(square, 0.0))


def pseudorapidity(p: FloatArray) -> FloatArray:
    """-ln tan(theta / 2) = arsinh(p_z / p_t); 0 for a particle without transverse momentum."""
    pt = transverse_momentum(p)
    return np.arcsinh(np.divide(p[Z], pt, out=np.zeros_like(pt), where=pt > 0))


def azimuth(p: FloatArray) -> FloatArray:
    """Angle about the beam in (-pi, pi]."""
    return np.arctan2(p[Y], p[X])


def distance_squared(
    eta_1: FloatArray, phi_1: FloatArray, eta_2: FloatArray, phi_2: FloatArray
) -> FloatArray:
    """Square of the angular distance, (delta eta)^2 + (delta phi)^2, azimuths within a turn."""
    d_eta = eta_1 - eta_2
    d_phi = np.abs(phi_1 - phi_2)
    d_phi = np.minimum(d_phi, 2 * np.pi - d_phi)
    return d_eta * d_eta + d_phi * d_phi


def boost(p: FloatArray, frame: FloatArray) -> FloatArray:
    """Bring momenta from the rest frame of a massive particle into the frame where that moves.

    With the particle's energy e, momentum q and mass m:
    E' = (e E + q.p) / m and p' = p + q ((q.p) / (m (e + m)) + E / m).
    """
    m = mass(frame)
    scalar = frame[X] * p[X] + frame[Y] * p[Y] + frame[Z] * p[Z]
    along = (scalar / (frame[E] + m) + p[E]) / m
    return np.stack(
        [
            (frame[E] * p[E] + scalar) / m,
            p[X] + along * frame[X],
            p[Y] + along * frame[Y],
            p[Z] + along * frame[Z],
        ]
    )


def boost_to_rest(p: FloatArray, frame: FloatArray) -> FloatArray:
    """Undo :func:`boost`: bring momenta into the rest frame of a massive particle."""
    return boost(p, np.stack([frame[E], -frame[X], -frame[Y], -frame[Z]]))


def decay(
    parent: FloatArray,
    m_1: FloatArray | float,
    m_2: FloatArray | float,
    cos_theta: FloatArray,
    phi: FloatArray,
    axis: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Two-body decay into products of masses m_1 and m_2, which add up to the parent.

    The angles are the first product's in the parent's rest frame, about the directions of ``axis``,
    by default the beam. Both products have the momentum
    p = sqrt((m^2 - (m_1 + m_2)^2) (m^2 - (m_1 - m_2)^2)) / 2m there.
    """
    m = mass(parent)
    square = (m * m - (m_1 + m_2) ** 2) * (m * m - (m_1 - m_2) ** 2)
    p = np.sqrt(np.maximum(square, 0.0)) / (2 * m)
    transverse = p * np.sqrt(np.maximum(1.0 - cos_theta * cos_theta, 0.0))
    x, y, z = transverse * np.cos(phi), transverse * np.sin(phi), p * cos_theta
    if axis is not None:
        x, y, z = _turn(x, y, z, axis)
    rest = np.stack([np.sqrt(p * p + np.square(m_1)), x, y, z])
    first = boost(rest, parent)
    return first, parent - first


def _turn(
    x: FloatArray, y: FloatArray, z: FloatArray, axis: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Turn vectors so that what pointed along z points along the axis."""
    length, pt = momentum(axis), transverse_momentum(axis)
    cos_polar, sin_polar = axis[Z] / length, pt / length
    cos_turn, sin_turn = axis[X] / pt, axis[Y] / pt
    tilted = cos_polar * x + sin_polar * z
    return (
        cos_turn * tilted - sin_turn * y,
        sin_turn * tilted + cos_turn * y,
        cos_polar * z - sin_polar * x,
    )
