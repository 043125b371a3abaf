"""What docs/amazon.md says of the Amazon data, measured: raw rows, encodings, reference columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from experiments.datasets.amazon import DOMAINS, SPLITS, Arrays, encoding_key, label_key
from experiments.datasets.amazon_raw import Reviews
from experiments.published import published

Accuracies = dict[tuple[str, str], float]


class RawCounts(NamedTuple):
    """Counts over one domain.

    Attributes
    ----------
    rows, positive : dict of split to int
        Rows, and those of label +1.
    empty : dict of split to int
        Rows without any term.
    surplus : dict of split to int
        Rows that repeat the terms of an earlier row of the same file.
    repeated : dict of split to int
        Different rows that come more than once in the same file.
    test_in_train : int
        Test rows whose terms are also those of a training row of the same domain.
    train_elsewhere : int
        Rows of *other* domains whose terms are also those of one of this domain's training rows.
    conflicts : int
        Different rows that come with both labels in this domain.
    """

    rows: dict[str, int]
    positive: dict[str, int]
    empty: dict[str, int]
    surplus: dict[str, int]
    repeated: dict[str, int]
    test_in_train: int
    train_elsewhere: int
    conflicts: int


class EncodingFacts(NamedTuple):
    """What a density has to cope with in one encoder's encodings, all rows of all domains.

    Attributes
    ----------
    variance_shares : ndarray of shape (n_components,)
        Share of the variance along each principal axis, falling.
    smallest_sd : float
        Smallest standard deviation of a column within one file.
    constant_columns : int
        Columns whose standard deviation is below 1e-6 within at least one file.
    largest_atom : float
        Largest share of rows that have one and the same number in a column.
    near_one, at_one : float
        Share of numbers beyond 0.999 in absolute value, and of those that are exactly -1 or 1:
        what tanh squeezes together, and what float32 then makes equal.
    repeated_rows : float
        Share of rows that repeat an earlier row exactly.
    """

    variance_shares: NDArray[np.float64]
    smallest_sd: float
    constant_columns: int
    largest_atom: float
    near_one: float
    at_one: float
    repeated_rows: float


def count_raw(reviews: Mapping[tuple[str, str], Reviews], domain: str) -> RawCounts:
    """Count repeated, shared, empty and contradictory rows of a domain.

    Parameters
    ----------
    reviews : mapping of (domain letter, split) to Reviews
    domain : str

    Returns
    -------
    counts : RawCounts
    """
    keys = {which: _row_keys(reviews[which]) for which in reviews}
    counts = {split: Counter(keys[domain, split]) for split in SPLITS}
    unseen = unseen_test_rows(reviews, domain)
    labels: dict[bytes, set[int]] = {}
    for split in SPLITS:
        for key, label in zip(keys[domain, split], reviews[domain, split].y, strict=True):
            labels.setdefault(key, set()).add(int(label))
    return RawCounts(
        rows={split: len(keys[domain, split]) for split in SPLITS},
        positive={split: int((reviews[domain, split].y == 1).sum()) for split in SPLITS},
        empty={
            split: int((np.diff(reviews[domain, split].X.indptr) == 0).sum()) for split in SPLITS
        },
        surplus={split: len(keys[domain, split]) - len(counts[split]) for split in SPLITS},
        repeated={split: sum(n > 1 for n in counts[split].values()) for split in SPLITS},
        test_in_train=int((~unseen).sum()),
        train_elsewhere=sum(
            key in counts["train"]
            for (other, _), others in keys.items()
            if other != domain
            for key in others
        ),
        conflicts=sum(len(found) > 1 for found in labels.values()),
    )


def unseen_test_rows(reviews: Mapping[tuple[str, str], Reviews], domain: str) -> NDArray[np.bool_]:
    """Mark the test rows whose terms are those of no training row of the same domain.

    Parameters
    ----------
    reviews : mapping of (domain letter, split) to Reviews
    domain : str

    Returns
    -------
    unseen : ndarray of shape (n_test,)
    """
    train = set(_row_keys(reviews[domain, "train"]))
    return np.array([key not in train for key in _row_keys(reviews[domain, "test"])])


def _row_keys(reviews: Reviews) -> list[bytes]:
    X = reviews.X
    return [
        X.indices[start:stop].tobytes() + X.data[start:stop].tobytes()
        for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]


def examine_encodings(arrays: Arrays, source: str) -> EncodingFacts:
    """Measure rank, spread, atoms and repetitions of one encoder's encodings.

    Parameters
    ----------
    arrays : dict of str to ndarray
    source : str

    Returns
    -------
    facts : EncodingFacts
    """
    files = [
        arrays[encoding_key(source, domain, split)].astype(np.float64)
        for domain in DOMAINS
        for split in SPLITS
    ]
    rows = np.vstack(files)
    spreads = np.array([file.std(axis=0) for file in files])
    singular = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)
    atoms = [np.unique(column, return_counts=True)[1].max() for column in rows.T]
    return EncodingFacts(
        variance_shares=singular**2 / (singular**2).sum(),
        smallest_sd=float(spreads.min()),
        constant_columns=int((spreads < 1e-6).any(axis=0).sum()),
        largest_atom=max(atoms) / len(rows),
        near_one=float((np.abs(rows) > 0.999).mean()),
        at_one=float((np.abs(rows) == 1).mean()),
        repeated_rows=1 - len(np.unique(rows, axis=0)) / len(rows),
    )


def reference_accuracies(
    arrays: Arrays, test_rows: Mapping[str, NDArray[np.bool_]] | None = None
) -> dict[str, Accuracies]:
    """Score Source and Target on all twelve tasks: SVC with its defaults, all training rows.

    Parameters
    ----------
    arrays : dict of str to ndarray
    test_rows : mapping of domain letter to ndarray of shape (n_test,), optional
        The test rows that count; by default all.

    Returns
    -------
    accuracies : dict of {"Source", "Target"} to dict of (source, target) to float
        In percent.
    """
    scores: dict[str, Accuracies] = {"Source": {}, "Target": {}}
    for source, target in permutations(DOMAINS, 2):
        X_test = arrays[encoding_key(source, target, "test")]
        y_test = arrays[label_key(target, "test")]
        if test_rows is not None:
            X_test, y_test = X_test[test_rows[target]], y_test[test_rows[target]]
        for method, trained_on in (("Source", source), ("Target", target)):
            classifier = SVC().fit(
                arrays[encoding_key(source, trained_on, "train")],
                arrays[label_key(trained_on, "train")],
            )
            scores[method][source, target] = 100 * float(classifier.score(X_test, y_test))
    return scores


def read_published() -> dict[str, Accuracies]:
    """Give the paper's Source and Target columns.

    Returns
    -------
    accuracies : dict of {"Source", "Target"} to dict of (source, target) to float
        In percent.
    """
    names = {"source_only": "Source", "target_only": "Target"}
    scores: dict[str, Accuracies] = {name: {} for name in names.values()}
    for (task, method), cell in published("amazon").items():
        if method in names:
            source, target = task.split("-")
            scores[names[method]][source, target] = cell.mean
    return scores


def deviation(ours: Accuracies, published: Accuracies) -> tuple[float, float]:
    """Compare two columns.

    Parameters
    ----------
    ours, published : dict of (source, target) to float

    Returns
    -------
    mean_absolute, mean : float
        Mean absolute difference and mean difference, ours minus published, in points.
    """
    if set(ours) != set(published):
        raise ValueError(f"Expected the tasks {sorted(published)}, got {sorted(ours)}.")
    differences = np.array([ours[task] - published[task] for task in published])
    return float(np.abs(differences).mean()), float(differences.mean())
