"""Large tables: Dask and Ray transport them block by block, in order, to the map of the whole."""

import os
import pickle
import runpy

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from programs import ROOT, run_python
from sklearn.dummy import DummyClassifier

from krda import KRDA


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The path of a fitted model, source rows (20,000, 3) to transport, and where they go."""
    rng = np.random.default_rng(0)
    Xs, Xt = rng.normal(size=(20_000, 3)), 2 * rng.normal(size=(200, 3)) + 1
    model = KRDA(classifier=DummyClassifier(), max_steps=20, random_state=0)
    model.fit(Xs[:200], np.arange(200) % 2, Xt)
    path = tmp_path_factory.mktemp("saved") / "model.pickle"
    path.write_bytes(pickle.dumps(model))
    return path, Xs, model.transform(Xs)


@pytest.fixture
def here(monkeypatch):
    """Run an example in this process."""

    def run(script, *arguments):
        monkeypatch.setattr("sys.argv", [script, *map(str, arguments)])
        runpy.run_path(str(ROOT / "examples" / script), run_name="__main__")

    return run


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of the library that the example joins
def test_dask_transports_a_stack_whose_files_end_anywhere(saved, tmp_path, here):
    path, Xs, expected = saved
    chunks = ((7_000, 7_001, 5_999), 3)
    da.to_npy_stack(tmp_path / "source", da.from_array(Xs, chunks=chunks))
    options = ["--rows", 4096, "--processes", 2]
    here("dask_blocks.py", path, tmp_path / "source", tmp_path / "moved", *options)
    moved = da.from_npy_stack(str(tmp_path / "moved"))
    assert moved.numblocks == (5, 1)
    np.testing.assert_allclose(moved.compute(), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_ray_transports_parquet_in_order_and_copies_other_columns(saved, tmp_path):
    path, Xs, expected = saved
    table = pd.DataFrame(Xs, columns=["b", "a", "c"]).assign(row=np.arange(len(Xs)))
    (tmp_path / "source").mkdir()
    for number, begin in enumerate(range(0, len(Xs), 3_001)):
        part = table.iloc[begin : begin + 3_001]
        part = part if number % 3 else part[["row", "c", "a", "b"]]
        part.to_parquet(tmp_path / "source" / f"{number:02}.parquet", index=False)
    folders = tmp_path / "source", tmp_path / "moved"
    options = ["--columns", "b", "a", "c", "--rows", 4096, "--processes", 1]
    variables = os.environ | {"RAY_worker_niceness": "0"}  # else others would be served first
    done = run_python("examples/ray_blocks.py", path, *folders, *options, env=variables)
    assert done.returncode == 0, done.stderr
    moved = pd.concat(pd.read_parquet(p) for p in sorted(folders[1].iterdir()))
    assert list(moved["row"]) == list(range(len(Xs)))
    np.testing.assert_allclose(moved[["b", "a", "c"]].to_numpy(), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("script", ["dask_blocks.py", "ray_blocks.py"])
def test_nothing_is_written_into_a_folder_that_exists(script, tmp_path, here):
    more = ["--columns", "a"] if script == "ray_blocks.py" else []
    with pytest.raises(FileExistsError):
        here(script, tmp_path / "model.pickle", tmp_path, tmp_path, *more)
