"""Small cells for tests."""

from experiments.configuration import cell_from_config, compose_config

# Sizes at which every method runs in about a second.
SMOKE = "protocol=smoke"


def make_cell(*overrides, dataset="moons", method="source_only"):
    return cell_from_config(
        compose_config((f"dataset={dataset}", f"method={method}", SMOKE, *overrides))
    )


def without_times(record):
    """A record's content but for what may differ between two runs of the same cell."""
    return (
        record.identity,
        record.config,
        record.data_sha256,
        [(o.repetition, o.seed, o.status, o.accuracy, o.error) for o in record.outcomes],
    )
