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

# Eight jobs: the first two fail while they are run, the second and the last two have no data. Of
# the others one gives its accuracy to a sweeper and one, for tuning without labels, its density's
# held-out NLL.
JOBS = ("method=krda", "method.n_components=-1,1", "dataset.angle=10,nowhere",
        "runtime.objective=accuracy,held_out_nll")  # fmt: skip


def multirun(tmp_path, *arguments, env=None):
    # Threads are not asked for from outside: limiting them is the program's own work.
    clean = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    return subprocess.run(
        [sys.executable, "-m", "experiments.run", "-m", "protocol=smoke",
         f"runtime.results={tmp_path}", f"hydra.sweep.dir={tmp_path}/sweep", *arguments],
        capture_output=True, text=True, cwd=ROOT, timeout=900, env={**clean, **(env or {})},
    )  # fmt: skip


def records(tmp_path):
    scan = RecordStore(tmp_path / "records").scan()
    assert scan.damaged == ()
    return list(scan)


LAUNCHERS = {
    "joblib": ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2"),
    "submitit": ("hydra/launcher=submitit_local",),
    "ray": ("hydra/launcher=ray", "+hydra.launcher.ray.init.num_cpus=1",
            "+hydra.launcher.ray.init.include_dashboard=false"),
}  # fmt: skip


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
    path = os.pathsep.join([str(plugins.parent), str(ROOT / "tests/helpers")])
    env = {"PYTHONPATH": path, "KEPT": f"{kept}", "OMP_NUM_THREADS": "2"}

    def sweep(*arguments):
        done = multirun(tmp_path, "hydra/sweeper=keeping", *arguments, env=env)
        return done, json.loads(kept.read_text())

    return sweep


def test_a_failure_stops_no_other_job_and_is_told_to_person_and_sweeper(tmp_path, swept_values):
    done, values = swept_values(*JOBS)
    assert done.returncode == 1, done.stderr
    assert "8 jobs: 2 run, 0 read from records, 6 failed" in done.stdout
    told = done.stderr[done.stderr.index("6 of 8 jobs failed:") :]
    failures = re.findall(r"^  (moons/\S+ krda): (.*)\n    (.*)$", told, re.MULTILINE)
    cells = ["moons/10 krda"] * 2 + ["moons/nowhere krda"] * 4
    assert [cell for cell, _, _ in failures] == cells
    assert "n_components must be an integer of at least 1, got -1" in failures[0][1]
    assert " method=krda method.n_components=-1 dataset.angle=10 " in failures[0][2]
    assert "A moons task is named by its angle in degrees" in failures[2][1]
    assert (tmp_path / "sweep/2/traceback.txt").read_text().startswith("Traceback")
    # The cell that failed has a record that says so; one without data, or tuned on, has none.
    failed, complete = sorted(records(tmp_path), key=lambda record: record.complete)
    assert not failed.complete
    mean = sum(complete.accuracies) / len(complete.accuracies)
    assert values[:5] == [*[None] * 4, mean]
    assert isinstance(values[5], float)
    assert values[6:] == [None, None]


@pytest.mark.slow
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_job_that_crashes_costs_itself_alone_and_the_exit_status_says_so(
    tmp_path, launcher, swept_values
):
    pytest.importorskip(f"hydra_plugins.hydra_{launcher}_launcher")
    done, values = swept_values(
        *LAUNCHERS[launcher], "method=source_only", "classifier._target_=odd_classifiers.Odd",
        f"+classifier.log={tmp_path / 'log'}", "+classifier.plan=[crash],[ok]",
        "protocol.n_repetitions=1",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "2 jobs: 1 run, 0 read from records, 1 failed" in done.stdout, done.stderr
    assert "SIGSEGV" in done.stderr
    (complete,) = [record for record in records(tmp_path) if record.complete]
    assert values == [None, *complete.accuracies]
    # Every worker has one numerical thread, though the caller's environment asks for two.
    assert complete.environment["threads"] == 1


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


# The commands of a cluster, as far as submitit calls them, for an array of two jobs.
SBATCH = """#!/bin/bash
cp "$1" "$SUBMITTED"
export SLURM_NTASKS=1 SLURM_JOB_NUM_NODES=1 SLURM_NODEID=0 SLURM_PROCID=0 SLURM_LOCALID=0 \\
       SLURM_JOB_NODELIST=here SLURM_ARRAY_JOB_ID=4711
for i in 0 1; do
  SLURM_JOB_ID=4711_$i SLURM_ARRAY_TASK_ID=$i bash "$1" < /dev/null > /dev/null 2>&1 &
done
echo "Submitted batch job 4711"
"""
SRUN = """#!/bin/bash
while [[ $1 == --* ]]; do [[ $1 == --unbuffered ]] && shift || shift 2; done
exec "$@"
"""
SACCT = "#!/bin/bash\necho 'JobID|State|NodeList'\n"


@pytest.mark.slow
def test_slurm_is_asked_for_what_is_documented_and_its_jobs_are_told(tmp_path):
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher")
    folder, submitted = tmp_path / "bin", tmp_path / "submitted.sh"
    folder.mkdir()
    for name, text in {"sbatch": SBATCH, "srun": SRUN, "sacct": SACCT}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(stat.S_IRWXU)
    done = multirun(
        tmp_path, "hydra/launcher=slurm", "hydra.launcher.partition=short",
        "hydra.launcher.array_parallelism=3", "method=sa", "method.n_components=-1,1",
        env={"PATH": f"{folder}:{os.environ['PATH']}", "SUBMITTED": f"{submitted}"},
    )  # fmt: skip
    asked = set(re.findall(r"^#SBATCH --(\S+)$", submitted.read_text(), re.MULTILINE))
    assert {"partition=short", "nodes=1", "ntasks-per-node=1", "job-name=krda"} <= asked
    assert {"array=0-1%2", "cpus-per-task=1", "mem=4GB", "time=120"} <= asked
    assert done.returncode == 1
    assert "2 jobs: 1 run, 0 read from records, 1 failed" in done.stdout, done.stderr
    assert {record.environment["threads"] for record in records(tmp_path)} == {1}
