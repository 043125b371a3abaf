import re
from dataclasses import replace

import pytest
from cell_factory import make_cell
from record_factory import NO_ACCURACY

from experiments import explain
from experiments.cells.repetitions import run_cell
from experiments.store.records import RecordStore


@pytest.fixture
def results(tmp_path):
    store = RecordStore(tmp_path / "records")
    store.write(run_cell(make_cell("dataset.task=40", method="sa")))
    return tmp_path


def arguments(results, *more, method="sa"):
    return ["moons/40", method, "--protocol", "smoke", "--results", str(results), *more]


def change(results, **changes):
    """Replace parts of the one record; of ``first``, parts of its first outcome."""
    store = RecordStore(results / "records")
    (record,) = store.scan()
    first = replace(record.outcomes[0], **changes.pop("first", {}))
    store.path_of(record).unlink()  # else a complete one would stay
    store.write(replace(record, outcomes=(first, *record.outcomes[1:]), **changes))
    return record


def test_a_cell_is_printed_whole(results, output_of):
    out = output_of(explain, *arguments(results))
    assert out.splitlines()[0] == f"Results: {results}"
    (record,) = RecordStore(results / "records").scan()
    for outcome in record.outcomes:
        assert repr(outcome.accuracy) in out
        assert f"seed: {outcome.seed}" in out
    for text in (record.identity, record.config_sha256, record.data_sha256,
                 record.code_fingerprint, record.environment["git_revision"],
                 "n_components:", "threads: 1",
                 "python -m experiments.run dataset=moons dataset.task=40 method=sa",
                 "protocol=smoke"):  # fmt: skip
        assert text in out
    assert re.search(r"moons/40 sa: \d+\.\d ± \d+\.\d % \(\d+\.\d \d+\.\d\)", out)


def test_verifying_says_identical_and_changes_nothing(results, output_of):
    before = {p: p.read_bytes() for p in results.rglob("*.json")}
    assert "Identical" in output_of(explain, *arguments(results, "--verify"))
    assert {p: p.read_bytes() for p in results.rglob("*.json")} == before


def test_verifying_names_an_accuracy_that_differs(results, output_of):
    change(results, first={"accuracy": 0.123})
    out = output_of(explain, *arguments(results, "--verify"), status=1)
    assert "repetition 0, accuracy differs: stored 0.123, now" in out


def test_verifying_names_what_differs_between_the_environments(results, output_of):
    other = {**change(results).environment, "cpu": "Other CPU", "libraries": {"numpy": "0.1"}}
    change(results, environment=other, identity="cd" * 32)
    out = output_of(explain, *arguments(results, "--verify"), status=1)
    for text in ("processor Other CPU / ", "numpy 0.1 / ", "identity differs"):
        assert text in out


def test_verifying_names_other_code_and_nothing_of_numbers_that_agree(results, output_of):
    change(results, code_fingerprint="ab" * 32, identity="cd" * 32)
    out = output_of(explain, *arguments(results, "--verify"), status=1)
    assert "moons/40 sa: stale" in out
    assert "code_fingerprint differs" in out
    assert "repetition 0," not in out


def test_a_repetition_that_failed_is_shown(results, output_of):
    change(results, first={"status": "failed", **NO_ACCURACY, "error": "no luck"})
    out = output_of(explain, *arguments(results))
    assert "moons/40 sa: failed" in out
    assert "error: no luck" in out


def test_no_record_and_a_damaged_one_are_told_with_the_command(results, capsys):
    assert explain.main(arguments(results, method="ot")) == 2
    err = capsys.readouterr().err
    assert "no record at" in err
    assert "method=ot" in err
    (path,) = results.rglob("*.json")
    path.write_bytes(path.read_bytes()[:100])
    assert explain.main(arguments(results)) == 2
    assert "no valid record" in capsys.readouterr().err


def test_where_nothing_was_run_committed_results_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert explain.main(["moons/40", "sa", "--protocol", "smoke"]) == 2
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "Results: reproduction"
    assert "--results results" in err


@pytest.mark.parametrize("task", ["moons", "moons/"])
def test_a_task_that_is_none_is_refused(task, capsys):
    with pytest.raises(SystemExit):
        explain.main([task, "sa"])
    assert "expected DATASET/TASK" in capsys.readouterr().err


def test_settings_without_a_value_are_named(capsys):
    assert explain.main(["csv/labels", "krda", "dataset.data.source=a.csv"]) == 2
    assert "dataset.data.label, dataset.data.target" in capsys.readouterr().err


def test_an_override_that_hydra_refuses_is_named_without_a_traceback(capsys):
    assert explain.main(["moons/40", "krda", "method.n_component=3"]) == 2
    assert "Could not override 'method.n_component'" in capsys.readouterr().err
