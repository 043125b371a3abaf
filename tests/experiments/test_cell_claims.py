import json
import os
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from experiments.running import cell_claims
from experiments.running.cell_claims import Claims


@pytest.fixture
def record(tmp_path):
    return tmp_path / "moons" / "40" / "krda-0123456789ab.json"


def claim_of(record):
    return record.with_name(f".{record.name}.claim")


def test_a_cell_is_claimed_by_one_until_it_is_released(record):
    with Claims() as one, Claims() as other:
        assert one.acquire(record)
        assert not other.acquire(record)
        assert json.loads(claim_of(record).read_text())["pid"] == os.getpid()
        one.release(record)
        assert other.acquire(record)
    assert list(record.parent.iterdir()) == []


def test_of_many_at_once_one_gets_it(record):
    barrier, got = threading.Barrier(16), []

    def claim():
        mine = Claims()
        barrier.wait()
        if mine.acquire(record):
            got.append(mine)

    threads = [threading.Thread(target=claim) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 1


def leave(record, **changes):
    """A claim that its owner has left behind."""
    record.parent.mkdir(parents=True, exist_ok=True)
    owner = {**cell_claims._myself(), **changes}
    claim_of(record).write_text(json.dumps(owner))


def dead_pid():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_the_claim_of_a_dead_process_is_taken_over_at_once(record):
    leave(record, pid=dead_pid())
    with Claims() as ours:
        assert ours.acquire(record)


def test_a_process_number_that_was_given_anew_is_another_process(record):
    leave(record, started="1")
    with Claims() as ours:
        assert ours.acquire(record)


def test_a_number_of_another_machine_says_nothing(record):
    leave(record, pid=dead_pid(), machine="another")
    with Claims() as ours:
        assert not ours.acquire(record)


@pytest.mark.parametrize("text", [None, "", "[1]", "{", '{"pid": "x"}'])
def test_a_claim_that_is_not_renewed_expires_whatever_its_time_says(record, text):
    leave(record, machine="another")
    if text is not None:
        claim_of(record).write_text(text)
    # A clock that is ahead by a day, on the other machine.
    os.utime(claim_of(record), (time.time() + 86400,) * 2)
    with Claims(expiry_seconds=0.3) as ours:
        assert not ours.acquire(record), "nothing is known yet but that it is there"
        time.sleep(0.4)
        assert ours.acquire(record)


def test_a_claim_that_is_renewed_does_not_expire(record, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(cell_claims, "time", SimpleNamespace(monotonic=lambda: now[0]))
    # As seen from another machine, which cannot ask whether the process lives.
    monkeypatch.setattr(cell_claims, "_is_dead", lambda owner: False)
    with Claims(renew_seconds=0.01) as one:
        other = Claims(expiry_seconds=60.0)
        assert one.acquire(record)
        for _ in range(3):
            assert not other.acquire(record)
            seen = claim_of(record).stat().st_mtime_ns
            while claim_of(record).stat().st_mtime_ns == seen:
                time.sleep(0.01)
            now[0] += 60.0
        assert not other.acquire(record)


def test_of_many_that_break_a_dead_claim_one_gets_it(record):
    for _ in range(20):
        leave(record, pid=dead_pid() if _ == 0 else 2**22 + 1)
        barrier, got = threading.Barrier(8), []

        def claim(barrier=barrier, got=got):
            mine = Claims()
            barrier.wait()
            if mine.acquire(record):
                got.append(mine)

        threads = [threading.Thread(target=claim) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(got) == 1
        got[0].release(record)
        assert list(record.parent.iterdir()) == []


def test_a_process_killed_while_it_broke_a_claim_blocks_the_cell_for_no_longer(record):
    leave(record, pid=dead_pid())
    lock = claim_of(record).with_name(f"{claim_of(record).name}-breaking")
    lock.write_text(claim_of(record).read_text())
    with Claims() as ours:
        assert not ours.acquire(record)
        assert not lock.exists()
        assert ours.acquire(record)


def test_a_claim_that_another_took_over_is_renewed_no_more(record):
    with Claims(renew_seconds=0.05) as ours:
        assert ours.acquire(record)
        leave(record, machine="another")
        before = claim_of(record).stat().st_mtime_ns
        time.sleep(0.3)
        assert claim_of(record).stat().st_mtime_ns == before


def test_a_claim_that_another_took_over_is_not_released(record):
    with Claims() as ours:
        assert ours.acquire(record)
        leave(record, machine="another")
        ours.release(record)
        assert claim_of(record).exists()


def test_a_disk_that_is_full_is_an_error_and_leaves_no_claim(record, monkeypatch):
    def full(self, *arguments, **options):
        file = real(self, *arguments, **options)
        file.write = lambda text: (_ for _ in ()).throw(OSError(28, "No space left on device"))
        return file

    record.parent.mkdir(parents=True)
    real = type(record).open
    monkeypatch.setattr(type(record), "open", full)
    with pytest.raises(OSError, match="No space"):
        Claims().acquire(record)
    monkeypatch.undo()
    assert list(record.parent.iterdir()) == []
