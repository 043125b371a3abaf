r"""The Knothe-Rosenblatt map as a formula for two densities (paper, section 5).

``T = target.inverse_rosenblatt(source.rosenblatt(x))``: each coordinate keeps its conditional
quantile, ``F_S^i(x^i | x^{<i}) = F_T^i(T(x)^i | T(x)^{<i})``.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import torch
from torch import Tensor

from krda.density.mixture import NotFiniteError

#: Rows mapped together. Smaller blocks are dominated by call overhead and Python's lock, larger
#: ones fall out of the processor's caches; the memory of the transport is that of one block for
#: each thread.
BLOCK_ROWS = 8192


class Density(Protocol):
    """What the transport asks of a density on R^d.

    Examples
    --------
    >>> from krda import LinearGaussianDensity, RNADE
    >>> import torch
    >>> densities = [LinearGaussianDensity(torch.zeros(2), torch.eye(2)), RNADE(2).density(0)]
    >>> [density.n_features for density in densities]
    [2, 2]
    """

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
    source: Density,
    target: Density,
    x: Tensor,
    *,
    eps: float = 1e-8,
    first_row: int = 0,
    names: Sequence[object] | None = None,
) -> Tensor:
    r"""Map source rows to the target by the Knothe-Rosenblatt map (paper, Algorithm 1).

    Parameters
    ----------
    source, target : Density
        Of equal dimension d.
    x : Tensor of shape (n, d)
        Source rows; computed in float64.
    eps : float, default=1e-8
        Quantiles are clipped to ``[eps, 1 - eps]`` for numerical stability, as in the paper.
    first_row : int, default=0
        Number of the first row, for errors, if x is part of a table.
    names : sequence of length d or None, default=None
        What the columns are called in errors; None numbers them.

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
    Time is linear in n. Blocks of :data:`BLOCK_ROWS` rows are spread over
    ``torch.get_num_threads()`` threads; the result is the same number for number whatever the
    number of threads. Meanwhile, new threads of other code start with one torch thread.

    Examples
    --------
    >>> import torch
    >>> from krda import LinearGaussianDensity, knothe_rosenblatt
    >>> source = LinearGaussianDensity(torch.zeros(2), torch.eye(2))
    >>> target = LinearGaussianDensity(torch.tensor([5.0, 0.0]), 4.0 * torch.eye(2))
    >>> knothe_rosenblatt(source, target, torch.tensor([[0.0, 1.0]])).round(decimals=6)
    tensor([[5., 2.]], dtype=torch.float64)
    """

    def T(x: Tensor) -> Tensor:
        return target.inverse_rosenblatt(source.rosenblatt(x).clamp(eps, 1.0 - eps))

    if x.ndim != 2 or not x.shape[1] == source.n_features == target.n_features:
        raise ValueError(
            f"x must have shape (n, d) with the densities' d; got {tuple(x.shape)}, a source "
            f"density of d = {source.n_features} and a target density of d = {target.n_features}."
        )
    x = x.to(torch.float64)
    if not bool(torch.isfinite(x).all()):
        raise ValueError("x holds NaN or infinity; remove or impute such rows first.")
    mapped = torch.empty(x.shape, dtype=x.dtype, device=x.device)

    def failure(row: int, what: str) -> FloatingPointError:
        return FloatingPointError(
            f"Row {first_row + row} cannot be transported: {what}. Look for rows far outside the "
            "fitted data and clip or remove them, or fit the densities again with a smaller "
            "learning rate."
        )

    def map_block(start: int) -> None:
        block = slice(start, start + BLOCK_ROWS)
        try:
            with torch.no_grad():  # each thread has its own mode
                mapped[block] = T(x[block])
        except NotFiniteError as error:
            what = f"the {error.what} of a conditional hold NaN or infinity"
            raise failure(start + error.row, what) from error
        bad = (~torch.isfinite(mapped[block])).nonzero().tolist()
        if bad:
            row, column = start + bad[0][0], bad[0][1]
            name = column if names is None else names[column]
            raise failure(row, f"it is mapped to {float(mapped[row, column])} in column {name}")

    # Torch would split single operations among its threads, which gains little on blocks this small
    # and makes the last digits depend on the number of threads.
    n_threads, starts = torch.get_num_threads(), range(0, len(x), BLOCK_ROWS)
    workers = max(min(n_threads, len(starts)), 1)
    try:
        with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            list(pool.map(map_block, starts))  # at the first error, blocks not begun are cancelled
    finally:
        # Threads to come would start with the workers' setting.
        torch.set_num_threads(n_threads)
    return mapped
