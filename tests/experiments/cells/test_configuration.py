import shutil
from pathlib import Path

import pytest
from cell_factory import SMOKE
from hydra.utils import instantiate

from baselines.reference import TargetOnly
from experiments import catalogue
from experiments.catalogue import about, config_names
from experiments.cells.configuration import cell_from_config, cells_of, compose_config
from experiments.cells.plan import load_table
from experiments.cells.protocol import Protocol
from experiments.commands import COMMITTED_RESULTS, DEFAULT_RESULTS
from krda.base import DomainAdaptationClassifier

METHODS = config_names("method")


@pytest.mark.parametrize(
    ("dataset", "method", "protocol"),
    [
        *(("moons", method, "smoke") for method in METHODS),
        *((dataset, "krda", "paper") for dataset in config_names("dataset")),
        ("tables", "krda", "tables"),
    ],
)
def test_every_config_composes_to_the_cell_of_a_grid(dataset, method, protocol):
    config = compose_config((f"dataset={dataset}", f"method={method}", f"protocol={protocol}"))
    cell = cell_from_config(config)
    assert (cell.dataset, cell.method) == (dataset, method)
    assert cells_of(dataset, [cell.task], [method], [f"protocol={protocol}"]) == [cell]
    assert not {"quick", "label", "meaning", "family"} & set(cell.config["method"])
    assert isinstance(Protocol(**cell.config["protocol"]), Protocol)


@pytest.mark.parametrize("classifier", config_names("classifier"))
def test_every_method_is_made_with_every_classifier(classifier):
    for cell in cells_of("moons", ["40"], METHODS, [f"classifier={classifier}"]):
        made = cell.make_method(3)
        assert isinstance(made, DomainAdaptationClassifier | TargetOnly)
        parameters = made.get_params(deep=False)
        assert parameters.get("random_state", 3) == 3
        # Nothing of the constructor is left to a default that the config does not show.
        silent = set(parameters) - set(cell.config["method"]) - {"random_state"}
        assert silent <= ALLOWED_DEFAULTS.get(type(made).__name__, set())


# Parameters that only another variant of the method reads, or that change no number; and those that
# came later than the records, which are of the default.
ALLOWED_DEFAULTS = {
    "KRDA": {"alignment", "n_orders"},
    "OptimalTransport": {"reg_e", "reg_cl", "max_iter", "norm"},
    "SubspaceAlignment": {"scale"},
    **{
        name: {"validation_fraction", "patience"} for name in ("DANN", "CDAN", "SHOT", "DAN", "JAN")
    },
}


def test_every_method_has_a_label_of_its_own_and_a_family_and_a_foreign_one_its_name():
    assert len({about(method)["label"] for method in METHODS}) == len(METHODS)
    families = {about(method)["family"] for method in METHODS}
    assert families == {"reference", "alignment", "transport", "reweighting", "deep"}
    assert about("mine") == {"label": "mine", "meaning": "", "family": ""}


@pytest.mark.parametrize("name", config_names("table"))
def test_every_table_names_tasks_and_methods_that_exist(name):
    plan = load_table(name)
    assert set(plan.methods) <= set(METHODS)
    assert len(plan.cells) == len(plan.tasks) * len(plan.methods)
    dataset = instantiate(compose_config((f"dataset={plan.dataset}",)).dataset.data)
    assert plan.tasks == dataset.task_names
    assert plan.dataset == dataset.name


def test_an_unknown_table_is_refused_with_the_list_of_those_that_exist():
    with pytest.raises(ValueError, match="amazon, dialled, hepmass, hepmass_sim"):
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
    changes = (
        "method.n_components=3", "classifier=linear_svc", "dataset.angle=50",
        "dataset.data.noise=0.1", "protocol.n_repetitions=10", SMOKE,
    )  # fmt: skip
    others = {sha("method=krda", change) for change in changes}
    assert len(others | {default, sha("method=krda_reversed")}) == 8


@pytest.mark.parametrize(
    ("dataset", "spellings"),
    [
        ("moons", ("dataset.angle=40", "dataset.angle=40.0", "dataset.angle=4e1",
                   "dataset.task=40.0", "dataset.task=+40", "dataset.task=400e-1")),
        ("moons", ("dataset.angle=-0.0", "dataset.angle=0", "dataset.task=0.0")),
        ("moons", ("dataset.angle=40.1234567", "dataset.angle=401234567e-7")),
        ("moons", ("dataset.data.n_source=200", "dataset.data.n_source=2e2")),
        ("gaussians", ("dataset.data.sd=[1,2]", "dataset.data.sd=[1.0,2e0]")),
        ("amazon", ("protocol.source_fraction=1", "protocol.source_fraction=1.0")),
        ("amazon", ("protocol.n_repetitions=5", "protocol.n_repetitions=5.0")),
    ],
)  # fmt: skip
def test_spellings_of_one_number_are_one_cell_whose_task_has_its_name(dataset, spellings):
    cells = [cell_from_config(compose_config((f"dataset={dataset}", s))) for s in spellings]
    assert len({cell.config_sha256 for cell in cells}) == 1
    if dataset == "moons":
        assert cells[-1].load().name == cells[0].task


def test_a_second_name_of_a_task_is_refused():
    with pytest.raises(ValueError, match="by its own name"):
        cell_from_config(compose_config(("dataset=moons", "dataset.task='40.0'"))).load()


@pytest.mark.parametrize(
    "override",
    [
        "protocol.n_repetitions=1.5", "protocol.source_fraction=abc", "protocol.target_fraction=0",
        "protocol.max_rows=-5", "protocol.timeout_seconds=0", "protocol.timeout_seconds=true",
        "+method.timeout_seconds=-1",
    ],
)  # fmt: skip
def test_settings_of_the_wrong_kind_or_range_are_refused_by_name(override):
    name = override.partition("=")[0].rpartition(".")[2]
    with pytest.raises(ValueError, match=f"^{name} must be"):
        cell_from_config(compose_config((override,)))


def test_the_hidden_size_follows_the_data_set_as_in_the_paper():
    config = compose_config(("dataset=moons", "method=krda", "dataset.paper.hidden_size=77"))
    assert cell_from_config(config).config["method"]["hidden_size"] == 77


def test_what_is_run_goes_by_default_to_where_status_and_explain_look():
    assert Path(compose_config(()).runtime.results) == DEFAULT_RESULTS
    assert DEFAULT_RESULTS != COMMITTED_RESULTS


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("  - standardize\n", "  - standardise\n", "did you mean 'standardize'"),
        ("test_rows: 1000\n", "", "test_rows"),
        ("dataset: moons\n", "dataset: [moons\n", "line"),
    ],
)
def test_a_wrong_config_of_a_table_is_named(right, wrong, said, tmp_path, monkeypatch):
    configs = tmp_path / "configs"
    shutil.copytree(catalogue.CONFIG_DIRECTORY, configs)
    path = configs / "table" / "moons.yaml"
    assert right in path.read_text()
    path.write_text(path.read_text().replace(right, wrong))
    monkeypatch.setattr(catalogue, "CONFIG_DIRECTORY", configs)
    with pytest.raises(ValueError, match=r"^configs/table/moons.yaml: ") as caught:
        load_table("moons")
    assert said in str(caught.value)
