"""One numerical thread a process, and the same kernels on every x86-64 processor with AVX2.

Numerical libraries choose their kernels by the processor: other vector lengths, other orders of
summation, other digits. A training of a thousand steps makes points of accuracy of a last digit.
So the kernels are pinned where the threads are: to those of AVX2, which nearly every x86-64
processor since 2015 has, and for MKL, whose AVX2 kernels are Intel's alone, to the compatible ones.
docs/protocol.md has what each library's choice moves and what pinning it costs.

``KRDA_KERNELS=unpinned`` leaves the kernels to the libraries and to the environment's variables.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)

SWITCH = "KRDA_KERNELS"
"""The one variable that says whether kernels are pinned: "unpinned", or "pinned" as by default."""

KERNELS = {
    # On another vendor's processor MKL takes AVX2 for AUTO; COMPATIBLE is the same on all.
    "MKL_CBWR": "COMPATIBLE",
    "ATEN_CPU_CAPABILITY": "avx2",
    "OPENBLAS_CORETYPE": "Haswell",
    # numpy's names of all that goes beyond AVX2; it says nothing where the processor lacks them.
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    # No features beside those that the name stands for; numba's cache on disk is kept by both.
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
}
"""Variables and values that pin the kernels of the libraries that are loaded from then on."""

# Further variables by which a person's environment would choose kernels, or forbid the choice.
_UNSET = ("NPY_ENABLE_CPU_FEATURES", "MKL_ENABLE_INSTRUCTIONS", "DNNL_MAX_CPU_ISA")


def set_thread_variables() -> None:
    """Ask for one thread and for pinned kernels in each numerical library loaded from now on.

    It loads none itself, for commands that may not need any.
    """
    for variable in _THREADS:
        os.environ[variable] = "1"
    switch = os.environ.get(SWITCH, "pinned")
    if switch not in ("pinned", "unpinned"):
        raise SystemExit(f"{SWITCH} must be pinned (the default) or unpinned; got {switch!r}.")
    if switch == "unpinned":
        return
    if not _has_avx2():
        print(
            "Numerical kernels are not pinned here: that needs Linux on an x86-64 processor with "
            "AVX2 and FMA. The last digits of results can differ from those of other machines.",
            file=sys.stderr,
        )
        os.environ[SWITCH] = "unpinned"  # Processes that this one starts need not say it again.
        return
    for variable in _UNSET:
        os.environ.pop(variable, None)
    os.environ.update(KERNELS)
    # piqp picks one of its compiled variants by what this module of its says of the processor.
    choice: Any = SimpleNamespace(avx512f=False, avx2=True)
    sys.modules.setdefault("piqp.instruction_set", choice)


def limit_threads(*, kernels: bool = True) -> None:
    """Limit the numerical libraries of this process, and of those it starts, to one thread each.

    Call this before importing any. ``kernels=False`` leaves the kernels to the libraries, for
    measurements of speed, which are of the kernels that a user has.
    """
    if not kernels:
        os.environ[SWITCH] = "unpinned"
        for variable in KERNELS:  # as a process that pins its own hands them down
            os.environ.pop(variable, None)
    set_thread_variables()
    import torch

    torch.set_num_threads(1)


def _has_avx2() -> bool:
    """Whether the processor has AVX2 and FMA, as far as Linux says so."""
    info = Path("/proc/cpuinfo")
    if platform.machine() != "x86_64" or not info.is_file():
        return False
    flags = info.read_text(encoding="utf-8", errors="replace").partition("\nflags")[2]
    return {"avx2", "fma"} <= set(flags.partition("\n")[0].split())
