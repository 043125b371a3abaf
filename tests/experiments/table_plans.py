"""Plans of tables for tests: committed ones, and one of 20 tasks."""

from __future__ import annotations

from dataclasses import replace

from experiments.cells.plan import TablePlan, load_table
from experiments.published import METHODS, published
from experiments.reading.table_specs import table_spec
from experiments.reading.tables import TableSpec

ADDITIONS = (
    "sa_linear", "sa_scaled", "standardize", "quantiles", "ot_linear", "ot_sinkhorn", "ot_lpl1",
    "krda_reversed", "krda_random", "krda_pooled", "krda_untrained", "dann_matched",
    "shot_matched", "cdan_matched", "dan_matched", "jan_matched",
)  # fmt: skip
OURS = "quantiles"
"""A method that is not in the paper."""


def plan_of(dataset: str, ours: tuple[str, ...] = ()) -> TablePlan:
    """The paper's twelve methods on all tasks of a data set."""
    if dataset in ("moons", "amazon"):
        return replace(load_table(dataset), ours=ours)
    tasks = tuple(dict.fromkeys(task for task, _ in published(dataset)))
    simulated = ", simulated" if dataset.endswith("_sim") else ""
    return TablePlan(
        name=dataset,
        title=f"HEPMASS{simulated}",
        dataset=dataset,
        tasks=tasks,
        task_label="{}",
        paper=tuple(METHODS.values()),
        ours=ours,
        test_rows=2000,
    )


def spec_of(dataset: str, ours: tuple[str, ...] = (), part: str | None = None) -> TableSpec:
    """Its table, without composing any config."""
    return table_spec(plan_of(dataset, ours), part, repetitions=5)
