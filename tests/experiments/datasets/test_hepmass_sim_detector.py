"""What the detector sees, and what the reconstruction makes of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.datasets.collider import detector, generator
from experiments.datasets.collider.detector import Detector, measure, merge
from experiments.datasets.collider.generator import TOP_MASS, W_MASS, Physics, generate
from experiments.datasets.collider.kinematics import (
    E,
    X,
    Y,
    azimuth,
    distance_squared,
    from_pt_eta_phi,
    mass,
    pseudorapidity,
    transverse_momentum,
)
from experiments.datasets.collider.reconstruction import assign, neutrino, raw_features
from experiments.datasets.collider.simulation import simulate
from experiments.datasets.collisions import FEATURES

QUIET = Physics(isr_mean=0.0, soft_kt=0.0, fsr_probability=0.0)
#: Without smearing, merging or losses: measures the partons as they are.
PERFECT = Detector(
    merging_distance=0.0, response=1.0, offset=0.0, jet_sampling=0.0, jet_constant=0.0,
    jet_noise=0.0, lepton_resolution=0.0, missing_constant=0.0, missing_sampling=0.0,
    lepton_pt=0.0, lepton_eta=np.inf, isolation=0.0, tag_turn_on=1e-9, jet_pt=0.0, jet_eta=np.inf,
)  # fmt: skip
COLUMN = {name: i for i, name in enumerate(FEATURES)}


@pytest.fixture
def quiet(monkeypatch):
    """No radiation: an event is a lepton, a neutrino and four quarks."""
    monkeypatch.setattr(generator, "PHYSICS", QUIET)


@pytest.fixture
def perfect(quiet, monkeypatch):
    monkeypatch.setattr(detector, "DETECTOR", PERFECT)


def collide(resonance=750):
    return generate("signal", resonance, 3000, np.random.default_rng(1))


def look(collisions):
    return measure(collisions, np.random.default_rng(2))


def test_a_perfect_detector_sees_the_partons(perfect):
    collisions = collide()
    seen = look(collisions)
    truth = collisions.partons[:, seen.event, ::2]
    order = np.argsort(-transverse_momentum(truth), axis=1)
    truth = np.take_along_axis(truth, order[None], axis=2)
    np.testing.assert_allclose(seen.jets[:, :, :4], truth)
    np.testing.assert_allclose(seen.lepton, collisions.lepton[:, seen.event])
    np.testing.assert_allclose(seen.missing, collisions.neutrino[[X, Y]][:, seen.event], atol=1e-7)
    assert len(seen.event) == 3000


def test_two_jets_are_tagged_and_both_hold_a_b_quark(quiet, monkeypatch):
    collisions = collide()
    seen = look(collisions)
    assert (seen.tags.sum(axis=1) == 2).all()
    assert not (seen.tags & (seen.jets[E] == 0)).any()
    monkeypatch.setattr(detector, "DETECTOR", PERFECT)
    sharp = look(collisions)
    bs = collisions.partons[:, sharp.event][:, :, [0, 2]]
    energies = np.sort(np.where(sharp.tags, sharp.jets[E], 0.0), axis=1)[:, -2:]
    np.testing.assert_allclose(energies, np.sort(bs[E], axis=1))


def test_merging_keeps_the_total_and_leaves_no_near_pair():
    collisions = collide(1500)
    jets = np.concatenate([collisions.partons, collisions.isr], axis=2)
    before, there = jets.sum(axis=2), (jets[E] > 0).sum(axis=1)
    bs = np.zeros(jets.shape[1:], dtype=bool)
    bs[:, [0, 2]] = True
    merge(jets, bs, 0.54)
    np.testing.assert_allclose(jets.sum(axis=2), before, rtol=1e-9, atol=1e-7)
    present = jets[E] > 0
    count = present.sum(axis=1)
    assert (count <= there).all()
    assert count.mean() < there.mean() - 1
    assert set(np.unique(bs.sum(axis=1))) == {1, 2}
    assert not (bs & ~present).any()
    i, j = np.triu_indices(jets.shape[2], 1)
    eta, phi = pseudorapidity(jets), azimuth(jets)
    squares = distance_squared(eta[:, i], phi[:, i], eta[:, j], phi[:, j])
    assert squares[present[:, i] & present[:, j]].min() >= 0.54**2


@given(st.integers(0, 500))
def test_the_neutrino_gives_the_w_its_mass_where_a_solution_is_real(seed):
    rng = np.random.default_rng(seed)
    lepton = from_pt_eta_phi(
        rng.uniform(15, 200, 20), rng.uniform(-2.5, 2.5, 20), rng.uniform(-3, 3, 20)
    )
    missing = rng.normal(0, 60, (2, 20))
    w = mass(lepton + neutrino(lepton, missing))
    # With too much transverse mass no solution is real.
    pt, missed = transverse_momentum(lepton), np.hypot(*missing)
    product = lepton[X] * missing[0] + lepton[Y] * missing[1]
    real = 2 * (pt * missed - product) <= W_MASS**2
    np.testing.assert_allclose(w[real], W_MASS, rtol=1e-6)
    assert (w[~real] > W_MASS).all()


def test_without_smearing_w_and_top_are_found(perfect):
    c = collide()
    seen = look(c)
    hadronic_w, hadronic_b, leptonic_b = assign(seen)
    right = np.isclose(mass(hadronic_w), mass(c.ws[1]), rtol=1e-6)
    assert right.mean() > 0.8
    top = mass(hadronic_w + hadronic_b)
    assert np.median(top) == pytest.approx(TOP_MASS, abs=1)
    right_b = np.isclose(hadronic_b[E], c.partons[E][:, 2])
    assert (np.abs(top - TOP_MASS) < 10).mean() > 0.95
    both = right & right_b
    np.testing.assert_allclose(leptonic_b[:, both], c.partons[:, both, 0], rtol=1e-9)


def test_columns_are_those_of_hepmass_in_its_order():
    seen = look(collide())
    rows = raw_features(seen)
    assert rows.shape == (len(seen.event), len(FEATURES))
    assert np.isfinite(rows).all()
    for name, values in (
        ("lepton_pt", transverse_momentum(seen.lepton)),
        ("lepton_eta", pseudorapidity(seen.lepton)),
        ("missing_energy_magnitude", np.hypot(*seen.missing)),
        ("n_jets", seen.n_jets),
        ("jet_3_pt", transverse_momentum(seen.jets[:, :, 2])),
        ("jet_2_phi", azimuth(seen.jets[:, :, 1])),
        ("jet_4_b_tag", seen.tags[:, 3]),
        ("m_wwbb", mass(seen.lepton + neutrino(seen.lepton, seen.missing)
                        + seen.jets[:, :, :4].sum(axis=2))),
    ):  # fmt: skip
        np.testing.assert_allclose(rows[:, COLUMN[name]], values)


def test_a_longer_simulation_begins_with_the_shorter():
    short = simulate("signal", 500, 100, np.random.default_rng(0))
    long = simulate("signal", 500, 5000, np.random.default_rng(0))
    np.testing.assert_array_equal(short, long[:100])
