"""The finder of raw files: order of places, checksums, and errors that say what to do."""

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from experiments.datasets import raw
from experiments.datasets.raw import RawDataError, RawFile, find, read_checksums
from scripts import fetch_data

CONTENT = b"1 0:2 7:1\n-1 3:1\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
# Nothing listens on the discard port of this computer, so a download fails at once.
NOWHERE = "http://127.0.0.1:9/reviews.svmlight"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setattr(raw, "cache_directory", lambda: folder)
    monkeypatch.delenv(raw.DATA_DIR_VARIABLE, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return folder


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    (folder / "toy").mkdir(parents=True)
    monkeypatch.setenv(raw.DATA_DIR_VARIABLE, str(folder))
    return folder


@pytest.fixture
def server() -> Iterator[str]:
    """Serve the content at /good, a changed one at /other, a connection cut short at /cut."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path not in ("/good", "/other", "/cut"):
                self.send_error(404)
                return
            body = CONTENT.replace(b"7", b"8") if self.path == "/other" else CONTENT
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:5] if self.path == "/cut" else body)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_address[1]}"
        httpd.shutdown()
        thread.join()


def toy(url: str = NOWHERE) -> RawFile:
    return RawFile(folder="toy", name="reviews.svmlight", sha256=SHA256, url=url)


def place(folder: Path, content: bytes = CONTENT) -> Path:
    path = folder / "toy" / "reviews.svmlight"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_the_data_folder_comes_before_the_cache(data_dir: Path, cache: Path) -> None:
    cached = place(cache)
    assert find(toy()) == cached
    own = place(data_dir)
    assert find(toy()) == own


def test_a_file_that_is_nowhere_is_downloaded_into_the_cache_once(server: str, cache: Path) -> None:
    path = find(toy(f"{server}/good"))
    assert path == cache / "toy" / "reviews.svmlight"
    assert path.read_bytes() == CONTENT
    assert find(toy(NOWHERE)) == path  # a second download would fail


@pytest.mark.parametrize("content", [CONTENT[:-4], CONTENT.replace(b"7", b"8"), b""])
@pytest.mark.parametrize("where", ["data", "cache"])
def test_a_wrong_checksum_is_an_error_and_no_reason_to_look_further(
    content: bytes, where: str, data_dir: Path, cache: Path, server: str
) -> None:
    path = place(data_dir if where == "data" else cache, content)
    if where == "data":
        place(cache)  # a right copy further down must not hide the damaged one
    with pytest.raises(RawDataError) as caught:
        find(toy(f"{server}/good"))
    message = str(caught.value)
    for expected in (str(path), SHA256, hashlib.sha256(content).hexdigest(), "Delete it"):
        assert expected in message
    assert f"({len(content)} bytes)" in message
    assert path.read_bytes() == content


def test_a_missing_file_without_download_says_where_to_put_it(data_dir: Path, cache: Path) -> None:
    with pytest.raises(RawDataError) as caught:
        find(toy(), download=False)
    message = str(caught.value)
    for expected in (str(data_dir / "toy"), str(cache / "toy"), SHA256, NOWHERE):
        assert expected in message


@pytest.mark.parametrize("page", ["/other", "/cut", "/absent"])
def test_a_failed_download_leaves_nothing_and_says_what_to_do(
    page: str, server: str, cache: Path
) -> None:
    with pytest.raises(RawDataError, match=r"could not be downloaded.*by hand") as caught:
        find(toy(server + page))
    assert server + page in str(caught.value)
    assert SHA256 in str(caught.value)
    assert [path for path in cache.rglob("*") if path.is_file()] == []


def test_no_network_says_what_to_do() -> None:
    with pytest.raises(RawDataError, match=r"could not be downloaded.*Check the network"):
        find(toy(NOWHERE))


def test_a_data_folder_that_does_not_exist_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(raw.DATA_DIR_VARIABLE, str(tmp_path / "typo"))
    with pytest.raises(RawDataError, match=r"KRDA_DATA_DIR is set to .*typo"):
        find(toy())


def test_checksum_files_are_read_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "toy.sha256"
    path.write_text(f"{SHA256}  b.txt\n{SHA256}  a.txt\n")
    assert list(read_checksums(path).items()) == [("b.txt", SHA256), ("a.txt", SHA256)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abc  a.txt\n", "line 1: expected a SHA-256"),
        (f"{SHA256}\n", "line 1: expected a SHA-256"),
        (f"{SHA256.upper()}  a.txt\n", "line 1: expected a SHA-256"),
        (f"{SHA256}  a.txt\n{SHA256}  a.txt\n", "line 2: a.txt comes twice"),
    ],
)
def test_a_damaged_checksum_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "toy.sha256"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_checksums(path)


def test_the_command_reports_every_file_before_it_fails(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place(data_dir)
    absent = RawFile(folder="toy", name="absent.svmlight", sha256=SHA256, url=NOWHERE)
    monkeypatch.setitem(fetch_data.RAW_FILES, "amazon", lambda: (absent, toy()))
    assert fetch_data.main(["amazon", "--no-download"]) == 1
    printed = capsys.readouterr()
    assert "[2/2]" in printed.out
    assert "checksum right" in printed.out
    assert "absent.svmlight is not there" in printed.err
    assert "1 of 2 files" in printed.err
    monkeypatch.setitem(fetch_data.RAW_FILES, "amazon", lambda: (toy(),))
    assert fetch_data.main(["amazon"]) == 0
