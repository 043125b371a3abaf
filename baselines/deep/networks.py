r"""What all deep methods share: the five-layer network, its training, prediction.

What the paper fixes (section 6): a five-layer MLP with 250 hidden units, Adam, learning rate 1e-3,
trade-off 1. What it leaves open is settled here, once for all methods and tasks and without a look
at any target label:

- **Length of training**: 30 passes over the larger domain. dalib's examples count iterations of
  fine-tuning large image networks, which does not carry over. 30 epochs is what SHOT's published
  program takes for its smallest images, the digits, and long enough for the same MLP without
  adaptation to fit the source.
- **Batch size**: 32 rows of each domain for the methods of dalib (as in dalib's examples), 64 for
  SHOT (as in its published program). No batch has a single row.
- **Model**: the last one. dalib's examples keep the epoch that is best on target labels; that is
  not allowed here. With ``validation_fraction`` it is the one with the least held-out loss, as
  KRDA's is. No target label enters. What is compared is the method's own objective on held-out
  rows: cross entropy of the source plus :math:`\eta` times the discrepancy of the domains (DAN,
  JAN), and SHOT's objective of each phase. For DANN and CDAN it is the cross entropy of the source
  alone: the loss of a discriminator is at chance both if features agree and if the discriminator is
  untrained, so it cannot compare states of one training.
- **Scale of the columns**: each column is standardised over the rows of both domains together (of
  the source alone for SHOT, which trains there before the target is known): one affine map for
  both domains, which takes units out of play but aligns nothing. The paper names no scaling.
  The choice is not neutral if columns share a unit: scaling them apart distorts a rotation between
  the domains.
- **Activation**: ReLU after each hidden layer, no dropout, no weight decay. The MLP has no batch
  normalisation; SHOT's last feature layer and the domain discriminators of DANN and CDAN have, as
  in the programs they come from.

The repetitions of a cell are trained as one program (:mod:`baselines.deep.stacked`), a single fit
as such a program of one. A fit does not depend on the rows and seeds of those beside it; with
another number of fits beside it, it takes the same steps up to rounding, which training enlarges.
Random numbers come from a generator of the fit's own; the global ones of torch and NumPy are
neither used nor moved (except for the one seed that scikit-learn's convention draws from NumPy's if
``random_state`` is None).
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from baselines.deep.stacked import Network, build, mlp, stack, unstack
from baselines.deep.training import Trained
from baselines.rows import ColumnScaling, fork, gather, hold_out
from krda.base import DomainAdaptationClassifier, Domains
from krda.density.processor import find_device
from krda.scikit import seed_from
from krda.validation import (
    FloatArray,
    require_finite,
    require_integer,
    require_number,
    require_truth,
)


class Data(NamedTuple):
    """Rows of R models: source rows (R, n, d), labels as 0 and 1 (R, n, K), target rows."""

    Xs: Tensor
    labels: Tensor
    Xt: Tensor


class Models(NamedTuple):
    """R models to train: their stacked network, rows to train on, held-out rows, generators."""

    network: Network
    data: Data
    held_out: Data | None
    generators: list[torch.Generator]


@dataclass(kw_only=True, eq=False, repr=False)
class DeepClassifier(DomainAdaptationClassifier):
    """A neural network trained on both domains: the parameters that all deep methods share."""

    # Width of the hidden layers, those of a discriminator included. With {"rnade_hidden_size": H,
    # "n_components": N} the width at which the number of trained parameters is nearest to that of
    # KRDA's density with these settings.
    hidden_size: int | Mapping[str, int] = 250
    n_layers: int = 5  # linear layers, the output layer included
    learning_rate: float = 1e-3
    n_epochs: int = 30  # passes over the larger domain (SHOT: over the source)
    batch_size: int = 32  # rows of each domain in a step
    # Share of each domain's rows, at most 500 rows, that is held out to keep the state with the
    # least held-out loss; None trains for all epochs and keeps the last state.
    validation_fraction: float | None = None
    patience: int = 250  # steps without a smaller held-out loss after which training ends
    standardize: bool = True  # scale each column to mean 0, variance 1, by one map for both domains
    random_state: Any = None
    device: str = "cpu"  # results repeat exactly on one machine's CPU

    network_: Network = field(init=False)
    scaler_: ColumnScaling | None = field(init=False)
    hidden_size_: int = field(init=False)
    losses_: FloatArray = field(init=False)  # of each training step
    n_steps_: int = field(init=False)

    trains_together: ClassVar[bool] = True

    @classmethod
    @abstractmethod
    def _train(cls, methods: Sequence[Self], models: Models) -> Trained:
        """Train the stacked networks of methods that differ in ``random_state`` alone."""

    @staticmethod
    def _network(n_features: int, n_classes: int, width: int, n_layers: int) -> Network:
        """Return the network of the method, without its start."""
        return mlp(n_features, n_classes, width, n_layers)

    def _adversary(self, n_classes: int, width: int) -> nn.Module:
        """Return what is trained against the network; by default nothing."""
        return nn.Identity()

    def _width(self, n_features: int, n_classes: int) -> int:
        """Return the width of the hidden layers, found by the number of parameters if need be."""
        if not isinstance(self.hidden_size, Mapping):
            return self.hidden_size
        wanted = n_rnade_parameters(n_features, **self.hidden_size)

        def count(width: int) -> int:
            with torch.device("meta"):
                network = self._network(n_features, n_classes, width, self.n_layers)
                adversary = self._adversary(n_classes, width)
            return sum(p.numel() for m in (network, adversary) for p in m.parameters())

        width = next(width for width in itertools.count(1) if count(width) >= wanted)
        nearer = width > 1 and wanted - count(width - 1) <= count(width) - wanted
        return width - 1 if nearer else width

    def _fit_scaler(self, Xs: FloatArray, Xt: FloatArray) -> ColumnScaling:
        return ColumnScaling.fit(np.vstack([Xs, Xt]))

    def _check_parameters(self) -> None:
        size = self.hidden_size
        if not isinstance(size, Mapping):
            require_integer("hidden_size", size, 1)
        elif set(size) != {"rnade_hidden_size", "n_components"}:
            raise ValueError(
                "hidden_size must be an integer, or a dict of rnade_hidden_size and n_components, "
                f"got {size!r}."
            )
        for name, least in {"n_layers": 2, "n_epochs": 1, "batch_size": 2, "patience": 1}.items():
            require_integer(name, getattr(self, name), least)
        require_number("learning_rate", self.learning_rate, positive=True)
        fraction = self.validation_fraction
        if fraction is not None and not 0 < fraction < 1:
            raise ValueError(f"validation_fraction must be between 0 and 1, got {fraction!r}.")
        require_truth("standardize", self.standardize)

    def _fit(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> None:
        (error,) = self._fit_together([self], [Domains(Xs, ys, Xt)])
        if error is not None:
            raise error

    @classmethod
    def _fit_together(
        cls, methods: Sequence[Self], domains: Sequence[Domains]
    ) -> list[Exception | None]:
        """Train those whose tables have the same shapes side by side."""
        errors: list[Exception | None] = [None] * len(methods)
        groups: dict[tuple[torch.Size, ...], dict[int, Data]] = {}
        for i, (method, given) in enumerate(zip(methods, domains, strict=True)):
            try:
                data = method._prepare(*given)
                groups.setdefault(tuple(tensor.shape for tensor in data), {})[i] = data
            except Exception as error:
                errors[i] = error
        for group in groups.values():
            data = Data(*map(torch.stack, zip(*group.values(), strict=True)))
            found = cls._fit_group([methods[i] for i in group], data)
            for i, error_or_none in zip(group, found, strict=True):
                errors[i] = error_or_none
        return errors

    def _prepare(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> Data:
        """Check parameters and scale the columns; tensors without the dimension of the models."""
        self._check_parameters()
        device = find_device(self.device)
        self.scaler_ = self._fit_scaler(Xs, Xt) if self.standardize else None
        labels = torch.from_numpy(self.classes_ == np.asarray(ys)[:, None]).float()
        source, target = self._to_tensor(Xs, "the source"), self._to_tensor(Xt, "the target")
        return Data(source.to(device), labels.to(device), target.to(device))

    @classmethod
    def _fit_group(cls, methods: Sequence[Self], data: Data) -> list[Exception | None]:
        """Draw first weights and held-out rows, train, and give each method what is its own."""
        method, n_features, n_classes = methods[0], data.Xs.shape[2], data.labels.shape[2]
        width = method._width(n_features, n_classes)
        generators = [
            torch.Generator("cpu").manual_seed(seed_from(one.random_state)) for one in methods
        ]

        def make() -> Network:
            return cls._network(n_features, n_classes, width, method.n_layers)

        for one, generator in zip(methods, generators, strict=True):
            one.hidden_size_, one.network_ = width, build(make, generator, data.Xs.device)
        held_out = None
        if method.validation_fraction is not None:
            data, held_out = _split(data, method.validation_fraction, generators)
        networks = [one.network_ for one in methods]
        together = stack(networks)
        trained = cls._train(methods, Models(together, data, held_out, generators))
        unstack(together, networks)
        for one, losses in zip(methods, trained.losses, strict=True):
            one.losses_, one.n_steps_ = losses, len(losses)
        return trained.errors

    def _to_tensor(self, rows: FloatArray, what: str) -> Tensor:
        scaled = rows if self.scaler_ is None else self.scaler_.transform(rows)
        with np.errstate(over="ignore"):
            single: Any = scaled.astype(np.float32)
        require_finite(single, f"{type(self).__name__}: {what}, scaled and in single precision,")
        return torch.from_numpy(single)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the network's probabilities of ``classes_``; they are not calibrated."""
        rows = self._to_tensor(self._validate_target(X), "the rows to predict")
        device = next(self.network_.parameters()).device
        self.network_.eval()
        with torch.inference_mode():
            logits = self.network_(rows.to(device))[0].cpu()
            probabilities: FloatArray = torch.softmax(logits.double(), dim=1).numpy()
        require_finite(probabilities, f"{type(self).__name__}: the output of the network")
        return probabilities

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the labels of target rows."""
        probabilities = self.predict_proba(X)  # first: it says if nothing was fitted
        return self.classes_[probabilities.argmax(axis=1)]


def cross_entropy(logits: Tensor, labels: Tensor, smoothing: float = 0.0) -> Tensor:
    r"""Mean cross entropy of each model, in nats, with labels :math:`(1-\alpha) 1_k + \alpha/K`."""
    smoothed = labels * (1 - smoothing) + smoothing / labels.shape[2]
    return -(smoothed * torch.log_softmax(logits, dim=2)).sum(dim=2).mean(dim=1)


def n_rnade_parameters(n_features: int, rnade_hidden_size: int, n_components: int) -> int:
    """Return the number of parameters of KRDA's density of two domains, an RNADE."""
    shared = (1 + n_features) * rnade_hidden_size + n_features
    return shared + 2 * n_features * 3 * n_components * (rnade_hidden_size + 1)


def _split(data: Data, fraction: float, generators: Sequence[torch.Generator]) -> tuple[Data, Data]:
    """Split the rows of both domains into those to train on and those held out."""
    # The target's split comes from elsewhere: SHOT's source network must not know its size.
    sides = fork(generators)
    source = hold_out(data.Xs.shape[1], fraction, generators)
    target = hold_out(data.Xt.shape[1], fraction, sides)
    training, held_out = (
        Data(gather(data.Xs, s), gather(data.labels, s), gather(data.Xt, t))
        for s, t in zip(source, target, strict=True)
    )
    return training, held_out
