import os
import signal
import time
from functools import partial

import pytest

from experiments.workers import run_jobs


def work(job):
    match job:
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
    assert [e.job for e in events if e.kind == "started"] == list(jobs)
    return {event.job: event for event in events if event.kind != "started"}


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
    results = run([("sleep", 60), ("x", 1), ("x", 2)], timeout_seconds=6)
    assert time.monotonic() - start < 30
    assert results["sleep", 60].kind == "timeout"
    assert results["x", 1].kind == results["x", 2].kind == "done"


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
