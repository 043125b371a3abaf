"""From GeV to HEPMASS's units: logarithm of positive quantities, then standardised.

The means and standard deviations are those of a reference sample, mixed as HEPMASS is: half
background, a tenth each of the five masses. ``python scripts/check_hepmass_sim.py --normalisation``
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

#: Mean and standard deviation of each column, in the order of the features.
REFERENCE = {
    "lepton_pt": (4.0681, 0.7256),
    "lepton_eta": (0.0005, 1.0290),
    "lepton_phi": (-0.0074, 1.8164),
    "missing_energy_magnitude": (4.2157, 0.8182),
    "missing_energy_phi": (-0.0028, 1.8166),
    "n_jets": (1.6139, 0.1990),
    "jet_1_pt": (5.1138, 0.6502),
    "jet_1_eta": (0.0015, 1.0616),
    "jet_1_phi": (-0.0038, 1.8108),
    "jet_1_b_tag": (0.6237, 0.4844),
    "jet_2_pt": (4.6776, 0.5681),
    "jet_2_eta": (0.0024, 1.1182),
    "jet_2_phi": (0.0012, 1.8152),
    "jet_2_b_tag": (0.5922, 0.4914),
    "jet_3_pt": (4.2236, 0.4668),
    "jet_3_eta": (0.0055, 1.2038),
    "jet_3_phi": (-0.0059, 1.8135),
    "jet_3_b_tag": (0.3829, 0.4861),
    "jet_4_pt": (3.8120, 0.4137),
    "jet_4_eta": (0.0003, 1.2829),
    "jet_4_phi": (-0.0020, 1.8128),
    "jet_4_b_tag": (0.2364, 0.4249),
    "m_jj": (4.4977, 0.5789),
    "m_jjj": (5.3025, 0.3672),
    "m_lv": (4.4588, 0.1943),
    "m_jlv": (5.5528, 0.5960),
    "m_wwbb": (6.6446, 0.5181),
}


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


def measure_reference(n: int = REFERENCE_ROWS) -> dict[str, tuple[float, float]]:
    """Measure what :data:`REFERENCE` holds: mean and standard deviation of each column.

    Parameters
    ----------
    n : int
        Rows; a multiple of ten.

    Returns
    -------
    reference : dict of str to (float, float)
    """
    X = transform(reference_sample(n))
    return {
        name: (float(mean), float(sd))
        for name, mean, sd in zip(FEATURES, X.mean(axis=0), X.std(axis=0), strict=True)
    }
