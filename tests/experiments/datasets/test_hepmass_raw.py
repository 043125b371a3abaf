"""Reading raw HEPMASS files: exact, once, and with errors that name what is wrong."""

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hepmass_files import HEADER, checksums, table, text_of, write
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from experiments.datasets import hepmass_raw, raw
from experiments.datasets.hepmass_raw import RawReader, RawSource, locate
from experiments.datasets.raw import RawDataError

LINES = text_of(table("train")).split(b"\n")


def read(source: RawSource) -> np.ndarray:
    """All columns in one table, as float64."""
    blocks = [np.column_stack([block.y, block.X, block.mass]) for block in RawReader(source)]
    return np.concatenate(blocks)


@pytest.mark.parametrize("block_bytes", [1, 1000, 20_000, 1 << 23])
def test_rows_are_read_exactly_whatever_the_block_size(
    block_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hepmass_raw, "BLOCK_BYTES", block_bytes)
    expected = table("train")
    expected[:, -1] = np.rint(expected[:, -1])  # 499.999969 is mass 500
    np.testing.assert_array_equal(read(write(tmp_path, "train")), expected)


@given(
    arrays(
        np.float32,
        (3, 27),
        elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
    )
)
def test_every_float32_survives(tmp_path_factory: pytest.TempPathFactory, X: np.ndarray) -> None:
    rows = np.column_stack([[0.0, 1.0, 0.0], X.astype(np.float64), [500.0, 750.0, 1500.0]])
    source = write(tmp_path_factory.mktemp("raw"), "train", text_of(rows))
    np.testing.assert_array_equal(read(source)[:, 1:-1], X)


@pytest.mark.parametrize(
    "text", [b"\n".join(LINES).rstrip(b"\n"), b"\r\n".join(LINES)], ids=["no last line end", "CRLF"]
)
def test_line_ends_do_not_matter(text: bytes, tmp_path: Path) -> None:
    plain = read(write(tmp_path / "plain", "train"))
    np.testing.assert_array_equal(read(write(tmp_path / "other", "train", text)), plain)


def test_the_checksum_is_computed_in_the_one_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path, "train")
    read_bytes: list[int] = []
    reader = RawReader(source, read_bytes.append)
    assert sum(len(block.y) for block in reader) == reader.n_rows == len(table("train"))
    assert reader.sha256 == checksums({"train": source})["all_train.csv.gz"]
    assert sum(read_bytes) == source.path.stat().st_size


def test_bytes_after_the_gzip_stream_count_for_the_checksum(tmp_path: Path) -> None:
    source = write(tmp_path, "train")
    with source.path.open("ab") as stream:
        stream.write(b"\0" * (1 << 21))  # padding that gzip ignores
    reader = RawReader(source)
    for _ in reader:
        pass
    assert reader.sha256 == checksums({"train": source})["all_train.csv.gz"]


@pytest.mark.parametrize("inside", ["", "hepmass/"])
def test_the_archives_zip_is_read_without_unpacking(inside: str, tmp_path: Path) -> None:
    plain = write(tmp_path, "train")
    path = tmp_path / "hepmass.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{inside}1000_train.csv.gz", b"another of the six files")
        archive.write(plain.path, f"{inside}all_train.csv.gz")
    zipped = RawSource("train", path)
    reader = RawReader(zipped)
    n_rows = sum(len(block.y) for block in reader)
    assert n_rows == len(table("train"))
    assert reader.sha256 == checksums({"train": plain})["all_train.csv.gz"]
    np.testing.assert_array_equal(read(zipped), read(plain))


def test_a_zip_without_the_file_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "hepmass.zip", "w") as archive:
        archive.writestr("1000_train.csv.gz", b"")
    with pytest.raises(RawDataError, match=r"expected one file all_train.csv.gz.*1000_train"):
        read(RawSource("train", tmp_path / "hepmass.zip"))


@pytest.mark.parametrize("kept", [0.3, 0.999])
def test_a_truncated_zip_is_refused(kept: float, tmp_path: Path) -> None:
    plain = write(tmp_path, "train")
    path = tmp_path / "hepmass.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(plain.path, "all_train.csv.gz")
    path.write_bytes(path.read_bytes()[: int(kept * path.stat().st_size)])
    with pytest.raises(RawDataError, match=r"hepmass\.zip should be .* truncated or no zip"):
        read(RawSource("train", path))


def replaced(row: int, column: int, value: bytes) -> bytes:
    """The good file's text with one field of one row (counted from 1) changed."""
    lines = list(LINES)
    fields = lines[row].split(b",")
    fields[column] = value
    lines[row] = b",".join(fields)
    return b"\n".join(lines)


def shifted(short: int, long: int) -> bytes:
    """One row lacks a column, another has one too many: the total is right."""
    lines = list(LINES)
    lines[short] = lines[short].rpartition(b",")[0]
    lines[long] += b",5.0e+02"
    return b"\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "expected comma-separated text, got an empty file"),
        (b"\n".join(LINES[1:]), r"expected the header '# label,f0,\.\.\.,f26,mass' of 29 columns"),
        (b"\n".join(LINES).replace(b"f26", b"f27"), "expected the header .*f27"),
        (b"\n".join(LINES).replace(b",mass", b"", 1), "of 29 columns, got 28 columns"),
        (replaced(7, 3, b"1.0,2.0"), "row 7: expected 29 columns, got 30"),
        (b"\n".join(LINES).replace(LINES[7], LINES[7][:500]), "row 7: expected 29 columns, got"),
        (shifted(5, 9), "row 5: expected 29 columns, got 28"),
        (shifted(9, 5), "row 5: expected 29 columns, got 30"),
        (b"\n".join([*LINES[:4], b"", *LINES[4:]]), "row 4: expected 29 columns, got 1"),
        (replaced(7, 3, b"nan"), "row 7: expected a finite number in column 'f2', got 'nan'"),
        (replaced(7, 3, b""), "row 7: expected a finite number in column 'f2', got ''"),
        (replaced(7, 3, b"-inf"), "row 7: expected a finite number in column 'f2', got '-inf'"),
        (replaced(7, 3, b"1e39"), "row 7: expected a finite number in column 'f2', got '1e39'"),
        (replaced(7, 3, b"spam"), "row 7: expected a finite number in column 'f2', got 'spam'"),
        (replaced(7, 3, b'"1.0'), "row 7: expected a finite number in column 'f2'"),
        (replaced(250, 0, b"2.0e+00"), "row 250: expected the label 0 or 1, got '2.0e"),
        (replaced(1, 0, b"5.0e-01"), "row 1: expected the label 0 or 1, got '5.0e"),
        (replaced(7, 28, b"6.0e+02"), r"row 7: expected a mass among \(500, .*got '6.0e"),
        (replaced(7, 28, b"nan"), "row 7: expected a finite number in column 'mass', got 'nan'"),
    ],
)
def test_damaged_text_is_refused_with_what_was_expected_and_got(
    text: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path, "train", text)
    for block_bytes in (1 << 23, 2000):
        monkeypatch.setattr(hepmass_raw, "BLOCK_BYTES", block_bytes)
        with pytest.raises(RawDataError, match=message) as caught:
            read(source)
        assert str(source.path) in str(caught.value)
        assert "scripts/fetch_data.py hepmass" in str(caught.value)


def test_a_file_without_line_ends_is_refused_in_bounded_memory(tmp_path: Path) -> None:
    with pytest.raises(RawDataError, match=r"expected the header"):
        read(write(tmp_path, "train", b"1" * 1_000_000))


GOOD = gzip.compress(b"\n".join(LINES), compresslevel=1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "got an empty file"),
        (b"\n".join(LINES), "expected an intact gzip file.*Not a gzipped file"),
        (
            GOOD[: len(GOOD) // 2],
            "expected an intact gzip file, got after at least . rows: .*ended before",
        ),
        (GOOD[:-4], "expected an intact gzip file, got after at least 0 rows: .*ended before"),
        (GOOD[:-8] + bytes(4) + GOOD[-4:], "expected an intact gzip file.*CRC"),
        (GOOD[:5000] + b"\xff" * 50 + GOOD[5050:], r"\.csv\.gz: .*expected"),
        (GOOD + b"spam", "expected an intact gzip file.*Not a gzipped file"),
    ],
    ids=["empty", "plain text", "half", "no end", "wrong CRC", "flipped bytes", "trailing"],
)
def test_a_damaged_gzip_file_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    source = write(tmp_path, "train")
    source.path.write_bytes(content)
    with pytest.raises(RawDataError, match=message):
        read(source)


def test_the_data_folder_comes_before_the_cache_and_the_file_before_the_zip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raw, "cache_directory", lambda: tmp_path / "cache")
    monkeypatch.setenv(raw.DATA_DIR_VARIABLE, str(tmp_path))
    assert locate("train") is None
    for path in (
        tmp_path / "cache" / "hepmass" / "hepmass.zip",
        tmp_path / "cache" / "hepmass" / "all_train.csv.gz",
        tmp_path / "hepmass" / "hepmass.zip",
        tmp_path / "hepmass" / "all_train.csv.gz",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
        assert locate("train") == RawSource("train", path)
    assert locate("test") == RawSource("test", tmp_path / "hepmass" / "hepmass.zip")
    monkeypatch.setenv(raw.DATA_DIR_VARIABLE, str(tmp_path / "typo"))
    with pytest.raises(RawDataError, match=r"KRDA_DATA_DIR is set to .*typo"):
        locate("train")


def test_the_header_of_the_files_names_every_feature() -> None:
    assert HEADER.decode().rstrip().split(",") == list(hepmass_raw.HEADER)
    assert len(hepmass_raw.HEADER) == 29
    assert set(hepmass_raw.official_checksums()) == set(hepmass_raw.NAMES.values())
