"""What the detector sees, and what the reconstruction makes of it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.datasets.collider.detector import DETECTOR, Detector, Measured, measure, merge
from experiments.datasets.collider.generator import (
    PHYSICS,
    TOP_MASS,
    W_MASS,
    Collisions,
    Physics,
    generate,
)
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
from experiments.datasets.collider.reconstruction import (
    assign,
    neutrino,
    neutrino_pz,
    raw_features,
)
from experiments.datasets.collider.simulation import simulate
from experiments.datasets.collisions import FEATURES

QUIET = Physics(isr_mean=0.0, soft_kt=0.0, fsr_probability=0.0)
#: Without smearing, merging or losses: measures the partons as they are.
PERFECT = Detector(
    merging_distance=0.0,
    response=1.0,
    offset=0.0,
    jet_sampling=0.0,
    jet_constant=0.0,
    jet_noise=0.0,
    lepton_resolution=0.0,
    missing_constant=0.0,
    missing_sampling=0.0,
    lepton_pt=0.0,
    lepton_eta=np.inf,
    isolation=0.0,
    tag_turn_on=1e-9,
    jet_pt=0.0,
    jet_eta=np.inf,
)
COLUMN = {name: i for i, name in enumerate(FEATURES)}


def collide(resonance: float = 750, physics: Physics = PHYSICS, n: int = 3000) -> Collisions:
    return generate("signal", resonance, n, np.random.default_rng(1), physics)


def look(collisions: Collisions, detector: Detector = DETECTOR) -> Measured:
    return measure(collisions, np.random.default_rng(2), detector)


class TestDetector:
    def test_a_perfect_detector_sees_the_partons(self) -> None:
        collisions = collide(physics=QUIET)
        seen = look(collisions, PERFECT)
        truth = collisions.partons[:, seen.event, ::2]
        order = np.argsort(-transverse_momentum(truth), axis=1)
        truth = np.take_along_axis(truth, order[None], axis=2)
        np.testing.assert_allclose(seen.jets[:, :, :4], truth)
        np.testing.assert_allclose(seen.lepton, collisions.lepton[:, seen.event])
        np.testing.assert_allclose(
            seen.missing, collisions.neutrino[[X, Y]][:, seen.event], atol=1e-7
        )
        assert len(seen.event) == len(collisions)

    def test_jets_fall_in_pt_pass_the_cuts_and_are_followed_by_zeros(self) -> None:
        seen, detector = look(collide()), Detector()
        pt = transverse_momentum(seen.jets)
        assert (np.diff(pt, axis=1) <= 0).all()
        there = pt > 0
        np.testing.assert_array_equal(there.sum(axis=1), seen.n_jets)
        assert seen.n_jets.min() >= 4
        assert pt[there].min() > detector.jet_pt
        assert np.abs(pseudorapidity(seen.jets)[there]).max() < detector.jet_eta
        assert transverse_momentum(seen.lepton).min() > detector.lepton_pt

    def test_the_lepton_is_isolated(self) -> None:
        seen = look(collide(1500))
        squares = distance_squared(
            pseudorapidity(seen.jets), azimuth(seen.jets),
            pseudorapidity(seen.lepton)[:, None], azimuth(seen.lepton)[:, None],
        )  # fmt: skip
        there = seen.jets[E] > 0
        assert squares[there].min() >= Detector().isolation ** 2

    def test_two_jets_are_tagged_and_both_hold_a_b_quark(self) -> None:
        collisions = collide(physics=QUIET)
        seen = look(collisions)
        assert (seen.tags.sum(axis=1) == 2).all()
        assert not (seen.tags & (seen.jets[E] == 0)).any()
        sharp = look(collisions, PERFECT)
        bs = collisions.partons[:, sharp.event][:, :, [0, 2]]
        energies = np.sort(np.where(sharp.tags, sharp.jets[E], 0.0), axis=1)[:, -2:]
        np.testing.assert_allclose(energies, np.sort(bs[E], axis=1))

    def test_missing_momentum_follows_the_neutrino(self) -> None:
        collisions = collide()
        seen = look(collisions)
        truth = collisions.neutrino[[X, Y]][:, seen.event]
        assert np.corrcoef(seen.missing[0], truth[0])[0, 1] > 0.85
        # The direction is unbiased.
        assert (seen.missing - truth).mean() == pytest.approx(0, abs=2)

    def test_merging_keeps_the_total_and_leaves_no_near_pair(self) -> None:
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

    def test_the_nearest_pair_merges_first(self) -> None:
        # Three on a line: the middle one goes to the nearer neighbour, and the sum to no one.
        eta, phi = np.array([[0.0, 0.5, 0.9]]), np.zeros((1, 3))
        jets = from_pt_eta_phi(np.array([[10.0, 20.0, 200.0]]), eta, phi)
        bs = np.array([[True, False, False]])
        merge(jets, bs, 0.54)
        np.testing.assert_allclose(np.sort(transverse_momentum(jets)), [[0, 10, 220]], atol=1e-9)
        assert transverse_momentum(jets)[bs] == pytest.approx(10)


class TestReconstruction:
    @settings(deadline=None)
    @given(st.integers(0, 500))
    def test_the_neutrino_gives_the_w_its_mass_where_a_solution_is_real(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        lepton = from_pt_eta_phi(
            rng.uniform(15, 200, 20), rng.uniform(-2.5, 2.5, 20), rng.uniform(-3, 3, 20)
        )
        missing = rng.normal(0, 60, (2, 20))
        _, real = neutrino_pz(lepton, missing)
        w = mass(lepton + neutrino(lepton, missing))
        np.testing.assert_allclose(w[real], W_MASS, rtol=1e-6)
        assert (w[~real] > W_MASS).all()

    def test_one_solution_is_the_true_neutrino_and_the_smaller_is_taken(self) -> None:
        # A W on its mass shell: the constraint holds exactly for the truth.
        c = collide(physics=QUIET)
        lepton, missing, truth = c.lepton, c.neutrino[[X, Y]], c.neutrino[3]
        pz = np.array(
            [
                neutrino_pz(lepton[:, [i]], missing[:, [i]], m)[0][0]
                for i, m in enumerate(mass(c.ws[0][:, :300]))
            ]
        )
        truth = truth[:300]
        exact = np.isclose(pz, truth, rtol=1e-4, atol=1e-3)
        assert exact.mean() > 0.5
        assert (np.abs(pz[~exact]) < np.abs(truth[~exact])).all()

    def test_without_smearing_w_and_top_are_found(self) -> None:
        c = collide(physics=QUIET)
        seen = look(c, PERFECT)
        hadronic_w, hadronic_b, leptonic_b = assign(seen)
        right = np.isclose(mass(hadronic_w), mass(c.ws[1]), rtol=1e-6)
        assert right.mean() > 0.8
        top = mass(hadronic_w + hadronic_b)
        assert np.median(top) == pytest.approx(TOP_MASS, abs=1)
        right_b = np.isclose(hadronic_b[E], c.partons[E][:, 2])
        assert (np.abs(top - TOP_MASS) < 10).mean() > 0.95
        both = right & right_b
        np.testing.assert_allclose(leptonic_b[:, both], c.partons[:, both, 0], rtol=1e-9)

    def test_without_smearing_the_resonance_is_found(self) -> None:
        for resonance in (500, 1000):
            rows = raw_features(look(collide(resonance, QUIET), PERFECT))
            assert np.median(rows[:, COLUMN["m_wwbb"]]) == pytest.approx(resonance, rel=0.02)

    def test_with_smearing_w_and_top_are_still_seen(self) -> None:
        rows = simulate("signal", 750, 3000, np.random.default_rng(0))
        assert np.median(rows[:, COLUMN["m_jj"]]) == pytest.approx(W_MASS, rel=0.1)
        assert np.median(rows[:, COLUMN["m_jjj"]]) == pytest.approx(TOP_MASS, rel=0.06)

    def test_the_three_jets_of_the_top_and_the_leptonic_b_are_four_different_ones(self) -> None:
        seen = look(collide())
        hadronic_w, hadronic_b, leptonic_b = assign(seen)
        used = hadronic_w[E] + hadronic_b[E] + leptonic_b[E]
        assert (used <= seen.jets[E].sum(axis=1) * (1 + 1e-9)).all()
        four = seen.n_jets == 4
        np.testing.assert_allclose(used[four], seen.jets[E].sum(axis=1)[four])

    def test_without_any_tag_the_leading_jet_of_the_triple_is_its_b(self) -> None:
        seen = look(collide(physics=QUIET), PERFECT)
        untagged = replace(seen, tags=np.zeros_like(seen.tags))
        hadronic_w, hadronic_b, _ = assign(untagged)
        assert (transverse_momentum(hadronic_b) * 2 >= transverse_momentum(hadronic_w)).all()


class TestFeatures:
    def test_columns_are_those_of_hepmass_in_its_order(self) -> None:
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

    def test_jets_are_ordered_tags_are_flags_and_masses_nest(self) -> None:
        rows = simulate("background", 500, 5000, np.random.default_rng(0))
        pts = rows[:, [COLUMN[f"jet_{i}_pt"] for i in range(1, 5)]]
        assert (np.diff(pts, axis=1) <= 0).all()
        tags = rows[:, [COLUMN[f"jet_{i}_b_tag"] for i in range(1, 5)]]
        assert set(np.unique(tags)) == {0.0, 1.0}
        assert 0.8 < (tags.sum(axis=1) == 2).mean() < 0.9
        assert (rows[:, COLUMN["m_jjj"]] > rows[:, COLUMN["m_jj"]]).all()
        assert (rows[:, COLUMN["m_jlv"]] > rows[:, COLUMN["m_lv"]]).all()
        assert (rows[:, COLUMN["m_lv"]] > W_MASS - 1e-3).all()

    def test_a_longer_simulation_begins_with_the_shorter(self) -> None:
        short = simulate("signal", 500, 100, np.random.default_rng(0))
        long = simulate("signal", 500, 5000, np.random.default_rng(0))
        np.testing.assert_array_equal(short, long[:100])

    def test_a_detector_that_selects_nothing_is_an_error(self) -> None:
        blind = Detector(lepton_pt=1e6)
        with pytest.raises(RuntimeError, match="loosen the detector"):
            simulate("signal", 500, 10, np.random.default_rng(0), detector=blind)
