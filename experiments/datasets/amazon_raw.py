"""The raw Amazon reviews: eight svmlight files, a training and a test file for each product.

Source: ``GRAAL-Research/domain_adversarial_neural_network`` on GitHub, folder ``data``, the copy
that its authors used for "Domain-Adversarial Training of Neural Networks" (JMLR 17, 2016), with the
features of Chen et al. (ICML 2012). Each row is a review: the counts of 5000 terms (unigrams and
bigrams), column indices from 0, and a label, -1 or +1.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from experiments.datasets.amazon import DOMAINS, SPLITS
from experiments.datasets.raw import RawFile, find, read_checksums

N_TERMS = 5000

CHECKSUMS_PATH = Path(__file__).with_name("amazon.sha256")

# Pinned to one revision, so that the addresses keep their content.
_BASE_URL = (
    "https://raw.githubusercontent.com/GRAAL-Research/domain_adversarial_neural_network/"
    "9c89dea39409345c5d158373aea31b1518bc8632/data"
)


class Reviews(NamedTuple):
    """Rows of one file.

    Attributes
    ----------
    X : csr_array of shape (n, n_terms), float64
        Term counts.
    y : ndarray of shape (n,), int64
        Labels, -1 or +1.
    """

    X: sparse.csr_array
    y: NDArray[np.int64]


def raw_files() -> tuple[RawFile, ...]:
    """List the eight raw files with their checksums and addresses."""
    return tuple(
        RawFile(folder="amazon", name=name, sha256=digest, url=f"{_BASE_URL}/{name}")
        for name, digest in read_checksums(CHECKSUMS_PATH).items()
    )


def raw_name(domain: str, split: str) -> str:
    """Return the file name of a domain's rows: ``("B", "train")`` is ``books_train.svmlight``."""
    return f"{DOMAINS[domain]}_{split}.svmlight"


def read_reviews(path: Path, n_terms: int = N_TERMS) -> Reviews:
    """Read one svmlight file of term counts.

    Parameters
    ----------
    path : Path
    n_terms : int, default=5000
        Number of columns, whether or not the last ones occur in the file.

    Returns
    -------
    reviews : Reviews

    Raises
    ------
    ValueError
        Not an svmlight file, a column index beyond ``n_terms``, a label that is neither -1 nor +1,
        a count that is no positive integer, or no row at all.
    """
    try:
        X, y = load_svmlight_file(str(path), n_features=n_terms, zero_based=True, dtype=np.float64)
    except ValueError as error:
        raise ValueError(
            f"{path}: expected svmlight rows with column indices 0 to {n_terms - 1}, got: {error} "
            "Verify the file with scripts/fetch_data.py."
        ) from error
    if X.shape[0] == 0:
        raise ValueError(f"{path}: expected svmlight rows, got an empty file.")
    labels = np.unique(y)
    if not np.isin(labels, (-1, 1)).all():
        raise ValueError(f"{path}: expected the labels -1 and 1, got {labels.tolist()}.")
    if not (np.isfinite(X.data) & (X.data > 0) & (X.data == np.floor(X.data))).all():
        raise ValueError(f"{path}: expected term counts, got values that are no positive integers.")
    return Reviews(sparse.csr_array(X), y.astype(np.int64))


def load_reviews(*, download: bool = True) -> dict[tuple[str, str], Reviews]:
    """Find, verify and read all eight raw files.

    Parameters
    ----------
    download : bool, default=True
        Whether missing files may be downloaded.

    Returns
    -------
    reviews : dict of (domain letter, split) to Reviews
        ``reviews["B", "train"]`` and so on; splits are ``train`` and ``test``.

    Raises
    ------
    experiments.datasets.raw.RawDataError
        A file that cannot be found or has a wrong checksum.
    """
    paths = {file.name: find(file, download=download) for file in raw_files()}
    return {
        (domain, split): read_reviews(paths[raw_name(domain, split)])
        for domain in DOMAINS
        for split in SPLITS
    }
