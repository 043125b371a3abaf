"""What figures show beyond the records is computed once, and again for other code or data."""

from dataclasses import replace

import pandas as pd
import pytest
from made_up import plan_of

from experiments import fits
from experiments.reading.figures.densities import draw_training
from experiments.reading.figures.numbers import load

ROWS = ("kind", "label", "x", "y")
CURVES = ("step", "source_train", "source_held_out", "target_train", "target_held_out", "kept")
MARGINALS = ("task", "identity", "column", "before", "after")
PLAN = replace(plan_of(), tasks=("10", "40"), paper=("krda",), overrides=("protocol=smoke",))


@pytest.fixture
def made(monkeypatch):
    """Fits that cost nothing: what was made of which cells, and the identity that all have."""
    calls, identity = [], ["one"]

    def frame(columns):
        def make(cell):
            calls.append(cell.label)
            if "fails" in identity and cell.task == "40":
                raise FloatingPointError("made up")
            own = {"task": cell.task, "identity": identity[0]}
            return pd.DataFrame([[own.get(name, 1.0) for name in columns]], columns=list(columns))

        return make

    monkeypatch.setattr(fits, "stored_identity", lambda cell: identity[0])
    for name, columns in (
        ("transport_rows", ROWS), ("training_curves", CURVES), ("marginals", MARGINALS)
    ):  # fmt: skip
        monkeypatch.setattr(fits, name, frame(columns))
    return calls, identity


def test_fits_are_made_once_and_again_for_other_code(made, tmp_path):
    calls, identity = made
    assert fits.update([PLAN], tmp_path, str)
    # Two tasks' marginals, a training, and the transports of moons, of components and of Gaussians.
    assert len(calls) == 2 + 1 + 1 + 3 + 3
    assert fits.update([PLAN], tmp_path, str)
    assert len(calls) == 10
    for damage in (b"", b"damaged", b"# one\nkind,x\nsource,\n", b"# one\nkind,x\n\xff,1\n"):
        (tmp_path / "moons_40.csv").write_bytes(damage)
        assert fits.update([PLAN], tmp_path, str)
    assert calls[10:] == ["moons/40 krda"] * 4
    identity[0] = "two"
    assert fits.update([PLAN], tmp_path, str)
    assert len(calls) == 10 + 4 + 10
    assert load(tmp_path / "moons_40.csv")[1] == "two"


def test_a_fit_that_fails_costs_no_other_one(made, tmp_path, capsys):
    made[1][:] = ["two", "fails"]
    assert not fits.update([PLAN], tmp_path, str)
    assert "made up" in capsys.readouterr().out
    assert list(load(tmp_path / "marginals_moons.csv")[0].task) == ["10"]


def test_what_is_stored_of_krda_is_that_of_repetition_0(tmp_path, monkeypatch):
    training = [fit for fit in fits._fits_of(PLAN) if fit[0] == "training_moons"]
    monkeypatch.setattr(fits, "_fits_of", lambda plan: training)
    assert fits.update([PLAN], tmp_path, str)
    curves = load(tmp_path / "training_moons.csv")[0]
    best = curves[["source_held_out", "target_held_out"]].sum(axis=1).idxmin()
    assert curves.kept[best] == 1
    assert draw_training(PLAN, tmp_path) is not None
