"""Transport a table that is too large for one machine with Dask.

    python examples/dask_blocks.py model.pickle source/ moved/ --processes 2

``model.pickle`` is a fitted ``krda.KRDA``: open no pickle that you did not write. ``source/`` is a
stack of ``.npy`` files as ``dask.array.to_npy_stack`` writes it, its columns in the order of the
fit; ``moved/`` must not exist. ``--address`` names a running scheduler, whose workers must share
the folders. Needs the extra ``scale``.
"""

from __future__ import annotations

import argparse
import pickle
from pathlib import Path

import dask.array as da
import numpy as np
from dask.distributed import Client


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Transport a stack of NumPy files with Dask.")
    parser.add_argument("model", type=Path)
    parser.add_argument("source", type=Path, help="stack to read")
    parser.add_argument("moved", type=Path, help="stack to write; must not exist")
    parser.add_argument("--rows", type=int, default=65_536, help="of a block")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--address", help="of a running scheduler; without it, processes here")
    options = parser.parse_args()
    options.moved.mkdir()  # Dask would mix its files with those of an earlier run
    model = pickle.loads(options.model.read_bytes())
    local = {"n_workers": options.processes, "threads_per_worker": 1, "dashboard_address": None}
    with Client(options.address) if options.address else Client(**local):
        table = da.from_npy_stack(str(options.source.resolve())).rechunk((options.rows, -1))
        moved = table.map_blocks(model.transform, meta=np.empty((0, 0)))
        da.to_npy_stack(str(options.moved.resolve()), moved)


if __name__ == "__main__":
    main()
