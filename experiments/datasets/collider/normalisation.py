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
    "lepton_pt": (4.1011, 0.7460),
    "lepton_eta": (-0.0069, 1.0509),
    "lepton_phi": (-0.0081, 1.8121),
    "missing_energy_magnitude": (4.1805, 0.8365),
    "missing_energy_phi": (0.0049, 1.8115),
    "n_jets": (1.6145, 0.1984),
    "jet_1_pt": (5.1101, 0.6489),
    "jet_1_eta": (0.0038, 1.0634),
    "jet_1_phi": (0.0037, 1.8161),
    "jet_1_b_tag": (0.6160, 0.4864),
    "jet_2_pt": (4.6704, 0.5612),
    "jet_2_eta": (0.0040, 1.1209),
    "jet_2_phi": (0.0068, 1.8130),
    "jet_2_b_tag": (0.5943, 0.4910),
    "jet_3_pt": (4.2189, 0.4646),
    "jet_3_eta": (0.0010, 1.2153),
    "jet_3_phi": (0.0003, 1.8174),
    "jet_3_b_tag": (0.3864, 0.4869),
    "jet_4_pt": (3.8063, 0.4139),
    "jet_4_eta": (0.0040, 1.2807),
    "jet_4_phi": (0.0008, 1.8102),
    "jet_4_b_tag": (0.2396, 0.4269),
    "m_jj": (4.4969, 0.5722),
    "m_jjj": (5.2968, 0.3622),
    "m_lv": (4.4744, 0.2323),
    "m_jlv": (5.5576, 0.6065),
    "m_wwbb": (6.6463, 0.5200),
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
