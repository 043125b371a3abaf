"""From GeV to HEPMASS's units: logarithm of positive quantities, then standardised.

The means and standard deviations are those of a reference sample, mixed as HEPMASS is: half
background, a tenth each of the five masses. ``python scripts/check_hepmass_sim.py normalisation``
prints them.
"""

from __future__ import annotations

import numpy as np

from experiments.datasets.collider.kinematics import FloatArray
from experiments.datasets.collider.simulation import simulate
from experiments.datasets.collisions import FEATURES, MASSES
from experiments.seeds import derive_seed

#: Columns whose logarithm is taken: transverse momenta, missing energy, masses, number of jets.
LOGARITHMIC = np.array([not name.endswith(("_eta", "_phi", "_b_tag")) for name in FEATURES])

#: Rows of the reference sample.
REFERENCE_ROWS = 100_000

#: Normalised rows are rounded to so many decimals: processors differ in the last digits.
DECIMALS = 5

# CONSTANTS BEGIN
#: Mean and standard deviation of each column, in the order of the features.
REFERENCE = {
    "lepton_pt": (4.0868, 0.7322),
    "lepton_eta": (0.0061, 1.0316),
    "lepton_phi": (0.0005, 1.8131),
    "missing_energy_magnitude": (4.3069, 0.8298),
    "missing_energy_phi": (-0.0035, 1.8166),
    "n_jets": (1.5850, 0.1900),
    "jet_1_pt": (5.1557, 0.6861),
    "jet_1_eta": (0.0087, 1.0719),
    "jet_1_phi": (0.0042, 1.8120),
    "jet_1_b_tag": (0.5826, 0.4931),
    "jet_2_pt": (4.7008, 0.6193),
    "jet_2_eta": (0.0001, 1.1288),
    "jet_2_phi": (-0.0006, 1.8144),
    "jet_2_b_tag": (0.5597, 0.4964),
    "jet_3_pt": (4.2314, 0.5291),
    "jet_3_eta": (-0.0011, 1.2103),
    "jet_3_phi": (0.0084, 1.8131),
    "jet_3_b_tag": (0.3914, 0.4881),
    "jet_4_pt": (3.7916, 0.4675),
    "jet_4_eta": (0.0086, 1.2746),
    "jet_4_phi": (-0.0003, 1.8156),
    "jet_4_b_tag": (0.2784, 0.4482),
    "m_jj": (4.4382, 0.5295),
    "m_jjj": (5.3284, 0.3792),
    "m_lv": (4.4357, 0.1407),
    "m_jlv": (5.5474, 0.6434),
    "m_wwbb": (6.6827, 0.5624),
}
# CONSTANTS END


def transform(raw: FloatArray) -> FloatArray:
    """Take logarithms of the positive columns.

    Parameters
    ----------
    raw : ndarray of shape (n, 27)
        As :func:`experiments.datasets.collider.simulation.simulate` returns them.

    Returns
    -------
    X : ndarray of shape (n, 27)
    """
    X = raw.copy()
    X[:, LOGARITHMIC] = np.log(raw[:, LOGARITHMIC])
    return X


def normalise(raw: FloatArray) -> FloatArray:
    """Logarithms, then less the mean and over the standard deviation of the reference sample.

    Parameters
    ----------
    raw : ndarray of shape (n, 27)

    Returns
    -------
    X : ndarray of shape (n, 27)
    """
    means, sds = np.array([REFERENCE[name] for name in FEATURES]).T
    return np.round((transform(raw) - means) / sds, DECIMALS)


def reference_sample(n: int = REFERENCE_ROWS) -> FloatArray:
    """Rows mixed as in HEPMASS: half background, a tenth each of the five masses.

    Parameters
    ----------
    n : int
        A multiple of ten.

    Returns
    -------
    raw : ndarray of shape (n, 27)
        In GeV, radians and counts.
    """
    rng = np.random.default_rng(derive_seed("hepmass_sim", "reference"))
    parts = [simulate("background", MASSES[0], n // 2, rng)]
    parts += [simulate("signal", mass, n // 10, rng) for mass in MASSES]
    return np.concatenate(parts)
