"""One numerical thread a process: results do not depend on the number of cores."""

from __future__ import annotations

import os

_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def set_thread_variables() -> None:
    """Ask for one thread in each numerical library that is loaded from now on.

    It loads none itself, for commands that may not need any.
    """
    for variable in _VARIABLES:
        os.environ[variable] = "1"


def limit_threads() -> None:
    """Limit the numerical libraries of this process, and of those it starts, to one thread each.

    The variables are read when a library is loaded, so call this before importing any; torch is
    limited in any case.
    """
    set_thread_variables()
    import torch

    torch.set_num_threads(1)
