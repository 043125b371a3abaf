"""The network that reduces 5000 term counts to 5 numbers, and the file of its encodings.

The paper (section 6, "Amazon dataset") trains a network with two hidden layers of 10 and 5 units as
a classifier on the source data with a cross-entropy loss, cuts the output layer and encodes both
domains with what is left. It says nothing of the activations, the preprocessing, the optimiser or
the number of epochs. The choice here:

    h = relu(x W1 + b1),  z = tanh(h W2 + b2),  logits = z W3 + b3

on raw counts, Glorot-uniform weights, zero biases, Adam with a learning rate of 1e-3, batches of
200, 20 epochs; one encoder for each *source* domain, which sees that domain's 2000 labelled
training rows and no row and no label of any target.

Why tanh for the encoding: it is bounded, has no dead units (constant columns) and no number that
many rows share. With ReLU as the last activation, rows pile up at exactly zero and whole columns
die, for which a continuous density such as RNADE is no model. It is *not* chosen because it scores
best, and the published table does not say which one the authors used (docs/amazon.md has the
measurements). The seed is 0, set before any score was looked at.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from experiments.datasets.amazon import DOMAINS, Arrays, encoding_key, label_key
from experiments.encoding.reviews import Reviews
from experiments.whole_files import written_whole

Tensor = torch.Tensor
Encode = Callable[[sparse.csr_array], NDArray[np.float32]]

DEFAULT_SEED = 0

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "relu": torch.relu}


@dataclass(frozen=True)
class SourceEncoder:
    """Settings of a classifier of the source domain whose last hidden layer is the encoding.

    ``activation``, one of :data:`ACTIVATIONS`, is that of the last hidden layer, with
    ``n_components`` units.
    """

    n_hidden: int = 10
    n_components: int = 5
    activation: str = "tanh"
    learning_rate: float = 1e-3
    batch_size: int = 200
    epochs: int = 20

    def fit(self, X: sparse.csr_array, y: NDArray[np.int64], seed: int) -> tuple[Encode, float]:
        """Train on the labelled source rows; return the encoding and the last epoch's mean loss.

        Initial weights and the order of the rows are drawn by numpy's RandomState, whose streams no
        longer change, and so depend on no version of torch. All in float64, so that machines differ
        by far less than the float32 in which encodings are stored.
        """
        random = np.random.RandomState(seed)
        sizes = [X.shape[1], self.n_hidden, self.n_components, 2]
        (W1, b1), (W2, b2), (W3, b3) = (_glorot(random, *ends) for ends in pairwise(sizes))
        activation = ACTIVATIONS[self.activation]
        optimiser = torch.optim.Adam([W1, b1, W2, b2, W3, b3], lr=self.learning_rate)
        classes = torch.from_numpy((y == 1).astype(np.int64))
        for _ in range(self.epochs):
            total = 0.0
            order = random.permutation(len(y))
            for start in range(0, len(y), self.batch_size):
                batch = order[start : start + self.batch_size]
                counts = torch.from_numpy(X[batch].toarray())
                logits = activation(torch.relu(counts @ W1 + b1) @ W2 + b2) @ W3 + b3
                loss = torch.nn.functional.cross_entropy(logits, classes[batch])
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                total += float(loss.detach()) * len(batch)

        def encode(rows: sparse.csr_array) -> NDArray[np.float32]:
            with torch.no_grad():
                # The first product is sparse and scipy's, which has one thread anyway.
                hidden = torch.relu(torch.from_numpy(rows @ W1.numpy() + b1.numpy()))
                encoded: NDArray[np.float64] = activation(hidden @ W2 + b2).numpy()
                return encoded.astype(np.float32)

        return encode, total / len(y)


def _glorot(random: np.random.RandomState, n_in: int, n_out: int) -> tuple[Tensor, Tensor]:
    """Draw a layer: weights uniform in +-sqrt(6 / (n_in + n_out)), biases zero."""
    limit = np.sqrt(6.0 / (n_in + n_out))
    weight = torch.from_numpy(random.uniform(-limit, limit, size=(n_in, n_out)))
    return weight.requires_grad_(), torch.zeros(n_out, dtype=torch.float64, requires_grad=True)


def encoder_seed(seed: int, source: str) -> int:
    """Return the seed of one source's encoder, another for each of the four."""
    return len(DOMAINS) * seed + list(DOMAINS).index(source)


def encode_domains(
    reviews: Mapping[tuple[str, str], Reviews],
    encoder: SourceEncoder | None = None,
    seed: int = DEFAULT_SEED,
) -> Arrays:
    """Train an encoder on each domain's training rows and encode every domain with each.

    The arrays: encodings, float32, by :func:`~experiments.datasets.amazon.encoding_key`; labels 0
    and 1, int8, by :func:`~experiments.datasets.amazon.label_key`.
    """
    encoder = encoder or SourceEncoder()
    arrays: Arrays = {
        label_key(*which): (rows.y == 1).astype(np.int8) for which, rows in reviews.items()
    }
    for number, source in enumerate(DOMAINS, start=1):
        encode, loss = encoder.fit(*reviews[source, "train"], encoder_seed(seed, source))
        for which, rows in reviews.items():
            arrays[encoding_key(source, *which)] = encode(rows.X)
        print(f"[{number}/{len(DOMAINS)}] {DOMAINS[source]}: cross-entropy {loss:.3f}", flush=True)
    return arrays


def describe_run(raw_sha256: Mapping[str, str], encoder: SourceEncoder, seed: int) -> str:
    """Write down, as JSON, what the encodings were made from and with."""
    return json.dumps(
        {
            "raw_sha256": dict(raw_sha256),
            "encoder": asdict(encoder),
            "seed": seed,
            "encoder_seeds": {source: encoder_seed(seed, source) for source in DOMAINS},
            "versions": {"python": platform.python_version()}
            | {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "torch")},
        },
        indent=1,
        sort_keys=True,
    )


def write_encodings(path: Path, arrays: Mapping[str, NDArray[Any]], metadata: str) -> None:
    """Write a file of encodings, whole or not at all; the same content gives the same bytes."""
    with written_whole(path) as stream:
        # numpy dates every member 1980-01-01, so that no clock gets into the bytes.
        np.savez_compressed(
            stream, allow_pickle=False, metadata=np.array(metadata), **dict(sorted(arrays.items()))
        )
