"""Hydra's launchers and sweepers, as a person starts them."""

import json
import os
import re
import stat

import pytest
from cell_factory import InProcess, hydra_config, records_in
from programs import WITH_HELPERS, run_python

from experiments.catalogue import config_names
from experiments.cells.configuration import cell_from_config, cells_of, compose_config
from experiments.cells.plan import load_table
from experiments.running.engine import Engine

# Eight jobs: the first two fail while they are run, the second and the last two have no data. Of
# the others one gives its accuracy to a sweeper and one, for tuning without labels, its density's
# held-out NLL.
JOBS = ("method=krda", "method.n_components=-1,1", "dataset.angle=10,nowhere",
        "runtime.objective=accuracy,held_out_nll")  # fmt: skip


def arguments_of(tmp_path):
    """Arguments of a multirun whose sweeper keeps its values."""
    return ["-m", "protocol=smoke", f"runtime.results={tmp_path}",
            f"hydra.sweep.dir={tmp_path}/sweep", "hydra/sweeper=keeping"]  # fmt: skip


def multirun(tmp_path, variables, *arguments):
    # Threads are not asked for from outside: limiting them is the program's own work.
    clean = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    own = {"KEPT": f"{tmp_path}/kept.json", "OMP_NUM_THREADS": "2", "PYTHONPATH": WITH_HELPERS,
           "RAY_worker_niceness": "0"}  # else others would be served first  # fmt: skip
    command = "-m", "experiments.run", *arguments_of(tmp_path), *arguments
    return run_python(*command, env=clean | own | variables)


LAUNCHERS = {
    "joblib": ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2"),
    "submitit": ("hydra/launcher=slurm", "hydra.launcher.partition=short",
                 "hydra.launcher.array_parallelism=3"),
    "submitit_local": ("hydra/launcher=submitit_local",),
    "ray": ("hydra/launcher=ray", "+hydra.launcher.ray.init.num_cpus=1",
            "+hydra.launcher.ray.init.include_dashboard=false"),
}  # fmt: skip


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


@pytest.fixture
def cluster(tmp_path):
    """Variables by which a program finds the commands of a cluster, and leaves what it submits."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in {"sbatch": SBATCH, "srun": SRUN, "sacct": SACCT}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(stat.S_IRWXU)
    submitted = str(tmp_path / "submitted.sh")
    return {"PATH": f"{folder}:{os.environ['PATH']}", "SUBMITTED": submitted}


def test_a_failure_is_told_and_stops_no_other_job(tmp_path, monkeypatch, run_here):
    monkeypatch.setattr(Engine, "call", InProcess.call)
    monkeypatch.setenv("KEPT", str(tmp_path / "kept.json"))
    status, out, err = run_here(*arguments_of(tmp_path), *JOBS)
    assert status == 1
    assert "8 jobs: 2 run, 0 read from records, 6 failed" in out
    told = err[err.index("6 of 8 jobs failed:") :]
    failures = re.findall(r"^  (moons/\S+ krda): (.*)\n    (.*)$", told, re.MULTILINE)
    cells = ["moons/10 krda"] * 2 + ["moons/nowhere krda"] * 4
    assert [cell for cell, _, _ in failures] == cells
    assert "n_components must be an integer of at least 1, got -1" in failures[0][1]
    assert " method=krda method.n_components=-1 dataset.angle=10 " in failures[0][2]
    assert "A moons task is named by its angle in degrees" in failures[2][1]
    assert (tmp_path / "sweep/2/traceback.txt").read_text().startswith("Traceback")
    # The cell that failed has a record that says so; one without data, or tuned on, has none.
    failed, complete = sorted(records_in(tmp_path), key=lambda record: record.complete)
    assert not failed.complete
    mean = sum(complete.accuracies) / len(complete.accuracies)
    values = json.loads((tmp_path / "kept.json").read_text())
    assert values[:5] == [*[None] * 4, mean]
    assert isinstance(values[5], float)
    assert values[6:] == [None, None]


@pytest.mark.slow
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_job_that_crashes_costs_itself_alone_and_is_told(tmp_path, launcher, cluster):
    pytest.importorskip(f"hydra_plugins.hydra_{launcher.partition('_')[0]}_launcher")
    done = multirun(
        tmp_path, cluster, *LAUNCHERS[launcher], "method=source_only",
        "classifier._target_=odd_classifiers.Odd",
        f"+classifier.log={tmp_path / 'log'}", "+classifier.plan=[crash],[ok]",
        "protocol.n_repetitions=1",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "2 jobs: 1 run, 0 read from records, 1 failed" in done.stdout, done.stderr
    assert "SIGSEGV" in done.stderr
    (complete,) = [record for record in records_in(tmp_path) if record.complete]
    assert json.loads((tmp_path / "kept.json").read_text()) == [None, *complete.accuracies]
    # Every worker has one numerical thread, though the caller's environment asks for two.
    assert complete.environment["threads"] == 1
    if launcher == "submitit":  # the scheduler is asked for what is documented
        submitted = (tmp_path / "submitted.sh").read_text()
        asked = set(re.findall(r"^#SBATCH --(\S+)$", submitted, re.MULTILINE))
        assert {"partition=short", "nodes=1", "ntasks-per-node=1", "job-name=krda"} <= asked
        assert {"array=0-1%2", "cpus-per-task=1", "mem=4GB", "time=120"} <= asked


def test_directories_of_two_runs_differ_even_if_they_start_at_the_same_time():
    runs = set()
    for config in (hydra_config(), hydra_config()):
        run = config.job.env_set.KRDA_RUN
        runs.add(run)
        assert re.fullmatch(f"multirun/.*_{run}", config.sweep.dir)
        assert re.fullmatch(f"outputs/.*_{run}", config.run.dir)
    assert len(runs) == 2


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
