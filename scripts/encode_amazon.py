"""Make the file of Amazon encodings again: ``python scripts/encode_amazon.py``.

The same command with the same library versions on the same machine gives the same bytes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from experiments.threads import limit_threads

limit_threads()

from experiments.datasets.amazon import DEFAULT_PATH
from experiments.datasets.raw import RawDataError, raw_files
from experiments.encoding.encoder import (
    DEFAULT_SEED,
    SourceEncoder,
    describe_run,
    encode_domains,
    write_encodings,
)
from experiments.encoding.reviews import load_reviews


def main(argv: Sequence[str] | None = None) -> int:
    """Read the raw files, train four encoders, write encodings; 1 if a raw file is not right."""
    parser = argparse.ArgumentParser(
        description="Train one encoder for each source domain and write the encodings of all.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--output", type=Path, default=DEFAULT_PATH, help="the .npz to write")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="fixed before any score")
    parser.add_argument("--epochs", type=int, default=SourceEncoder.epochs)
    arguments = parser.parse_args(argv)
    encoder = SourceEncoder(epochs=arguments.epochs)
    try:
        print("Reading the raw files", flush=True)
        reviews = load_reviews()
    except RawDataError as error:
        print(error, file=sys.stderr)
        return 1
    arrays = encode_domains(reviews, encoder, arguments.seed)
    checksums = {file.name: file.sha256 for file in raw_files("amazon")}
    write_encodings(arguments.output, arrays, describe_run(checksums, encoder, arguments.seed))
    print(f"{arguments.output}: {arguments.output.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
