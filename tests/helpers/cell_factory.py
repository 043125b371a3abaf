"""Small cells for tests."""

from functools import cache

from hydra import compose, initialize_config_dir

from experiments.catalogue import CONFIG_DIRECTORY
from experiments.cells.configuration import cell_from_config, compose_config
from experiments.running.engine import Engine
from experiments.store.records import RecordStore

# Sizes at which every method runs in about a second.
SMOKE = "protocol=smoke"
compose_once = cache(compose_config)


def make_cell(*overrides, dataset="moons", method="source_only"):
    return cell_from_config(
        compose_once((f"dataset={dataset}", f"method={method}", SMOKE, *overrides))
    )


def hydra_config(*overrides):
    """Compose a config as Hydra's own command line does, with Hydra's part."""
    with initialize_config_dir(str(CONFIG_DIRECTORY), version_base="1.3"):
        return compose("benchmark", list(overrides), return_hydra_config=True).hydra


def without_times(record):
    """A record's content but for what may differ between two runs of the same cell."""
    return (
        record.identity,
        record.config,
        record.data_sha256,
        [(o.repetition, o.seed, o.status, o.accuracy, o.error) for o in record.outcomes],
    )


class InProcess(Engine):
    """The engine without worker processes."""

    def call(self, function, *arguments, timeout_seconds=None):
        return function(*arguments)


def records_in(results):
    """All records of a directory, of which none is damaged."""
    scan = RecordStore(results / "records").scan()
    assert scan.damaged == ()
    return list(scan)


def odd_cell(directory, name, plan=("ok",), repetitions=3, method="source_only"):
    """A cell whose classifier does as the plan says; ``directory/name`` counts its fits."""
    log = directory / name
    words = ",".join(str(word) for word in plan)
    return make_cell(
        f"dataset.task={name}",
        f"protocol.n_repetitions={repetitions}",
        "classifier._target_=odd_classifiers.Odd",
        f"+classifier.log={log}",
        f"+classifier.plan=[{words}]",
        method=method,
    )


def n_fits(directory, name):
    log = directory / name
    return len(log.read_text().splitlines()) if log.exists() else 0
