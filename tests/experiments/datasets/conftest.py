import csv

import pooch
import pytest

from experiments.datasets import raw


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and no folder of one's own."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(raw, "cache_directory", lambda: folder)
    monkeypatch.delenv(raw.DATA_DIR_VARIABLE, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return folder


@pytest.fixture
def data_dir(tmp_path, cache, monkeypatch):
    """``$KRDA_DATA_DIR``, empty."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv(raw.DATA_DIR_VARIABLE, str(folder))
    return folder


@pytest.fixture
def official(tmp_path, monkeypatch):
    """Make the files of a folder the official raw files of the data set of that name.

    Their address is the discard port of this computer, where nothing listens: downloads fail.
    """

    def make(folder):
        listed = tmp_path / "raw_files.csv"
        with listed.open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(raw.RawFile._fields)
            for path in sorted(folder.iterdir()):
                address = f"http://127.0.0.1:9/{path.name}"
                writer.writerow([folder.name, path.name, pooch.file_hash(str(path)), address])
        monkeypatch.setattr(raw, "_LIST", listed)

    return make
