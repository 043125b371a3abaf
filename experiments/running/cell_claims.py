"""Claims on cells, so that two runs on one directory share the work instead of doing it twice.

A claim is a hidden file beside the cell's record, made with ``O_EXCL``, which every file system
that several machines share honours, as it does a rename; locks it often does not. It holds who
claims, and its time of modification is renewed every few seconds.

A claim ends when it is released, when its process is known to be dead (same machine), or when it
has not been renewed for a while. That while is measured by the observer's own clock, from one look
at the file to another, so that the clocks of two machines need not agree.

Claims are a courtesy. Records do not rest on them: where one is broken wrongly, a cell is computed
twice, with the same numbers, and the record is written whole either time.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from experiments.store.records import CLAIM
from experiments.whole_files import write_text

RENEW_SECONDS = 5.0
EXPIRY_SECONDS = 60.0


class Claims:
    """The claims of one run; a context manager that renews them, and releases them at its end.

    Parameters
    ----------
    renew_seconds : float
        Time between two renewals.
    expiry_seconds : float
        A claim of another that was not renewed for so long is taken over.
    """

    def __init__(
        self, *, renew_seconds: float = RENEW_SECONDS, expiry_seconds: float = EXPIRY_SECONDS
    ) -> None:
        self.renew_seconds = renew_seconds
        self.expiry_seconds = expiry_seconds
        self._text = json.dumps({**_myself(), "token": secrets.token_hex(8)}, sort_keys=True)
        self._held: set[Path] = set()
        # By claim: what was seen of it, and when it was first seen so.
        self._seen: dict[Path, tuple[tuple[str, int], float]] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        # A disk that does not answer must not keep the run from ending.
        self._thread.join(timeout=1.0)
        for record in tuple(self._held):
            self.release(record)

    def acquire(self, record: Path) -> bool:
        """Try to claim a cell.

        Parameters
        ----------
        record : Path
            Where its record lies or will lie; directories are made.

        Returns
        -------
        claimed : bool
            False where another process is at it.

        Raises
        ------
        OSError
            The directory cannot be written.
        """
        path = _claim_path(record)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not _create(path, self._text) and not self._take_over(path):
            return False
        self._seen.pop(path, None)
        self._held.add(record)
        return True

    def release(self, record: Path) -> None:
        """Give up a claim; one that another has taken over in the meantime stays.

        Parameters
        ----------
        record : Path
        """
        self._held.discard(record)
        path = _claim_path(record)
        with contextlib.suppress(OSError):
            if path.read_text(encoding="utf-8", errors="replace") == self._text:
                path.unlink()

    def _take_over(self, path: Path) -> bool:
        """Break a claim that is over and make it ours."""
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
            state = (text, path.stat().st_mtime_ns)
        except FileNotFoundError:
            return _create(path, self._text)
        except OSError:
            return False
        first = self._seen.get(path)
        if first is None or first[0] != state:
            self._seen[path] = first = (state, time.monotonic())
        expired = time.monotonic() - first[1] >= self.expiry_seconds
        if not expired and not _is_dead(_parse(text)):
            return False
        # One at a time may break a claim, and looks again before it does: else one that had looked
        # before another broke it would break the other's.
        lock = path.with_name(f"{path.name}-breaking")
        try:
            if not _create(lock, self._text):
                self._drop_abandoned(lock)
                return False
            try:
                if path.read_text(encoding="utf-8", errors="replace") != text:
                    return False
                write_text(path, self._text)
                return True
            except FileNotFoundError:
                return _create(path, self._text)
            finally:
                lock.unlink()
        except OSError:
            return False

    def _drop_abandoned(self, lock: Path) -> None:
        """Remove the lock of a process that was killed while it broke a claim."""
        with contextlib.suppress(OSError):
            text = lock.read_text(encoding="utf-8", errors="replace")
            state = (text, lock.stat().st_mtime_ns)
            first = self._seen.get(lock)
            if first is None or first[0] != state:
                self._seen[lock] = first = (state, time.monotonic())
            expired = time.monotonic() - first[1] >= self.expiry_seconds
            if expired or (text and _is_dead(_parse(text))):
                lock.unlink()
                self._seen.pop(lock, None)

    def _renew(self) -> None:
        while not self._ended.wait(self.renew_seconds):
            for record in tuple(self._held):
                path = _claim_path(record)
                with contextlib.suppress(OSError):
                    if path.read_text(encoding="utf-8", errors="replace") == self._text:
                        os.utime(path)
                    else:
                        # Another has taken it over, who must renew it himself.
                        self._held.discard(record)


def _claim_path(record: Path) -> Path:
    return record.with_name(f".{record.name}{CLAIM}")


def _create(path: Path, text: str) -> bool:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    except OSError:
        # The disk is full: an empty claim must not stay behind.
        with contextlib.suppress(OSError):
            path.unlink()
        raise
    return True


def _parse(text: str) -> dict[str, Any]:
    try:
        owner = json.loads(text)
    except ValueError:
        return {}
    return owner if isinstance(owner, dict) else {}


def _myself() -> dict[str, Any]:
    return {
        "host": socket.gethostname(),
        "machine": _machine(),
        "pid": os.getpid(),
        "started": _start_of(os.getpid()),
    }


def _machine() -> str | None:
    """Tell whether process numbers mean the same to two processes; None where nothing tells.

    Host names do not: containers may share theirs.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{socket.gethostname()} {boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return None


def _start_of(pid: int) -> str | None:
    """When a process started, in ticks since boot: a number may have been given anew."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    # The name, in parentheses, may hold anything; starttime is the 22nd field of all.
    return status.rpartition(")")[2].split()[19]


def _is_dead(owner: dict[str, Any]) -> bool:
    """Whether a claim's process is known to have ended."""
    machine, pid = owner.get("machine"), owner.get("pid")
    if machine is None or machine != _machine() or type(pid) is not int:
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except FileNotFoundError:
        return True
    except OSError:
        return False
    # A killed process that nobody has waited for is a zombie, and does nothing any more.
    zombie = state.rpartition(")")[2].split()[0] in ("Z", "X")
    return zombie or _start_of(pid) != owner.get("started")
