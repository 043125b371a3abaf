"""Raw data files that the repository does not ship: found, or downloaded, and always verified.

A file is looked for in three places, in this order:

1. ``$KRDA_DATA_DIR/FOLDER/NAME``, for people who keep their data in one place or have no network;
2. the project's own cache, ``FOLDER/NAME`` under the cache folder of the operating system;
3. its public address, from where it is downloaded into the cache.

The first place that has the file decides: a file with a wrong checksum is an error there, never a
reason to look further, since a silent fall-back would hide a damaged copy.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

DATA_DIR_VARIABLE = "KRDA_DATA_DIR"


class RawDataError(RuntimeError):
    """A raw file is missing, damaged or cannot be downloaded; the message says what to do."""


@dataclass(frozen=True)
class RawFile:
    """A file that can be fetched and verified.

    Attributes
    ----------
    folder : str
        The data set's folder, ``amazon``.
    name : str
        The file's name in that folder.
    sha256 : str
        Its checksum, 64 lower-case hexadecimal digits.
    url : str
        Its public address.
    """

    folder: str
    name: str
    sha256: str
    url: str


def cache_directory() -> Path:
    """Return the project's own cache folder, which need not exist yet."""
    import pooch  # only fetching needs it; loading a data set must not

    return Path(pooch.os_cache("krda"))


def file_sha256(path: Path) -> str:
    """Compute the SHA-256 of a file.

    Parameters
    ----------
    path : Path

    Returns
    -------
    sha256 : str
        64 lower-case hexadecimal digits.
    """
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_checksums(path: Path) -> dict[str, str]:
    """Read checksums in the format of ``sha256sum``: digest, blanks, file name.

    Parameters
    ----------
    path : Path

    Returns
    -------
    checksums : dict of str to str
        Digest by file name, in the order of the file.

    Raises
    ------
    ValueError
        A line of another form, or a file name that comes twice.
    """
    checksums: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), start=1):
        fields = line.split()
        if len(fields) != 2 or len(fields[0]) != 64 or set(fields[0]) - set("0123456789abcdef"):
            raise ValueError(
                f"{path.name}, line {number}: expected a SHA-256 in 64 lower-case hexadecimal "
                f"digits and a file name, got {line!r}."
            )
        digest, name = fields
        if name in checksums:
            raise ValueError(f"{path.name}, line {number}: {name} comes twice.")
        checksums[name] = digest
    return checksums


def search_folders(folder: str) -> list[Path]:
    """List where a data set's raw files are looked for, the first place first.

    Parameters
    ----------
    folder : str
        The data set's folder, ``amazon``.

    Returns
    -------
    folders : list of Path
        ``$KRDA_DATA_DIR/FOLDER`` if the variable is set, then the cache's; they need not exist.

    Raises
    ------
    RawDataError
        ``KRDA_DATA_DIR`` names a folder that does not exist.
    """
    folders = [cache_directory() / folder]
    data_dir = os.environ.get(DATA_DIR_VARIABLE)
    if data_dir:
        if not Path(data_dir).is_dir():
            raise RawDataError(
                f"{DATA_DIR_VARIABLE} is set to {data_dir!r}, which is no existing folder. Set it "
                "to the folder that holds one folder a data set, or unset it."
            )
        folders.insert(0, Path(data_dir) / folder)
    return folders


def find(file: RawFile, *, download: bool = True) -> Path:
    """Find a raw file, download it if it is nowhere, and verify its checksum.

    Parameters
    ----------
    file : RawFile
    download : bool, default=True
        Whether a file that is in neither folder may be downloaded.

    Returns
    -------
    path : Path
        An existing file whose checksum is right.

    Raises
    ------
    RawDataError
        The file's checksum is wrong (damaged, truncated or another version), it is nowhere, the
        download failed, or ``KRDA_DATA_DIR`` names a folder that does not exist.
    """
    candidates = [folder / file.name for folder in search_folders(file.folder)]
    for path in candidates:
        if path.is_file():
            _verify(path, file)
            return path
    looked = " or ".join(str(path) for path in candidates)
    if not download:
        raise RawDataError(
            f"{file.folder}/{file.name} is not there: looked for {looked}. Put the file with "
            f"SHA-256 {file.sha256} there by hand or allow the download from {file.url}."
        )
    return _download(file, cache_directory() / file.folder, looked)


def _verify(path: Path, file: RawFile) -> None:
    actual = file_sha256(path)
    if actual != file.sha256:
        raise RawDataError(
            f"{path} has a wrong checksum: expected SHA-256 {file.sha256}, got {actual} "
            f"({path.stat().st_size} bytes). The file is truncated, damaged or another version. "
            f"Delete it and fetch it again, or copy it anew from {file.url}."
        )


def byte_progress() -> Progress:
    """Return a progress bar over bytes on standard error; without a terminal it shows nothing."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        # Where nobody looks, a bar is noise.
        disable=not console.is_terminal,
    )


def stream_download(url: str, output_file: str, pooch: object) -> None:
    """Download to a file: a downloader for pooch, whose own leaves a failed connection open."""
    import requests  # pooch depends on it

    with (
        requests.get(url, stream=True, timeout=60) as response,
        Path(output_file).open("wb") as stream,
        byte_progress() as progress,
    ):
        response.raise_for_status()
        length = response.headers.get("Content-Length")
        bar = progress.add_task(url.rsplit("/", 1)[-1], total=int(length) if length else None)
        for chunk in response.iter_content(chunk_size=1 << 20):
            stream.write(chunk)
            progress.advance(bar, len(chunk))


def _download(file: RawFile, cache: Path, looked: str) -> Path:
    import pooch

    try:
        # pooch downloads to a temporary name and renames only what has the right checksum.
        path = pooch.retrieve(
            file.url,
            known_hash=f"sha256:{file.sha256}",
            fname=file.name,
            path=cache,
            downloader=stream_download,
        )
    except (OSError, ValueError) as error:  # requests' exceptions are OSErrors
        raise RawDataError(
            f"{file.folder}/{file.name} could not be downloaded from {file.url}: {error} It was "
            f"looked for as {looked} first. Check the network and try again, or put the file with "
            f"SHA-256 {file.sha256} there by hand ({DATA_DIR_VARIABLE} names the folder that "
            "holds one folder a data set)."
        ) from error
    return Path(path)
