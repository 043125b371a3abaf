"""One run of made-up records, rendered once."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from made_up import write_records

from experiments.cells.plan import curves_of, load_table
from experiments.reading import figures
from experiments.reading.render import render, render_tables
from experiments.reading.results import read_results
from experiments.store.frame import to_frame
from experiments.store.records import RecordStore

TASKS = {"moons": ("10", "40"), "hepmass_sim": ("500-750", "750-500")}
METHODS = ("source_only", "target_only", "krda", "ot", "jan")
ERROR = 'ValueError: <script>alert("lost & found")</script>'


@pytest.fixture(autouse=True, scope="module")
def few_figures():
    """Three kinds of figures: the others take long to save, and are drawn in test_figures.py."""
    every = figures.figures_of

    def chosen(table, directory):
        kinds = ("accuracy", "differ", "means")
        return (f for f in every(table, directory) if f.name.startswith(kinds))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "figures_of", chosen)
        yield


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """Two small tables; JAN has lost a repetition on the moons at 40 degrees."""
    directory = tmp_path_factory.mktemp("results")
    plans = [
        replace(load_table(name), tasks=tasks, paper=METHODS, ours=("quantiles",), aside=())
        for name, tasks in TASKS.items()
    ]
    store = RecordStore(directory / "records")
    write_records(store, plans, ("moons", "40", "jan"), ERROR)
    results = read_results(plans, curves_of(plans), to_frame(directory))
    render_tables(results.tables, directory / "tables")
    return SimpleNamespace(directory=directory, plans=plans, results=results)


@pytest.fixture(scope="module")
def rendered(recorded, few_figures):
    """The same, with all files."""
    assert render(recorded.results, recorded.directory, str)
    return recorded
