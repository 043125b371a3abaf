import re

import pytest
from cell_factory import InProcess, records_in
from programs import ROOT, run_python

from experiments.cells.configuration import compose_config
from experiments.run import check_overrides, check_runtime
from experiments.running.engine import Engine


def command(tmp_path, *arguments):
    return [*arguments, "protocol=smoke", f"runtime.results={tmp_path}",
            f"hydra.run.dir={tmp_path}/run"]  # fmt: skip


def test_one_cell_is_run_printed_and_stored_and_then_read_instead_of_run(tmp_path, run_here):
    cell = ("dataset=moons", "dataset.angle=40", "method=sa")
    first = run_python("-m", "experiments.run", *command(tmp_path, *cell))
    assert first.returncode == 0, first.stderr
    assert re.search(r"moons/40 sa: \d+\.\d ± \d+\.\d % \(", first.stdout)
    assert "written to" in first.stdout
    assert first.stderr == ""
    assert len(records_in(tmp_path)) == 1
    status, out, _ = run_here(*command(tmp_path, *cell))
    assert status == 0
    assert out.splitlines()[0] == first.stdout.splitlines()[0]
    assert "read from" in out


def test_a_cell_that_fails_is_told_and_makes_the_exit_status_1(tmp_path, run_here, monkeypatch):
    monkeypatch.setattr(Engine, "call", InProcess.call)
    status, _, err = run_here(*command(tmp_path, "method=krda", "method.n_components=-1"))
    assert status == 1
    assert "n_components must be an integer of at least 1, got -1" in err
    (record,) = records_in(tmp_path)
    assert not record.complete


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("method=krdaa", "did you mean 'krda'?"),
        ("dataset.task=q", "named by its angle"),
        ("dataset=csv", "set them: dataset.data.label, dataset.data.source, dataset.data.target"),
    ],
)
def test_a_users_error_is_a_sentence_and_no_traceback(tmp_path, run_here, override, said):
    status, _, err = run_here(*command(tmp_path, override))
    assert status == 1
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "override",
    [
        "runtime.results=", "runtime.results=.", "runtime.results=null", f"runtime.results={ROOT}",
        "runtime.timeout_seconds=-1", "runtime.timeout_seconds=0", "runtime.timeout_seconds=soon",
        "runtime.force=perhaps", "runtime.force=1", "runtime.objective=precision",
    ],
)  # fmt: skip
def test_how_a_cell_is_run_is_checked(override, monkeypatch):
    monkeypatch.chdir(ROOT)
    with pytest.raises(ValueError, match=f"^{override.partition('=')[0]} must"):
        check_runtime(compose_config((override,)).runtime)


@pytest.mark.parametrize(
    ("override", "meant"),
    [
        ("dataset.angel=40", "dataset.angle"),
        ("runtime.result=elsewhere", "runtime.results"),
        ("method.n_component=3", "method.n_components"),
    ],
)
def test_a_misspelt_override_is_refused_with_the_one_that_is_meant(override, meant):
    with pytest.raises(ValueError, match=f"did you mean '{meant}'"):
        check_overrides(["dataset=moons", override])
    fine = ["dataset=moons", "dataset.angle=10,20", "method=ot,sa", "method.classifier.C=2"]
    check_overrides(["-m", *fine, "+x.y=1"])
