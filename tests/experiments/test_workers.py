import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from experiments.workers import run_jobs


def load_slowly():
    time.sleep(3)


def work(job, report):
    match job:
        case ("report", steps):
            for step in range(steps):
                time.sleep(1.5)
                report(step)
        case ("spawn", path):
            Path(path).write_text(str(os.getpid()))
            time.sleep(60)
        case ("raise", _):
            raise ValueError("no good")
        case ("die", _):
            os.kill(os.getpid(), signal.SIGKILL)
        case ("exit", _):
            os._exit(7)
        case ("sleep", seconds):
            time.sleep(seconds)
        case ("pid", _):
            return os.getpid()
        case ("threads", _):
            import torch

            return torch.get_num_threads(), os.environ["OMP_NUM_THREADS"]
    return job


def finals(jobs, **options):
    events = list(run_jobs(work, jobs, **options))
    assert sorted(e.job for e in events if e.kind == "started") == sorted(jobs)
    ends = [e for e in events if e.kind in ("done", "failed", "timeout")]
    assert len(ends) == len(jobs)
    return {event.job: event for event in ends}


run = partial(finals, n_workers=2)


def test_every_job_is_started_once_and_gives_its_result():
    jobs = [("x", i) for i in range(7)]
    results = run(jobs)
    assert {job: event.result for job, event in results.items()} == {job: job for job in jobs}
    assert {event.kind for event in results.values()} == {"done"}


@pytest.mark.parametrize(
    ("bad", "message"),
    [("raise", "ValueError: no good"), ("die", "SIGKILL"), ("exit", "exit code 7")],
)
def test_a_job_that_raises_or_kills_its_worker_is_lost_alone(bad, message):
    jobs = [("x", 0), (bad, 1), ("x", 2), ("x", 3), ("x", 4)]
    results = run(jobs)
    assert results[bad, 1].kind == "failed"
    assert message in results[bad, 1].error
    assert {event.kind for job, event in results.items() if job[0] == "x"} == {"done"}


def test_a_job_beyond_the_time_limit_is_ended_and_the_others_go_on():
    start = time.monotonic()
    results = run(
        [("sleep", 60), ("x", 1), ("x", 2)],
        timeout_seconds=lambda job, news: 2.0 if job[0] == "sleep" else None,
    )
    assert time.monotonic() - start < 30
    assert results["sleep", 60].kind == "timeout"
    assert "time limit of 2 s" in results["sleep", 60].error
    assert results["x", 1].kind == results["x", 2].kind == "done"


def test_the_clock_starts_when_the_worker_has_loaded_and_again_with_each_report():
    # Three seconds of loading and three of work in steps of one and a half, with two allowed.
    events = list(
        run_jobs(work, [("report", 2)], n_workers=1, prepare=load_slowly,
                 timeout_seconds=lambda job, news: 2.0)
    )  # fmt: skip
    assert [(e.kind, e.result) for e in events if e.kind != "tick"] == [
        ("started", None), ("progress", 0), ("progress", 1), ("done", ("report", 2))
    ]  # fmt: skip


def test_a_source_without_a_job_at_present_is_asked_again():
    def jobs():
        yield None
        yield ("x", 1)
        yield None
        yield ("x", 2)

    events = list(run_jobs(work, jobs(), n_workers=1, tick_seconds=0.05))
    assert [e.result for e in events if e.kind == "done"] == [("x", 1), ("x", 2)]
    assert any(e.kind == "tick" for e in events)


def test_workers_end_with_the_process_that_started_them(tmp_path):
    note = tmp_path / "pid"
    code = (
        "from test_workers import work; from experiments.workers import run_jobs\n"
        f"if __name__ == '__main__': list(run_jobs(work, [('spawn', {str(note)!r})], n_workers=1))"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    here = Path(__file__)
    path = os.pathsep.join([str(here.parent), str(here.parents[2])])
    parent = subprocess.Popen([sys.executable, script], env={**os.environ, "PYTHONPATH": path})
    while not (note.exists() and note.read_text()):
        assert parent.poll() is None
        time.sleep(0.02)
    parent.kill()
    parent.wait()
    stat = Path(f"/proc/{note.read_text()}/stat")
    deadline = time.monotonic() + 10
    while stat.exists() and ") Z " not in stat.read_text():
        assert time.monotonic() < deadline, "the worker outlived its parent"
        time.sleep(0.05)


def test_workers_use_one_thread_and_are_used_again():
    results = run([("threads", 0), ("pid", 1), ("pid", 2), ("pid", 3)], n_workers=1)
    assert results["threads", 0].result == (1, "1")
    assert len({results["pid", i].result for i in (1, 2, 3)}) == 1


def test_leaving_the_loop_ends_the_workers():
    events = run_jobs(work, [("pid", 0), ("sleep", 60)], n_workers=1)
    pid = next(event.result for event in events if event.kind == "done")
    events.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_no_jobs_is_no_events():
    assert list(run_jobs(work, [], n_workers=2)) == []
