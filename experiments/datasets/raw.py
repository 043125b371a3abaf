"""Raw data files that the repository does not ship: found, or downloaded, and always verified.

``raw_files.csv`` lists every file with its checksum and its public address. A file is looked for in
three places, in this order:

1. ``$KRDA_DATA_DIR/FOLDER/NAME``, for people who keep their data in one place or have no network;
2. the project's own cache, ``FOLDER/NAME`` in the cache folder of the operating system;
3. its public address, from where it is downloaded into the cache.

The first place that has the file decides: a file with a wrong checksum is an error there, never a
reason to look further, because a silent fall-back would hide a damaged copy.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import NamedTuple

DATA_DIR_VARIABLE = "KRDA_DATA_DIR"

_LIST = Path(__file__).with_name("raw_files.csv")


class RawDataError(RuntimeError):
    """A raw file is missing, damaged or cannot be downloaded; the message says what to do."""


class RawFile(NamedTuple):
    """A file that can be fetched and verified; ``folder`` is the name of its data set."""

    folder: str
    name: str
    sha256: str
    url: str


def raw_files(folder: str) -> tuple[RawFile, ...]:
    """List the raw files of a data set."""
    with _LIST.open(encoding="ascii", newline="") as stream:
        return tuple(RawFile(**row) for row in csv.DictReader(stream) if row["folder"] == folder)


def cache_directory() -> Path:
    """Return the project's own cache folder, which need not exist yet."""
    import pooch  # only fetching needs it; loading a data set must not

    return Path(pooch.os_cache("krda"))


def places(file: RawFile) -> list[Path]:
    """List where a raw file is looked for, the first place first."""
    folders = [cache_directory()]
    data_dir = os.environ.get(DATA_DIR_VARIABLE)
    if data_dir:
        if not Path(data_dir).is_dir():
            raise RawDataError(
                f"{DATA_DIR_VARIABLE} is set to {data_dir!r}, which is no existing folder. Set it "
                "to the folder that holds one folder for each data set, or unset it."
            )
        folders.insert(0, Path(data_dir))
    return [folder / file.folder / file.name for folder in folders]


def is_there(file: RawFile) -> bool:
    """Whether a raw file can be had without a download; it is not verified."""
    return any(path.is_file() for path in places(file))


def find(file: RawFile, *, download: bool = True) -> Path:
    """Find a raw file, download it if it is nowhere, and verify its checksum."""
    import pooch

    for path in places(file):
        if path.is_file():
            actual = pooch.file_hash(str(path))
            if actual != file.sha256:
                raise RawDataError(
                    f"{path} has a wrong checksum: expected SHA-256 {file.sha256}, got {actual} "
                    f"({path.stat().st_size} bytes). The file is truncated, damaged or another "
                    f"version. Delete it and fetch it again, or copy it anew from {file.url}."
                )
            return path
    by_hand = (
        f"put the file from {file.url} with SHA-256 {file.sha256} there by hand: "
        f"{' or '.join(str(path) for path in places(file))}. See docs/{file.folder}.md."
    )
    if not download:
        raise RawDataError(
            f"{file.folder}/{file.name} is not there. Get it with: python scripts/fetch_data.py "
            f"{file.folder}, or {by_hand}"
        )
    try:
        # pooch downloads to a temporary name and renames only what has the right checksum.
        path = pooch.retrieve(
            file.url,
            known_hash=f"sha256:{file.sha256}",
            fname=file.name,
            path=cache_directory() / file.folder,
            downloader=_download,
        )
    except (OSError, ValueError) as error:  # requests' exceptions are OSErrors
        raise RawDataError(
            f"{file.folder}/{file.name} could not be downloaded: {error} Check the network and try "
            f"again, or {by_hand}"
        ) from error
    return Path(path)


def _download(url: str, output_file: str, pooch: object) -> None:
    """Download for pooch, whose own downloader leaves a failed connection open."""
    import requests
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    file = Path(output_file)
    with requests.get(url, stream=True, timeout=60) as response, file.open("wb") as stream:
        response.raise_for_status()
        size = int(response.headers.get("Content-Length", 0)) >> 20
        chunks = response.iter_content(1 << 20)
        for chunk in track(chunks, "MiB", size, console=console, disable=not console.is_terminal):
            stream.write(chunk)
