"""Carry a stack of NumPy files with Dask, on this machine or on a cluster.

The command::

    python -m benchmarks.carry_with_dask MODEL.pickle SOURCE/ CARRIED/ --processes 2

A stack is what ``dask.array.to_npy_stack`` writes: a folder of ``0.npy``, ``1.npy``, ... Workers
read and write its files themselves. Needs the extra ``scale``, see docs/performance.md. On a
cluster the repository and the folders must lie on a disk that all nodes share.

A stack holds a pickle, as a model is one: open none that you did not write.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client

from benchmarks.blocks import CarryBlock, FloatArray, check_rows


def _carry(rows: FloatArray, carry: CarryBlock) -> FloatArray:
    return carry(rows)


def carry_stack(model: Path, source: Path, carried: Path, *, rows: int = 65_536) -> None:
    """Carry the rows of a stack into another one, with Dask's current scheduler.

    Parameters
    ----------
    model : Path
        Pickle of a fitted :class:`krda.KRDA`.
    source : Path
        Stack of shape (n, d), along the rows.
    carried : Path
        Written, a file for each block; must not exist.
    rows : int
        In a block; a multiple of :data:`benchmarks.blocks.ROWS_TOGETHER`.
    """
    check_rows(rows)
    carried.mkdir()  # to_npy_stack would mix its files with those of an earlier run
    table = da.from_npy_stack(str(source.resolve()))
    # Files end anywhere; cut anew, only the last block of all is shorter.
    table = table.rechunk((rows, -1))
    # Loaded once, and passed from worker to worker.
    carry = dask.delayed(CarryBlock)(model.resolve())
    table = table.map_blocks(_carry, carry=carry, meta=np.empty((0, 0)))
    da.to_npy_stack(str(carried.resolve()), table)


def main() -> None:
    """Carry a stack, as the command line says."""
    parser = argparse.ArgumentParser(description="Carry a stack of NumPy files with Dask.")
    parser.add_argument("model", type=Path)
    parser.add_argument("source", type=Path, help="stack to read")
    parser.add_argument("carried", type=Path, help="stack to write; must not exist")
    parser.add_argument("--rows", type=int, default=65_536, help="in a block")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--address", help="of a running scheduler; default: processes here")
    options = parser.parse_args()
    if options.address:
        client = Client(options.address)
    else:
        client = Client(n_workers=options.processes, threads_per_worker=1, dashboard_address=None)
    with client:
        carry_stack(options.model, options.source, options.carried, rows=options.rows)


if __name__ == "__main__":
    main()
