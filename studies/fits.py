"""KRDA's fit to repetition 0 of each task, examined without a label of the target.

::

    python -m studies.fits transport hepmass_sim               (docs/reproduction.md)
    python -m studies.fits trust moons hepmass_sim amazon      (docs/trust.md)

``transport`` writes ``results/transport/NAME.csv``: the Kolmogorov-Smirnov statistics of the
columns and the energy distance of whole rows, between the source and the target as they are,
between the transported source and the target, and between two random halves of the target: what two
samples of one distribution give, scaled to the size of the others. The transported rows are those
that the map was fitted to.

``trust`` writes ``results/trust/NAME.csv``: what :func:`krda.trust.assess` finds, as a user would
see it. It then prints, for every kind of finding, on how many tasks it was made and on how many
of these KRDA's accuracy, the committed table's mean, is below that of the source as it is and of
standardisation. No bound was changed for these accuracies.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.catalogue import config_names
from experiments.cells.cell import Cell
from experiments.cells.plan import load_table
from experiments.fits import fit_repetition
from experiments.seeds import method_seed
from experiments.store.frame import write_csv
from krda.diagnostics import column_distances, energy_distance
from krda.trust import assess
from krda.trust.statistics import order_beyond_seeds
from studies.common import ROOT, command

N_HALVINGS = 10


def same_distribution(Xt: NDArray[np.float64], n: int, seed: int) -> NDArray[np.float64]:
    """Mean and largest column statistic of two samples, n and len(Xt) rows, of one distribution.

    Averaged over random halves of Xt and scaled from their size: the statistic of two samples falls
    as sqrt(1 / n + 1 / m).
    """
    rng = np.random.default_rng(seed)
    m = len(Xt)
    scale = np.sqrt((1 / n + 1 / m) / (4 / m))
    found = []
    for _ in range(N_HALVINGS):
        order = rng.permutation(m)
        halves = Xt[order[: m // 2]], Xt[order[m // 2 :]]
        ks = column_distances(*halves) * scale
        found.append((ks.mean(), ks.max()))
    return np.mean(found, axis=0)


def transport(cell: Cell) -> dict[str, object]:
    """Measure the rows before and after the transport, to three decimals."""
    model, data = fit_repetition(cell)
    moved = model.transform(data.Xs)
    before, after = (column_distances(X, data.Xt) for X in (data.Xs, moved))
    seed = method_seed(cell.dataset, cell.task, "halves", 0)
    same = same_distribution(data.Xt, len(data.Xs), seed)
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
    return {**row, "best_step": model.history_.best_step}


def trust(cell: Cell) -> dict[str, object]:
    """Assess the fit: numbers to four decimals, and the objections."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the assessment says the same
        model, data = fit_repetition(cell)
    found = assess(model, data.Xs, data.ys, data.Xt)
    check = found.transport
    numbers = {}
    for density in found.densities:
        numbers[f"{density.domain}_excess_nll"] = density.excess
        numbers[f"{density.domain}_excess_error"] = density.excess_error
    numbers |= {
        "energy_before": check.before,
        "energy_after": check.after,
        "energy_change_low": check.change[0],
        "energy_change_high": check.change[1],
        "energy_standardized": check.standardized,
        "energy_lead_low": check.lead[0],
        "energy_noise": check.noise,
        "ks_largest_after": max(after for _, after in check.columns.values()),
        "ks_noise": check.column_noise,
        "seeds_mean": found.seeds.mean,
        "seeds_worst": max(found.seeds.disagreement),
        "orders_mean": found.orders.mean,
        "orders_worst": max(found.orders.disagreement),
        "orders_beyond_seeds": order_beyond_seeds(found.seeds, found.orders),
        "agreement_source_only": found.agreement_source_only,
        "agreement_standardized": found.agreement_standardized,
    }
    # Objections are shortened to the words before the first number or comma.
    kinds = [re.split(r"[0-9(:,;]", sentence)[0].strip() for sentence in found.warnings]
    row = {name: f"{value:.4f}" for name, value in numbers.items()}
    return {**row, "objections": "; ".join(kinds) or "(none)"}


def relate(dataset: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Count for each objection its tasks, and those on which KRDA is below simple methods."""
    table = pd.read_csv(ROOT / f"results/tables/{dataset}.csv", dtype={"task": str})
    means = table.pivot(index="task", columns="method", values="mean").loc[rows["task"]]
    below = pd.DataFrame({
        "objection": rows["objections"].str.split("; ").to_numpy(),
        "tasks": 1,
        "KRDA below Source only": (means["krda"] < means["source_only"]).to_numpy(),
        "KRDA below standardised": (means["krda"] < means["standardize"]).to_numpy(),
    })  # fmt: skip
    return below.explode("objection").groupby("objection", sort=False).sum()


def main() -> None:
    """Run the command."""
    parser = command("fits", "Examine KRDA's fits to the benchmark's tasks.")
    parser.add_argument("what", choices=("transport", "trust"))
    parser.add_argument("dataset", nargs="+", choices=config_names("table"))
    options = parser.parse_args()
    examine = trust if options.what == "trust" else transport
    for dataset in options.dataset:
        plan, rows = load_table(dataset), []
        for task in plan.tasks:
            rows.append({"task": task, **examine(plan.cells[task, "krda"])})
            print(*rows[-1].values(), flush=True)
        found = pd.DataFrame(rows)
        write_csv(found, ROOT / "results" / options.what / f"{dataset}.csv")
        if options.what == "trust":
            print(dataset, relate(dataset, found).to_string(), sep="\n")


if __name__ == "__main__":
    main()
