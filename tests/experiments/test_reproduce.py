import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from cell_factory import make_cell, records_in, without_times
from programs import ROOT, run_program, run_python
from record_factory import NO_ACCURACY

from experiments import reproduce
from experiments.catalogue import config_names
from experiments.cells.configuration import cell_from_config, compose_config
from experiments.cells.plan import load_table
from experiments.commands import rerun_command
from experiments.running import progress
from experiments.store.records import RecordStore

SMALL = ("--protocol", "smoke", "--table", "moons", "--method", "source_only", "sa", "krda")


def contents(results):
    found = records_in(results)
    return {(r.task, r.method, r.config_sha256): without_times(r) for r in found}


def assert_same_results(results, expected):
    assert contents(results) == contents(expected)
    for path in (expected / "tables").iterdir():
        assert (results / "tables" / path.name).read_bytes() == path.read_bytes()


@pytest.fixture(scope="module", autouse=True)
def no_figures():
    """Figures take most of the time; `make smoke` and tests/reading draw them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("experiments.reading.render.render_figures", lambda *_: ([], []))
        patch.setattr("experiments.fits.update", lambda *_: True)
        patch.setattr("experiments.reproduce.COMMITTED_RESULTS", Path("none"))  # they are many
        yield


@pytest.fixture(scope="module")
def clean_run(tmp_path_factory, no_figures):
    results = tmp_path_factory.mktemp("clean")
    assert reproduce.main([*SMALL, "--results", str(results), "--jobs", "1"]) == 0
    return results


def test_a_run_leaves_a_record_for_every_cell_and_the_tables(clean_run):
    # Of three methods two angles of the table and two sizes of the learning curve, twice each.
    assert len(contents(clean_run)) == (2 + 2) * 3
    assert len(pd.read_csv(clean_run / "all.csv")) == (2 + 2) * 3 * 2
    assert {path.name for path in (clean_run / "tables").iterdir()} == {
        f"moons{part}.{suffix}"
        for part in ("", "-main", "-appendix")
        for suffix in ("md", "tex", "csv")
    }
    text = (clean_run / "tables" / "moons.md").read_text()
    assert "This is a trial run" in text


def test_the_number_of_workers_changes_nothing(clean_run, tmp_path, monkeypatch, output_of):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    out = output_of(reproduce, *SMALL, "--results", tmp_path, "--jobs", "3")
    # A line now and then says how far the run is.
    assert len(re.findall(r"\d\d:\d\d:\d\d \d+ of 12 cells done", out)) > 2
    assert_same_results(tmp_path, clean_run)


def test_a_second_run_computes_nothing_and_changes_no_byte(clean_run, output_of):
    before = {p: p.read_bytes() for p in clean_run.rglob("*") if p.is_file()}
    out = output_of(reproduce, *SMALL, "--results", clean_run)
    assert "12 done already, 0 to run" in out
    assert {p: p.read_bytes() for p in clean_run.rglob("*") if p.is_file()} == before


def test_nothing_is_fitted_for_figures_unless_krda_is_among_the_methods(clean_run, monkeypatch):
    fitted = []
    monkeypatch.setattr("experiments.fits.update", lambda *_: not fitted.append("once"))
    for methods, expected in (("sa", []), ("sa,krda", ["once"])):
        options = ["--method", methods, "--results", str(clean_run)]
        assert reproduce.main([*SMALL[:4], *options]) == 0
        assert fitted == expected


@pytest.mark.slow
def test_whatever_ends_a_run_and_when_the_records_end_as_those_of_a_clean_one(clean_run, tmp_path):
    clean, kept = contents(clean_run), {}
    # Progress sets the moment, not the clock: how fast a run is differs between machines.
    for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
        process = start(tmp_path)
        while len(list(tmp_path.rglob("*.json"))) <= len(kept):
            assert process.poll() is None, "the run ended before it could be ended"
            time.sleep(0.01)
        if number == signal.SIGTERM:
            process.send_signal(number)  # as a scheduler does
        else:
            os.killpg(process.pid, number)  # as a terminal does
        out, _ = process.communicate(timeout=300)
        if number != signal.SIGKILL:
            assert process.returncode == 130
            assert "What is done is kept" in out
            assert "Traceback" not in out
        before, kept = kept, contents(tmp_path)  # nothing is damaged
        assert before.items() < kept.items() < clean.items()
    assert reproduce.main([*SMALL, "--results", str(tmp_path)]) == 0
    assert_same_results(tmp_path, clean_run)


def start(results):
    """Start a run, cell by cell, as a process group of its own."""
    command = [sys.executable, "-m", "experiments.reproduce", *SMALL, "--jobs=1"]
    return subprocess.Popen(
        [*command, f"--results={results}"], cwd=ROOT,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
        # Shells start background jobs with SIGINT ignored, and the tests may run in one.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def test_a_disk_that_takes_no_more_ends_the_run_with_a_clear_error(clean_run, tmp_path, capsys):
    # Records are larger than that; locks are empty.
    limit = 1000
    assert min(p.stat().st_size for p in clean_run.rglob("*.json")) > limit
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        status = reproduce.main([*SMALL, "--results", str(tmp_path)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    out = capsys.readouterr().out
    assert status == 1
    assert "File too large" in out
    assert "What is done is kept" in out
    assert [p for p in tmp_path.rglob("*") if p.is_file() and p.suffix != ".lock"] == []


def test_a_damaged_record_is_named_and_computed_again(clean_run, tmp_path, output_of, monkeypatch):
    shutil.copytree(clean_run, tmp_path, dirs_exist_ok=True)
    path = next((tmp_path / "records/moons/10").glob("source_only-*.json"))
    path.write_bytes(path.read_bytes()[:-40])
    monkeypatch.setattr(reproduce, "render", lambda *_: 0)
    out = output_of(reproduce, *SMALL, "--results", tmp_path, "--jobs", "1")
    assert path.name in out.replace("\n", "")
    assert "1 to run" in out
    assert contents(tmp_path) == contents(clean_run)


def test_a_failing_cell_is_told_with_its_command_and_status_1(tmp_path, monkeypatch, output_of):
    def broken_table(name, overrides):
        plan = load_table(name, (*overrides, "++method.n_components=99"))
        return replace(plan, paper=("source_only", "sa"), ours=())

    monkeypatch.setattr(reproduce, "load_table", broken_table)
    monkeypatch.setattr(reproduce, "curves_of", lambda tables: [])
    options = ["--protocol", "smoke", "--table", "moons", "--results", str(tmp_path)]
    out = output_of(reproduce, *options, status=1)
    # 'Source only' has no n_components and 'SA' cannot have 99: all four cells, both repetitions.
    assert "4 cells failed" in out
    assert out.count(", repetition 0, 1 failed: ") == 4
    assert "moons/10 sa, repetition 0, 1 failed: ValueError: n_components must be" in out
    assert "python -m experiments.run dataset=moons dataset.task=10 method=sa" in out
    table = (tmp_path / "tables" / "moons.md").read_text()
    assert "failed (0/2)" in table
    assert "Repetitions that are not done" in table


def test_status_counts_the_named_methods_parted_by_commas_or_spaces(clean_run, output_of):
    told = []
    for methods in (["krda", "ot"], ["krda,ot"], ["krda ot"]):
        arguments = *SMALL[:4], "--status", "--results", clean_run, "--method", *methods
        told.append(output_of(reproduce, *arguments))
    assert told[0] == told[1] == told[2]
    assert told[0].splitlines()[0] == f"Results: {clean_run}"
    assert "moons: 4 cells: 2 done, 2 missing" in told[0]
    assert "moons_rows: 4 cells: 2 done, 2 missing" in told[0]


def test_an_unknown_method_between_commas_is_refused_with_those_that_there_are(capsys):
    with pytest.raises(SystemExit):
        reproduce.main(["--status", "--method", "krda,mnist"])
    error = capsys.readouterr().err
    assert "'mnist'" in error
    assert "affine, auto, cdan," in error


def test_where_nothing_was_run_committed_results_are_named(tmp_path, monkeypatch, output_of):
    monkeypatch.chdir(tmp_path)
    for action, status in (("--status", 0), ("--render", 1)):
        for where, options in (("reproduction", ()), ("elsewhere", ("--results", "elsewhere"))):
            out = output_of(reproduce, *SMALL[:4], action, *options, status=status)
            assert out.splitlines()[0] == f"Results: {where}"
            assert f"no records in {where}" in out
            assert "--results results" in out
    assert list(tmp_path.iterdir()) == []


CHECK = ("--protocol", "smoke", "--table", "moons", "--results")


def test_status_names_what_is_damaged_and_what_is_not_finished(clean_run, tmp_path, output_of):
    shutil.copytree(clean_run, tmp_path, dirs_exist_ok=True)
    store = RecordStore(tmp_path / "records")
    cut, left = (
        next((tmp_path / "records/moons/10").glob(f"{method}-*")) for method in ("krda", "sa")
    )
    cut.write_bytes(cut.read_bytes()[:-1])
    record = store.read(left)
    timeout = replace(record.outcomes[1], status="timeout", **NO_ACCURACY, error="too slow")
    left.unlink()
    store.write(replace(record, outcomes=(record.outcomes[0], timeout)))
    (tmp_path / "records" / "copy.json").write_bytes(left.read_bytes())
    (tmp_path / "records" / "moons" / "notes.txt").write_text("x")
    for action in ("--status", "--check"):
        out = output_of(reproduce, *CHECK, tmp_path, action, status=1)
        assert "1 damaged, 4 done, 1 failed" in out
        assert f"damaged: {cut}: no valid record: the checksum does not match" in out
        assert f"damaged: {tmp_path}/records/copy.json: holds the record that belongs to" in out


def test_a_stale_record_fails_the_check_and_status_says_so_last(clean_run, tmp_path, output_of):
    shutil.copytree(clean_run, tmp_path, dirs_exist_ok=True)
    output_of(reproduce, *CHECK, tmp_path, "--check")  # missing ones are no fault
    store = RecordStore(tmp_path / "records")
    old = store.read(next((tmp_path / "records/moons/20").glob("sa-*.json")))
    store.write(replace(old, identity="ab" * 32))
    last = output_of(reproduce, *CHECK, tmp_path, "--status").splitlines()[-1]
    assert last.startswith("Stale: 1 of the cells above")
    out = output_of(reproduce, *CHECK, tmp_path, "--check", status=1)
    assert "stale: moons/20 sa" in out
    assert out.splitlines()[-1] == last


def test_arguments_are_read_before_torch_is_loaded_and_status_loads_no_numerical_library(clean_run):
    code = (
        "import sys; from experiments import reproduce; "
        f"reproduce.main([*{SMALL[:4]!r}, '--status', '--results', {str(clean_run)!r}]); "
        "print(sorted({'numpy', 'torch', 'sklearn'} & set(sys.modules))); "
        "import experiments.run, experiments.explain; print('torch' in sys.modules)"
    )
    done = run_python("-c", code)
    assert done.stdout.splitlines()[-2:] == ["[]", "False"], done.stderr


@pytest.mark.parametrize("target", ["status", "tables"])
def test_what_only_reads_results_installs_nothing(target, tmp_path):
    done = run_program("make", target, f"VENV={tmp_path}/venv")
    assert done.returncode != 0
    assert "make setup" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name",
    ["plain", "ärger/日本 [x],(y),{z}", "it's a=b:c#d;e&f", 'say "x"', "~", "-x", "x ", "1e5",
     "null", "\\${x}\\ $HOME *?%@!", "a\\'", "a\nb"],
)  # fmt: skip
def test_the_command_that_runs_a_cell_again_means_the_same_to_shell_and_hydra(name):
    results = Path("/tmp", name) if len(name) % 2 else Path(name)
    cell = make_cell(method="sa")
    command = shlex.split(rerun_command(cell, results, "smoke"))
    assert command[:3] == ["python", "-m", "experiments.run"]
    config = compose_config(command[3:])
    assert Path(config.runtime.results) == results
    assert cell_from_config(config) == cell


def console(arguments, out, env=()):
    """Run Python with this as its standard output."""
    done = run_python(*arguments, stdout=out, env={**os.environ, **dict(env)})
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done


@pytest.fixture
def closed():
    """A pipe whose reader is gone, as after `| head`."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as file:
        yield file


def test_what_a_console_cannot_show_is_escaped_and_lost_output_ends_with_its_own_status(closed):
    say = r"lambda: print('50 \xb1 2') or 3"
    command = ("-c", f"from experiments.console import run_command; exit(run_command({say}))")
    ascii_only = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    shown = console(command, subprocess.PIPE, ascii_only)
    assert (shown.stdout, shown.returncode) == ("50 \\xb1 2\n", 3)
    assert console(command, closed).returncode == 141
    with Path("/dev/full").open("w") as full:
        lost = console(command, full)
    assert lost.returncode == 74
    assert "could not be written" in lost.stderr


def test_a_command_whose_reader_is_gone_has_its_documented_status(clean_run, closed, tmp_path):
    status = ["-m", "experiments.reproduce", *SMALL[:4], "--status", "--results", str(clean_run)]
    assert console(status, closed).returncode == 141
    cell = ["-m", "experiments.run", "protocol=smoke", "dataset=moons", "dataset.task=10"]
    where = [f"runtime.results={clean_run}", f"hydra.run.dir={tmp_path}"]
    assert console([*cell, "method=sa", *where], closed).returncode == 141


def test_a_method_that_is_no_row_of_the_tables_is_named_with_the_place_for_it(tmp_path, capsys):
    known = load_table("amazon").methods
    other = next(name for name in config_names("method") if name not in known)
    command = ["--table", "amazon", "--method", other, "--results", str(tmp_path)]
    assert reproduce.main(command) == 2
    assert "configs/table/amazon.yaml" in capsys.readouterr().out
