"""The raw Amazon reviews: eight svmlight files, a training and a test file for each product.

Source: ``GRAAL-Research/domain_adversarial_neural_network`` on GitHub, folder ``data`` (BSD
3-clause), the copy that its authors used for "Domain-Adversarial Training of Neural Networks" (JMLR
17, 2016), with the features of Chen et al. (ICML 2012). Each row is a review: the counts of 5000
terms (unigrams and bigrams), column indices from 0, and a label, -1 or +1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from experiments.datasets import raw
from experiments.datasets.amazon import DOMAINS, SPLITS

N_TERMS = 5000


class Reviews(NamedTuple):
    """Rows of one file: term counts of shape (n, 5000), and labels -1 and +1."""

    X: sparse.csr_array
    y: NDArray[np.int64]


def load_reviews(*, download: bool = True) -> dict[tuple[str, str], Reviews]:
    """Find, verify and read all raw files: ``load_reviews()["B", "train"]`` and so on."""
    paths = {file.name: raw.find(file, download=download) for file in raw.raw_files("amazon")}
    reviews = {}
    for domain, product in DOMAINS.items():
        for split in SPLITS:
            path = str(paths[f"{product}_{split}.svmlight"])
            X, y = load_svmlight_file(path, n_features=N_TERMS, zero_based=True, dtype=np.float64)
            reviews[domain, split] = Reviews(sparse.csr_array(X), y.astype(np.int64))
    return reviews
