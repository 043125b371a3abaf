import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from cell_factory import without_times

from experiments import reproduce
from experiments.plan import load_table
from experiments.records import RecordStore

ROOT = Path(__file__).resolve().parents[2]
SMALL = ("--protocol", "smoke", "--table", "moons", "--method", "source_only", "sa", "krda")


def contents(results):
    scan = RecordStore(results / "records").scan()
    assert scan.damaged == ()
    return {(r.task, r.method): without_times(r) for r in scan}


@pytest.fixture(scope="module")
def clean_run(tmp_path_factory):
    results = tmp_path_factory.mktemp("clean")
    assert reproduce.main([*SMALL, "--results", str(results), "--jobs", "1"]) == 0
    return results


def test_a_run_leaves_a_record_for_every_cell_and_the_tables(clean_run):
    assert len(contents(clean_run)) == 9 * 3
    assert {path.name for path in (clean_run / "tables").iterdir()} == {
        f"moons{part}.{suffix}" for part in ("", "-main", "-appendix")
        for suffix in ("md", "tex", "csv")
    }  # fmt: skip
    text = (clean_run / "tables" / "moons.md").read_text()
    assert "This is a trial run" in text
    assert "Missing cells" in text, "methods that were not asked for show as missing"


def test_the_number_of_workers_changes_nothing(clean_run, tmp_path):
    assert reproduce.main([*SMALL, "--results", str(tmp_path), "--jobs", "3"]) == 0
    assert contents(tmp_path) == contents(clean_run)
    for path in (clean_run / "tables").iterdir():
        assert (tmp_path / "tables" / path.name).read_bytes() == path.read_bytes()


def test_a_second_run_computes_nothing_and_changes_no_byte(clean_run, capsys):
    before = {p: p.read_bytes() for p in clean_run.rglob("*") if p.is_file()}
    assert reproduce.main([*SMALL, "--results", str(clean_run)]) == 0
    assert "27 done already, 0 to run" in capsys.readouterr().out
    assert {p: p.read_bytes() for p in clean_run.rglob("*") if p.is_file()} == before


def test_a_killed_run_loses_nothing_finished_and_ends_like_an_undisturbed_one(clean_run, tmp_path):
    command = [sys.executable, "-m", "experiments.reproduce", *SMALL, "--results", str(tmp_path)]
    for _ in range(2):
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
        finished = contents(tmp_path) if (tmp_path / "records").is_dir() else {}
        while len(list(tmp_path.rglob("*.json"))) < len(finished) + 4:
            assert process.poll() is None, "the run ended before it could be killed"
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kept = contents(tmp_path)
        assert len(finished) + 4 <= len(kept) < 27
        assert finished.items() <= kept.items()
    assert subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120).returncode == 0
    assert contents(tmp_path) == contents(clean_run)


def test_a_damaged_record_is_named_and_computed_again(clean_run, tmp_path, capsys):
    options = [*SMALL[:-2], "--results", str(tmp_path), "--jobs", "1"]
    assert reproduce.main(options) == 0
    path = next((tmp_path / "records/moons/40").glob("source_only-*.json"))
    path.write_bytes(path.read_bytes()[:-40])
    capsys.readouterr()
    assert reproduce.main(options) == 0
    out = capsys.readouterr().out
    assert path.name in out.replace("\n", "")
    assert "1 to run" in out
    expected = {k: v for k, v in contents(clean_run).items() if k[1] == "source_only"}
    assert contents(tmp_path) == expected


def test_a_failing_cell_ends_in_the_ledger_with_its_command_and_exit_status_1(
    tmp_path, monkeypatch, capsys
):
    def broken_table(name, overrides):
        plan = load_table(name, (*overrides, "++method.n_components=99"))
        return replace(plan, tasks=("10", "20"), paper=("source_only", "sa"), ours=())

    monkeypatch.setattr(reproduce, "load_table", broken_table)
    options = ["--protocol", "smoke", "--table", "moons", "--results", str(tmp_path)]
    assert reproduce.main(options) == 1
    out = capsys.readouterr().out
    # 'Source only' has no n_components and 'SA' cannot have 99: all four cells, both repetitions.
    assert "8 repetitions failed" in out
    assert "moons/10 sa, repetition 0: ValueError: n_components must be" in out
    assert "python -m experiments.run dataset=moons dataset.task=10 method=sa" in out
    table = (tmp_path / "tables" / "moons.md").read_text()
    assert "failed (0/2)" in table
    assert "Repetitions that are not done" in table


def test_status_counts_what_is_there_and_runs_nothing(clean_run, tmp_path, capsys):
    arguments = ["--protocol", "smoke", "--table", "moons", "--status"]
    assert reproduce.main([*arguments, "--results", str(clean_run)]) == 0
    n_missing = len(load_table("moons").cells) - 27
    assert f"27 done, {n_missing} missing" in capsys.readouterr().out
    assert reproduce.main([*arguments, "--results", str(tmp_path / "nothing")]) == 0
    assert not (tmp_path / "nothing").exists()


def test_ctrl_c_ends_with_what_is_done_kept(tmp_path):
    command = [sys.executable, "-m", "experiments.reproduce", *SMALL, "--results", str(tmp_path)]
    # Shells start background jobs with SIGINT ignored, and the tests may run in one.
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while len(list(tmp_path.rglob("*.json"))) < 3:
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "What is done is kept" in out
    assert len(contents(tmp_path)) >= 3
