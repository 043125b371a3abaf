"""The network that reduces 5000 term counts to 5 numbers, and the file of its encodings.

The paper (section 6, "Amazon dataset") trains a network with two hidden layers of 10 and 5 units as
a classifier on the source data with a cross-entropy loss, cuts the output layer and encodes both
domains with what is left. It says nothing of the activations, the preprocessing, the optimiser or
the number of epochs. The choice here:

    h = relu(x W1 + b1),  z = tanh(h W2 + b2),  logits = z W3 + b3

on raw counts, Glorot-uniform weights, zero biases, Adam with a learning rate of 1e-3, batches of
200, 20 epochs; one encoder for each *source* domain, which sees that domain's 2000 labelled
training rows and no row and no label of any target.

Why tanh for the encoding: it is bounded, it has no dead units (columns that are constant), and
it makes no point mass worth the name. With ReLU as the last activation, rows pile up at exactly
zero and whole columns die, for which a continuous density such as RNADE is no model. It is *not*
chosen because it scores best, and the published table does not tell which one the authors used:
with tanh, ReLU, leaky ReLU or no activation, the distance to the published Source and Target
columns is the same up to what another seed does (docs/amazon.md has the measurements).

The seed is 0, set before any score was looked at. Training runs in float64, so that machines differ
by rounding errors far below the float32 in which the encodings are stored.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy
import sklearn
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from experiments.datasets.amazon import (
    DOMAINS,
    SPLITS,
    Arrays,
    check_arrays,
    encoding_key,
    label_key,
)
from experiments.datasets.amazon_raw import Reviews
from krda.validation import require_finite

Tensor = torch.Tensor

DEFAULT_SEED = 0

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "leaky_relu": lambda z: torch.nn.functional.leaky_relu(z, 0.1),
    "linear": lambda z: z,
}


class SourceEncoder(TransformerMixin, BaseEstimator):
    """A classifier of the source domain whose last hidden layer is the encoding.

    Parameters
    ----------
    n_hidden : int, default=10
        Units of the first layer (ReLU).
    n_components : int, default=5
        Units of the second layer: the dimension of the encoding.
    activation : {"tanh", "relu", "leaky_relu", "linear"}, default="tanh"
        Activation of the second layer. "leaky_relu" has slope 0.1 below zero.
    learning_rate : float, default=1e-3
        Of Adam, whose other settings are torch's defaults.
    batch_size : int, default=200
    epochs : int, default=20
    random_state : int, default=0
        Fixes initial weights and the order of the rows. Both are drawn by numpy's RandomState,
        whose streams no longer change, and so depend on no version of torch.

    Attributes
    ----------
    weights_ : list of 3 ndarrays, float64
        Of shapes (n_terms, n_hidden), (n_hidden, n_components), (n_components, 2).
    biases_ : list of 3 ndarrays, float64
    losses_ : list of float
        Mean cross-entropy over each epoch, in nats.
    n_features_in_ : int
    """

    def __init__(
        self,
        n_hidden: int = 10,
        n_components: int = 5,
        activation: str = "tanh",
        learning_rate: float = 1e-3,
        batch_size: int = 200,
        epochs: int = 20,
        random_state: int = DEFAULT_SEED,
    ) -> None:
        self.n_hidden = n_hidden
        self.n_components = n_components
        self.activation = activation
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.random_state = random_state

    def fit(self, X: sparse.csr_array, y: NDArray[np.int64]) -> Self:
        """Train the classifier on the labelled source rows.

        Parameters
        ----------
        X : csr_array of shape (n, n_terms)
            Term counts.
        y : ndarray of shape (n,)
            Labels, -1 or +1.

        Returns
        -------
        self : SourceEncoder

        Raises
        ------
        ValueError
            Labels that are not -1 and +1 or of another number than the rows; settings out of range.
        FloatingPointError
            The loss became NaN or infinite.
        """
        self._check_settings()
        if X.shape[0] != len(y):
            raise ValueError(f"Expected a label for each of the {X.shape[0]} rows, got {len(y)}.")
        if set(np.unique(y)) != {-1, 1}:
            raise ValueError(f"Expected both labels -1 and 1, got {np.unique(y).tolist()}.")
        random = np.random.RandomState(self.random_state)
        sizes = [X.shape[1], self.n_hidden, self.n_components, 2]
        layers = [_glorot(random, n_in, n_out) for n_in, n_out in pairwise(sizes)]
        parameters = [tensor for layer in layers for tensor in layer]
        optimiser = torch.optim.Adam(parameters, lr=self.learning_rate)
        classes = torch.from_numpy((np.asarray(y) == 1).astype(np.int64))
        losses = []
        with _one_thread():
            for epoch in range(self.epochs):
                total = 0.0
                order = random.permutation(len(y))
                for start in range(0, len(y), self.batch_size):
                    batch = order[start : start + self.batch_size]
                    logits = self._logits(torch.from_numpy(X[batch].toarray()), layers)
                    loss = torch.nn.functional.cross_entropy(logits, classes[batch])
                    optimiser.zero_grad()
                    loss.backward()  # type: ignore[no-untyped-call]
                    optimiser.step()
                    total += float(loss.detach()) * len(batch)
                losses.append(total / len(y))
                if not np.isfinite(losses[-1]):
                    raise FloatingPointError(
                        f"The encoder's loss is {losses[-1]} in epoch {epoch + 1} of "
                        f"{self.epochs}. Lower learning_rate ({self.learning_rate})."
                    )
        self.weights_ = [weight.detach().numpy().copy() for weight, _ in layers]
        self.biases_ = [bias.detach().numpy().copy() for _, bias in layers]
        self.losses_ = losses
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: sparse.csr_array) -> NDArray[np.float64]:
        """Encode rows of any domain.

        Parameters
        ----------
        X : csr_array of shape (n, n_terms)

        Returns
        -------
        Z : ndarray of shape (n, n_components)

        Raises
        ------
        ValueError
            Another number of columns than in training.
        FloatingPointError
            An encoding that is not finite.
        """
        check_is_fitted(self)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"Expected {self.n_features_in_} columns as in training, got {X.shape[1]}."
            )
        with _one_thread(), torch.no_grad():
            # The first product is sparse and scipy's, which has one thread anyway.
            hidden = torch.relu(torch.from_numpy(X @ self.weights_[0] + self.biases_[0]))
            encoded = hidden @ torch.from_numpy(self.weights_[1]) + torch.from_numpy(
                self.biases_[1]
            )
            rows: NDArray[np.float64] = ACTIVATIONS[self.activation](encoded).numpy()
        require_finite(rows, "The encoding")
        return rows

    def _logits(self, X: Tensor, layers: list[tuple[Tensor, Tensor]]) -> Tensor:
        (W1, b1), (W2, b2), (W3, b3) = layers
        encoded = ACTIVATIONS[self.activation](torch.relu(X @ W1 + b1) @ W2 + b2)
        return encoded @ W3 + b3

    def _check_settings(self) -> None:
        if self.activation not in ACTIVATIONS:
            raise ValueError(
                f"activation must be one of {', '.join(ACTIVATIONS)}, got {self.activation!r}."
            )
        for name in ("n_hidden", "n_components", "batch_size", "epochs", "learning_rate"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)!r}.")


def _glorot(random: np.random.RandomState, n_in: int, n_out: int) -> tuple[Tensor, Tensor]:
    """Draw a layer: weights uniform in +-sqrt(6 / (n_in + n_out)), biases zero."""
    limit = np.sqrt(6.0 / (n_in + n_out))
    weight = torch.from_numpy(random.uniform(-limit, limit, size=(n_in, n_out)))
    return weight.requires_grad_(), torch.zeros(n_out, dtype=torch.float64, requires_grad=True)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep torch to one thread: the order of every sum, and so every bit, is then fixed."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def encoder_seed(seed: int, source: str) -> int:
    """Return the seed of one source's encoder, different for each of the four.

    ``4 seed + place of the source among B, D, E, K``.
    """
    return len(DOMAINS) * seed + list(DOMAINS).index(source)


def encode_domains(
    reviews: Mapping[tuple[str, str], Reviews],
    encoder: SourceEncoder | None = None,
    seed: int = DEFAULT_SEED,
    progress: Callable[[str], None] = lambda message: None,
) -> Arrays:
    """Train an encoder on each domain's training rows and encode every domain with each.

    Parameters
    ----------
    reviews : mapping of (domain letter, split) to Reviews
        As :func:`experiments.datasets.amazon_raw.load_reviews` returns it.
    encoder : SourceEncoder, optional
        The settings; by default the documented ones. Its ``random_state`` is not used.
    seed : int, default=0
        Each encoder's own seed follows from it, see :func:`encoder_seed`.
    progress : callable, optional
        Called with a line of text after each encoder.

    Returns
    -------
    arrays : dict of str to ndarray
        Encodings, float32, by :func:`~experiments.datasets.amazon.encoding_key`; labels 0 and 1,
        int8, by :func:`~experiments.datasets.amazon.label_key`.
    """
    settings = (encoder or SourceEncoder()).get_params()
    arrays: Arrays = {
        label_key(domain, split): (reviews[domain, split].y == 1).astype(np.int8)
        for domain in DOMAINS
        for split in SPLITS
    }
    for number, source in enumerate(DOMAINS, start=1):
        settings["random_state"] = encoder_seed(seed, source)
        fitted = SourceEncoder(**settings).fit(*reviews[source, "train"])
        for domain in DOMAINS:
            for split in SPLITS:
                rows = fitted.transform(reviews[domain, split].X)
                arrays[encoding_key(source, domain, split)] = rows.astype(np.float32)
        progress(
            f"[{number}/{len(DOMAINS)}] {DOMAINS[source]}: cross-entropy {fitted.losses_[0]:.3f} "
            f"in the first epoch, {fitted.losses_[-1]:.3f} in the last of {len(fitted.losses_)}"
        )
    return arrays


def describe_run(raw_sha256: Mapping[str, str], encoder: SourceEncoder, seed: int) -> str:
    """Write down, as JSON, what the encodings were made from and with.

    Parameters
    ----------
    raw_sha256 : mapping of str to str
        Checksums of the raw files by name.
    encoder : SourceEncoder
        The settings used.
    seed : int

    Returns
    -------
    text : str
        Keys ``raw_sha256``, ``encoder``, ``seed``, ``encoder_seeds``, ``versions``, sorted.
    """
    settings = {key: value for key, value in encoder.get_params().items() if key != "random_state"}
    return json.dumps(
        {
            "raw_sha256": dict(raw_sha256),
            "encoder": settings,
            "seed": seed,
            "encoder_seeds": {source: encoder_seed(seed, source) for source in DOMAINS},
            "versions": {
                "python": platform.python_version(),
                "numpy": np.__version__,
                "scipy": scipy.__version__,
                "scikit-learn": sklearn.__version__,
                "torch": str(torch.__version__),
            },
        },
        indent=1,
        sort_keys=True,
    )


def write_encodings(path: Path, arrays: Mapping[str, NDArray[Any]], metadata: str) -> None:
    """Write a file of encodings, whole or not at all; the same content gives the same bytes.

    Parameters
    ----------
    path : Path
        Ends in ``.npz``; an existing file is replaced.
    arrays : mapping of str to ndarray
        As :func:`encode_domains` returns them.
    metadata : str
        As :func:`describe_run` returns it.

    Raises
    ------
    ValueError
        Arrays that :func:`~experiments.datasets.amazon.check_arrays` refuses.
    """
    check_arrays(arrays)
    temporary = path.with_name(path.name + ".part")
    try:
        with temporary.open("wb") as stream:
            # numpy dates every member 1980-01-01, so that no clock gets into the bytes.
            np.savez_compressed(
                stream,
                allow_pickle=False,
                metadata=np.array(metadata),
                **dict(sorted(arrays.items())),
            )
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
