import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from krda.transport import BLOCK_ROWS

pytest.importorskip("ray")
pytest.importorskip("pyarrow")  # ray is there without it where only Hydra's launcher wants it

ROOT = Path(__file__).parents[2]
# The command, with Ray's own blocks as small for this table as they are for a table that is large.
SMALL_BLOCKS = """
import runpy
from ray.data import DataContext
DataContext.get_current().target_max_block_size = 500_000
DataContext.get_current().target_min_block_size = 1
runpy.run_module("benchmarks.carry_with_ray", run_name="__main__")
"""


@pytest.mark.slow
def test_ray_carries_files_to_the_bytes_of_one_go_in_their_order(fitted, tmp_path):
    directory, model, Xs = fitted
    table = pd.DataFrame(Xs, columns=["b", "a", "c"]).assign(row=np.arange(len(Xs)))
    (tmp_path / "source").mkdir()
    for number, begin in enumerate(range(0, len(Xs), 7_001)):
        part = table.iloc[begin : begin + 7_001]
        part = part if number % 3 else part[["row", "c", "a", "b"]]
        part.to_parquet(tmp_path / "source" / f"{number:03}.parquet", index=False)

    paths = [directory / "model.pickle", tmp_path / "source", tmp_path / "carried"]
    options = ["--columns", "b", "a", "c", "--rows", str(BLOCK_ROWS), "--processes", "1"]
    done = subprocess.run(
        [sys.executable, "-c", SMALL_BLOCKS, *map(str, paths), *options],
        capture_output=True, text=True, cwd=ROOT, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr

    files = sorted((tmp_path / "carried").iterdir())
    assert len(files) > 1
    carried = pd.concat([pd.read_parquet(path) for path in files])
    assert list(carried["row"]) == list(range(len(Xs)))
    rows = np.ascontiguousarray(carried[["b", "a", "c"]].to_numpy())
    assert rows.tobytes() == model.transform(Xs).tobytes()


def test_no_files_of_an_earlier_run_are_added_to_by_ray(tmp_path):
    from benchmarks.carry_with_ray import carry_parquet

    with pytest.raises(FileExistsError):
        carry_parquet(tmp_path / "model.pickle", tmp_path / "source", tmp_path, ["a"])
