"""The transport with and without its compiled loops."""

from __future__ import annotations

from benchmarks.timing import NotRun


def set_compiled(compiled: bool) -> None:
    """Choose, for this process, whether the transport uses its compiled loops.

    Raises
    ------
    NotRun
        They are asked for and numba is not installed.
    """
    from krda import _switch

    names = [name for name, fast in _switch.FAST.items() if fast.__module__ == "krda._fast.loops"]
    if compiled and not names:
        raise NotRun("numba is not installed")
    if not compiled:
        for name in names:
            del _switch.FAST[name]
