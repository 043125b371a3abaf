"""What docs/amazon.md says of the raw files, the encodings and the reference columns.

::

    python -m studies.amazon_data raw          repeated, empty and contradictory rows
    python -m studies.amazon_data encodings    rank, constant columns and point masses
    python -m studies.amazon_data columns      distance of Source and Target to the published ones
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.svm import SVC

from experiments.datasets.amazon import DOMAINS, SPLITS, Arrays, encoding_key, label_key
from experiments.datasets.amazon_encoder import ACTIVATIONS, SourceEncoder, encode_domains
from experiments.datasets.amazon_raw import Reviews, load_reviews
from experiments.datasets.raw import RawDataError
from experiments.published import published
from studies.common import command

METHODS = {"source_only": "Source", "target_only": "Target"}


def count_raw(reviews: Mapping[tuple[str, str], Reviews], domain: str) -> dict[str, int]:
    """Count repeated, shared, empty and contradictory rows of a domain."""
    keys = {which: _row_keys(reviews[which]) for which in reviews}
    labels: dict[bytes, set[int]] = {}
    found: dict[str, int] = {}
    for split in SPLITS:
        own, counts = reviews[domain, split], Counter(keys[domain, split])
        for key, label in zip(keys[domain, split], own.y, strict=True):
            labels.setdefault(key, set()).add(int(label))
        found |= {
            f"{split} rows": len(own.y),
            f"{split} rows of label +1": int((own.y == 1).sum()),
            f"{split} rows without any term": int((np.diff(own.X.indptr) == 0).sum()),
            f"{split} rows that repeat an earlier one": len(own.y) - len(counts),
            f"different {split} rows that come more than once": sum(n > 1 for n in counts.values()),
        }
    train = set(keys[domain, "train"])
    others = [key for (other, _), rows in keys.items() if other != domain for key in rows]
    return found | {
        "test rows that are also in train": int((~unseen_test_rows(reviews, domain)).sum()),
        "rows of other domains that are in train": sum(key in train for key in others),
        "different rows with both labels": sum(len(both) > 1 for both in labels.values()),
    }


def unseen_test_rows(reviews: Mapping[tuple[str, str], Reviews], domain: str) -> NDArray[np.bool_]:
    """Mark the test rows whose terms are those of no training row of the same domain."""
    train = set(_row_keys(reviews[domain, "train"]))
    return np.array([key not in train for key in _row_keys(reviews[domain, "test"])])


def _row_keys(reviews: Reviews) -> list[bytes]:
    X = reviews.X
    return [
        X.indices[start:stop].tobytes() + X.data[start:stop].tobytes()
        for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]


def examine_encodings(arrays: Arrays, source: str) -> dict[str, float]:
    """Measure what a density has to cope with: all rows of all domains by one encoder."""
    files = [
        arrays[encoding_key(source, domain, split)].astype(np.float64)
        for domain in DOMAINS
        for split in SPLITS
    ]
    rows = np.vstack(files)
    spreads = np.array([file.std(axis=0) for file in files])
    variances = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False) ** 2
    shares = {f"variance along axis {i}, %": x for i, x in enumerate(100 * variances, start=1)}
    largest = max(np.unique(column, return_counts=True)[1].max() for column in rows.T)
    return {name: float(value / variances.sum()) for name, value in shares.items()} | {
        "smallest deviation of a column in a file": float(spreads.min()),
        "columns that are constant in some file": int((spreads < 1e-6).any(axis=0).sum()),
        "largest share of rows with one number, %": 100 * largest / len(rows),
        "numbers beyond 0.999, %": 100 * float((np.abs(rows) > 0.999).mean()),
        "numbers that are -1 or 1, %": 100 * float((np.abs(rows) == 1).mean()),
        "rows that repeat an earlier one, %": 100 - 100 * len(np.unique(rows, axis=0)) / len(rows),
    }


def reference_accuracies(
    arrays: Arrays, test_rows: Mapping[str, NDArray[np.bool_]] | None = None
) -> pd.DataFrame:
    """Score Source and Target on all tasks, in percent: SVC with its defaults, all training rows.

    ``test_rows`` marks the test rows of each domain that count; by default all.
    """
    scores = pd.DataFrame(columns=list(METHODS.values()), dtype=float)
    for source, target in permutations(DOMAINS, 2):
        X_test = arrays[encoding_key(source, target, "test")]
        y_test = arrays[label_key(target, "test")]
        if test_rows is not None:
            X_test, y_test = X_test[test_rows[target]], y_test[test_rows[target]]
        scores.loc[f"{source}-{target}"] = [
            100 * SVC().fit(
                arrays[encoding_key(source, trained_on, "train")],
                arrays[label_key(trained_on, "train")],
            ).score(X_test, y_test)
            for trained_on in (source, target)
        ]  # fmt: skip
    return scores


def published_accuracies() -> pd.DataFrame:
    """Give the paper's Source and Target columns, in percent, by task."""
    cells = published("amazon")
    tasks = sorted({task for task, _ in cells})
    return pd.DataFrame(
        {name: [cells[task, method].mean for task in tasks] for method, name in METHODS.items()},
        index=tasks,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one of the three measurements; give 1 if a raw file is missing or wrong."""
    parser = command("amazon_data", "Measure what docs/amazon.md says of the data.")
    parser.add_argument("what", choices=("raw", "encodings", "columns"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="of the encoder")
    parser.add_argument(
        "--activations", nargs="+", choices=list(ACTIVATIONS), default=["tanh"], metavar="NAME"
    )
    parser.add_argument("--tasks", action="store_true", help="columns: print every task too")
    parser.add_argument(
        "--unseen", action="store_true", help="columns: leave out test rows that are also in train"
    )
    options = parser.parse_args(arguments)
    try:
        reviews = load_reviews()
    except RawDataError as error:
        print(error, file=sys.stderr)
        return 1
    if options.what == "raw":
        print(pd.DataFrame({DOMAINS[d]: count_raw(reviews, d) for d in DOMAINS}).to_string())
        return 0
    kept = {domain: unseen_test_rows(reviews, domain) for domain in DOMAINS}
    for activation in options.activations:
        for seed in options.seeds:
            arrays = encode_domains(reviews, SourceEncoder(activation=activation), seed)
            print(f"\n{activation}, seed {seed}", flush=True)
            if options.what == "encodings":
                facts = {DOMAINS[source]: examine_encodings(arrays, source) for source in DOMAINS}
                print(pd.DataFrame(facts).round(2).to_string())
                continue
            ours = reference_accuracies(arrays, kept if options.unseen else None)
            differences = ours - published_accuracies()
            summary = {
                "accuracy": ours.mean(),
                "mean absolute deviation": differences.abs().mean(),
                "mean deviation": differences.mean(),
            }
            print(pd.DataFrame(summary).round(2).to_string())
            if options.tasks:
                both = ours.join(published_accuracies(), rsuffix=", published")
                print(both.round(1).to_string())
    return 0


if __name__ == "__main__":
    sys.exit(main())
