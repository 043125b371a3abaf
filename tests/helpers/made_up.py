"""Made-up repetitions, records and plans for tests."""

from dataclasses import replace

import numpy as np
import pandas as pd

from experiments.cells.plan import TablePlan, load_table
from experiments.cells.repetitions import record_of
from experiments.published import METHODS, published
from experiments.store.frame import COLUMNS
from experiments.store.records import Outcome

OURS = ("quantiles", "krda_reversed", "sa_linear", "ot_linear")
"""Methods that are not in the paper."""
ENVIRONMENT = {
    "cpu": "Made-up <processor>", "cores": 2, "threads": 1, "system": "Linux", "machine": "x86_64",
    "python": "3.11.7", "git_revision": "c0ffee", "git_clean": True, "libraries": {"numpy": "2.0"},
}  # fmt: skip


def plan_of(dataset="moons", ours=()):
    """The paper's twelve methods on all tasks of a data set."""
    if dataset in ("moons", "amazon"):
        return replace(load_table(dataset), ours=tuple(ours))
    tasks = tuple(dict.fromkeys(task for task, _ in published(dataset)))
    title = f"HEPMASS{', simulated' if dataset.endswith('_sim') else ''}"
    paper = tuple(METHODS.values())
    return TablePlan(dataset, title, dataset, tasks, "{}", paper, tuple(ours), test_rows=2000)


def runs_of(values, dataset="moons"):
    """Repetitions by (task, method): a number is an accuracy, a text the status and the error."""
    rows = []
    for (task, method), outcomes in values.items():
        for number, value in enumerate(outcomes):
            status, error = "done", ""
            if isinstance(value, str):
                status, _, error = value.partition(": ")
            accuracy = np.nan if isinstance(value, str) else value
            rows.append((dataset, task, method, "c0", number, accuracy, accuracy, 0.1, 0.1, status,
                         100 + number, "1d", error))  # fmt: skip
    return pd.DataFrame(rows, columns=list(COLUMNS))


def random_values(plan, seed):
    """Five accuracies, of 1000 test rows, for every cell of a table."""
    generator = np.random.default_rng(seed)
    return {
        (task, method): (generator.integers(300, 1001, 5) / 1000).tolist()
        for method in plan.methods
        for task in plan.tasks
    }


def write_records(store, plans, failed=None, error="ValueError: made up"):
    """A record of made-up accuracies for every cell; the last repetition of ``failed`` is lost."""
    for plan in plans:
        for number, ((task, method), cell) in enumerate(plan.cells.items()):
            outcomes = [
                Outcome(i, i, "done", share, share, 0.1 + number, 0.1, None)
                for i in range(cell.n_repetitions)
                for share in [(500 + (number * 37 + 11 * i) % 500) / 1000]
            ]  # fmt: skip
            if (plan.name, task, method) == failed:
                last = len(outcomes) - 1
                outcomes[last] = Outcome(last, last, "failed", None, None, 0.1, None, error)
            store.write(record_of(cell, "0" * 64, outcomes, ENVIRONMENT))


def one_decimal(value):
    """One decimal by integers alone; a value within 1e-8 of a half goes away from zero."""
    tenths = (abs(round(value * 10**8)) + 5 * 10**6) // 10**7
    return f"{'-' if value < 0 and tenths else ''}{tenths // 10}.{tenths % 10}"
