"""Fetch and verify the raw files of a data set: ``python scripts/fetch_data.py amazon``.

``hepmass`` is also prepared: its files are written as arrays that load at once. Files and prepared
data that are there already are not downloaded.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from experiments.threads import set_thread_variables

set_thread_variables()

from experiments.datasets import hepmass
from experiments.datasets.raw import DATA_DIR_VARIABLE, RawDataError, find, raw_files


def main(argv: Sequence[str] | None = None) -> int:
    """Verify each file, fetching those that are missing; 1 if one is missing or wrong, else 0."""
    parser = argparse.ArgumentParser(
        description="Fetch and verify the raw files of a data set.",
        epilog=f"Files are looked for in ${DATA_DIR_VARIABLE}/DATASET, then in the user's cache.",
    )
    parser.add_argument("dataset", choices=("amazon", "hepmass"))
    parser.add_argument(
        "--no-download", action="store_true", help="only look for the files and verify them"
    )
    arguments = parser.parse_args(argv)
    prepared = hepmass.prepared_folder() if arguments.dataset == "hepmass" else None
    if prepared is not None and prepared.is_dir():
        print(f"{prepared}: prepared earlier", flush=True)
        return 0
    status = 0
    for file in raw_files(arguments.dataset):
        try:
            path = find(file, download=not arguments.no_download)
            print(f"{path}: checksum right", flush=True)
        except RawDataError as error:  # the other files are still worth having
            print(error, file=sys.stderr, flush=True)
            status = 1
    if prepared is not None and not status and not arguments.no_download:
        print(f"{hepmass.ensure_prepared()}: prepared", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
