"""Carry a folder of Parquet files with Ray Data, on this machine or on a cluster.

The command::

    python -m benchmarks.carry_with_ray MODEL.pickle SOURCE/ CARRIED/ --columns x0 x1 --processes 2

Each process is an actor that loads the model once; other columns (labels, numbers of rows) go along
as they are. Needs the extra ``scale``, see docs/performance.md. On a cluster the repository and the
folders must lie on a disk that all nodes share.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import ray
from ray.data import ActorPoolStrategy, DataContext

from benchmarks.blocks import CarryBlock, check_rows


class CarryColumns:
    """What an actor does: it carries some columns of a batch and passes on the others.

    Parameters
    ----------
    model : str
        Pickle of a fitted :class:`krda.KRDA`.
    columns : sequence of str
        Those of the model, in the order of its fit.
    """

    def __init__(self, model: str, columns: Sequence[str]) -> None:
        self.carry = CarryBlock(model)
        self.columns = columns

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Replace the columns, each (n,), of a batch."""
        # By name: the order in a batch is that of the first file.
        carried = self.carry(np.column_stack([batch[name] for name in self.columns]))
        return {**batch, **dict(zip(self.columns, carried.T, strict=True))}


def carry_parquet(
    model: Path,
    source: Path,
    carried: Path,
    columns: Sequence[str],
    *,
    rows: int = 65_536,
    processes: int = 2,
) -> None:
    """Carry the rows of Parquet files into others, in the order of the files' names.

    Parameters
    ----------
    model : Path
        Pickle of a fitted :class:`krda.KRDA`.
    source : Path
        Folder of Parquet files, read in the order of their names as text: ``10`` before ``2``.
    carried : Path
        Written; must not exist. Files are of Ray's own sizes, their names are in the order of the
        rows.
    columns : sequence of str
        Those of the model, in the order of its fit.
    rows : int
        In a block; a multiple of :data:`benchmarks.blocks.ROWS_TOGETHER`.
    processes : int
        At most, each with one thread.
    """
    check_rows(rows)
    carried.mkdir()  # Ray would add its files to those of an earlier run
    # Else blocks come in the order in which they are done.
    DataContext.get_current().execution_options.preserve_order = True
    table = ray.data.read_parquet(str(source.resolve()))
    # Files and Ray's blocks end anywhere; cut anew, only the last block of all is shorter.
    table = table.repartition(target_num_rows_per_block=rows, strict=True)
    table = table.map_batches(
        CarryColumns,
        fn_constructor_args=(str(model.resolve()), list(columns)),
        batch_size=rows,
        # From one on: a fixed number could take every CPU and wait for rows that none is left to
        # read.
        compute=ActorPoolStrategy(min_size=1, max_size=processes),
        num_cpus=1,
    )
    table.write_parquet(str(carried.resolve()))


def main() -> None:
    """Carry a folder, as the command line says."""
    parser = argparse.ArgumentParser(description="Carry Parquet files with Ray Data.")
    parser.add_argument("model", type=Path)
    parser.add_argument("source", type=Path, help="folder of Parquet files")
    parser.add_argument("carried", type=Path, help="folder to write; must not exist")
    parser.add_argument("--columns", nargs="+", required=True, help="in the order of the fit")
    parser.add_argument("--rows", type=int, default=65_536, help="in a block")
    parser.add_argument("--processes", type=int, default=2, help="at most")
    parser.add_argument("--address", help="of a running cluster, such as auto; default: none")
    options = parser.parse_args()
    if options.address:
        ray.init(address=options.address)
    else:
        # Ray's count, not the machine's: tasks that read, cut and write take one each; where too
        # few were left, the pool stayed at one actor.
        ray.init("local", num_cpus=options.processes + 3, include_dashboard=False)
    carry_parquet(
        options.model,
        options.source,
        options.carried,
        options.columns,
        rows=options.rows,
        processes=options.processes,
    )


if __name__ == "__main__":
    main()
