"""Fetch and verify the raw files of a data set: ``python scripts/fetch_data.py amazon``.

``hepmass`` is also prepared: its files are read once, verified on the way, and written as arrays
that load at once. Whatever is there already, raw files or prepared data, is not downloaded.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from experiments.threads import set_thread_variables

set_thread_variables()

from experiments.datasets import amazon_raw, hepmass_prepare, hepmass_raw
from experiments.datasets.raw import DATA_DIR_VARIABLE, RawDataError, RawFile, find

RAW_FILES: dict[str, Callable[[], tuple[RawFile, ...]]] = {"amazon": amazon_raw.raw_files}


def main(argv: Sequence[str] | None = None) -> int:
    """Verify each file, fetching those that are missing; report all before failing.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; by default the command line's.

    Returns
    -------
    status : int
        0 if every file is there and right, else 1.
    """
    parser = argparse.ArgumentParser(
        description="Fetch and verify the raw files of a data set.",
        epilog=f"Files are looked for in ${DATA_DIR_VARIABLE}/DATASET, then in the user's cache.",
    )
    parser.add_argument("dataset", choices=sorted([*RAW_FILES, "hepmass"]))
    parser.add_argument(
        "--no-download", action="store_true", help="only look for the files and verify them"
    )
    arguments = parser.parse_args(argv)
    if arguments.dataset == "hepmass":
        return fetch_hepmass(download=not arguments.no_download)
    files = RAW_FILES[arguments.dataset]()
    failures = 0
    for number, file in enumerate(files, start=1):
        try:
            path = find(file, download=not arguments.no_download)
            print(f"[{number}/{len(files)}] {path}: checksum right", flush=True)
        except RawDataError as error:
            failures += 1
            print(f"[{number}/{len(files)}] {error}", file=sys.stderr, flush=True)
    if failures:
        print(f"{failures} of {len(files)} files are missing or wrong.", file=sys.stderr)
    return 1 if failures else 0


def fetch_hepmass(*, download: bool) -> int:
    """Fetch, verify and prepare HEPMASS.

    Parameters
    ----------
    download : bool
        Download what is nowhere, several gigabytes, and prepare it; else only look.

    Returns
    -------
    status : int
        0 if the prepared data is there, else 1.
    """
    try:
        if not download:
            if not hepmass_prepare.available():
                raise RawDataError(hepmass_raw.missing_message())
            print("HEPMASS is there.", flush=True)
            return 0
        if not hepmass_prepare.available():
            hepmass_raw.download(lambda line: print(line, flush=True))
        for line in hepmass_prepare.report_lines(hepmass_prepare.ensure_prepared()):
            print(line, flush=True)
    except RawDataError as error:
        print(error, file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
