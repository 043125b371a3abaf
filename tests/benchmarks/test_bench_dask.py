import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from krda.transport import BLOCK_ROWS

pytest.importorskip("dask.distributed")
da = pytest.importorskip("dask.array")

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_dask_carries_a_stack_to_the_bytes_of_one_go(fitted, tmp_path):
    directory, model, Xs = fitted
    da.to_npy_stack(tmp_path / "source", da.from_array(Xs, chunks=((30_000, 30_001, 19_999), 3)))

    paths = [directory / "model.pickle", tmp_path / "source", tmp_path / "carried"]
    options = ["--rows", str(BLOCK_ROWS), "--processes", "2"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.carry_with_dask", *map(str, paths), *options],
        capture_output=True, text=True, cwd=ROOT, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr

    files = [tmp_path / "carried" / f"{i}.npy" for i in range(-(-len(Xs) // BLOCK_ROWS))]
    assert sorted(tmp_path.glob("carried/*.npy")) == sorted(files)
    rows = np.concatenate([np.load(path) for path in files])
    assert rows.tobytes() == model.transform(Xs).tobytes()


def test_no_files_of_an_earlier_run_are_mixed_with_dasks(tmp_path):
    from benchmarks.carry_with_dask import carry_stack

    with pytest.raises(FileExistsError):
        carry_stack(tmp_path / "model.pickle", tmp_path / "source", tmp_path)
