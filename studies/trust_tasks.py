"""KRDA's fits on the benchmark's tasks, assessed as a user would (docs/own_tables.md).

``python -m studies.trust_tasks moons hepmass_sim amazon`` writes ``results/trust/NAME.csv``: what
:func:`krda.trust.assess` finds for each task, on the rows of repetition 0. No label of a target
enters. It then prints, for every kind of objection, on how many tasks it was made and on how many
of these KRDA's accuracy, the committed table's mean, is below that of the source as it is and of
standardisation. No bound of an objection was changed for these accuracies.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from experiments.catalogue import config_names
from experiments.cells.configuration import cell_from_config, compose_config
from experiments.fits import fit_repetition
from krda.trust import assess
from krda.trust.report import Assessment
from krda.trust.statistics import order_beyond_seeds
from studies.common import ROOT, command, task_names, write_csv


def check(dataset: str, task: str) -> dict[str, object]:
    """Assess KRDA on one task: a row of the file, numbers to four decimals."""
    cell = cell_from_config(compose_config((f"dataset={dataset}", "method=krda")), task)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the assessment says the same
        model, data = fit_repetition(cell)
    found = assess(model, data.Xs, data.ys, data.Xt)
    row = {name: f"{value:.4f}" for name, value in _numbers(found).items()}
    # Objections are shortened to the words before the first number or comma.
    kinds = [re.split(r"[0-9(:,;]", sentence)[0].strip() for sentence in found.warnings]
    return {"task": task, **row, "objections": "; ".join(kinds) or "(none)"}


def _numbers(found: Assessment) -> dict[str, float]:
    numbers = {}
    for density in found.densities:
        numbers[f"{density.domain}_excess_nll"] = density.excess
        numbers[f"{density.domain}_excess_error"] = density.excess_error
    transport = found.transport
    return numbers | {
        "energy_before": transport.before,
        "energy_after": transport.after,
        "energy_change_low": transport.change.interval[0],
        "energy_change_high": transport.change.interval[1],
        "energy_standardized": transport.standardized,
        "energy_lead_low": transport.lead.interval[0],
        "energy_noise": transport.noise,
        "ks_largest_after": transport.columns[0].after,
        "ks_noise": transport.column_noise,
        "seeds_mean": found.seeds.mean,
        "seeds_worst": found.seeds.worst,
        "orders_mean": found.orders.mean,
        "orders_worst": found.orders.worst,
        "orders_beyond_seeds": order_beyond_seeds(found.seeds, found.orders),
        "agreement_source_only": found.agreement_source_only,
        "agreement_standardized": found.agreement_standardized,
    }


def relate(dataset: str, rows: pd.DataFrame) -> Iterator[str]:
    """Write a table's line for each objection: tasks, and those on which KRDA is below."""
    table = pd.read_csv(ROOT / f"results/tables/{dataset}.csv")
    means = table.pivot(index="task", columns="method", values="mean")
    means.index = means.index.astype(str)
    each = rows.assign(objection=rows["objections"].str.split("; ")).explode("objection")
    for objection, concerned in each.groupby("objection", sort=False)["task"]:
        own = means.loc[list(concerned)]
        below = [(own["krda"] < own[other]).sum() for other in ("source_only", "standardize")]
        yield f"| {dataset} | {objection} | {len(own)} | {below[0]} | {below[1]} |"


def main() -> None:
    """Run the command."""
    parser = command("trust_tasks", "Assess KRDA on the benchmark's tasks.")
    parser.add_argument("dataset", nargs="+", choices=config_names("dataset"))
    parser.add_argument("--output", type=Path, default=ROOT / "results/trust", metavar="FOLDER")
    options = parser.parse_args()
    lines = [
        "| data | objection | tasks | KRDA below Source only | KRDA below standardised |",
        "| :-- | :-- | --: | --: | --: |",
    ]
    for dataset in options.dataset:
        rows = []
        for task in task_names(dataset):
            rows.append(check(dataset, task))
            print(f"{dataset}/{task}: {rows[-1]['objections']}", flush=True)
        write_csv(options.output / f"{dataset}.csv", rows)
        lines += relate(dataset, pd.DataFrame(rows))
    print("", *lines, sep="\n")


if __name__ == "__main__":
    main()
