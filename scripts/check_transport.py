"""Compare each task's source rows with its target rows, before and after KRDA's transport.

::

    python scripts/check_transport.py hepmass_sim

writes ``reproduction/transport/hepmass_sim.csv``: for every task, on the rows of repetition 0, the
Kolmogorov-Smirnov statistics of the columns and the energy distance of whole rows, between

- the source and the target as they are,
- the transported source and the target,
- two halves of the target, drawn at random: what two samples of one distribution give, scaled from
  the size of the halves to that of the other rows.

The transported rows are those that the map was fitted to. No label enters.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from experiments.threads import limit_threads

limit_threads()

import numpy as np
from hydra.utils import instantiate

from experiments.cells.configuration import cell_from_config, compose_config, config_names
from experiments.cells.protocol import method_seed
from experiments.directories import DEFAULT_RESULTS
from experiments.reading.figures.fits import fit_repetition
from krda.diagnostics import column_distances, energy_distance

FIELDS = (
    "task",
    "ks_mean_before", "ks_mean_after", "ks_mean_same",
    "ks_max_before", "ks_max_after", "ks_max_same",
    "energy_before", "energy_after",
    "held_out_nll_source", "held_out_nll_target", "best_step",
)  # fmt: skip


def same_distribution(Xt: np.ndarray, n: int, n_draws: int, seed: int) -> tuple[float, float]:
    """Mean and largest column statistic of two samples of the target's distribution.

    Parameters
    ----------
    Xt : ndarray of shape (m, d)
    n : int
        Rows of the sample that stands for the source.
    n_draws : int
        Random halvings that are averaged.
    seed : int

    Returns
    -------
    mean, largest : float
        Over columns, scaled from two halves of Xt to samples of n and m rows: the statistic of
        two samples falls as sqrt(1 / n + 1 / m).
    """
    rng = np.random.default_rng(seed)
    m = len(Xt)
    scale = np.sqrt((1 / n + 1 / m) / (4 / m))
    found = []
    for _ in range(n_draws):
        order = rng.permutation(m)
        halves = Xt[order[: m // 2]], Xt[order[m // 2 :]]
        ks = column_distances(*halves).kolmogorov_smirnov * scale
        found.append((ks.mean(), ks.max()))
    mean, largest = np.mean(found, axis=0)
    return float(mean), float(largest)


def check(dataset: str, task_name: str) -> dict[str, str]:
    """Fit KRDA to one task and measure.

    Parameters
    ----------
    dataset, task_name : str

    Returns
    -------
    row : dict
        By FIELDS, as text.
    """
    cell = cell_from_config(compose_config((f"dataset={dataset}", "method=krda")), task_name)
    model, data = fit_repetition(cell)
    carried = model.transform(data.Xs)
    before, after = (column_distances(X, data.Xt) for X in (data.Xs, carried))
    same = same_distribution(data.Xt, len(data.Xs), 10, method_seed(cell.load(), "halves", 0))
    numbers = {
        "ks_mean_before": before.kolmogorov_smirnov.mean(),
        "ks_mean_after": after.kolmogorov_smirnov.mean(),
        "ks_mean_same": same[0],
        "ks_max_before": before.kolmogorov_smirnov.max(),
        "ks_max_after": after.kolmogorov_smirnov.max(),
        "ks_max_same": same[1],
        "energy_before": energy_distance(data.Xs, data.Xt),
        "energy_after": energy_distance(carried, data.Xt),
        "held_out_nll_source": model.held_out_nll_["source"],
        "held_out_nll_target": model.held_out_nll_["target"],
    }
    row = {name: f"{value:.3f}" for name, value in numbers.items()}
    return {"task": task_name, **row, "best_step": str(model.history_.best_step)}


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("dataset", choices=config_names("dataset"))
    parser.add_argument("--task", nargs="+", metavar="TASK", help="only these (default: all)")
    parser.add_argument("--output", type=Path, default=None, metavar="CSV")
    options = parser.parse_args()
    output = options.output or DEFAULT_RESULTS / "transport" / f"{options.dataset}.csv"
    probe = cell_from_config(compose_config((f"dataset={options.dataset}",)))
    names = options.task or instantiate(probe.config["dataset"]["data"]).task_names
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        writer.writeheader()
        for name in names:
            row = check(options.dataset, name)
            writer.writerow(row)
            print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)


if __name__ == "__main__":
    main()
