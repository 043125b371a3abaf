r"""The Knothe-Rosenblatt map between two densities (paper, section 5).

``T = R_T^{-1} o R_S``: the source's Rosenblatt transform, then the target's inverse one. Each
coordinate keeps its conditional quantile, ``F_S^i(x^i | x^{<i}) = F_T^i(T(x)^i | T(x)^{<i})``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import torch
from torch import Tensor

from krda.mixture import COMPILED


def block_rows(*, compiled: bool) -> int:
    """Choose how many rows are carried together.

    With fewer, calls cost more than the work, and threads wait for Python's lock; with more, arrays
    are farther from the processor, and there are fewer blocks to spread over threads. Without the
    compiled loops there are more calls, and it takes more rows to pay for them.

    Parameters
    ----------
    compiled : bool
        Whether mixtures are computed by :mod:`krda.kernels`.

    Returns
    -------
    rows : int
    """
    return 8192 if compiled else 32768


#: Rows carried together: a thread's memory is that of some 150 numbers a row, whatever the number
#: of rows.
BLOCK_ROWS = block_rows(compiled=COMPILED)


class Density(Protocol):
    """What the transport asks of a density on R^d."""

    @property
    def n_features(self) -> int:
        """Dimension d."""
        ...

    def log_prob(self, x: Tensor) -> Tensor:
        """Log-density of rows (n, d), as (n,)."""
        ...

    def rosenblatt(self, x: Tensor) -> Tensor:
        """Map rows (n, d) to conditional quantiles ``u^i = F^i(x^i | x^{<i})``."""
        ...

    def inverse_rosenblatt(self, u: Tensor) -> Tensor:
        """Map conditional quantiles (n, d) in (0, 1) to rows."""
        ...

    def sample(self, n: int, generator: torch.Generator) -> Tensor:
        """Draw n rows."""
        ...


def knothe_rosenblatt(
    source: Density, target: Density, x: Tensor, *, eps: float = 1e-8, first_row: int = 0
) -> Tensor:
    r"""Carry source rows to the target by the Knothe-Rosenblatt map (paper, Algorithm 1).

    Parameters
    ----------
    source, target : Density
        Of equal dimension d.
    x : Tensor of shape (n, d)
        Source rows; computed in float64.
    eps : float, default=1e-8
        Quantiles are clipped to ``[eps, 1 - eps]`` for numerical stability, as in the paper.
    first_row : int, default=0
        Number of the first row, for errors, where x is part of a table.

    Returns
    -------
    t : Tensor of shape (n, d), float64
        ``T(x)``. It follows the target density if x follows the source's (paper, Proposition 2).

    Raises
    ------
    ValueError
        Dimensions that do not agree, or rows that are not finite.
    FloatingPointError
        A row that leaves the range of floating point on its way.

    Notes
    -----
    Time is linear in n; memory, beside x and the result, is that of one block of rows for each of
    the ``torch.get_num_threads()`` threads that blocks are spread over. The result is the same
    number for number whatever the number of threads. With several threads, those that other code
    begins in the meantime start with ``torch.get_num_threads() == 1``, and keep it: torch's setting
    is of the process where it is not of a thread.
    """
    if x.ndim != 2 or not x.shape[1] == source.n_features == target.n_features:
        raise ValueError(
            f"x must have shape (n, d) with the densities' d; got {tuple(x.shape)}, a source "
            f"density of d = {source.n_features} and a target density of d = {target.n_features}."
        )
    x = x.to(torch.float64)
    if not bool(torch.isfinite(x).all()):
        raise ValueError("x holds NaN or infinity; remove or impute such rows first.")
    carried = torch.empty(x.shape, dtype=x.dtype, device=x.device)

    def carry(start: int) -> None:
        block = slice(start, start + BLOCK_ROWS)
        with torch.no_grad():  # each thread has its own mode
            try:
                u = source.rosenblatt(x[block])
                _check_finite(u, "quantiles under the source density", first_row + start)
                carried[block] = target.inverse_rosenblatt(u.clamp(eps, 1.0 - eps))
                _check_finite(carried[block], "carried values", first_row + start)
            except FloatingPointError as error:
                last = first_row + start + len(x[block]) - 1
                raise FloatingPointError(
                    f"A row among {first_row + start} to {last} cannot be carried: "
                    f"{error} Look for rows far outside the fitted data and clip or remove them, "
                    "or fit the densities again with a smaller learning rate."
                ) from error

    _run_in_threads(carry, range(0, len(x), BLOCK_ROWS))
    return carried


def _check_finite(values: Tensor, what: str, first_row: int) -> None:
    """Raise where rows (n, d), numbered from the first, hold NaN or infinity."""
    bad = (~torch.isfinite(values)).nonzero()
    if len(bad):
        row, column = bad[0].tolist()
        raise FloatingPointError(
            f"The {what} of row {first_row + row} hold {float(values[row, column])} in column "
            f"{column}."
        )


def _run_in_threads(work: Callable[[int], None], starts: range) -> None:
    """Call once for each start, in as many threads as torch may use; each computes alone.

    Torch would split single operations among its threads, which gains little on blocks this small
    and lets the last digits depend on the number of threads.
    """
    n_threads = torch.get_num_threads()
    if n_threads == 1:
        for start in starts:
            work(start)
        return
    # Set where a block fails or the user interrupts: blocks that have not begun do not begin.
    stopped = threading.Event()

    def work_on(start: int) -> None:
        if stopped.is_set():
            return
        try:
            work(start)
        except BaseException:
            stopped.set()
            raise

    try:
        with ThreadPoolExecutor(
            min(n_threads, len(starts)) or 1, initializer=torch.set_num_threads, initargs=(1,)
        ) as pool:
            try:
                for done in [pool.submit(work_on, start) for start in starts]:
                    done.result()
            finally:
                stopped.set()
    finally:
        # The workers' setting is their own, but it is also what threads to come start with.
        torch.set_num_threads(n_threads)
