"""How alignments depend on axes, order and class shares (docs/alignment.md).

::

    python -m studies.alignment robustness    (results/alignment/robustness.csv)
    python -m studies.alignment shares        (results/alignment/shares.csv)

``robustness``: accuracy on the moons, five repetitions of each angle, with the columns as given,
reversed and in random order, with the axes of both domains turned by 30 and 60 degrees, and with
random positions on ten draws. ``shares``: the moons, on the lattice and with random positions, with
the first class at 35, 20 and 10 % of the target, turned by 0, 40 and 70 degrees, on three draws,
beside the nearest peers: POT's JCPOT, skada's MMDTarSReweight and MMDLSConSMapping (skada comes
with the extra ``test-lean``). All methods have the same classifier, ``SVC()``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.svm import SVC

from baselines.reference import SourceOnly
from experiments.cells.protocol import Protocol, draw_repetition
from experiments.datasets.base import Task, unlock
from experiments.datasets.moons import Moons, rotate
from experiments.datasets.moons_random import MoonsRandom
from experiments.seeds import derive_seed
from experiments.store.frame import write_csv
from krda import KRDA, AffineAlignment, AutoAdaptation, LinearOT, Standardize
from studies.common import ROOT, command

FOLDER = ROOT / "results/alignment"
METHODS: dict[str, Callable[[int], Any]] = {
    "source_only": lambda seed: SourceOnly(),
    "standardize": lambda seed: Standardize(),
    "ot_linear": lambda seed: LinearOT(),
    "krda": lambda seed: KRDA(random_state=seed),
    "affine": lambda seed: AffineAlignment(),
    "auto": lambda seed: AutoAdaptation(random_state=seed),
}
ROBUSTNESS = ("standardize", "ot_linear", "krda", "affine", "auto")
N_DRAWS, SHARE_DRAWS = 10, 3
SHARES, ANGLES = (0.35, 0.20, 0.10), (0, 40, 70)
POSITIONS = {"lattice": Moons, "random": MoonsRandom}


def with_rows(task: Task, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Task:
    """Change all rows of a task in one way."""
    return replace(task, Xs=change(task.Xs), Xt=change(task.Xt), X_test=change(task.X_test))


def variants() -> Iterator[tuple[str, int, Task]]:
    """Yield the name of a variant, the number of the repetition, and the drawn task."""
    protocol = Protocol()
    for name in Moons().task_names:
        for k in range(protocol.n_repetitions):
            task = draw_repetition(Moons().task(name), k, protocol)
            order = np.random.default_rng(derive_seed("alignment", "order", k)).permutation(2)
            yield "given", k, task
            yield "reversed", k, with_rows(task, lambda X: X[:, ::-1])
            yield "random order", k, with_rows(task, partial(np.take, indices=order, axis=1))
            for degrees in (30, 60):
                turned = with_rows(task, partial(rotate, degrees=degrees))
                yield f"axes turned by {degrees}", k, turned
        for draw in range(N_DRAWS):
            moons = MoonsRandom(draw=draw).task(name)
            yield "random positions", draw, draw_repetition(moons, draw, protocol)


def accuracy(method: str, task: Task, seed: int) -> float:
    """Accuracy of a method on the test rows, in percent."""
    model = METHODS[method](seed).fit(task.Xs, task.ys, task.Xt)
    return 100 * float(np.mean(model.predict(task.X_test) == unlock(task.y_test)))


def robustness() -> pd.DataFrame:
    """Measure the variants: one row for each variant, angle and repetition."""
    rows = []
    for variant, k, task in variants():
        for method in ROBUSTNESS:
            seed = derive_seed("alignment", task.name, method, k)
            found = accuracy(method, task, seed)
            rows.append((variant, task.name, k, method, found))
        print(*rows[-1], flush=True)
    return pd.DataFrame(rows, columns=["variant", "angle", "repetition", "method", "accuracy"])


def uneven_moons(positions: str, share: float, degrees: float, draw: int, n: int = 300) -> Task:
    """Draw a target whose first class has this share, turned; test rows are its rows."""
    task = POSITIONS[positions](draw=draw, n_target=2000).task("10")
    labels = unlock(task.yt)
    first = round(share * n)
    mixed = np.random.default_rng(derive_seed("alignment", "rows", draw)).permutation(len(labels))
    chosen = [mixed[labels[mixed] == y][:m] for y, m in ((0, first), (1, n - first))]
    rows = np.concatenate(chosen)
    target = rotate(task.Xt[rows], degrees - 10), labels[rows]
    return Task.lock("moons", f"{degrees}", source=(task.Xs, task.ys), target=target, test=target)


def jcpot(task: Task) -> tuple[NDArray[Any], float]:
    """Predict by JCPOT, and give the share of the first class that it finds.

    The source's even and odd rows are two sources: POT 0.9.7 cannot take one.
    """
    from ot.bregman import jcpot_barycenter

    halves = [task.Xs[::2], task.Xs[1::2]], [task.ys[::2], task.ys[1::2]]
    found, log = jcpot_barycenter(*halves, task.Xt, reg=0.1, log=True)
    plans, labels = np.vstack(log["gamma"]), np.concatenate(halves[1])
    mass = plans.sum(axis=1)
    moved = plans @ task.Xt / mass[:, np.newaxis]
    classifier = SVC().fit(moved, labels, sample_weight=len(mass) * mass / mass.sum())
    return classifier.predict(task.X_test), float(found[0])


def by_skada(task: Task, name: str) -> NDArray[Any]:
    """Predict by a method of skada."""
    import skada

    classifier = SVC()
    if "Reweight" in name:
        classifier = classifier.set_fit_request(sample_weight=True)
    X = np.concatenate([task.Xs, task.Xt])
    y = np.concatenate([task.ys, np.full(len(task.Xt), -1)])
    domain = np.repeat([1, -2], [len(task.Xs), len(task.Xt)])
    model = getattr(skada, name)(classifier)
    return model.fit(X, y, sample_domain=domain).predict(task.X_test)


def shares() -> pd.DataFrame:
    """Measure targets with other class shares: one row for each target and method."""
    from sklearn import set_config

    set_config(enable_metadata_routing=True)  # skada's methods ask for it
    rows = []
    for positions, share, degrees, draw in product(POSITIONS, SHARES, ANGLES, range(SHARE_DRAWS)):
        task = uneven_moons(positions, share, degrees, draw)
        predicted = {"POT: JCPOT": jcpot(task)}
        for method, make in METHODS.items():
            seed = derive_seed("alignment", "shares", method, draw)
            model = make(seed).fit(task.Xs, task.ys, task.Xt)
            found = getattr(model, "class_shares_", [np.nan])[0]
            predicted[method] = model.predict(task.X_test), found
        for name in ("MMDTarSReweight", "MMDLSConSMapping"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                predicted[f"skada: {name}"] = by_skada(task, name), np.nan
        for method, (labels, found) in predicted.items():
            right = 100 * float(np.mean(labels == unlock(task.y_test)))
            rows.append((positions, share, degrees, draw, method, right, found))
            print(*rows[-1], flush=True)
    columns = ["positions", "share", "angle", "draw", "method", "accuracy", "share_found"]
    return pd.DataFrame(rows, columns=columns)


def main() -> None:
    """Run the command."""
    parser = command("alignment", "How alignments depend on axes, order and class shares.")
    parser.add_argument("what", choices=("robustness", "shares"))
    options = parser.parse_args()
    found = robustness() if options.what == "robustness" else shares()
    write_csv(found.round(4), FOLDER / f"{options.what}.csv")
    keys = ["variant", "method"]
    if options.what == "shares":
        keys = ["positions", "share", "angle", "method"]
    print(found.groupby(keys, sort=False)["accuracy"].mean().unstack().round(1).to_string())


if __name__ == "__main__":
    main()
