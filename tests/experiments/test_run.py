import re
import subprocess
import sys
from pathlib import Path

import pytest
from hydra.errors import ConfigCompositionException

from experiments.cells.configuration import compose_config
from experiments.run import check_runtime
from experiments.store.records import RecordStore

ROOT = Path(__file__).resolve().parents[2]


def run(tmp_path, *arguments):
    return subprocess.run(
        [
            sys.executable, "-m", "experiments.run", *arguments, "protocol=smoke",
            f"runtime.results={tmp_path}", f"hydra.run.dir={tmp_path}/run",
        ],
        capture_output=True, text=True, cwd=ROOT, timeout=900,
    )  # fmt: skip


def records(tmp_path):
    scan = RecordStore(tmp_path / "records").scan()
    assert scan.damaged == ()
    return {(r.task, r.method, r.config_sha256): r for r in scan}


def test_one_cell_is_run_printed_stored_and_then_read_instead_of_run(tmp_path):
    cell = ("dataset=moons", "dataset.angle=40", "method=krda")
    first, second = run(tmp_path, *cell), run(tmp_path, *cell)
    assert first.returncode == second.returncode == 0, first.stderr
    assert re.search(r"moons/40 krda: \d+\.\d ± \d+\.\d % \(", first.stdout)
    assert "written to" in first.stdout
    assert "read from" in second.stdout
    assert first.stdout.splitlines()[0] == second.stdout.splitlines()[0]
    assert first.stderr == ""
    assert len(records(tmp_path)) == 1


def test_a_cell_that_fails_is_told_recorded_and_makes_the_exit_status_1(tmp_path):
    done = run(tmp_path, "method=krda", "method.n_components=-1")
    assert done.returncode == 1
    assert "n_components must be an integer of at least 1, got -1" in done.stderr
    (record,) = records(tmp_path).values()
    assert not record.complete


@pytest.mark.parametrize(
    ("override", "said"),
    [("method=krdaa", "did you mean 'krda'?"), ("dataset.task=q", "named by its angle")],
)
def test_a_users_error_is_a_sentence_and_no_traceback(tmp_path, override, said):
    done = run(tmp_path, override)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_misspelt_override_names_what_is_wrong_before_anything_runs():
    with pytest.raises(ConfigCompositionException, match="n_component"):
        compose_config(("method=krda", "method.n_component=3"))


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
