"""The measured variance over test rows is what the command measures; its file has its columns."""

import pandas as pd
import pytest

from experiments.analysis.verdicts import TEST_ROWS
from studies.moons_test_rows import main


def test_the_committed_variance_is_what_the_command_measures(tmp_path, monkeypatch, capsys):
    import studies.moons_test_rows as study

    plan = study.load_table("moons")
    monkeypatch.setattr(study, "load_table", lambda name: plan)
    monkeypatch.setattr(
        study, "cells_of", lambda *_: [plan.cells["90", "source_only"], plan.cells["10", "ot"]]
    )
    main(["--output", str(tmp_path / "rows.csv")])
    found = pd.read_csv(tmp_path / "rows.csv")
    committed = pd.read_csv(TEST_ROWS)
    assert list(found) == list(committed)
    for _, row in found.iterrows():
        same = (committed["task"] == row["task"]) & (committed["method"] == row["method"])
        (expected,) = committed[same].to_dict("records")
        assert row["fits"] == expected["fits"] == 2
        assert row["accuracy"] == pytest.approx(expected["accuracy"], abs=0.1)
        assert row["variance"] == pytest.approx(expected["variance"], rel=0.1, abs=1e-9)
    capsys.readouterr()
