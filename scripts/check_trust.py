"""Assess KRDA's fits on the benchmark's tasks as a user would, and see what that was worth.

::

    python scripts/check_trust.py moons hepmass_sim amazon

writes ``results/trust/NAME.csv``: what :func:`krda.trust.assess` finds for each task, on the rows
of repetition 0. No label of a target enters. Afterwards it prints, for every kind of objection, on
how many tasks it was made and on how many of these KRDA's accuracy, the committed table's mean, is
below that of the source as it is and of standardisation. No bound of an objection was changed for
these accuracies.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from experiments.threads import limit_threads

limit_threads()

from hydra.utils import instantiate

from experiments.cells.configuration import cell_from_config, compose_config, config_names
from experiments.reading.figures.fits import fit_repetition
from krda.assessment import Assessment, order_beyond_seeds
from krda.trust import assess

_ROOT = Path(__file__).resolve().parent.parent
_NONE = "(none)"


def check(dataset: str, task: str) -> dict[str, str]:
    """Assess KRDA on one task.

    Parameters
    ----------
    dataset, task : str

    Returns
    -------
    row : dict
        As text.
    """
    cell = cell_from_config(compose_config((f"dataset={dataset}", "method=krda")), task)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the assessment tells
        model, data = fit_repetition(cell)
    found = assess(model, data.Xs, data.ys, data.Xt)
    row = {name: f"{value:.4f}" for name, value in _numbers(found).items()}
    return {"task": task, **row, "objections": "; ".join(map(kind, found.warnings)) or _NONE}


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


def kind(sentence: str) -> str:
    """Shorten an objection to the words before its first number or comma."""
    return re.split(r"[0-9(:,;]", sentence)[0].strip()


def relate(dataset: str, rows: list[dict[str, str]]) -> list[str]:
    """Count objections, and how KRDA fares on the tasks concerned.

    Parameters
    ----------
    dataset : str
        Its table is read from ``results/tables``.
    rows : list of dict
        As :func:`check` gives them.

    Returns
    -------
    lines : list of str
        Rows of a Markdown table.
    """
    with (_ROOT / f"results/tables/{dataset}.csv").open(encoding="utf-8", newline="") as stream:
        means = {(r["task"], r["method"]): float(r["mean"]) for r in csv.DictReader(stream)}
    tasks: dict[str, list[str]] = {}
    for row in rows:
        for objection in row["objections"].split("; "):
            tasks.setdefault(objection, []).append(row["task"])
    lines = []
    for objection, concerned in tasks.items():
        below = [
            sum(means[task, "krda"] < means[task, other] for task in concerned)
            for other in ("source_only", "standardize")
        ]
        lines.append(f"| {dataset} | {objection} | {len(concerned)} | {below[0]} | {below[1]} |")
    return lines


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("dataset", nargs="+", choices=config_names("dataset"))
    parser.add_argument("--output", type=Path, default=_ROOT / "results/trust", metavar="FOLDER")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    lines = []
    for dataset in options.dataset:
        probe = cell_from_config(compose_config((f"dataset={dataset}",)))
        rows = []
        for task in instantiate(probe.config["dataset"]["data"]).task_names:
            rows.append(check(dataset, task))
            print(f"{dataset}/{task}: {rows[-1]['objections']}", flush=True)
        with (options.output / f"{dataset}.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        lines += relate(dataset, rows)
    print()
    print("| data | objection | tasks | KRDA below Source only | KRDA below standardised |")
    print("| :-- | :-- | --: | --: | --: |")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
