"""Transport a table that is too large for one machine with Ray Data.

    python examples/ray_blocks.py model.pickle source/ moved/ --columns x0 x1 --processes 2

``model.pickle`` is a fitted ``krda.KRDA``: open no pickle that you did not write. ``source/`` holds
Parquet files, read in the order of their names as text, and ``moved/`` must not exist. Columns that
are not named are copied. ``--address auto`` joins a running cluster, whose nodes must share the
folders. Needs the extra ``scale``.
"""

from __future__ import annotations

import argparse
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import ray
from ray.data import ActorPoolStrategy, DataContext


class Transport:
    """What each actor does to its blocks; the model is loaded once."""

    def __init__(self, model: str, columns: list[str]) -> None:
        self.model = pickle.loads(Path(model).read_bytes())
        self.columns = columns

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Replace the columns, each (n,), by the transported ones."""
        moved = self.model.transform(np.column_stack([batch[name] for name in self.columns]))
        return {**batch, **dict(zip(self.columns, moved.T, strict=True))}


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Transport Parquet files with Ray Data.")
    parser.add_argument("model", type=Path)
    parser.add_argument("source", type=Path, help="folder of Parquet files")
    parser.add_argument("moved", type=Path, help="folder to write; must not exist")
    parser.add_argument("--columns", nargs="+", required=True, help="in the order of the fit")
    parser.add_argument("--rows", type=int, default=65_536, help="of a block")
    parser.add_argument("--processes", type=int, default=2, help="at most")
    parser.add_argument("--address", help="of a running cluster; without it, processes here")
    options = parser.parse_args()
    options.moved.mkdir()  # Ray would add its files to those of an earlier run
    if options.address:
        ray.init(options.address)
    else:  # Three more than the actors: reading, cutting and writing take one each.
        ray.init("local", num_cpus=options.processes + 3, include_dashboard=False)
    DataContext.get_current().execution_options.preserve_order = True
    table = ray.data.read_parquet(str(options.source.resolve()))
    # Files and Ray's blocks end anywhere, and those that are put together lose their order.
    table = table.repartition(target_num_rows_per_block=options.rows, strict=True)
    table = table.map_batches(
        Transport,
        fn_constructor_args=(str(options.model.resolve()), options.columns),
        batch_size=options.rows,
        # From one on: a fixed number could take every CPU, and none would be left to read.
        compute=ActorPoolStrategy(min_size=1, max_size=options.processes),
        num_cpus=1,
    )
    table.write_parquet(str(options.moved.resolve()))


if __name__ == "__main__":
    main()
