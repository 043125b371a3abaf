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
    from krda import mixture, transport

    if compiled and not mixture.COMPILED:
        raise NotRun("numba is not installed")
    if not compiled:
        mixture.COMPILED = False
        transport.BLOCK_ROWS = transport.block_rows(compiled=False)
