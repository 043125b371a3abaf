from pathlib import Path

import pytest
from cell_factory import SMOKE
from hydra.utils import instantiate

from baselines.reference import TargetOnly
from experiments.configuration import (
    cell_from_config,
    cells_of,
    compose_config,
    config_names,
)
from experiments.directories import COMMITTED_RESULTS, DEFAULT_RESULTS
from experiments.plan import METHOD_LABELS, load_table
from experiments.protocol import Protocol
from krda.adaptation import DomainAdaptationClassifier

DATASETS = config_names("dataset")
METHODS = config_names("method")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("protocol", config_names("protocol"))
def test_every_combination_of_configs_composes_to_a_cell(dataset, method, protocol):
    config = compose_config((f"dataset={dataset}", f"method={method}", f"protocol={protocol}"))
    cell = cell_from_config(config)
    assert (cell.dataset, cell.method) == (dataset, method)
    assert "quick" not in cell.config["method"]
    assert isinstance(instantiate(cell.config["protocol"]), Protocol)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classifier", config_names("classifier"))
def test_every_method_is_made_with_every_classifier(method, classifier):
    cell = cell_from_config(compose_config((f"method={method}", f"classifier={classifier}")))
    made = cell.make_method(3)
    assert isinstance(made, DomainAdaptationClassifier | TargetOnly)
    parameters = made.get_params(deep=False)
    assert parameters.get("random_state", 3) == 3
    # Nothing of the constructor is left to a default that the config does not show.
    silent = set(parameters) - set(cell.config["method"]) - {"random_state"}
    assert silent <= ALLOWED_DEFAULTS.get(type(made).__name__, set())


# Parameters that only another variant of the method reads, or that change no number.
ALLOWED_DEFAULTS = {
    "OptimalTransport": {"reg_e", "reg_cl", "max_iter", "max_inner_iter", "tol", "metric", "norm"},
    "DAN": {"bandwidth_factors"},
    "JAN": {"bandwidth_factors"},
}


def test_every_method_has_a_label():
    assert set(METHODS) == set(METHOD_LABELS)


@pytest.mark.parametrize("name", config_names("table"))
def test_every_table_names_tasks_and_methods_that_exist(name):
    plan = load_table(name)
    assert set(plan.methods) <= set(METHODS)
    assert len(plan.cells) == len(plan.tasks) * len(plan.methods)
    dataset = instantiate(compose_config((f"dataset={plan.dataset}",)).dataset.data)
    assert plan.tasks == dataset.task_names
    assert plan.dataset == dataset.name


def test_an_unknown_table_is_refused_with_the_list_of_those_that_exist():
    with pytest.raises(ValueError, match="the tables are amazon, hepmass, hepmass_sim, moons"):
        load_table("mnist")


def test_a_task_is_named_by_its_parts_or_as_a_whole():
    by_parts = compose_config(("dataset=amazon", "dataset.source=K", "dataset.target=E"))
    as_a_whole = compose_config(("dataset=amazon", "dataset.task=K-E"))
    cells = [cell_from_config(config) for config in (by_parts, as_a_whole)]
    (grid,) = cells_of("amazon", ["K-E"], ["krda"])
    assert cells[0].task == "K-E"
    assert {cell.config_sha256 for cell in cells} == {grid.config_sha256}


def test_settings_that_change_numbers_give_another_cell_and_others_do_not():
    def sha(*overrides):
        return cell_from_config(compose_config(overrides)).config_sha256

    default = sha("method=krda")
    assert sha("method=krda", "runtime.results=elsewhere", "runtime.force=true") == default
    others = {
        sha("method=krda", "method.n_components=3"),
        sha("method=krda", "classifier=linear_svc"),
        sha("method=krda", "dataset.angle=50"),
        sha("method=krda", "dataset.data.noise=0.1"),
        sha("method=krda", "protocol.n_repetitions=10"),
        sha("method=krda_reversed"),
        sha("method=krda", SMOKE),
    }
    assert len(others | {default}) == 8


def test_the_hidden_size_follows_the_data_set_as_in_the_paper():
    config = compose_config(("dataset=moons", "method=krda", "dataset.paper.hidden_size=77"))
    assert cell_from_config(config).config["method"]["hidden_size"] == 77


@pytest.mark.parametrize(
    ("dataset", "overrides"),
    [
        ("amazon", ()),
        ("moons", ("protocol=smoke",)),
        ("hepmass_sim", ("dataset.data.draw=3", "method.hidden_size=7")),
    ],
)
def test_a_grid_has_the_cells_that_hydra_composes_one_by_one(dataset, overrides):
    (cell,) = cells_of(dataset, ["x"], ["krda"], overrides)
    alone = cell_from_config(
        compose_config((f"dataset={dataset}", "method=krda", *overrides)), task="x"
    )
    assert cell == alone
    assert cell.timeout_seconds == alone.timeout_seconds


def test_what_is_run_goes_by_default_to_where_status_and_explain_look():
    assert Path(compose_config(()).runtime.results) == DEFAULT_RESULTS
    assert DEFAULT_RESULTS != COMMITTED_RESULTS
