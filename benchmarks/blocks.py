"""Carry a table that does not fit into memory: block by block, in several processes.

The pieces are those that Ray Data's ``map_batches`` and Dask's ``map_blocks`` call in
:mod:`benchmarks.carry_with_ray` and :mod:`benchmarks.carry_with_dask`; here processes of the
standard library call them::

    python -m benchmarks.blocks MODEL.pickle SOURCE.npy CARRIED.npy --processes 2

A block is a multiple of :data:`ROWS_TOGETHER` rows, those that the transport takes at a time
anyway. So every row meets the same neighbours in the same arithmetic, and the blocks' bytes are
those of the table carried in one go, as long as no two rows equal each other in a table with point
masses: those are spread in the order that they come, see :meth:`krda.KRDA.transform`.

A model is a pickle: open none that you did not write.
"""

from __future__ import annotations

import argparse
import multiprocessing
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from krda.transport import BLOCK_ROWS

FloatArray = NDArray[np.float64]

ROWS_TOGETHER = BLOCK_ROWS


class CarryBlock:
    """A fitted model as a function of blocks; loads it once a process.

    Parameters
    ----------
    model : Path or str
        Pickle of a fitted :class:`krda.KRDA`.
    threads : int
        Of torch, in the process that calls it.
    """

    def __init__(self, model: Path | str, threads: int = 1) -> None:
        self.threads = threads
        self.model: Any = pickle.loads(Path(model).read_bytes())

    def __call__(self, block: FloatArray) -> FloatArray:
        """Carry the rows of a block, (n, d), to the target domain."""
        import torch

        # Here, as the object may have come to this process by a pickle.
        torch.set_num_threads(self.threads)
        carried: FloatArray = self.model.transform(block)
        return carried


def check_rows(rows: int) -> None:
    """Refuse blocks in which rows would meet other neighbours than in one go.

    Parameters
    ----------
    rows : int
        In a block; a multiple of :data:`ROWS_TOGETHER`.

    Raises
    ------
    ValueError
        A block of another size.
    """
    if rows < 1 or rows % ROWS_TOGETHER:
        raise ValueError(f"A block must be a multiple of {ROWS_TOGETHER} rows, got {rows}.")


def slices(n: int, rows: int) -> Iterator[slice]:
    """Split n rows into blocks.

    Parameters
    ----------
    n : int
    rows : int
        In a block; a multiple of :data:`ROWS_TOGETHER`.

    Yields
    ------
    block : slice

    Raises
    ------
    ValueError
        A block of another size.
    """
    check_rows(rows)
    for begin in range(0, n, rows):
        yield slice(begin, min(begin + rows, n))


_carry: CarryBlock


def _start(model: Path) -> None:
    global _carry
    _carry = CarryBlock(model)


def _carry_slice(task: tuple[Path, Path, slice]) -> None:
    source, carried, part = task
    rows = np.load(source, mmap_mode="r")[part]
    np.load(carried, mmap_mode="r+")[part] = _carry(np.array(rows, dtype=np.float64))


def carry_file(
    model: Path, source: Path, carried: Path, *, rows: int = 65_536, processes: int = 2
) -> None:
    """Carry the rows of a NumPy file into another one; neither is ever in memory as a whole.

    Parameters
    ----------
    model : Path
        Pickle of a fitted :class:`krda.KRDA`.
    source : Path
        ``.npy`` file of shape (n, d).
    carried : Path
        Written; appears only when all of it is there.
    rows : int
        In a block; a multiple of :data:`ROWS_TOGETHER`.
    processes : int
        Each with one thread.
    """
    shape = np.load(source, mmap_mode="r").shape
    parts = list(slices(shape[0], rows))
    unfinished = carried.with_name(f".{carried.name}.part")
    table = np.lib.format.open_memmap(unfinished, mode="w+", dtype=np.float64, shape=shape)
    table.flush()
    del table
    context = multiprocessing.get_context("forkserver")
    with context.Pool(processes, _start, (model,)) as pool:
        for _ in pool.imap_unordered(_carry_slice, [(source, unfinished, part) for part in parts]):
            pass
    unfinished.replace(carried)


def main() -> None:
    """Carry a file, as the command line says."""
    parser = argparse.ArgumentParser(description="Carry a table block by block.")
    parser.add_argument("model", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("carried", type=Path)
    parser.add_argument("--rows", type=int, default=65_536, help="in a block")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    carry_file(
        options.model,
        options.source,
        options.carried,
        rows=options.rows,
        processes=options.processes,
    )


if __name__ == "__main__":
    from experiments.threads import limit_threads

    limit_threads(kernels=False)  # Speed is that of a user's kernels.
    main()
