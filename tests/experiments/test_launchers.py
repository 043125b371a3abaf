"""Hydra's launchers and sweepers, as a person starts them."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir

import experiments.running.jobs  # noqa: F401  the configs refer to its resolvers
from experiments.catalogue import CONFIG_DIRECTORY, config_names
from experiments.cells.configuration import cell_from_config, cells_of, compose_config
from experiments.cells.plan import load_table
from experiments.store.records import RecordStore

ROOT = Path(__file__).resolve().parents[2]

CELLS = ("method=source_only,ot", "dataset.angle=10")
# Four jobs: the first fails while it is run, the second and the fourth have no data.
FAILING_CELL = ("method=krda", "method.n_components=-1,1", "dataset.angle=10,nowhere")


def command(tmp_path, *arguments, results="results", sweep="sweep"):
    return [
        sys.executable, "-m", "experiments.run", "-m", "protocol=smoke",
        f"runtime.results={tmp_path / results}", f"hydra.sweep.dir={tmp_path / sweep}", *arguments,
    ]  # fmt: skip


def multirun(tmp_path, *arguments, env=None, **places):
    # Threads are not asked for from outside: limiting them is the program's own work.
    clean = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    return subprocess.run(
        command(tmp_path, *arguments, **places),
        capture_output=True, text=True, cwd=ROOT, timeout=900, env={**clean, **(env or {})},
    )  # fmt: skip


def records(tmp_path, results="results"):
    scan = RecordStore(tmp_path / results / "records").scan()
    assert scan.damaged == ()
    return {(r.task, r.method, r.config_sha256): r for r in scan}


def accuracies(tmp_path, results="results"):
    return {key: record.accuracies for key, record in records(tmp_path, results).items()}


LAUNCHERS = {
    "basic": (),
    "joblib": ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2"),
    "submitit_local": ("hydra/launcher=submitit_local", "hydra.sweeper.max_batch_size=2"),
    "ray": ("hydra/launcher=ray", "+hydra.launcher.ray.init.num_cpus=2"),
}
PLUGINS = {"joblib": "joblib", "submitit_local": "submitit", "ray": "ray"}


@pytest.fixture(params=[
    "basic",
    pytest.param("joblib", marks=pytest.mark.slow),
    pytest.param("submitit_local", marks=pytest.mark.slow),
    pytest.param("ray", marks=pytest.mark.slow),
])  # fmt: skip
def launcher(request):
    if request.param in PLUGINS:
        pytest.importorskip(f"hydra_plugins.hydra_{PLUGINS[request.param]}_launcher")
    return LAUNCHERS[request.param]


# A sweeper that keeps what it is given, for Hydra's own throws it away.
SWEEPER = """
import json, os
from dataclasses import dataclass
from hydra.core.config_store import ConfigStore
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper, BasicSweeperConf

class KeepingSweeper(BasicSweeper):
    def sweep(self, arguments):
        returns = super().sweep(arguments)
        values = [job.return_value for batch in returns for job in batch]
        with open(os.environ["KEPT"], "w") as file:
            json.dump(values, file)
        return returns

@dataclass
class KeepingSweeperConf(BasicSweeperConf):
    _target_: str = "hydra_plugins.keeping_sweeper.KeepingSweeper"

ConfigStore.instance().store(group="hydra/sweeper", name="keeping", node=KeepingSweeperConf)
"""


@pytest.fixture
def swept_values(tmp_path):
    plugins = tmp_path / "plugins" / "hydra_plugins"
    plugins.mkdir(parents=True)
    (plugins / "keeping_sweeper.py").write_text(SWEEPER)
    kept = tmp_path / "kept.json"
    env = {"PYTHONPATH": f"{plugins.parent}", "KEPT": f"{kept}", "OMP_NUM_THREADS": "2"}

    def sweep(*arguments):
        done = multirun(tmp_path, "hydra/sweeper=keeping", *arguments, env=env)
        return done, json.loads(kept.read_text())

    return sweep


def test_a_failure_stops_no_other_job_and_is_told_to_person_and_sweeper(
    tmp_path, launcher, swept_values
):
    done, values = swept_values(*launcher, *FAILING_CELL)
    assert done.returncode == 1, done.stderr
    assert "4 jobs: 1 run, 0 read from records, 3 failed" in done.stdout
    told = done.stderr[done.stderr.index("3 of 4 jobs failed:") :]
    failures = re.findall(r"^  (moons/\S+ krda): (.*)\n    (.*)$", told, re.MULTILINE)
    assert [cell for cell, _, _ in failures] == ["moons/10 krda", *["moons/nowhere krda"] * 2]
    assert "n_components must be an integer of at least 1, got -1" in failures[0][1]
    assert failures[0][2].endswith("method=krda method.n_components=-1 dataset.angle=10")
    assert "A moons task is named by its angle in degrees" in failures[1][1]
    assert (tmp_path / "sweep/1/traceback.txt").read_text().startswith("Traceback")
    # The cell that failed has a record that says so, the one without data has none.
    found = list(records(tmp_path).values())
    assert sorted(record.complete for record in found) == [False, True]
    (accuracies,) = [record.accuracies for record in found if record.complete]
    assert values == [None, None, sum(accuracies) / len(accuracies), None]
    # Every worker has one numerical thread, though the caller's environment asks for two.
    assert {record.environment["threads"] for record in found} == {1}


# What each of five jobs does in its first fit: go well, exit, exit at once, crash, go well.
DEEDS = "[ok],[quit],[exit],[crash],[ok]"


def test_a_job_that_exits_or_crashes_costs_itself_alone_and_the_exit_status_says_so(
    tmp_path, launcher
):
    path = {"PYTHONPATH": str(ROOT / "tests/helpers")}
    done = multirun(
        tmp_path, *launcher, "method=source_only", "classifier._target_=odd_classifiers.Odd",
        f"+classifier.log={tmp_path / 'log'}", f"+classifier.plan={DEEDS}",
        "protocol.n_repetitions=1", env=path,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    # The first and the last are one cell; whichever comes later may read what the other wrote.
    assert "5 jobs:" in done.stdout, done.stderr
    assert "3 of 5 jobs failed:" in done.stderr
    for what in ("SystemExit", "exit code 7", "SIGSEGV"):
        assert what in done.stderr
    assert sum(record.complete for record in records(tmp_path).values()) == 1


def test_for_tuning_without_labels_sweepers_get_the_held_out_nll(tmp_path, swept_values):
    objective = "runtime.objective=held_out_nll"
    done, values = swept_values(objective, "method=krda", "method.n_components=1,3")
    assert done.returncode == 0, done.stderr
    assert len({round(value, 6) for value in values}) == 2
    done, values = swept_values(objective, "method=ot,target_only")
    assert (done.returncode, values) == (1, [None, None])
    assert "The method 'ot' fits no density, so it has no held-out NLL" in done.stderr
    assert records(tmp_path) == {}


def test_an_unknown_objective_is_refused_with_the_known_ones(tmp_path):
    done = multirun(tmp_path, "runtime.objective=precision")
    assert done.returncode == 1
    assert "must be one of accuracy, held_out_nll, got 'precision'" in done.stderr


@pytest.mark.slow
def test_two_multiruns_at_once_on_one_directory_leave_the_records_of_one(tmp_path):
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher")
    alone = multirun(tmp_path, *CELLS, results="alone", sweep="alone_sweep")
    assert alone.returncode == 0, alone.stderr
    # The same sweep directory on purpose: each run finds its own jobs in it.
    arguments = command(tmp_path, *LAUNCHERS["submitit_local"], *CELLS)
    both = [
        subprocess.Popen(
            arguments, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(2)
    ]
    for process in both:
        out, err = process.communicate(timeout=900)
        assert process.returncode == 0, err
        assert re.search(r"2 jobs: \d run, \d read from records, 0 failed", out), out
    assert accuracies(tmp_path) == accuracies(tmp_path, "alone")
    assert len(accuracies(tmp_path)) == 2


def hydra_config(*overrides):
    with initialize_config_dir(str(CONFIG_DIRECTORY), version_base="1.3"):
        return compose("benchmark", list(overrides), return_hydra_config=True).hydra


def test_directories_of_two_runs_differ_even_if_they_start_at_the_same_time():
    first, second = hydra_config(), hydra_config()
    runs = [config.job.env_set.KRDA_RUN for config in (first, second)]
    assert runs[0] != runs[1]
    for config, run in zip((first, second), runs, strict=True):
        assert config.sweep.dir.startswith("multirun/")
        assert config.run.dir.startswith("outputs/")
        assert config.sweep.dir.endswith(f"_{run}")
        assert config.run.dir.endswith(f"_{run}")


@pytest.mark.parametrize("table", config_names("table"))
def test_the_sweep_of_a_table_has_all_its_cells_and_no_others(table):
    params = hydra_config(f"+sweep={table}").sweeper.params
    assert set(params) == {"dataset", "dataset.task", "method"}
    plan = load_table(table)
    assert params.dataset == plan.dataset
    tasks, methods = params["dataset.task"].split(","), params["method"].split(",")
    assert sorted(tasks) == sorted(plan.tasks)
    assert sorted(methods) == sorted(plan.methods)
    # A cell as it is composed for one job is the table's own.
    overrides = (f"dataset={plan.dataset}", f"dataset.task={tasks[-1]}", f"method={methods[0]}")
    (cell,) = cells_of(plan.dataset, tasks[-1:], methods[:1])
    assert cell_from_config(compose_config(overrides)).config == cell.config


@pytest.mark.slow
def test_the_sweep_of_a_table_runs_and_can_be_narrowed(tmp_path):
    narrowed = ("+sweep=moons", "method=source_only,ot", "dataset.task=10,20")
    done = multirun(tmp_path, *narrowed)
    assert done.returncode == 0, done.stderr
    found = {record.config_sha256 for record in records(tmp_path).values()}
    expected = load_table("moons", ("protocol=smoke",)).cells
    assert found == {
        expected[task, method].config_sha256
        for task in ("10", "20")
        for method in ("source_only", "ot")
    }


# The commands of a cluster, as far as submitit calls them. Jobs run two at a time, in an
# environment without the variables that limit threads.
SBATCH = """#!{python}
import os, re, subprocess, sys
text = open(sys.argv[1]).read()
open(os.environ["SUBMITTED"], "w").write(text)
last = re.search(r"--array=0-(\\d+)%", text)[1]
drop = [part for name in os.environ if name.endswith("_NUM_THREADS") for part in ("-u", name)]
slurm = ("SLURM_NTASKS=1 SLURM_JOB_NUM_NODES=1 SLURM_NODEID=0 SLURM_PROCID=0 SLURM_LOCALID=0 "
         "SLURM_JOB_NODELIST=here SLURM_ARRAY_JOB_ID=4711 SLURM_JOB_ID=4711_%").replace("%", "{{}}")
job = ["env", *drop, *slurm.split(), "SLURM_ARRAY_TASK_ID={{}}", "bash", sys.argv[1]]
subprocess.Popen("seq 0 " + last + " | xargs -P 2 -I {{}} " + " ".join(job), shell=True,
                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print("Submitted batch job 4711")
"""
SRUN = """#!/bin/bash
while [[ $1 == --* ]]; do [[ $1 == --unbuffered ]] && shift || shift 2; done
exec "$@"
"""
SACCT = "#!/bin/bash\necho 'JobID|State|NodeList'\n"


@pytest.fixture
def cluster(tmp_path):
    """Stand in for SLURM: an environment, and the path of the script last submitted."""
    folder = tmp_path / "bin"
    folder.mkdir()
    scripts = {"sbatch": SBATCH.format(python=sys.executable), "srun": SRUN, "sacct": SACCT}
    for name, text in scripts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(stat.S_IRWXU)
    submitted = tmp_path / "submitted.sh"
    return {"PATH": f"{folder}:{os.environ['PATH']}", "SUBMITTED": f"{submitted}"}, submitted


@pytest.mark.slow
def test_slurm_is_asked_for_what_is_documented_and_its_jobs_are_told(tmp_path, cluster):
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher")
    env, submitted = cluster
    done = multirun(
        tmp_path, "hydra/launcher=slurm", "hydra.launcher.partition=short",
        "hydra.launcher.array_parallelism=3", *FAILING_CELL, env=env,
    )  # fmt: skip
    asked = set(re.findall(r"^#SBATCH --(\S+)$", submitted.read_text(), re.MULTILINE))
    assert {"array=0-3%3", "partition=short", "nodes=1", "ntasks-per-node=1"} <= asked
    assert {"cpus-per-task=1", "mem=4GB", "time=120", "job-name=krda"} <= asked
    assert done.returncode == 1
    assert "4 jobs: 1 run, 0 read from records, 3 failed" in done.stdout, done.stderr
    assert {r.environment["threads"] for r in records(tmp_path).values()} == {1}


def test_without_slurm_its_launcher_says_so(tmp_path):
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher")
    done = multirun(tmp_path, "hydra/launcher=slurm", *CELLS, env={"PATH": "/nowhere"})
    assert done.returncode == 1
    assert 'Could not detect "srun"' in done.stderr
    assert records(tmp_path) == {}
