"""Raw files: the order of places, checksums, and errors that say what to do."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from experiments.datasets.raw import RawDataError, RawFile, find, is_there, raw_files
from scripts import fetch_data

CONTENT = b"1 0:2 7:1\n-1 3:1\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
# Nothing listens on the discard port of this computer, so a download fails at once.
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def server():
    """Serve the content at /good, a changed one at /other, a connection cut short at /cut."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path not in ("/good", "/other", "/cut"):
                self.send_error(404)
                return
            body = CONTENT.replace(b"7", b"8") if self.path == "/other" else CONTENT
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:5] if self.path == "/cut" else body)

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_address[1]}"
        httpd.shutdown()
        thread.join()


def toy(url=NOWHERE):
    return RawFile(folder="toy", name="reviews.svmlight", sha256=SHA256, url=url)


def place(folder, content=CONTENT):
    path = folder / "toy" / "reviews.svmlight"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_the_data_folder_comes_before_the_cache(data_dir, cache):
    assert not is_there(toy())
    cached = place(cache)
    assert find(toy()) == cached
    own = place(data_dir)
    assert find(toy()) == own
    assert is_there(toy())


def test_a_file_that_is_nowhere_is_downloaded_into_the_cache_once(server, cache):
    path = find(toy(f"{server}/good"))
    assert path == cache / "toy" / "reviews.svmlight"
    assert path.read_bytes() == CONTENT
    assert find(toy(NOWHERE)) == path  # a second download would fail


@pytest.mark.parametrize("content", [CONTENT.replace(b"7", b"8"), b""])
@pytest.mark.parametrize("where", ["data", "cache"])
def test_a_wrong_checksum_is_an_error_wherever_it_is(content, where, data_dir, cache, server):
    path = place(data_dir if where == "data" else cache, content)
    if where == "data":
        place(cache)  # a right copy further down must not hide the damaged one
    with pytest.raises(RawDataError) as caught:
        find(toy(f"{server}/good"))
    message = str(caught.value)
    for expected in (str(path), SHA256, hashlib.sha256(content).hexdigest(), "Delete it"):
        assert expected in message
    assert path.read_bytes() == content


def test_a_missing_file_without_download_says_where_to_put_it(data_dir, cache):
    with pytest.raises(RawDataError) as caught:
        find(toy(), download=False)
    message = str(caught.value)
    for expected in (str(data_dir / "toy"), str(cache / "toy"), SHA256, NOWHERE, "fetch_data.py"):
        assert expected in message
    assert not cache.exists()


@pytest.mark.parametrize("page", ["/other", "/cut", None])
def test_a_failed_download_leaves_nothing_and_says_what_to_do(page, server, cache):
    url = NOWHERE if page is None else server + page
    with pytest.raises(RawDataError, match=r"could not be downloaded.*by hand") as caught:
        find(toy(url))
    for expected in (url, SHA256, "Check the network", str(cache / "toy")):
        assert expected in str(caught.value)
    assert [path for path in cache.rglob("*") if path.is_file()] == []


def test_the_list_names_each_raw_file_once_with_checksum_and_address():
    files = [*raw_files("amazon"), *raw_files("hepmass")]
    assert len({file.name for file in files}) == len({file.sha256 for file in files}) == 10
    for file in files:
        assert len(bytes.fromhex(file.sha256)) == 32
        assert file.url.startswith("https://")
        assert file.url.endswith(f"/{file.name}")


def test_the_command_verifies_every_file_before_it_fails(data_dir, official, capsys):
    folder = data_dir / "amazon"
    folder.mkdir()
    for name in ("absent", "damaged", "good"):
        (folder / name).write_bytes(CONTENT + name.encode())
    official(folder)
    assert fetch_data.main(["amazon"]) == 0
    (folder / "absent").unlink()
    (folder / "damaged").write_bytes(b"")
    capsys.readouterr()
    for options in ([], ["--no-download"]):
        assert fetch_data.main(["amazon", *options]) == 1
        printed = capsys.readouterr()
        assert printed.out == f"{folder / 'good'}: checksum right\n"
        assert f"{folder / 'damaged'} has a wrong checksum" in printed.err
        assert ("is not there" in printed.err) == bool(options)
        assert ("could not be downloaded" in printed.err) == (not options)
