"""The real HEPMASS: small files in its format, their preparation, and the tasks made of them."""

import gzip
import io
import signal

import numpy as np
import pytest
from programs import run_python

from experiments.datasets import hepmass, raw
from experiments.datasets.base import LockedLabels, unlock
from experiments.datasets.collisions import MASSES
from experiments.datasets.hepmass import FILES, Hepmass, ensure_prepared, prepared_folder
from experiments.datasets.raw import RawDataError
from scripts import fetch_data

HEADER = b"# label," + b",".join(b"f%d" % i for i in range(27)) + b",mass\n"


def table(part, n_each=25):
    """All columns; f0 numbers the rows, from 0 in training and from 100,000 in the test file."""
    rng = np.random.default_rng(len(part))
    mass = np.repeat([499.999969, 750.0, 1000.0, 1250.0, 1500.0], 2 * n_each)
    label = np.tile([0.0, 1.0], 5 * n_each)
    features = rng.standard_normal((len(mass), 27)).astype(np.float32).astype(np.float64)
    rows = np.column_stack([label, features, mass])[rng.permutation(len(mass))]
    rows[:, 1] = np.arange(len(rows)) + (100_000 if part == "test" else 0)
    return rows


def write(folder, part, rows, header=HEADER):
    stream = io.BytesIO()
    np.savetxt(stream, rows, fmt="%.18e", delimiter=",")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILES[part]
    path.write_bytes(gzip.compress(header + stream.getvalue(), compresslevel=1, mtime=0))
    return path


@pytest.fixture
def folder(data_dir, official):
    """Both raw files in ``$KRDA_DATA_DIR``, as if they were the official ones."""
    for part in FILES:
        write(data_dir / "hepmass", part, table(part))
    official(data_dir / "hepmass")
    return data_dir / "hepmass"


def remove(folder):
    for path in folder.iterdir():
        path.unlink()


def expected_rows(part, mass):
    """Label and features of a mass, straight from the table."""
    rows = table(part)
    return rows[np.rint(rows[:, -1]) == mass, :-1].astype(np.float32)


def assert_prepared(folder):
    for part in FILES:
        for mass in MASSES:
            np.testing.assert_array_equal(
                np.load(folder / f"{part}_{mass}.npy"), expected_rows(part, mass)
            )
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == [folder.name]


def small(**parameters):
    return Hepmass(**{"n_source": 40, "n_target": 30, "n_test": 45} | parameters)


def row_numbers(X):
    """The numbers that f0 gives to the rows."""
    return {int(number) for number in X[:, 0]}


def test_every_mass_gets_its_rows_in_the_order_of_the_files(folder, monkeypatch):
    monkeypatch.setattr(hepmass, "_CHUNK_ROWS", 7)
    assert_prepared(ensure_prepared())
    X, y = Hepmass().rows(1250, "test")
    assert isinstance(X, np.memmap)
    assert not X.flags.writeable
    np.testing.assert_array_equal(np.column_stack([y, X]), expected_rows("test", 1250))


@pytest.mark.parametrize(
    ("column", "value", "header"),
    [(28, 600.0, HEADER), (3, 1.0, HEADER.replace(b"f26", b"f27"))],
    ids=["mass", "column name"],
)
def test_unexpected_content_is_refused_and_leaves_nothing(column, value, header, folder, official):
    rows = table("test")
    rows[7, column] = value
    path = write(folder, "test", rows, header)
    official(folder)
    with pytest.raises(RawDataError, match="not the expected content") as caught:
        ensure_prepared()
    assert str(path) in str(caught.value)
    assert [p for p in prepared_folder().parent.iterdir() if p.is_dir()] == []


# A program that kills itself in the middle, as a user or a batch system would.
KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from experiments.datasets import hepmass, raw

def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)

def save(path, rows, save=np.save):
    save(path, rows) if path.name != sys.argv[3] else die()

raw.cache_directory = lambda: Path(sys.argv[1])
raw._LIST = Path(sys.argv[2])
if sys.argv[3] == "rename":
    Path.rename = die
np.save = save
hepmass.ensure_prepared()
"""


@pytest.mark.parametrize("where", ["test_1000.npy", "rename"])
def test_a_killed_run_is_never_read_and_the_next_one_starts_again(where, folder, cache):
    killed = run_python("-c", KILLED, cache, raw._LIST, where)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not prepared_folder().exists()
    assert_prepared(ensure_prepared())


def test_damaged_prepared_data_is_named(folder):
    path = ensure_prepared() / "test_750.npy"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RawDataError, match=r"test_750\.npy is damaged: .*fetch_data\.py"):
        small().task("500-750")


def test_the_command_prepares_the_files_once(folder, capsys):
    assert fetch_data.main(["hepmass", "--no-download"]) == 0
    assert "prepared" not in capsys.readouterr().out
    assert fetch_data.main(["hepmass"]) == 0
    assert f"{prepared_folder()}: prepared\n" in capsys.readouterr().out
    remove(folder)
    assert fetch_data.main(["hepmass"]) == 0  # a download would fail
    assert capsys.readouterr().out == f"{prepared_folder()}: prepared earlier\n"


def test_rows_come_from_the_right_file_and_mass(folder):
    task = small().task("750-1500")
    assert task.label == "hepmass/750-1500"
    assert (task.Xs.shape, task.Xt.shape, task.X_test.shape) == ((40, 27), (30, 27), (45, 27))
    assert task.Xs.dtype == np.float64
    assert task.ys.dtype == np.int64
    assert isinstance(task.yt, LockedLabels)
    assert isinstance(task.y_test, LockedLabels)
    for X, y, part, mass in (
        (task.Xs, task.ys, "training", 750),
        (task.Xt, unlock(task.yt), "training", 1500),
        (task.X_test, unlock(task.y_test), "test", 1500),
    ):
        known = {int(row[1]): row for row in expected_rows(part, mass)}
        for row, label in zip(X, y, strict=True):
            np.testing.assert_array_equal([label, *row], known[int(row[0])])


def test_source_target_and_test_rows_are_disjoint(folder):
    for name in small().task_names:
        task = small().task(name)
        parts = [row_numbers(X) for X in (task.Xs, task.Xt, task.X_test)]
        assert [len(part) for part in parts] == [40, 30, 45]
        assert len(set.union(*parts)) == 40 + 30 + 45


def test_a_task_is_the_same_without_its_raw_files_and_another_draw_is_not(folder):
    first = small().task("500-750")
    remove(folder)
    assert hepmass.available()
    assert small().task("500-750").sha256 == first.sha256
    assert small(draw=1).task("500-750").sha256 != first.sha256
    assert row_numbers(small().task("500-1000").Xs) != row_numbers(first.Xs)


def test_without_data_a_task_says_how_to_get_it_and_asks_no_network(folder, cache, monkeypatch):
    (folder / FILES["test"]).unlink()
    monkeypatch.delattr(raw, "_download")
    assert not hepmass.available()
    with pytest.raises(RawDataError) as caught:
        small().task("500-750")
    for expected in (FILES["test"], "scripts/fetch_data.py hepmass", str(cache)):
        assert expected in str(caught.value)
    assert not cache.exists()


def test_a_wrong_name_or_too_few_rows_are_said(folder, cache):
    with pytest.raises(ValueError, match="There is no task '500-500' in hepmass"):
        small().task("500-500")
    assert not cache.exists()  # said before anything is prepared
    with pytest.raises(ValueError, match="expected 51 source rows or more, got 50"):
        small(n_source=51).task("500-750")
