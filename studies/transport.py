"""Source and target rows of each task before and after the transport (docs/reproduction.md).

``python -m studies.transport hepmass_sim`` writes ``reproduction/transport/hepmass_sim.csv``: for
every task, on the rows of repetition 0, the Kolmogorov-Smirnov statistics of the columns and the
energy distance of whole rows, between the source and the target as they are, between the
transported source and the target, and between two random halves of the target: what two samples of
one distribution give, scaled to the size of the others. The transported rows are those that the map
was fitted to. No label enters.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.catalogue import config_names
from experiments.cells.configuration import cell_from_config, compose_config
from experiments.directories import DEFAULT_RESULTS
from experiments.fits import fit_repetition
from experiments.seeds import method_seed
from krda.diagnostics import column_distances, energy_distance
from studies.common import command, task_names, write_csv


def same_distribution(
    Xt: NDArray[np.float64], n: int, n_draws: int, seed: int
) -> NDArray[np.float64]:
    """Mean and largest column statistic of two samples, n and len(Xt) rows, of one distribution.

    Averaged over random halves of Xt and scaled from their size: the statistic of two samples falls
    as sqrt(1 / n + 1 / m).
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
    mean: NDArray[np.float64] = np.mean(found, axis=0)
    return mean


def check(dataset: str, task: str) -> dict[str, object]:
    """Fit KRDA to one task and measure: a row of the file, numbers to three decimals."""
    cell = cell_from_config(compose_config((f"dataset={dataset}", "method=krda")), task)
    model, data = fit_repetition(cell)
    moved = model.transform(data.Xs)
    before, after = (column_distances(X, data.Xt).kolmogorov_smirnov for X in (data.Xs, moved))
    same = same_distribution(
        data.Xt, len(data.Xs), 10, method_seed(cell.dataset, cell.task, "halves", 0)
    )
    numbers = {
        "ks_mean_before": before.mean(),
        "ks_mean_after": after.mean(),
        "ks_mean_same": same[0],
        "ks_max_before": before.max(),
        "ks_max_after": after.max(),
        "ks_max_same": same[1],
        "energy_before": energy_distance(data.Xs, data.Xt),
        "energy_after": energy_distance(moved, data.Xt),
        "held_out_nll_source": model.held_out_nll_["source"],
        "held_out_nll_target": model.held_out_nll_["target"],
    }
    row = {name: f"{value:.3f}" for name, value in numbers.items()}
    return {"task": task, **row, "best_step": model.history_.best_step}


def main() -> None:
    """Run the command."""
    parser = command("transport", "Compare source and target rows around the transport.")
    parser.add_argument("dataset", choices=config_names("dataset"))
    parser.add_argument("--task", nargs="+", metavar="TASK", help="only these (default: all)")
    parser.add_argument("--output", type=Path, metavar="CSV")
    options = parser.parse_args()
    rows = []
    for name in options.task or task_names(options.dataset):
        rows.append(check(options.dataset, name))
        print(", ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    write_csv(options.output or DEFAULT_RESULTS / "transport" / f"{options.dataset}.csv", rows)


if __name__ == "__main__":
    main()
