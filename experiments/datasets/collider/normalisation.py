"""From GeV to HEPMASS's units: logarithm of positive quantities, then standardised.

The means and standard deviations are those of a reference sample, mixed as HEPMASS is: half
background, a tenth each of the five masses. :func:`measure_reference` gives them.
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

#: Decimals that normalised rows are rounded to, because processors differ in the last digits.
DECIMALS = 5

#: Mean and standard deviation of each column, in the order of the features.
REFERENCE = {
    "lepton_pt": (4.1105, 0.7511), "lepton_eta": (-0.0081, 1.0759),
    "lepton_phi": (-0.0070, 1.8106), "missing_energy_magnitude": (4.2169, 0.8301),
    "missing_energy_phi": (0.0037, 1.8099), "n_jets": (1.6092, 0.1967),
    "jet_1_pt": (5.1166, 0.6378), "jet_1_eta": (0.0020, 1.0989), "jet_1_phi": (-0.0002, 1.8182),
    "jet_1_b_tag": (0.6015, 0.4896), "jet_2_pt": (4.6882, 0.5589), "jet_2_eta": (0.0050, 1.1510),
    "jet_2_phi": (0.0131, 1.8123), "jet_2_b_tag": (0.5812, 0.4934), "jet_3_pt": (4.2524, 0.4740),
    "jet_3_eta": (-0.0015, 1.2288), "jet_3_phi": (-0.0021, 1.8171),
    "jet_3_b_tag": (0.3985, 0.4896), "jet_4_pt": (3.8368, 0.4313), "jet_4_eta": (0.0053, 1.2945),
    "jet_4_phi": (0.0009, 1.8114), "jet_4_b_tag": (0.2508, 0.4335), "m_jj": (4.5092, 0.5766),
    "m_jjj": (5.2977, 0.3655), "m_lv": (4.4894, 0.2587), "m_jlv": (5.5670, 0.5994),
    "m_wwbb": (6.6647, 0.5210),
}  # fmt: skip


def transform(raw: FloatArray) -> FloatArray:
    """Take logarithms of the positive columns of what ``simulate`` returns."""
    X = raw.copy()
    X[:, LOGARITHMIC] = np.log(raw[:, LOGARITHMIC])
    return X


def normalise(raw: FloatArray) -> FloatArray:
    """Logarithms, then less the mean and over the standard deviation of the reference sample."""
    means, sds = np.array([REFERENCE[name] for name in FEATURES]).T
    return np.round((transform(raw) - means) / sds, DECIMALS)


def measure_reference(n: int = REFERENCE_ROWS) -> dict[str, tuple[float, float]]:
    """Measure what :data:`REFERENCE` holds, on n rows (a multiple of ten)."""
    rng = np.random.default_rng(derive_seed("hepmass_sim", "reference"))
    parts = [simulate("background", MASSES[0], n // 2, rng)]
    parts += [simulate("signal", mass, n // 10, rng) for mass in MASSES]
    X = transform(np.concatenate(parts))
    return {
        name: (float(mean), float(sd))
        for name, mean, sd in zip(FEATURES, X.mean(axis=0), X.std(axis=0), strict=True)
    }
