"""What the repository claims is what its records say."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from made_up import one_decimal
from programs import ROOT
from record_factory import stored
from scipy import stats

from experiments import readme
from experiments.analysis.cells import cells_csv
from experiments.catalogue import config_names
from experiments.cells.plan import curves_of, load_curve, load_table
from experiments.reading.markdown import filled
from experiments.reading.results import paper_shaped, read_results, table_of
from experiments.reading.tables import public
from experiments.store.frame import to_frame
from experiments.store.records import RecordStore

RESULTS = ROOT / "results"
STORE = RecordStore(RESULTS / "records")
# Of real HEPMASS, which is on few computers, there need not be any.
TABLES = tuple(name for name in config_names("table") if (STORE.root / name).is_dir())


def read(text):
    return pd.read_csv(text, dtype={"task": str})


def test_committed_numbers_are_those_of_the_committed_records():
    plans = [load_table(name) for name in TABLES]
    frame = to_frame(RESULTS)
    results = read_results(plans, curves_of(plans), frame)
    parts = [table_of(part, frame) for plan in plans for part in paper_shaped(plan)]
    frames = {
        table.plan.name: public(cells_csv(table.cells)) for table in [*results.tables, *parts]
    }
    frames |= {"placebo": public(results.placebo), "comparison": public(results.comparison, 8)}
    frames |= {"comparison-tests": public(results.tests, 8)}
    for name, frame in frames.items():
        committed = read(RESULTS / "tables" / f"{name}.csv")
        rendered = read(io.StringIO(frame.to_csv(index=False)))
        pd.testing.assert_frame_equal(rendered, committed, check_exact=True, check_dtype=False)
    text = (RESULTS / "tables" / "claims.md").read_text(encoding="utf-8")
    for row in results.claims.itertuples():
        assert row.counts in text
        assert f"**{row.verdict}**" in text or f"(simulated): {row.verdict}**" in text


@pytest.mark.parametrize(
    "path", sorted((RESULTS / "tables").glob("*.tex")), ids=lambda path: path.stem
)
def test_every_number_of_a_committed_table_traces_back_to_the_files_of_its_records(path):
    """Read as plain JSON and recomputed with numpy, past all code that made the tables."""
    name = path.stem
    with (RESULTS / "tables" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert lines
    text = (RESULTS / "tables" / f"{name}.md").read_text(encoding="utf-8")
    tex = (RESULTS / "tables" / f"{name}.tex").read_text(encoding="utf-8")
    cells = load_table(name.removesuffix("-main").removesuffix("-appendix")).cells
    for line in lines:
        directory = RESULTS / "records" / line["dataset"] / line["task"]
        # The learning curve has other records of the same method and task.
        config = cells[line["task"], line["method"]].config_sha256
        path = directory / f"{line['method']}-{config[:12]}.json"
        outcomes = json.loads(path.read_text())["outcomes"]
        five = 100 * np.array([outcome["accuracy"] for outcome in outcomes], dtype=float)
        assert [float(a) for a in line["accuracies"].split(";")] == five.round(8).tolist()
        half = stats.t.ppf(0.975, len(five) - 1) * five.std(ddof=1) / np.sqrt(len(five))
        assert float(line["mean"]) == pytest.approx(five.mean(), abs=1e-7)
        assert float(line["ci95"]) == pytest.approx(half, abs=1e-7)
        if line["published_mean"]:
            difference = five.mean() - float(line["published_mean"])
            assert float(line["difference"]) == pytest.approx(difference, abs=1e-7)
        mean, width = float(line["mean"]), float(line["ci95"])
        assert f"{one_decimal(mean)} ± {one_decimal(width)}" in text
        assert rf"{one_decimal(mean)} $\pm$ {one_decimal(width)}" in tex


def test_documents_say_what_the_committed_tables_and_records_say():
    for path, own in readme.contents(RESULTS.parent).items():
        text = path.read_text(encoding="utf-8")
        assert text == filled(text, "results", own)


def test_every_committed_record_is_valid_and_wanted_by_a_table_or_a_curve():
    scan = STORE.scan()
    assert scan.damaged == ()

    def keys(cells):
        return {(cell.dataset, cell.task, cell.method, cell.config_sha256) for cell in cells}

    by_tables = keys(cell for name in TABLES for cell in load_table(name).cells.values())
    by_curves = keys(
        cell for name in config_names("curve") for cell in load_curve(name).cells.values()
    )
    found = {(r.dataset, r.task, r.method, r.config_sha256) for r in scan}
    assert by_tables <= found
    assert found <= by_tables | by_curves


@pytest.mark.parametrize("name", TABLES)
def test_committed_records_were_made_by_the_config_they_hold(name):
    for cell in load_table(name).cells.values():
        record = stored(cell, STORE)
        assert record.config == json.loads(json.dumps(cell.config))
        assert len(record.outcomes) == cell.n_repetitions
        assert record.environment["threads"] == 1
        assert record.environment["git_revision"]
