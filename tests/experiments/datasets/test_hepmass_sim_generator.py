"""Collisions obey the conservation laws and look like top pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.datasets.collider.generator import TOP_MASS, W_MASS, Physics, generate
from experiments.datasets.collider.kinematics import (
    E,
    X,
    Y,
    Z,
    boost,
    boost_to_rest,
    decay,
    from_transverse,
    mass,
    momentum,
)
from experiments.datasets.collisions import MASSES

of_both_kinds = pytest.mark.parametrize("kind", ["signal", "background"])
N = 5000


def collide(kind, resonance=1000, seed=0, n=N):
    return generate(kind, resonance, n, np.random.default_rng(seed))


def moving(seed, m=100.0, n=50):
    rng = np.random.default_rng(seed)
    px, py = 100 * rng.standard_normal((2, n))
    return from_transverse(px, py, rng.standard_normal(n), np.full(n, m))


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_a_boost_keeps_masses_and_can_be_undone(seed, other):
    p, frame = moving(seed, 5.0), moving(other)
    boosted = boost(p, frame)
    np.testing.assert_allclose(mass(boosted), 5.0, rtol=1e-5)
    np.testing.assert_allclose(boost_to_rest(boosted, frame), p, rtol=1e-6, atol=1e-6)


@given(st.integers(0, 1000), st.floats(0, 40), st.floats(0, 40))
def test_a_decay_conserves_momentum_and_gives_the_products_masses(seed, m_1, m_2):
    parent = moving(seed)
    rng = np.random.default_rng(seed)
    cos, phi = rng.uniform(-1, 1, 50), rng.uniform(-np.pi, np.pi, 50)
    for axis in (None, parent):
        first, second = decay(parent, m_1, m_2, cos, phi, axis)
        np.testing.assert_allclose(first + second, parent, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(mass(first) ** 2, m_1**2, atol=1e-6)
        np.testing.assert_allclose(mass(second) ** 2, m_2**2, atol=1e-6)


@of_both_kinds
def test_every_decay_conserves_four_momentum(kind):
    c = collide(kind)
    radiated = c.partons.reshape(4, N, 4, 2).sum(axis=3)
    for parent, products in (
        (c.pair, c.tops[0] + c.tops[1]),
        *((c.tops[i], c.ws[i] + c.bs[i]) for i in (0, 1)),
        (c.ws[0], c.lepton + c.neutrino),
        (c.ws[1], c.quarks[0] + c.quarks[1]),
        *((c.bs[i], radiated[:, :, i]) for i in (0, 1)),
        *((c.quarks[i], radiated[:, :, 2 + i]) for i in (0, 1)),
    ):
        np.testing.assert_allclose(parent, products, atol=1e-7)


@of_both_kinds
def test_an_event_has_no_transverse_momentum_nor_tachyons_and_the_beams_suffice(kind):
    c = collide(kind, 1500)
    total = c.lepton + c.neutrino + c.soft + c.partons.sum(axis=2) + c.isr.sum(axis=2)
    np.testing.assert_allclose(total[[X, Y]], 0.0, atol=1e-7)
    shares = np.stack([total[E] + total[Z], total[E] - total[Z]]) / Physics().collision_energy
    assert shares.min() > 0
    assert shares.max() < 1
    final = np.concatenate([c.partons, c.isr, c.lepton[..., None], c.neutrino[..., None]], axis=2)
    assert final[E].min() >= 0
    assert (final[E] - momentum(final)).min() > -1e-6


@of_both_kinds
def test_tops_and_ws_have_their_masses(kind):
    c = collide(kind)
    for top in c.tops:
        assert np.median(mass(top)) == pytest.approx(TOP_MASS, abs=0.2)
        assert np.ptp(mass(top)) < 15
    for w in c.ws:
        assert np.median(mass(w)) == pytest.approx(W_MASS, abs=0.3)
        assert np.ptp(mass(w)) < 22


@pytest.mark.parametrize("resonance", MASSES)
def test_the_resonance_peaks_at_its_mass(resonance):
    m = mass(collide("signal", resonance).pair)
    assert np.median(m) == pytest.approx(resonance, rel=0.002)
    # Half of a Breit-Wigner curve is within half a width of the peak.
    width = Physics().relative_width * resonance
    assert np.mean(np.abs(m - resonance) < width / 2) == pytest.approx(0.53, abs=0.04)


@pytest.mark.parametrize("resonance", [500, 1500])
def test_leptons_have_the_helicity_angles_of_w_bosons_from_top_quarks(resonance):
    """About the W's flight in the rest frame of its top, reached by way of that frame."""
    n = 40_000
    found = collide("signal", resonance, n=n)
    w, lepton = (boost_to_rest(p, found.tops[0]) for p in (found.ws[0], found.lepton))
    in_w = boost_to_rest(lepton, w)
    cos = (in_w[X] * w[X] + in_w[Y] * w[Y] + in_w[Z] * w[Z]) / (momentum(in_w) * momentum(w))
    # Longitudinal, 3/4 (1 - c^2): moments 0 and 1/5. Left-handed, 3/8 (1 - c)^2: -1/2 and 2/5.
    share = Physics().longitudinal
    error = 4 / np.sqrt(n)
    assert cos.mean() == pytest.approx(-0.5 * (1 - share), abs=0.51 * error)
    assert (cos**2).mean() == pytest.approx(0.2 * share + 0.4 * (1 - share), abs=0.27 * error)
