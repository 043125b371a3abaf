"""Refuse tables whose matrices cannot be held, before any long work."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUP = Path("/proc/self/cgroup")


def check_matrix_size(n_rows: int, n_columns: int, *, what: str, method: str, copies: int) -> None:
    """Raise MemoryError if a method's largest matrices are more than this process may ever hold.

    The matrices hold float64 numbers; ``what`` says what they have rows and columns for, and
    ``copies`` how many of them the method holds at its peak. What passes may still fail, for other
    data and other programs take memory too.
    """
    needed, limit = 8 * copies * n_rows * n_columns, memory_limit()
    if needed > limit:
        share = math.sqrt(limit / needed)  # both sides of the matrix shrink by the same factor
        raise MemoryError(
            f"{method} holds {copies} matrices of {what}, {n_rows:,} x {n_columns:,} numbers, at a "
            f"time: {needed / 1e9:,.1f} GB, expected at most the {limit / 1e9:,.1f} GB that this "
            f"process can have. Draw subsamples of the rows ({int(share * n_rows):,} x "
            f"{int(share * n_columns):,} would fit), or take a method whose memory is linear in "
            "the rows: KRDA, SubspaceAlignment, or OptimalTransport(transport='linear')."
        )


def memory_limit() -> float:
    """Return the bytes that this process can have at most, infinite if the system reports none.

    The least of the machine's memory, the limit of the address space (``ulimit -v``) and those of
    the control groups that it is in (containers, SLURM). What is free at the moment does not count:
    whether a table is taken must not depend on what else runs.
    """
    limits: list[float] = []
    with contextlib.suppress(AttributeError, ValueError, OSError):  # not on Windows
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with contextlib.suppress(ImportError, OSError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            limits.append(soft)
    # A negative number means that the system does not know.
    known = [limit for limit in [*limits, *_cgroup_limits()] if limit > 0]
    return float(min(known, default=math.inf))


def _cgroup_limits() -> list[int]:
    """Find the memory limits of this process's control group and of those around it."""
    try:
        lines = _OWN_CGROUP.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    own = next((line[len("0::/") :] for line in lines if line.startswith("0::/")), "")
    limits = []
    for group in (_CGROUPS / own, *(_CGROUPS / own).parents):
        with contextlib.suppress(OSError, ValueError):  # no such file; "max", which is no limit
            limits.append(int((group / "memory.max").read_text(encoding="utf-8")))
        if group == _CGROUPS:
            break
    return limits
