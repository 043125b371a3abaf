"""From the raw HEPMASS files to prepared data, once.

Both raw files are streamed into one pair of arrays for each split and mass. All is written to
``prepared.partial`` beside the final folder and renamed when it is whole and verified, so a folder
that can be read is complete. A lock makes other processes wait for the one that prepares; the
operating system drops it when a process dies, so whatever lies around once the lock is held was
left by a process that was killed, and is removed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.datasets.collisions import FEATURES, MASSES
from experiments.datasets.hepmass_cache import (
    MANIFEST_NAME,
    SCHEMA,
    Manifest,
    PreparedDataError,
    array_name,
    prepared_folder,
    read_manifest,
)
from experiments.datasets.hepmass_raw import (
    NAMES,
    REMEDY,
    RawReader,
    RawSource,
    locate_both,
    missing_message,
    official_checksums,
)
from experiments.datasets.raw import RawDataError, byte_progress

#: Rows of each official file.
OFFICIAL_ROWS = {"train": 7_000_000, "test": 3_500_000}
#: Rows of both official files together: of background, and of the resonance by mass.
OFFICIAL_BACKGROUND = 5_249_876
OFFICIAL_SIGNAL = {
    500: 1_049_486,
    750: 1_049_426,
    1000: 1_050_776,
    1250: 1_050_965,
    1500: 1_049_471,
}

Counts = dict[str, dict[str, list[int]]]


@dataclass(frozen=True)
class Preparation:
    """Prepared data, and whether it was there before.

    Attributes
    ----------
    folder : Path
    manifest : Manifest
    fresh : bool
        Whether it was prepared by this call.
    """

    folder: Path
    manifest: Manifest
    fresh: bool


def available() -> bool:
    """Tell whether tasks can be drawn without a download: cheap, reads no data.

    Returns
    -------
    available : bool
        Whether prepared data or both raw files are there. The raw files are not verified.

    Raises
    ------
    experiments.datasets.raw.RawDataError
        ``KRDA_DATA_DIR`` names a folder that does not exist.
    """
    try:
        _read_verified(prepared_folder())
    except PreparedDataError:
        return len(locate_both()) == len(NAMES)
    return True


def ensure_prepared() -> Preparation:
    """Return the prepared data; prepare it from raw files on this computer if need be.

    Never downloads. A second process waits for the one that prepares.

    Returns
    -------
    preparation : Preparation

    Raises
    ------
    experiments.datasets.raw.RawDataError
        Neither prepared data nor raw files are there, or the raw files are damaged.
    """
    folder = prepared_folder()
    try:
        return Preparation(folder, _read_verified(folder), fresh=False)
    except PreparedDataError:
        pass
    # Only if there is something to prepare is anything written.
    sources = locate_both()
    if len(sources) < len(NAMES):
        raise RawDataError(_why_not(folder))
    with _lock(folder):
        try:
            return Preparation(folder, _read_verified(folder), fresh=False)
        except PreparedDataError:
            manifest = _prepare(sources, folder, official_checksums())
            return Preparation(folder, manifest, fresh=True)


def prepare(
    sources: Mapping[str, RawSource], folder: Path, checksums: Mapping[str, str]
) -> Manifest:
    """Prepare raw files into a folder, replacing what is there.

    Parameters
    ----------
    sources : mapping of str to RawSource
        By split.
    folder : Path
    checksums : mapping of str to str
        Expected SHA-256 by file name. Only where they are the official ones are the numbers of
        rows compared with the official ones.

    Returns
    -------
    manifest : Manifest

    Raises
    ------
    experiments.datasets.raw.RawDataError
        A damaged file, or one without rows of some mass and label. Nothing is replaced.
    """
    with _lock(folder):
        return _prepare(sources, folder, checksums)


def _read_verified(folder: Path) -> Manifest:
    """Read the manifest of data that was prepared from the official files."""
    manifest = read_manifest(folder)
    for split, digest in manifest.raw_sha256.items():
        if digest != official_checksums()[NAMES[split]]:
            raise PreparedDataError(f"{folder} was prepared from another {NAMES[split]}.")
    return manifest


def _why_not(folder: Path) -> str:
    if not folder.exists():
        return missing_message()
    try:
        read_manifest(folder)
    except PreparedDataError as error:
        return f"Prepared data cannot be used: {error} {missing_message()}"
    return f"{folder} was prepared from other raw files. {missing_message()}"


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)  # held until the file is closed, also by death
        yield


def _prepare(
    sources: Mapping[str, RawSource], folder: Path, checksums: Mapping[str, str]
) -> Manifest:
    partial = folder.with_name(f"{folder.name}.partial")
    old = folder.with_name(f"{folder.name}.old")
    for leftover in (partial, old):
        shutil.rmtree(leftover, ignore_errors=True)
    partial.mkdir()
    try:
        manifest = _write(sources, partial, checksums)
        # A folder cannot replace another in one step. Between the two there is none.
        if folder.exists():
            folder.rename(old)
        partial.rename(folder)
    finally:
        for leftover in (partial, old):
            shutil.rmtree(leftover, ignore_errors=True)
    return manifest


def _write(
    sources: Mapping[str, RawSource], folder: Path, checksums: Mapping[str, str]
) -> Manifest:
    digests: dict[str, str] = {}
    counts: Counts = {}
    with byte_progress() as progress:
        for split, name in NAMES.items():
            with sources[split].open() as (_, n_bytes):
                bar = progress.add_task(f"preparing {name}", total=n_bytes)
            reader = RawReader(sources[split], lambda n, bar=bar: progress.advance(bar, n))  # type: ignore[misc]
            counts[split] = _write_split(reader, split, folder)
            digests[split] = reader.sha256
            if reader.sha256 != checksums[name]:
                raise RawDataError(
                    f"{sources[split].label} has a wrong checksum: expected SHA-256 "
                    f"{checksums[name]}, got {reader.sha256} ({n_bytes} bytes, {reader.n_rows} "
                    f"rows). The file is damaged or another version. {REMEDY}"
                )
    if dict(checksums) == official_checksums():
        check_official_counts(counts)
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    manifest = Manifest(SCHEMA, digests, counts, sizes)
    with (folder / MANIFEST_NAME).open("w", encoding="utf-8") as stream:
        stream.write(manifest.to_json())
        stream.flush()
        os.fsync(stream.fileno())
    return manifest


def _write_split(reader: RawReader, split: str, folder: Path) -> dict[str, list[int]]:
    """Write the arrays of one raw file; return its rows by mass and label."""
    counts = {str(mass): [0, 0] for mass in MASSES}
    with ExitStack() as stack:
        writers = {
            mass: (
                stack.enter_context(
                    _ArrayWriter(folder / array_name(split, mass, "X"), "<f4", (len(FEATURES),))
                ),
                stack.enter_context(_ArrayWriter(folder / array_name(split, mass, "y"), "|i1", ())),
            )
            for mass in MASSES
        }
        for block in reader:
            for mass, (rows, labels) in writers.items():
                chosen = block.mass == mass
                y = block.y[chosen]
                rows.append(block.X[chosen])
                labels.append(y)
                for label in (0, 1):
                    counts[str(mass)][label] += int(np.count_nonzero(y == label))
    missing = [
        f"{kind} of mass {mass}"
        for mass, by_label in counts.items()
        for kind, n in zip(("background", "resonance"), by_label, strict=True)
        if n == 0
    ]
    if missing:
        raise RawDataError(
            f"{reader.source.label}: expected rows of both labels and all masses {MASSES}, got "
            f"none of {', '.join(missing)} in {reader.n_rows} rows. {REMEDY}"
        )
    return counts


class _ArrayWriter:
    """Writes a ``.npy`` file whose number of rows is not known before the end."""

    def __init__(self, path: Path, dtype: str, row_shape: tuple[int, ...]) -> None:
        self.dtype = np.dtype(dtype)
        self.row_shape = row_shape
        self.n_rows = 0
        self.stream = path.open("wb")

    def __enter__(self) -> _ArrayWriter:
        self.data_start = self._write_header()
        return self

    def append(self, rows: NDArray[Any]) -> None:
        """Write rows at the end."""
        self.stream.write(np.ascontiguousarray(rows, dtype=self.dtype).data)
        self.n_rows += len(rows)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self.stream:
            if kind is None:
                self.stream.seek(0)
                # NumPy leaves room in the header for the number of rows to grow.
                if self._write_header() != self.data_start:
                    raise RuntimeError(f"The header of {self.stream.name} grew over its data.")
                self.stream.flush()
                os.fsync(self.stream.fileno())

    def _write_header(self) -> int:
        header = {
            "descr": np.lib.format.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": (self.n_rows, *self.row_shape),
        }
        np.lib.format.write_array_header_1_0(self.stream, header)
        return self.stream.tell()


def check_official_counts(counts: Counts) -> None:
    """Compare the numbers of rows with those of the official files.

    Parameters
    ----------
    counts : dict of str to dict of str to [int, int]
        By split and mass: rows of background and of the resonance.

    Raises
    ------
    experiments.datasets.raw.RawDataError
        Other numbers, which with the official checksums is an error of the reading.
    """
    got: dict[str, int] = {
        f"{split} rows": sum(map(sum, by_mass.values())) for split, by_mass in counts.items()
    }
    expected = {f"{split} rows": n for split, n in OFFICIAL_ROWS.items()}
    got["background rows"] = sum(n for by_mass in counts.values() for n, _ in by_mass.values())
    expected["background rows"] = OFFICIAL_BACKGROUND
    for mass, n in OFFICIAL_SIGNAL.items():
        got[f"resonance rows of mass {mass}"] = sum(c[str(mass)][1] for c in counts.values())
        expected[f"resonance rows of mass {mass}"] = n
    wrong = [
        f"{what}: expected {n}, got {got[what]}" for what, n in expected.items() if got[what] != n
    ]
    if wrong:
        raise RawDataError(
            "The HEPMASS files have the right checksums, but were read wrongly, which is an error "
            f"of this program: {'; '.join(wrong)}."
        )


def report_lines(preparation: Preparation) -> list[str]:
    """Describe prepared data for a person.

    Parameters
    ----------
    preparation : Preparation

    Returns
    -------
    lines : list of str
    """
    manifest = preparation.manifest
    lines = [
        f"{NAMES[split]}: checksum right, rows by mass: "
        + ", ".join(f"{mass}: {manifest.n_rows(split, mass)}" for mass in MASSES)
        for split in NAMES
    ]
    when = "prepared" if preparation.fresh else "prepared earlier"
    return [*lines, f"{preparation.folder}: {when}, {sum(manifest.sizes.values()) / 1e6:.0f} MB"]
