"""Where a number comes from: versions, processor, threads, revision."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parent.parent


def environment() -> dict[str, Any]:
    """Describe what this process runs on.

    Returns
    -------
    environment : dict
        ``krda`` and ``python`` (versions), ``system``, ``machine``, ``cpu``, ``cores``,
        ``threads`` (as the libraries loaded so far report them now), ``git_revision`` and
        ``git_clean`` (whether tracked files were as committed), None where git tells of no
        checkout of this repository.
    """
    return {**_fixed(), "threads": threads_in_use()}


def threads_in_use() -> int:
    """Threads that the numerical libraries loaded into this process would use, at most.

    Measured, not assumed: the libraries are asked.

    Returns
    -------
    threads : int
    """
    import torch
    from threadpoolctl import threadpool_info

    return max([torch.get_num_threads(), *(pool["num_threads"] for pool in threadpool_info())])


@cache
def _fixed() -> dict[str, Any]:
    from krda import __version__

    return {
        "krda": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        **_revision(),
    }


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _revision() -> dict[str, Any]:
    """Git revision and whether tracked code is as committed; None outside a checkout.

    A copy of the code that lies in another repository is outside, too: its revisions are not ours.
    """

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                # A look must not take the lock that a person's own command may want.
                ["git", "--no-optional-locks", "-C", str(_ROOT), *arguments],
                capture_output=True,
                encoding=sys.getfilesystemencoding(),
                errors="surrogateescape",
                timeout=10,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    top = git("rev-parse", "--show-toplevel")
    revision = git("rev-parse", "HEAD") if top and Path(top).resolve() == _ROOT.resolve() else None
    if revision is None:
        return {"git_revision": None, "git_clean": None}
    # Results change while a run writes them; that is not a change of what produces them.
    changes = git("status", "--porcelain", "--untracked-files=no", "--", ":!results")
    return {"git_revision": revision, "git_clean": None if changes is None else changes == ""}
