"""The raw HEPMASS files: where they are, where they come from, and how they are read.

Data set 347 of the UCI Machine Learning Repository (Baldi et al. 2016, arXiv:1601.07913). Of its
six files two are used: ``all_train.csv.gz`` (7,000,000 rows) and ``all_test.csv.gz`` (3,500,000),
which hold all five masses. Comma-separated: a header line ``# label,f0,...,f26,mass``; the label is
1 for the resonance and 0 for background, printed as a float; 27 features, already normalised; the
mass in GeV, with rounding errors (499.999969 for 500).

Files are large, so a reader decompresses and parses block by block and computes the checksum of
the compressed file on the way: the file is read once, in memory that does not grow with it.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from experiments.datasets import raw
from experiments.datasets.collisions import FEATURES, MASSES
from experiments.datasets.raw import (
    RawDataError,
    RawFile,
    find,
    read_checksums,
    search_folders,
    stream_download,
)

FOLDER = "hepmass"
#: Raw file by split.
NAMES = {"train": "all_train.csv.gz", "test": "all_test.csv.gz"}
#: What the UCI archive serves: all six files of the data set in one.
ZIP_NAME = "hepmass.zip"
#: Column names of the header line.
HEADER = ("# label", *(f"f{i}" for i in range(len(FEATURES))), "mass")

CHECKSUMS_PATH = Path(__file__).with_name("hepmass.sha256")
ARCHIVE_URL = "https://archive.ics.uci.edu/static/public/347/hepmass.zip"
# The archive's older addresses, one a file: less than half of the bytes of the zip.
SINGLE_FILE_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/00347"

# Text parsed at a time, some 11,000 rows.
BLOCK_BYTES = 1 << 23
# Real lines have about 700 characters. Bounds the memory where a file has no line ends.
_LONGEST_LINE = 1 << 16
_LARGEST = float(np.finfo(np.float32).max)

REMEDY = "Delete the file and fetch it again with: python scripts/fetch_data.py hepmass"


@dataclass(frozen=True)
class RawSource:
    """One raw file on this computer: by itself, or inside ``hepmass.zip``.

    Attributes
    ----------
    split : str
        ``train`` or ``test``.
    path : Path
        The file, or the zip that holds it.
    """

    split: str
    path: Path

    @property
    def label(self) -> str:
        """The file's place, for messages."""
        inside = f" ({NAMES[self.split]})" if self._zipped else ""
        return f"{self.path}{inside}"

    @property
    def _zipped(self) -> bool:
        return self.path.name == ZIP_NAME

    @contextmanager
    def open(self) -> Iterator[tuple[BinaryIO, int]]:
        """Open the compressed file.

        Yields
        ------
        stream : binary file
        n_bytes : int
            Its length.

        Raises
        ------
        RawDataError
            A zip that cannot be read or does not hold the file.
        """
        with ExitStack() as stack:
            if not self._zipped:
                yield stack.enter_context(self.path.open("rb")), self.path.stat().st_size
                return
            try:
                archive = stack.enter_context(zipfile.ZipFile(self.path))
            except (zipfile.BadZipFile, EOFError) as error:
                raise RawDataError(
                    f"{self.path} should be the UCI archive's zip of HEPMASS, but cannot be read: "
                    f"{error}. It is truncated or no zip. {REMEDY}"
                ) from error
            # Whether the files lie in a folder of the zip does not matter.
            name = NAMES[self.split]
            members = [info for info in archive.infolist() if info.filename.split("/")[-1] == name]
            if len(members) != 1:
                raise RawDataError(
                    f"{self.path}: expected one file {name} in it, got {len(members)} among "
                    f"{archive.namelist()[:10]}. {REMEDY}"
                )
            stream: Any = stack.enter_context(archive.open(members[0]))
            yield stream, members[0].file_size


def locate(split: str) -> RawSource | None:
    """Find a raw file without reading it or asking the network.

    Parameters
    ----------
    split : str
        ``train`` or ``test``.

    Returns
    -------
    source : RawSource or None
        From ``$KRDA_DATA_DIR/hepmass`` or else from the cache; in each, the file itself comes
        before ``hepmass.zip``.

    Raises
    ------
    experiments.datasets.raw.RawDataError
        ``KRDA_DATA_DIR`` names a folder that does not exist.
    """
    for folder in search_folders(FOLDER):
        for name in (NAMES[split], ZIP_NAME):
            if (folder / name).is_file():
                return RawSource(split, folder / name)
    return None


def locate_both() -> dict[str, RawSource]:
    """Find both raw files; those that are nowhere are left out."""
    found = {split: locate(split) for split in NAMES}
    return {split: source for split, source in found.items() if source is not None}


def official_checksums() -> dict[str, str]:
    """Return the SHA-256 of each official file, by file name."""
    return read_checksums(CHECKSUMS_PATH)


def missing_message() -> str:
    """Say that raw files are missing, and what to do."""
    folders = " or ".join(str(folder) for folder in search_folders(FOLDER))
    return (
        f"The HEPMASS data is not there: looked for {' and '.join(NAMES.values())}, or {ZIP_NAME}, "
        f"in {folders}. Get it with: python scripts/fetch_data.py hepmass (a download of several "
        f"gigabytes), or put the files, or {ZIP_NAME} from {ARCHIVE_URL}, into one of these "
        "folders by hand. The data set hepmass_sim needs no download."
    )


def download(report: Callable[[str], None]) -> None:
    """Download the raw files that are nowhere into the cache.

    Each file is first asked for by itself, and verified. If that fails, ``hepmass.zip`` (7.9 GB)
    is downloaded; its own checksum is unknown, those of the files in it are verified on reading.

    Parameters
    ----------
    report : callable
        Takes lines for the user.

    Raises
    ------
    RawDataError
        Neither could be downloaded.
    """
    checksums = official_checksums()
    for split, name in NAMES.items():
        if locate(split) is not None:
            continue
        url = f"{SINGLE_FILE_URL}/{name}"
        report(f"downloading {url} (gigabytes)")
        try:
            find(RawFile(folder=FOLDER, name=name, sha256=checksums[name], url=url))
        except RawDataError as error:
            report(str(error))
            report(f"downloading {ARCHIVE_URL} instead (7.9 GB)")
            _download_zip()
            return


def _download_zip() -> None:
    import pooch

    try:
        # Not whole, it is not renamed: requests compares the length with the announced one.
        pooch.retrieve(
            ARCHIVE_URL,
            known_hash=None,
            fname=ZIP_NAME,
            path=raw.cache_directory() / FOLDER,
            downloader=stream_download,
        )
    except (OSError, ValueError) as error:
        raise RawDataError(
            f"{ARCHIVE_URL} could not be downloaded: {error} Check the network and try again, or "
            f"put the file into {' or '.join(str(f) for f in search_folders(FOLDER))} by hand."
        ) from error


class Block(NamedTuple):
    """Consecutive rows of a raw file.

    Attributes
    ----------
    X : ndarray of shape (n, 27), float32
        Features.
    y : ndarray of shape (n,), int8
        1 for the resonance, 0 for background.
    mass : ndarray of shape (n,), int64
        One of ``MASSES``, GeV.
    """

    X: NDArray[np.float32]
    y: NDArray[np.int8]
    mass: NDArray[np.int64]


class _Tap(io.RawIOBase):
    """A binary stream that hashes what is read from it, and tells how much."""

    def __init__(self, stream: BinaryIO, advance: Callable[[int], object]) -> None:
        self._stream = stream
        self._advance = advance
        self.digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        self.digest.update(data)
        self._advance(len(data))
        buffer[: len(data)] = data
        return len(data)


class RawReader:
    """Reads a raw file once, block by block.

    Parameters
    ----------
    source : RawSource
    advance : callable, optional
        Called with the number of compressed bytes after each read.

    Attributes
    ----------
    sha256 : str
        Checksum of the compressed file; after the last block.
    n_rows : int
        Rows read so far.
    """

    def __init__(
        self, source: RawSource, advance: Callable[[int], object] = lambda n: None
    ) -> None:
        self.source = source
        self.advance = advance
        self.sha256 = ""
        self.n_rows = 0

    def __iter__(self) -> Iterator[Block]:
        """Yield the blocks.

        Raises
        ------
        RawDataError
            The file is empty, no gzip or truncated; its header is another; a row does not have
            29 finite numbers, the label 0 or 1, and one of the five masses.
        """
        self.n_rows = 0
        with self.source.open() as (stream, _):
            tap = _Tap(stream, self.advance)
            # The buffer gives gzip, which asks for little at a time, larger reads below.
            with io.BufferedReader(tap, 1 << 20) as buffered:
                for text in self._lines(cast(BinaryIO, buffered)):
                    block = self._parse(text)
                    self.n_rows += len(block.y)
                    yield block
                while buffered.read(1 << 20):
                    pass  # what gzip left unread belongs to the checksum
            self.sha256 = tap.digest.hexdigest()

    def _lines(self, compressed: BinaryIO) -> Iterator[bytes]:
        """Decompress into blocks of whole lines, after checking the header line."""
        with gzip.GzipFile(fileobj=compressed, mode="rb") as text:
            try:
                self._check_header(text.readline(_LONGEST_LINE))
                while data := text.read(BLOCK_BYTES):
                    data += text.readline(_LONGEST_LINE)
                    yield data if data.endswith(b"\n") else data + b"\n"
            except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
                raise self._error(
                    f"expected an intact gzip file, got after at least {self.n_rows} rows: {error}."
                ) from error

    def _check_header(self, line: bytes) -> None:
        if not line:
            raise self._error("expected comma-separated text, got an empty file.")
        got = line.decode("ascii", errors="replace").rstrip("\r\n")
        if tuple(got.split(",")) != HEADER:
            raise self._error(
                f"expected the header '{HEADER[0]},{HEADER[1]},...,{HEADER[-2]},{HEADER[-1]}' of "
                f"{len(HEADER)} columns, got {len(got.split(','))} columns: {got[:200]!r}."
            )

    def _parse(self, text: bytes) -> Block:
        n = text.count(b"\n")
        try:
            if text.count(b",") != n * (len(HEADER) - 1):
                raise ValueError("wrong number of columns")
            import pandas as pd  # to ask whether the files are there must be quick

            table = pd.read_csv(
                io.BytesIO(text),
                header=None,
                dtype=np.float64,
                engine="c",
                quoting=csv.QUOTE_NONE,
            ).to_numpy()
            if table.shape != (n, len(HEADER)):
                raise ValueError(f"expected {n} rows, got {len(table)}")
            label, mass = table[:, 0], np.rint(table[:, -1])
            with np.errstate(over="ignore"):
                X = table[:, 1:-1].astype(np.float32)
            if not np.isfinite(X).all():
                raise ValueError("missing values, or values beyond float32")
            if not (np.isin(label, (0, 1)).all() and np.isin(mass, MASSES).all()):
                raise ValueError("unknown label or mass")
        except ValueError as error:  # pandas' ParserError is one
            # Only now look at single rows, which is slow, to say which one is wrong.
            self._explain(text)
            raise self._error(
                f"expected rows of numbers, got after at least {self.n_rows} rows: {error}."
            ) from error
        return Block(X, label.astype(np.int8), mass.astype(np.int64))

    def _explain(self, text: bytes) -> None:
        """Raise an error about the first wrong row of a block."""
        for number, line in enumerate(text.decode("ascii", errors="replace").split("\n")[:-1]):
            where = f"row {self.n_rows + number + 1}: expected"
            fields = line.split(",")
            if len(fields) != len(HEADER):
                raise self._error(
                    f"{where} {len(HEADER)} columns, got {len(fields)}: {line[:200]!r}."
                )
            for name, field in zip(HEADER, fields, strict=True):
                try:
                    value = float(field)
                except ValueError:
                    value = math.nan
                if not abs(value) <= _LARGEST:
                    raise self._error(
                        f"{where} a finite number in column {name!r}, got {field[:40]!r}."
                    )
                if name == HEADER[0] and value not in (0, 1):
                    raise self._error(f"{where} the label 0 or 1, got {field!r}.")
                if name == HEADER[-1] and round(value) not in MASSES:
                    raise self._error(f"{where} a mass among {MASSES}, got {field!r}.")

    def _error(self, what: str) -> RawDataError:
        return RawDataError(f"{self.source.label}: {what} {REMEDY}")
