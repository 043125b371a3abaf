"""On what the constants of AutoAdaptation were chosen (docs/alignment.md).

``python -m studies.simulated_shifts`` draws simulated tables of ten kinds of shift, a hundred in
all, and writes the mean accuracy of each alignment and of the choice to
``results/alignment/simulated_shifts.csv``, one row a table. The final classifier is a scaled
``SVC()``. No table of the benchmark enters.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from baselines.reference import SourceOnly
from experiments.seeds import derive_seed
from experiments.store.frame import write_csv
from krda import AffineAlignment, AutoAdaptation, ClassReweighting, ColumnQuantiles, Standardize
from studies.common import ROOT, command

KINDS = (
    "none", "shares", "scale", "warp", "rotation", "mixing", "drift", "drift and shares",
    "scale and shares", "noise",
)  # fmt: skip
N_TABLES = 10
"""Of each kind."""
METHODS = {
    "source_only": SourceOnly,
    "reweighted": ClassReweighting,
    "standardize": Standardize,
    "quantiles": ColumnQuantiles,
    "affine": AffineAlignment,
    "auto": AutoAdaptation,
}


class Tables(NamedTuple):
    """Source rows and labels, target rows and labels."""

    Xs: NDArray[np.float64]
    ys: NDArray[np.int64]
    Xt: NDArray[np.float64]
    yt: NDArray[np.int64]


def draw(kind: str, number: int, attempt: int = 0) -> Tables:
    """Draw tables of 2 to 30 columns, 70 to 400 rows and 2 to 4 classes, shifted in one way.

    Rows are Gaussian mixtures in a random basis; some columns are skewed, some are integers.
    """
    rng = np.random.default_rng(derive_seed("simulated shifts", kind, number, attempt))
    d, n_source, n_target = (int(np.exp(rng.uniform(*np.log(b)))) for b in _SIZES)
    n_classes, n_parts = int(rng.choice([2, 2, 2, 3, 4])), int(rng.integers(1, 4))
    basis = rng.normal(size=(d, d)) * rng.uniform(0, 0.8) / np.sqrt(d)
    basis += np.diag(rng.uniform(0.4, 1.5, d))
    distance = rng.uniform(0.8, 3.0) / d**0.35
    centres = rng.normal(size=(n_classes, n_parts, d)) * distance
    widths = rng.uniform(0.5, 1.2, size=(n_classes, n_parts, d))
    skewed, integer = rng.random(d) < 0.3, rng.random(d) < 0.2
    shares = _shares(rng, n_classes, 6.0, 0.15)

    def rows(n: int, shares: NDArray[np.float64], drift: float) -> tuple[Any, Any]:
        y, part = rng.choice(n_classes, n, p=shares), rng.integers(0, n_parts, n)
        Z = centres[y, part] + rng.normal(size=(n, d)) * widths[y, part]
        return (Z + drift * distance * rng.normal(size=(n_classes, d))[y]) @ basis, y

    def seen(Z: NDArray[np.float64]) -> NDArray[np.float64]:
        X = np.where(skewed, np.exp(np.clip(0.7 * Z, -6, 6)), Z)
        return np.where(integer, np.round(2 * X), X)

    other = shares
    if "shares" in kind:
        other = shares + rng.uniform(0.3, 1.0) * (_shares(rng, n_classes, 1.5, 0.0) - shares)
        other = (other + 0.03) / (other + 0.03).sum()
    drift = rng.uniform(0.2, 0.8) if "drift" in kind else 0.0
    (Zs, ys), (Zt, yt) = rows(n_source, shares, 0.0), rows(n_target, other, drift)
    if np.bincount(ys, minlength=n_classes).min() < 3:
        return draw(kind, number, attempt + 1)
    if "drift" in kind:
        Zt = Zt * rng.uniform(0.7, 1.4, d) + rng.normal(size=d) * rng.uniform(0, 1)
    elif kind == "rotation":
        Zt = Zt @ _rotation(rng, d, rng.uniform(20, 80))
    elif kind == "mixing":
        Zt = Zt @ (np.eye(d) + rng.uniform(0.2, 0.8) * rng.normal(size=(d, d)) / np.sqrt(d))
        Zt += 0.5 * rng.normal(size=d)
    Xs, Xt = seen(Zs), seen(Zt)
    unit = Xs.std(axis=0)
    if "scale" in kind:
        strength = rng.uniform(0.3, 1.0)
        Xt = Xt * np.exp(0.4 * strength * rng.normal(size=d)) + strength * unit * rng.normal(size=d)
    elif kind == "warp":
        low, width = Xt.min(axis=0), np.maximum(np.ptp(Xt, axis=0), 1e-9)
        Xt = low + width * ((Xt - low) / width) ** np.exp(rng.uniform(-0.9, 0.9, d))
        Xt = Xt + 0.3 * unit * rng.normal(size=d)
    elif kind == "noise":
        Xt = Xt + rng.uniform(0.2, 0.8) * unit * rng.normal(size=Xt.shape)
        Xt = Xt + 0.3 * unit * rng.normal(size=d)
    return Tables(Xs, ys, Xt, yt)


_SIZES = ((2, 31), (70, 401), (70, 401))  # bounds of columns, source rows, target rows


def _shares(
    rng: np.random.Generator, n_classes: int, evenness: float, least: float
) -> NDArray[np.float64]:
    drawn = rng.dirichlet(np.full(n_classes, evenness)) + least
    return drawn / drawn.sum()


def _rotation(rng: np.random.Generator, d: int, degrees: float) -> NDArray[np.float64]:
    """Turn the planes of some pairs of axes."""
    R = np.eye(d)
    for _ in range(int(rng.integers(1, max(2, d // 2) + 1))):
        i, j = rng.choice(d, 2, replace=False)
        angle = np.deg2rad(degrees * rng.uniform(0.5, 1.0) * rng.choice([-1, 1]))
        turn = np.eye(d)
        turn[i, i] = turn[j, j] = np.cos(angle)
        turn[i, j], turn[j, i] = np.sin(angle), -np.sin(angle)
        R = R @ turn
    return R


def main() -> None:
    """Run the command."""
    command("simulated_shifts", "Accuracies on simulated tables.").parse_args()
    rows = []
    for number in range(N_TABLES):
        for kind in KINDS:
            Xs, ys, Xt, yt = draw(kind, number)
            row: dict[str, object] = {"kind": kind, "number": number, "columns": Xs.shape[1]}
            for name, make in METHODS.items():
                model = make(make_pipeline(StandardScaler(), SVC()))
                predicted = model.fit(Xs, ys, Xt).predict(Xt)
                row[name] = round(100 * float(np.mean(predicted == yt)), 2)
                if isinstance(model, AutoAdaptation):
                    row["found"] = model.shift_
            print(*row.values(), flush=True)
            rows.append(row)
    found = pd.DataFrame(rows)
    write_csv(found, ROOT / "results/alignment/simulated_shifts.csv")
    means = found.groupby("kind", sort=False)[list(METHODS)].mean()
    print(pd.concat([means, means.mean().to_frame("mean").T]).round(1).to_string())


if __name__ == "__main__":
    main()
