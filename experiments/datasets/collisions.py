"""What the real and the simulated HEPMASS share: features, masses, and how tasks are drawn.

HEPMASS (Baldi et al. 2016, arXiv:1601.07913) separates the decay of a heavy resonance into a pair
of top quarks from the Standard Model's own pairs. The resonance has one of five masses, each of
which is a domain (paper, section 6, "Hepmass"); a task goes from one mass to another.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.datasets.base import LockedLabels, Task
from experiments.seeds import derive_seed

#: Masses of the resonance in GeV, one domain each.
MASSES = (500, 750, 1000, 1250, 1500)

#: The 27 features in the order of the files.
FEATURES = (
    "lepton_pt", "lepton_eta", "lepton_phi", "missing_energy_magnitude", "missing_energy_phi",
    "n_jets",
    "jet_1_pt", "jet_1_eta", "jet_1_phi", "jet_1_b_tag",
    "jet_2_pt", "jet_2_eta", "jet_2_phi", "jet_2_b_tag",
    "jet_3_pt", "jet_3_eta", "jet_3_phi", "jet_3_b_tag",
    "jet_4_pt", "jet_4_eta", "jet_4_phi", "jet_4_b_tag",
    "m_jj", "m_jjj", "m_lv", "m_jlv", "m_wwbb",
)  # fmt: skip

#: Tasks by name, ``500-750``, in the order of the paper's tables.
TASK_NAMES = tuple(f"{source}-{target}" for source, target in permutations(MASSES, 2))

Rows = tuple[NDArray[np.float64], NDArray[np.int64]]


def check_task_name(dataset: str, name: str) -> tuple[int, int]:
    """Split a task's name into its two masses.

    Parameters
    ----------
    dataset : str
        For the message.
    name : str
        Such as ``500-750``.

    Returns
    -------
    source, target : int
        Masses in GeV.

    Raises
    ------
    ValueError
        No such task.
    """
    if name not in TASK_NAMES:
        raise ValueError(
            f"There is no task {name!r} in {dataset}; expected one of {', '.join(TASK_NAMES)}."
        )
    source, target = name.split("-")
    return int(source), int(target)


def draw_task(
    dataset: str,
    name: str,
    training_rows: Callable[[int], Rows],
    test_rows: Callable[[int], Rows],
    *,
    n_source: int,
    n_target: int,
    n_test: int,
    draw: int,
) -> Task:
    """Draw the rows of a task from the rows of its two masses.

    Rows are drawn without replacement, by seeds from data set, task, part and ``draw``. Source and
    target come from the masses' training rows, test rows from the target's test rows, so that no
    test row can be a training row.

    Parameters
    ----------
    dataset, name : str
    training_rows, test_rows : callable
        From a mass to its rows (n, 27) and labels (n,), 1 for the resonance, 0 for background.
    n_source, n_target, n_test : int
        Rows of the task (paper: 1000, 500, 2000).
    draw : int
        Number of the data draw; another number gives other rows.

    Returns
    -------
    task : Task

    Raises
    ------
    ValueError
        No such task, or a mass with too few rows.
    """
    source, target = check_task_name(dataset, name)

    def pick(part: str, mass: int, rows: Rows, n: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
        X, y = rows
        if len(X) < n:
            raise ValueError(
                f"{dataset}/{name}: expected at least {n} {part} rows of mass {mass}, got {len(X)}."
            )
        rng = np.random.default_rng(derive_seed(dataset, name, part, draw))
        chosen = np.sort(rng.choice(len(X), size=n, replace=False))
        return X[chosen].astype(np.float64), y[chosen].astype(np.int64)

    Xs, ys = pick("source", source, training_rows(source), n_source)
    Xt, yt = pick("target", target, training_rows(target), n_target)
    X_test, y_test = pick("test", target, test_rows(target), n_test)
    return Task(
        dataset=dataset,
        name=name,
        Xs=Xs,
        ys=ys,
        Xt=Xt,
        yt=LockedLabels(yt),
        X_test=X_test,
        y_test=LockedLabels(y_test),
    )
