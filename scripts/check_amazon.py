"""Measure what docs/amazon.md says: ``python scripts/check_amazon.py raw`` and so on."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from experiments.threads import limit_threads

limit_threads()

import numpy as np

from experiments.datasets.amazon import DOMAINS, SPLITS
from experiments.datasets.amazon_checks import (
    count_raw,
    deviation,
    examine_encodings,
    read_published,
    reference_accuracies,
    unseen_test_rows,
)
from experiments.datasets.amazon_encoder import ACTIVATIONS, SourceEncoder, encode_domains
from experiments.datasets.amazon_raw import load_reviews
from experiments.datasets.raw import RawDataError


def main(argv: Sequence[str] | None = None) -> int:
    """Print one of the three measurements as text.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; by default the command line's.

    Returns
    -------
    status : int
        0, or 1 where a raw file is missing or wrong.
    """
    parser = argparse.ArgumentParser(description="Measure what docs/amazon.md says.")
    parser.add_argument(
        "what",
        choices=("raw", "encodings", "columns"),
        help="repeated and empty rows of the raw files; rank, constant columns and atoms of the "
        "encodings; distance of the Source and Target columns to the published ones",
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="of the encoder")
    parser.add_argument(
        "--activations", nargs="+", choices=list(ACTIVATIONS), default=["tanh"], metavar="NAME"
    )
    parser.add_argument("--tasks", action="store_true", help="columns: print every task too")
    parser.add_argument(
        "--unseen", action="store_true", help="columns: leave out test rows that are also in train"
    )
    arguments = parser.parse_args(argv)
    try:
        reviews = load_reviews()
    except RawDataError as error:
        print(error, file=sys.stderr)
        return 1
    if arguments.what == "raw":
        for domain in DOMAINS:
            counts = count_raw(reviews, domain)
            for split in SPLITS:
                print(
                    f"{DOMAINS[domain]} {split}: {counts.rows[split]} rows, "
                    f"{counts.positive[split]} positive, {counts.empty[split]} empty, "
                    f"{counts.surplus[split]} repeat an earlier row "
                    f"({counts.repeated[split]} different rows come more than once)"
                )
            print(
                f"{DOMAINS[domain]}: {counts.test_in_train} test rows are also in train; "
                f"{counts.train_elsewhere} rows of other domains are in its train; "
                f"{counts.conflicts} rows come with both labels"
            )
        return 0
    published = read_published()
    kept = {domain: unseen_test_rows(reviews, domain) for domain in DOMAINS}
    for activation in arguments.activations:
        for seed in arguments.seeds:
            arrays = encode_domains(reviews, SourceEncoder(activation=activation), seed)
            if arguments.what == "encodings":
                for source in DOMAINS:
                    facts = examine_encodings(arrays, source)
                    shares = " ".join(f"{100 * share:.2f}" for share in facts.variance_shares)
                    print(
                        f"{activation}, seed {seed}, {DOMAINS[source]}: variance % {shares}; "
                        f"smallest sd {facts.smallest_sd:.3g}; "
                        f"{facts.constant_columns} constant columns; "
                        f"largest atom {100 * facts.largest_atom:.2f} %; "
                        f"|z| > 0.999 {100 * facts.near_one:.2f} %, "
                        f"|z| = 1 {100 * facts.at_one:.2f} %; "
                        f"repeated rows {100 * facts.repeated_rows:.2f} %",
                        flush=True,
                    )
                continue
            scores = reference_accuracies(arrays, kept if arguments.unseen else None)
            parts = []
            for method, ours in scores.items():
                absolute, mean = deviation(ours, published[method])
                parts.append(
                    f"{method} {np.mean(list(ours.values())):.2f}, mean absolute deviation "
                    f"{absolute:.2f}, mean {mean:+.2f}"
                )
            print(f"{activation}, seed {seed}: {'; '.join(parts)}", flush=True)
            if arguments.tasks:
                for task in published["Source"]:
                    print(
                        "  "
                        + f"{'-'.join(task)}: "
                        + ", ".join(
                            f"{method} {scores[method][task]:.1f} ({published[method][task]:.1f})"
                            for method in scores
                        )
                    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
