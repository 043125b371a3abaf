"""The tasks of the real HEPMASS, and how its data gets to them."""

import shutil
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from hepmass_files import checksums, expected_arrays, write, write_both
from hydra.utils import instantiate

from experiments.cells.configuration import compose_config
from experiments.datasets import hepmass_prepare, hepmass_raw, raw
from experiments.datasets.base import LockedLabels, Task, unlock
from experiments.datasets.collisions import MASSES
from experiments.datasets.hepmass import Hepmass
from experiments.datasets.raw import RawDataError
from scripts import fetch_data


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no network, and small files that count as the official ones."""
    good = checksums(write_both(tmp_path / "good"))
    listed = tmp_path / "hepmass.sha256"
    listed.write_text("".join(f"{digest}  {name}\n" for name, digest in good.items()))
    monkeypatch.setattr(hepmass_raw, "CHECKSUMS_PATH", listed)
    monkeypatch.setattr(hepmass_prepare, "OFFICIAL_ROWS", {"train": 250, "test": 250})
    monkeypatch.setattr(hepmass_prepare, "OFFICIAL_BACKGROUND", 250)
    monkeypatch.setattr(hepmass_prepare, "OFFICIAL_SIGNAL", dict.fromkeys(MASSES, 50))
    monkeypatch.setattr(raw, "cache_directory", lambda: tmp_path / "cache")
    monkeypatch.delenv(raw.DATA_DIR_VARIABLE, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    # Nothing listens on the discard port of this computer, so a download fails at once.
    monkeypatch.setattr(hepmass_raw, "SINGLE_FILE_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(hepmass_raw, "ARCHIVE_URL", "http://127.0.0.1:9/hepmass.zip")
    return tmp_path / "cache"


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """``$KRDA_DATA_DIR`` with both raw files."""
    folder = tmp_path / "data"
    write_both(folder / "hepmass")
    monkeypatch.setenv(raw.DATA_DIR_VARIABLE, str(folder))
    return folder


def small(**parameters: int) -> Hepmass:
    return Hepmass(**{"n_source": 40, "n_target": 30, "n_test": 45} | parameters)


def row_numbers(X: np.ndarray) -> set[int]:
    """The numbers that f0 gives to the rows."""
    return {int(number) for number in X[:, 0]}


def rows_of(split: str, mass: int) -> dict[int, tuple[np.ndarray, float]]:
    X, y = expected_arrays(split)[mass]
    return {int(row[0]): (row, label) for row, label in zip(X, y, strict=True)}


def assert_rows_come_from(X: np.ndarray, y: np.ndarray, split: str, mass: int) -> None:
    known = rows_of(split, mass)
    for row, label in zip(X, y, strict=True):
        expected, expected_label = known[int(row[0])]
        np.testing.assert_array_equal(row, expected)
        assert label == expected_label


def test_rows_come_from_the_right_file_and_mass(data_dir: Path) -> None:
    task = small().task("750-1500")
    assert (task.label, task.Xs.shape, task.Xt.shape, task.X_test.shape) == (
        "hepmass/750-1500", (40, 27), (30, 27), (45, 27),
    )  # fmt: skip
    assert task.Xs.dtype == np.float64
    assert task.ys.dtype == np.int64
    assert isinstance(task.yt, LockedLabels)
    assert isinstance(task.y_test, LockedLabels)
    assert_rows_come_from(task.Xs, task.ys, "train", 750)
    assert_rows_come_from(task.Xt, unlock(task.yt), "train", 1500)
    assert_rows_come_from(task.X_test, unlock(task.y_test), "test", 1500)


def test_source_target_and_test_rows_are_disjoint(data_dir: Path) -> None:
    for name in small().task_names:
        task = small().task(name)
        parts = [row_numbers(X) for X in (task.Xs, task.Xt, task.X_test)]
        assert [len(part) for part in parts] == [40, 30, 45]
        assert len(set.union(*parts)) == 40 + 30 + 45


def test_tasks_are_deterministic_and_another_draw_gives_other_rows(data_dir: Path) -> None:
    first: Task = small().task("500-750")
    assert small().task("500-750").sha256 == first.sha256
    assert small(draw=1).task("500-750").sha256 != first.sha256
    assert row_numbers(small().task("500-1000").Xs) != row_numbers(first.Xs)


def test_later_tasks_read_no_raw_file(data_dir: Path) -> None:
    before = small().task("500-750").sha256
    for path in (data_dir / "hepmass").iterdir():
        path.write_bytes(b"")
    assert small().task("500-750").sha256 == before
    shutil.rmtree(data_dir / "hepmass")
    assert small().task("500-750").sha256 == before
    assert Hepmass.available()


def test_the_zip_gives_the_same_tasks_as_the_files(
    data_dir: Path, cache: Path, tmp_path: Path
) -> None:
    before = small().task("500-750").sha256
    shutil.rmtree(cache)
    make_zip(data_dir / "hepmass", tmp_path / "good")
    for path in (data_dir / "hepmass").glob("*.gz"):
        path.unlink()
    assert Hepmass.available()
    assert small().task("500-750").sha256 == before


def test_without_data_a_task_says_how_to_get_it_and_asks_no_network(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = []
    monkeypatch.setattr(raw, "stream_download", lambda *a, **k: requests.append(a))
    monkeypatch.setattr(hepmass_raw, "stream_download", lambda *a, **k: requests.append(a))
    assert not Hepmass.available()
    with pytest.raises(RawDataError) as caught:
        small().task("500-750")
    message = str(caught.value)
    for expected in (
        "all_train.csv.gz", "hepmass.zip", "scripts/fetch_data.py hepmass", str(cache / "hepmass"),
    ):  # fmt: skip
        assert expected in message
    assert not requests
    assert not cache.exists()


def test_one_of_the_two_files_is_not_enough(data_dir: Path) -> None:
    (data_dir / "hepmass" / "all_test.csv.gz").unlink()
    assert not Hepmass.available()
    with pytest.raises(RawDataError, match="data is not there"):
        small().task("500-750")


def test_whether_data_is_available_is_found_out_without_reading_it(data_dir: Path) -> None:
    for path in (data_dir / "hepmass").iterdir():
        path.write_bytes(b"nothing good")
    assert Hepmass.available()
    with pytest.raises(RawDataError, match="Not a gzipped file"):
        small().task("500-750")


def test_damaged_prepared_data_is_prepared_again_where_raw_files_are(
    data_dir: Path, cache: Path
) -> None:
    before = small().task("500-750").sha256
    victim = cache / "hepmass" / "prepared" / "test_750_X.npy"
    victim.write_bytes(victim.read_bytes()[:-1])
    assert small().task("500-750").sha256 == before
    victim.write_bytes(victim.read_bytes()[:-1])
    shutil.rmtree(data_dir / "hepmass")
    assert not Hepmass.available()
    with pytest.raises(RawDataError, match=r"cannot be used: .*test_750_X.* is not there"):
        small().task("500-750")


def test_data_prepared_from_other_files_is_no_hepmass(data_dir: Path, cache: Path) -> None:
    before = small().task("500-750").sha256
    manifest = cache / "hepmass" / "prepared" / "manifest.json"
    digest = checksums(write_both(data_dir / "hepmass"))["all_train.csv.gz"]
    manifest.write_text(manifest.read_text().replace(digest, 64 * "0"))
    assert small().task("500-750").sha256 == before  # prepared again
    manifest.write_text(manifest.read_text().replace(digest, 64 * "0"))
    shutil.rmtree(data_dir / "hepmass")
    assert not Hepmass.available()
    with pytest.raises(RawDataError, match="prepared from other raw files"):
        small().task("500-750")


def test_a_folder_of_prepared_data_can_be_named(
    data_dir: Path, cache: Path, tmp_path: Path
) -> None:
    before = small().task("500-750").sha256
    elsewhere = tmp_path / "elsewhere"
    (cache / "hepmass" / "prepared").rename(elsewhere)
    shutil.rmtree(data_dir / "hepmass")
    data = Hepmass(n_source=40, n_target=30, n_test=45, path=elsewhere)
    assert data.task("500-750").sha256 == before
    with pytest.raises(RawDataError, match=r"nowhere.* Prepare the data again"):
        Hepmass(path=tmp_path / "nowhere").task("500-750")


def test_a_wrong_name_or_too_few_rows_are_told(data_dir: Path, cache: Path) -> None:
    with pytest.raises(ValueError, match="There is no task '500-500' in hepmass"):
        small().task("500-500")
    assert not cache.exists()  # told before anything is prepared
    with pytest.raises(ValueError, match="at least 51 source rows of mass 500, got 50"):
        small(n_source=51).task("500-750")


def test_the_config_makes_the_papers_tasks() -> None:
    config = compose_config(("dataset=hepmass", "dataset.source=1500", "dataset.target=500"))
    data = instantiate(config.dataset.data)
    assert isinstance(data, Hepmass)
    assert (data.n_source, data.n_target, data.n_test) == (1000, 500, 2000)
    assert len(data.task_names) == 20
    assert config.dataset.task in data.task_names
    assert data.name == config.dataset.name


def make_zip(folder: Path, good: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / "hepmass.zip", "w") as archive:
        for path in good.iterdir():
            archive.write(path, path.name)
    return folder / "hepmass.zip"


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is served where the UCI archive should be."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = folder / self.path.strip("/")
            if not path.is_file():
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(path.stat().st_size))
            self.end_headers()
            self.wfile.write(path.read_bytes())

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
        thread.start()
        url = f"http://127.0.0.1:{httpd.server_address[1]}"
        monkeypatch.setattr(hepmass_raw, "SINGLE_FILE_URL", url)
        monkeypatch.setattr(hepmass_raw, "ARCHIVE_URL", f"{url}/hepmass.zip")
        yield folder
        httpd.shutdown()
        thread.join()


def test_the_command_downloads_the_single_files_and_prepares_them(
    served: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_both(served)
    assert fetch_data.main(["hepmass"]) == 0
    printed = capsys.readouterr().out
    assert "all_test.csv.gz: checksum right, rows by mass: 500: 50, 750: 50" in printed
    assert f"{cache / 'hepmass' / 'prepared'}: prepared" in printed
    shutil.rmtree(served)  # nothing is asked for twice
    assert fetch_data.main(["hepmass"]) == 0
    assert "prepared earlier" in capsys.readouterr().out
    assert small().task("500-750").Xs.shape == (40, 27)


def test_the_command_falls_back_to_the_zip(
    served: Path, cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_zip(served, tmp_path / "good")
    assert fetch_data.main(["hepmass"]) == 0
    assert "hepmass.zip instead (7.9 GB)" in capsys.readouterr().out
    assert sorted(path.name for path in (cache / "hepmass").iterdir()) == [
        "hepmass.zip", "prepared", "prepared.lock",
    ]  # fmt: skip


def test_the_command_uses_the_files_of_the_data_folder(
    data_dir: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fetch_data.main(["hepmass"]) == 0  # a download would fail
    assert "downloading" not in capsys.readouterr().out
    assert {path.name for path in (cache / "hepmass").iterdir()} == {"prepared", "prepared.lock"}


@pytest.mark.parametrize("options", [[], ["--no-download"]])
def test_the_command_says_what_it_could_not_get(
    options: list[str], cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fetch_data.main(["hepmass", *options]) == 1
    printed = capsys.readouterr()
    assert ("could not be downloaded" in printed.err) == (not options)
    assert ("downloading" in printed.out) == (not options)
    assert str(cache / "hepmass") in printed.err


def test_a_downloaded_file_with_a_wrong_checksum_is_not_kept(
    served: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_both(served)
    write(served, "train", b"another version\n")
    assert fetch_data.main(["hepmass"]) == 1
    assert "SHA256 hash" in capsys.readouterr().out
    assert not [path for path in cache.rglob("*") if path.is_file()]
