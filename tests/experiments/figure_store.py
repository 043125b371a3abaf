"""Made-up records for the tests of figures: small tables, quick to draw."""

from dataclasses import replace

from experiments.cells.curves import CurvePlan
from experiments.cells.plan import TablePlan
from experiments.cells.repetitions import record_of
from experiments.store.records import Outcome, RecordStore

CURVE = CurvePlan(
    name="rows",
    title="Rows",
    dataset="moons",
    task="40",
    vary=("dataset.data.n_source", "dataset.data.n_target"),
    values=(20, 40, 60),
    label="Rows of each domain",
    everywhere=("source_only", "krda"),
    panels={"One": ("sa",), "Other": ("dann", "shot")},
    overrides=("protocol=smoke",),
)

MOONS = TablePlan(
    name="moons",
    title="Moons",
    dataset="moons",
    tasks=("10", "40", "90"),
    task_label="{}°",
    paper=("source_only", "target_only", "sa", "krda"),
    ours=("standardize",),
    test_rows=1000,
    overrides=("protocol=smoke",),
)


def outcome(repetition, accuracy, seconds=0.1):
    done = accuracy is not None
    return Outcome(
        repetition=repetition,
        seed=repetition,
        status="done" if done else "failed",
        accuracy=accuracy,
        fit_seconds=seconds if done else None,
        predict_seconds=0.01 if done else None,
        error=None if done else "ValueError: made up",
    )


def fill(store, cells, *, skip=(), partial=()):
    """Write a made-up record of two repetitions for each cell, by its key.

    Those in `skip` get none, the second repetition of those in `partial` has failed.
    """
    for number, (key, cell) in enumerate(cells.items()):
        if key in skip:
            continue
        accuracies = [0.5 + 0.4 * (number % 7) / 7, None if key in partial else 0.8]
        outcomes = {r: outcome(r, a, 0.001 * (number + 1)) for r, a in enumerate(accuracies)}
        store.write(record_of(cell, "0" * 64, outcomes))
    return store


def store_at(path):
    return RecordStore(path / "records")


def renamed(plan, **changes):
    """A plan with other attributes; its cells are made anew."""
    return replace(plan, **changes)
