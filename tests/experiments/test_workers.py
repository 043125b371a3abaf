import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from experiments.running import workers
from experiments.running.workers import run_jobs


def load_slowly():
    time.sleep(3)


def linger():
    """Leave a child behind, which keeps all files of this process open."""
    if os.fork() == 0:
        time.sleep(180)
        os._exit(0)


def work(job, report):
    match job:
        case ("report", steps):
            for step in range(steps):
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
        case ("linger", _):
            linger()
            os.kill(os.getpid(), signal.SIGKILL)
        case ("fork", _):
            # Both report, return, raise or exit.
            child = os.fork() == 0
            report(("child", child))
        case ("fork and raise", _):
            if os.fork() == 0:
                raise ValueError("the child's own")
        case ("quit", _):
            threading.Thread(target=time.sleep, args=(600,)).start()
            sys.exit(0)
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
    results = run(
        [("sleep", 3600), ("x", 1), ("x", 2)],
        timeout_seconds=lambda job, news: 2.0 if job[0] == "sleep" else None,
    )
    assert results["sleep", 3600].kind == "timeout"
    assert "time limit of 2 s" in results["sleep", 3600].error
    assert results["x", 1].kind == results["x", 2].kind == "done"


def test_the_clock_starts_when_the_worker_has_loaded_and_again_with_each_report():
    asked = []

    def limit(job, news):
        asked.append((job, news))
        # Loading takes longer than that; counted from the start of the process, it would be over.
        return 2.0

    events = list(
        run_jobs(work, [("report", 2)], n_workers=1, prepare=load_slowly, timeout_seconds=limit)
    )
    assert [(e.kind, e.result) for e in events if e.kind != "tick"] == [
        ("started", None), ("progress", 0), ("progress", 1), ("done", ("report", 2))
    ]  # fmt: skip
    assert asked == [(("report", 2), news) for news in (None, 0, 1)]


def test_a_dead_worker_is_noticed_while_a_child_of_it_keeps_the_pipe_open():
    jobs = [("linger", 0), ("x", 1), ("linger", 2), ("x", 3)]
    results = run(jobs, n_workers=1, timeout_seconds=lambda job, news: 90.0)
    for number in (0, 2):
        assert results["linger", number].kind == "failed"
        assert "SIGKILL" in results["linger", number].error
    assert results["x", 1].kind == results["x", 3].kind == "done"


def test_a_job_that_exits_is_lost_alone_though_a_thread_of_it_lives():
    results = run([("quit", 0), ("x", 1)], n_workers=1)
    assert results["quit", 0].kind == "failed"
    assert "SystemExit" in results["quit", 0].error
    assert results["x", 1].kind == "done"


def test_a_forked_child_that_comes_back_does_not_answer_for_the_job():
    jobs = [("fork", 0), ("fork and raise", 1), ("pid", 2), ("x", 3), ("pid", 4)]
    events = [e for e in run_jobs(work, jobs, n_workers=1) if e.kind != "tick"]
    assert [e.kind for e in events] == ["started", "progress", "done", *["started", "done"] * 4]
    assert events[1].result == ("child", False)
    results = {e.job: e.result for e in events if e.kind == "done"}
    assert results["x", 3] == ("x", 3)
    assert results["pid", 2] == results["pid", 4], "one server, before and after"


def test_a_message_that_is_of_another_job_is_refused():
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    alive = SimpleNamespace(is_alive=lambda: True)
    worker = workers._Worker(alive, ours, job=("x", 1), number=1)
    theirs.send((0, "done", "of the job before"))
    assert workers._event(worker) is None
    theirs.send((1, "done", "of this job"))
    assert workers._event(worker).result == "of this job"
    os.write(theirs.fileno(), b"\0\0\0\2no")  # two bytes that are no message
    assert workers._event(worker).kind == "lost"


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
        "from test_workers import work; from experiments.running.workers import run_jobs\n"
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
    deadline = time.monotonic() + 120
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
