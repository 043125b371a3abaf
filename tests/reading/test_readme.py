"""The README's table, and the sentence on the outcome, against the tables."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
from made_up import one_decimal, runs_of
from programs import ROOT

from experiments.analysis.table import Table
from experiments.catalogue import config_names
from experiments.cells.plan import load_table
from experiments.published import METHODS, published
from experiments.reading.wording import meanings, task_naming
from experiments.readme import ROWS, summary, time_table


def rows_of(text):
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    return lines[0], {line[0]: line[1:] for line in lines[2:]}


def table_of(dataset, tasks, values):
    plan = replace(load_table(dataset), tasks=tasks)
    return Table(plan, runs_of(values, dataset), repetitions=2)


def test_a_mean_has_an_interval_only_if_every_cell_is_complete():
    values = {
        ("10", "krda"): [0.90, 0.92], ("90", "krda"): [0.79, 0.81], ("10", "ot"): [0.90, 0.90],
        ("90", "ot"): [0.80, "failed: x"], ("10", "standardize"): [0.70, 0.70],
        ("90", "standardize"): [0.71, 0.71],
    }  # fmt: skip
    head, rows = rows_of(summary([table_of("moons", ("10", "90"), values)]))
    assert len(rows) == len(ROWS)
    assert [title.count("ours") for title in head] == [0, 1, 0, 1, 0]
    # Two repetitions: Student's factor is 12.706 and s over the root of 2 is half the distance.
    printed = [published("moons")[task, "krda"].mean for task in ("10", "90")]
    assert rows["KRDA"] == [
        "85.5 ± 12.7", one_decimal(sum(printed) / 2), "91.0 ± 12.7", one_decimal(printed[0]),
    ]  # fmt: skip
    assert rows["OT"][::2] == ["85.0†", "90.0 ± 0.0"]
    assert rows["Each domain standardised"] == ["70.5 ± 0.0", "–", "70.0 ± 0.0", "–"]
    assert rows["DANN"][::2] == ["–"] * 2, "a row without records"


def test_beside_simulated_data_is_how_far_the_cells_are():
    values = {("500-750", "krda"): [0.7, 0.7], ("750-500", "krda"): [0.9, 0.9]}
    table = table_of("hepmass_sim", ("500-750", "750-500"), values)
    head, rows = rows_of(summary([table]))
    assert "real data" in head[2]
    printed = [published("hepmass")[task, "krda"].mean for task, _ in values]
    away = (abs(70 - printed[0]) + abs(90 - printed[1])) / 2
    mean = one_decimal(sum(printed) / 2)
    assert rows["KRDA"] == ["80.0 ± 0.0", f"{mean} ({one_decimal(away)})"]


def test_every_abbreviation_and_every_table_with_names_of_tasks_is_explained():
    for method in METHODS.values():
        assert meanings([method]), method
    assert meanings(["standardize"]) == []
    for name in config_names("table"):
        assert task_naming(load_table(name).dataset), name


def test_seconds_are_those_of_the_repetitions_with_both_times_the_longest_method_first():
    moons = runs_of({("10", "krda"): [0.5, 0.5], ("20", "krda"): [0.5, "failed: x"]})
    runs = pd.concat([moons, runs_of({("B-D", "ot"): [0.5]}, "amazon")])
    runs.loc[runs.status == "failed", "predict_seconds"] = np.nan
    runs.loc[runs.method == "ot", "fit_seconds"] = 20.0
    head, rows = rows_of(time_table(runs))
    assert head == ["Seconds on one core", "amazon", "moons", "all"]
    assert list(rows) == ["OT", "KRDA", "**all**"]
    assert rows["KRDA"] == ["–", "0.6", "0.6"]
    assert rows["**all**"] == ["20", "0.6", "21"]


def test_the_outcome_in_the_readme_is_that_of_the_committed_tables():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (outcome,) = re.findall(r"\*\*The outcome:\*\* .*?\n\n", text, flags=re.DOTALL)
    assert outcome.count(". ") == 0, "one sentence"
    names = "moons", "hepmass_sim", "amazon"
    cells = pd.concat(pd.read_csv(ROOT / f"results/tables/{name}.csv") for name in names)
    assert set(cells[(cells.dataset == "moons") & (cells.method == "krda")].verdict) == {
        "reproduced"
    }
    means = cells.groupby(["dataset", "method"])["mean"].mean()
    in_paper = ["dann", "sa", "kmm", "ot", "shot", "cdan", "dan", "jan", "tca", "source_only"]
    assert (means["moons"][in_paper] < means["moons", "krda"]).all()
    assert means["moons", "ot_sinkhorn"] > means["moons", "krda"]
    for name in names[1:]:
        assert means[name, "quantiles"] > means[name, "krda"]
