"""Where a number comes from: versions, processor, kernels, threads, revision."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from experiments.threads import KERNELS

_ROOT = Path(__file__).resolve().parents[2]


def environment() -> dict[str, Any]:
    """Describe what this process runs on: versions, processor, threads, kernels, git revision.

    ``libc`` is there since its mathematical functions differ by version. ``git_clean`` says whether
    tracked files were as committed; both git keys are None outside a checkout of this repository.
    """
    return {**_fixed(), "threads": threads_in_use(), "kernels": kernels_in_use()}


def threads_in_use() -> int:
    """Most threads that a numerical library of this process would use, as they report."""
    import torch
    from threadpoolctl import threadpool_info

    return max([torch.get_num_threads(), *(pool["num_threads"] for pool in threadpool_info())])


@cache
def kernels_in_use() -> dict[str, Any]:
    """Kernels that the numerical libraries of this process report.

    ``pinned``: whether :mod:`experiments.threads` pinned these and those of libraries that report
    none; ``mkl`` is None without MKL; ``blas`` lists numpy's and scipy's, once if they are equal.
    """
    import scipy.linalg  # noqa: F401  # its BLAS is another than numpy's
    import torch
    from threadpoolctl import threadpool_info

    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {
        "pinned": all(os.environ.get(name) == value for name, value in KERNELS.items()),
        "torch": torch.backends.cpu.get_cpu_capability(),
        "mkl": _mkl_branch(),
        "blas": sorted({f"{pool['internal_api']} {pool.get('architecture')}" for pool in pools}),
    }


def kernels_line(environment: Mapping[str, Any]) -> str:
    """Say in a few words which kernels an environment names, if any."""
    kernels = environment.get("kernels")
    if kernels is None:
        return "kernels not recorded"
    chosen = [kernels["torch"], f"MKL {kernels['mkl']}", *kernels["blas"]]
    names = ", ".join(str(name) for name in chosen)
    return f"kernels {'pinned' if kernels['pinned'] else 'not pinned'} ({names})"


def _mkl_branch() -> str | None:
    """Branch of MKL's kernels in force, by MKL's own numbers; torch has MKL within."""
    import torch

    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    try:
        branch = ctypes.CDLL(str(library)).mkl_serv_cbwr_get(1)
    except (OSError, AttributeError):
        return None
    return {1: "off", 2: "auto", 3: "COMPATIBLE"}.get(branch, f"branch {branch}")


@cache
def _fixed() -> dict[str, Any]:
    from krda._version import __version__

    return {
        "krda": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "libc": " ".join(platform.libc_ver()),
        "machine": platform.machine(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        **_revision(),
    }


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    text = info.read_text(encoding="utf-8", errors="replace") if info.is_file() else ""
    found = re.search(r"(?m)^model name\s*: *(.+?) *$", text)
    return found[1] if found else platform.processor() or "unknown"


def _revision() -> dict[str, Any]:
    """Git revision and whether tracked code is as committed; None outside a checkout.

    A copy of the code in another repository is outside, too: its revisions are not ours.
    """

    def git(*arguments: str) -> str:
        # A look must not take the lock that a person's own command may want.
        command = ["git", "--no-optional-locks", "-C", str(_ROOT), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
        return done.stdout.strip()

    try:
        if (_ROOT / ".git").exists():
            # Results change while a run writes them; that is no change of what produces them.
            changes = git("status", "--porcelain", "--untracked-files=no", "--", ":!results")
            return {"git_revision": git("rev-parse", "HEAD"), "git_clean": changes == ""}
    except (OSError, subprocess.SubprocessError):
        pass
    return {"git_revision": None, "git_clean": None}
