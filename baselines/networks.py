r"""What all deep methods share: the five-layer network, its start, the one training loop.

What the paper fixes (section 6): a five-layer MLP with 250 hidden units, Adam, learning rate 1e-3,
trade-off 1. What it leaves open and how it is settled here, for all methods and tasks alike and
without a look at any target label:

- **Length of training**: 30 passes over the larger domain. dalib's examples count iterations of
  fine-tuning large image networks, which does not carry over. 30 epochs is what SHOT's published
  program takes for its smallest images, the digits, and long enough for the same MLP without
  adaptation to fit the source.
- **Batch size**: 32 rows of each domain for the methods of dalib (as in dalib's examples), 64 for
  SHOT (as in its published program). No batch has a single row.
- **Model**: the last one. dalib's examples keep the epoch that is best on target labels; that is
  not allowed here. With ``validation_fraction`` it is the one with the least held-out loss, as
  KRDA's is: that share of each domain's rows is held out, and training ends ``patience`` steps
  after the last improvement. No target label enters. What is compared is the method's own
  objective on held-out rows: cross entropy of the source plus :math:`\eta` times the discrepancy of
  the domains (DAN, JAN), and SHOT's objective of each phase. For DANN and CDAN it is the cross
  entropy of the source alone: the loss of a discriminator tells as much of the discriminator as of
  the features, being at chance where features agree and where the discriminator is untrained, so
  that states of one training cannot be compared by it.
- **Scale of the columns**: each column is standardised over the rows of both domains together (of
  the source alone for SHOT, which trains there before the target is known): one affine map for
  both domains, which takes units out of play but aligns nothing. The paper names no scaling.
  ``standardize=False`` leaves the columns as they are. The choice is not neutral where columns
  share a unit: scaling them apart distorts a rotation between the domains.
- **Activation**: ReLU after each hidden layer, no dropout, no weight decay. The MLP has no batch
  normalisation; SHOT's last feature layer and the domain discriminators of DANN and CDAN have, as
  in the programs they come from.

The repetitions of a cell are trained as one program (:mod:`baselines.stacked`), a single fit as
such a program of one. A fit does not depend on the rows and seeds of those beside it. With another
number of fits beside it, it takes the same steps up to rounding, which training enlarges. Random
numbers come from a generator of the fit's own; the global ones of torch and NumPy are neither used
nor moved (except for the one seed that scikit-learn's convention draws from NumPy's if
``random_state`` is None), nor is the number of threads. How the processor treats denormal numbers
is changed for the time of the training and set back.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from baselines.stacked import Stack, WeightNormLinear
from krda.adaptation import (
    DomainAdaptationClassifier,
    Domains,
    FloatArray,
    require_finite,
    seed_from,
)
from krda.denormals import denormals_as_zero
from krda.parameters import find_device, require_integer, require_number, require_truth

# What a training step is made of: tensors whose first dimension is the model.
Batch = tuple[Tensor, ...]

# Rows in one call of the network at prediction; bounds the memory, not the result.
PREDICTION_ROWS = 8192

# Rows of a domain that are held out at most: a discrepancy takes the square of it in memory.
MAX_HELD_OUT = 500

# Steps from one look at the held-out rows to the next, as in KRDA's training.
EVALUATION_INTERVAL = 5


class Network(nn.Module):
    """A feature network and a classifier on top.

    Parameters
    ----------
    features : torch.nn.Module
    head : torch.nn.Module
        Maps features to logits.
    """

    def __init__(self, features: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.features = features
        self.head = head

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of shape (n, n_classes) and features of shape (n, hidden_size)."""
        features = self.features(x)
        return self.head(features), features


def hidden_layers(n_features: int, hidden_size: int, n_layers: int) -> list[nn.Module]:
    """Return ``n_layers`` linear layers, each followed by ReLU.

    Parameters
    ----------
    n_features, hidden_size, n_layers : int

    Returns
    -------
    layers : list of torch.nn.Module, of length 2 * n_layers
    """
    widths = [n_features] + [hidden_size] * n_layers
    layers: list[nn.Module] = []
    for width_in, width_out in itertools.pairwise(widths):
        layers += [nn.Linear(width_in, width_out), nn.ReLU()]
    return layers


def mlp(n_features: int, n_classes: int, hidden_size: int, n_layers: int) -> Network:
    """Return an MLP of ``n_layers`` linear layers; features are what the last of them sees."""
    features = nn.Sequential(*hidden_layers(n_features, hidden_size, n_layers - 1))
    return Network(features, nn.Linear(hidden_size, n_classes))


def build(make: Callable[[], nn.Module], generator: torch.Generator, device: torch.device) -> Any:
    """Make a module and draw its first weights from a generator, with torch's own distributions.

    The module is made without memory and filled here: torch's constructors would draw from the
    global generator, and fits in parallel threads would disturb each other.

    Parameters
    ----------
    make : callable
        Makes the module.
    generator : torch.Generator, of the CPU
        The weights are the same on every device.
    device : torch.device

    Returns
    -------
    module : torch.nn.Module, float32

    Raises
    ------
    TypeError
        A kind of layer for which no start is defined.
    """
    with torch.device("meta"):
        empty = make()
    module = empty.to(torch.float32).to_empty(device="cpu")
    with torch.no_grad():
        for layer in module.modules():
            if isinstance(layer, nn.Linear):
                bound = 1.0 / math.sqrt(layer.in_features)
                layer.weight.uniform_(-bound, bound, generator=generator)
                if layer.bias is not None:
                    layer.bias.uniform_(-bound, bound, generator=generator)
            elif isinstance(layer, WeightNormLinear):
                bound = 1.0 / math.sqrt(layer.in_features)
                layer.direction.uniform_(-bound, bound, generator=generator)
                layer.length.copy_(torch.linalg.vector_norm(layer.direction, dim=1))
                layer.bias.uniform_(-bound, bound, generator=generator)
            elif isinstance(layer, nn.BatchNorm1d):
                layer.reset_parameters()
            elif any(True for _ in layer.parameters(recurse=False)):
                raise TypeError(f"No start is defined for layers of type {type(layer).__name__}.")
    return module.to(device)


def n_rnade_parameters(n_features: int, rnade_hidden_size: int, n_components: int) -> int:
    """Return the number of parameters of KRDA's density of two domains, an RNADE."""
    shared = (1 + n_features) * rnade_hidden_size + n_features
    return shared + 2 * n_features * 3 * n_components * (rnade_hidden_size + 1)


def fork(generators: Sequence[torch.Generator]) -> list[torch.Generator]:
    """Seed further generators by one number from each of the given ones."""
    return [
        torch.Generator("cpu").manual_seed(
            int(torch.randint(2**31, (), generator=generator, device="cpu"))
        )
        for generator in generators
    ]


def hold_out(
    n_rows: int, fraction: float, generators: Sequence[torch.Generator]
) -> tuple[Tensor, Tensor]:
    """Split row numbers at random, for each model by its own generator.

    Parameters
    ----------
    n_rows : int
        At least four: no fewer than two are trained on, nor held out.
    fraction : float
        Held-out share; :data:`MAX_HELD_OUT` rows at most.
    generators : sequence of torch.Generator
        One for each of R models.

    Returns
    -------
    training, held_out : Tensor of shape (R, n), int64
    """
    if n_rows < 4:
        raise ValueError(
            f"validation_fraction needs at least 4 rows in each domain, got {n_rows}. Give more "
            "rows, or set validation_fraction=None."
        )
    n_held_out = min(max(round(fraction * n_rows), 2), n_rows - 2, MAX_HELD_OUT)
    order = torch.stack(
        [torch.randperm(n_rows, generator=generator, device="cpu") for generator in generators]
    )
    return order[:, n_held_out:], order[:, :n_held_out]


def count_batches(n_rows: int, batch_size: int) -> int:
    """Return into how many batches an epoch of ``n_rows`` falls, none of them of a single row."""
    return max(1, min(math.ceil(n_rows / batch_size), n_rows // 2))


def epochs_of_rows(
    sizes: Sequence[int], n_epochs: int, generators: Sequence[torch.Generator]
) -> Iterator[list[Tensor]]:
    """Draw the order of the rows in each epoch, for each model by its own generator.

    An epoch is a permutation of the largest domain. Smaller domains go along: one permutation
    after another, cut where the largest ends.

    Parameters
    ----------
    sizes : sequence of int
        Number of rows of each domain.
    n_epochs : int
    generators : sequence of torch.Generator
        One for each of R models.

    Yields
    ------
    rows : list of Tensor of shape (R, max(sizes)), int64
        Row numbers in each domain.
    """
    longest = max(sizes)
    left_over = [
        [torch.empty(0, dtype=torch.int64, device="cpu") for _ in sizes] for _ in generators
    ]
    for _ in range(n_epochs):
        drawn: list[list[Tensor]] = [[] for _ in sizes]
        for left, generator in zip(left_over, generators, strict=True):
            for domain, size in enumerate(sizes):
                rows = left[domain]
                while len(rows) < longest:
                    more = torch.randperm(size, generator=generator, device="cpu")
                    rows = torch.cat([rows, more])
                left[domain] = rows[longest:]
                drawn[domain].append(rows[:longest])
        yield [torch.stack(rows) for rows in drawn]


def gather(values: Tensor, rows: Tensor) -> Tensor:
    """Take rows of shape (R, L) out of values of shape (R, n, ...), model by model."""
    return values[torch.arange(len(values), device=values.device)[:, None], rows]


def cut_batches(
    domains: Sequence[Sequence[Tensor]], rows: Sequence[Tensor], batch_size: int
) -> list[Batch]:
    """Take the rows of an epoch and cut them into batches: equally many rows of all domains.

    The sizes of batches differ by one at most. With ``batch_size`` at least two none has a single
    row; to that end an epoch of three rows in batches of two is one batch of three.

    Parameters
    ----------
    domains : sequence of sequences of Tensor of shape (R, n, ...)
        For each domain, what belongs to its rows, such as values and labels.
    rows : sequence of Tensor of shape (R, L)
        As of :func:`epochs_of_rows`.
    batch_size : int
        At least two.

    Returns
    -------
    batches : list of tuple of Tensor of shape (R, b, ...)
        The tensors of all domains, one after another, for the rows of a batch.
    """
    n_batches = count_batches(rows[0].shape[1], batch_size)
    cut = [
        gather(tensor, order.to(tensor.device)).tensor_split(n_batches, dim=1)
        for tensors, order in zip(domains, rows, strict=True)
        for tensor in tensors
    ]
    return list(zip(*cut, strict=True))


def epochs_of_batches(
    domains: Sequence[Sequence[Tensor]],
    batch_size: int,
    n_epochs: int,
    generators: Sequence[torch.Generator],
) -> Iterator[list[Batch]]:
    """Draw the batches of each epoch: :func:`cut_batches` of :func:`epochs_of_rows`."""
    sizes = [tensors[0].shape[1] for tensors in domains]
    for rows in epochs_of_rows(sizes, n_epochs, generators):
        yield cut_batches(domains, rows, batch_size)


class Check(NamedTuple):
    """What a step watches of each model.

    Attributes
    ----------
    values : Tensor of shape (R, ...)
        Some of them NaN or infinite for a model that has diverged.
    reason : str
        What is wrong then; ``{}`` stands for the value, or the sum of several.
    """

    values: Tensor
    reason: str


class Trained(NamedTuple):
    """What became of R models.

    Attributes
    ----------
    losses : list of ndarray of shape (n_steps,)
        For each model, the loss of each of its steps.
    errors : list of Exception or None
        For each model that has diverged, a FloatingPointError that names the step.
    """

    losses: list[FloatArray]
    errors: list[Exception | None]


class HeldOut(NamedTuple):
    """When to stop, and which state of each model to keep.

    Attributes
    ----------
    loss : callable
        Finds the held-out loss of each model as it is, of shape (R,).
    patience : int
        Steps without a smaller one after which a model's training ends.
    """

    loss: Callable[[], Tensor]
    patience: int


class _BestStates:
    """The state of each model with the least held-out loss so far.

    Parameters
    ----------
    stacks : sequence of Stack
    held_out : HeldOut

    Attributes
    ----------
    n_steps : list of int or None
        For each model, the steps after which its training ended; None where it goes on.
    """

    def __init__(self, stacks: Sequence[Stack], held_out: HeldOut) -> None:
        self._states = [state for stack in stacks for state in stack.states()]
        self._best = [state.clone() for state in self._states]
        self._held_out = held_out
        self._least = [math.inf] * stacks[0].n_models
        self._at = [0] * stacks[0].n_models
        self.n_steps: list[int | None] = [None] * stacks[0].n_models

    def look(self, n_steps: int) -> None:
        """Compare the models as they are after ``n_steps`` steps with their best."""
        for model, loss in enumerate(self._held_out.loss().tolist()):
            if self.n_steps[model] is not None:
                continue
            if loss < self._least[model]:
                self._least[model], self._at[model] = loss, n_steps
                for best, state in zip(self._best, self._states, strict=True):
                    best[model] = state[model]
            elif n_steps - self._at[model] >= self._held_out.patience:
                self.n_steps[model] = n_steps

    def restore(self) -> None:
        """Give each model its best state."""
        for best, state in zip(self._best, self._states, strict=True):
            state.copy_(best)


def train(
    stacks: Sequence[Stack],
    step: Callable[[Batch], list[Check]],
    epochs: Iterable[list[Batch]],
    *,
    learning_rate: float,
    what: str,
    held_out: HeldOut | None = None,
) -> Trained:
    """Minimise an objective over batches by Adam: the training loop of every deep method.

    All of it in torch's inference mode, which spares each operation the look at autograd.
    Models that diverge, or whose training has ended, go on in the stack until all have: they
    disturb none of the others.

    Parameters
    ----------
    stacks : sequence of Stack
        What is trained, R models each.
    step : callable
        Finds the loss of a batch and writes its gradient to the stacks. Returns what to watch, the
        loss last; of several things that are not finite, the first is named.
    epochs : iterable of lists of batches
        As of :func:`epochs_of_batches`.
    learning_rate : float
    what : str
        The method, for messages.
    held_out : HeldOut or None
        None trains for all epochs and keeps the last state.

    Returns
    -------
    trained : Trained
    """
    optimizer = _adam([stack.parameter for stack in stacks], learning_rate)
    n_models, n_steps = stacks[0].n_models, 0
    errors: list[Exception | None] = [None] * n_models
    ends: list[int | None] = [None] * n_models
    losses: list[FloatArray] = []
    with torch.inference_mode(), denormals_as_zero():
        best = None if held_out is None else _BestStates(stacks, held_out)
        if best is not None:
            best.look(0)
            ends = best.n_steps
        for epoch, batches in enumerate(epochs):
            seen = []
            for batch in batches:
                seen.append(step(batch))
                optimizer.step()
                n_steps += 1
                if best is not None and n_steps % EVALUATION_INTERVAL == 0:
                    best.look(n_steps)
                    if None not in ends:
                        break
            # Looked at once an epoch: what comes after the step that failed is thrown away.
            watched = torch.stack(
                [check.values.reshape(n_models, -1).sum(1) for checks in seen for check in checks]
            ).view(len(seen), -1, n_models)
            values = watched.double().cpu().numpy()
            losses.append(values[:, -1])
            n_before = n_steps - len(seen)
            for model in np.flatnonzero(~np.isfinite(values).all(axis=(0, 1))):
                at, which = np.argwhere(~np.isfinite(values[:, :, model]))[0]
                end = ends[model]
                if errors[model] is None and (end is None or n_before + at < end):
                    reason = seen[at][which].reason.format(values[at, which, model])
                    errors[model] = FloatingPointError(
                        f"{what} diverged in step {n_before + at + 1} (epoch {epoch + 1}): "
                        f"{reason}. Predictions would be meaningless, so the fit ends here. Lower "
                        "learning_rate or trade_off."
                    )
            if all(error or end is not None for error, end in zip(errors, ends, strict=True)):
                break
        if best is not None:
            best.restore()
    all_losses = np.concatenate([np.empty((0, n_models)), *losses])
    return Trained([all_losses[:end, r].copy() for r, end in enumerate(ends)], errors)


class _Adam:
    """torch's fused Adam with its defaults, without what :class:`torch.optim.Adam` does around it.

    Parameters
    ----------
    parameters : list of torch.nn.Parameter
        With the gradients that every step reads, always the same tensors.
    learning_rate : float
    """

    def __init__(self, parameters: list[nn.Parameter], learning_rate: float) -> None:
        self._values = [parameter.detach() for parameter in parameters]
        self._gradients = [p.grad for p in parameters if p.grad is not None]
        self._means, self._squares = (
            [torch.zeros_like(value) for value in self._values] for _ in range(2)
        )
        self._count = torch.zeros((), dtype=torch.float32, device=self._values[0].device)
        self._learning_rate = learning_rate

    def step(self) -> None:
        """Make one step along the gradients."""
        self._count += 1
        torch._fused_adam_(
            self._values,
            self._gradients,
            self._means,
            self._squares,
            [],
            [self._count] * len(self._values),
            lr=self._learning_rate,
            beta1=0.9,
            beta2=0.999,
            weight_decay=0.0,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )


def _adam(parameters: list[nn.Parameter], learning_rate: float) -> _Adam | torch.optim.Optimizer:
    """Adam in torch's fused form, a quarter of the time of the plain one, where torch has it."""
    probe = nn.Parameter(torch.zeros(1, device=parameters[0].device))
    probe.grad = torch.zeros_like(probe)
    try:
        _Adam([probe], learning_rate).step()
    except (AttributeError, RuntimeError, TypeError):
        return torch.optim.Adam(parameters, lr=learning_rate)
    return _Adam(parameters, learning_rate)


@dataclass(frozen=True)
class ColumnScaling:
    """One affine map a column, to mean 0 and variance 1 over the rows it was fitted to.

    A column that is constant there has no scale. It is set aside: 0 in all rows, others included,
    for a network that never saw it vary has learnt nothing to do with it. Columns of any magnitude
    are taken, down to 1e-300 and up to 1e300: each is divided by its largest absolute value before
    anything is squared.

    Attributes
    ----------
    peak, mean, deviation : ndarray of shape (n_features,)
        Largest absolute value, and mean and standard deviation once divided by it.
    varies : ndarray of bool of shape (n_features,)
        False for the columns set aside.
    """

    peak: FloatArray
    mean: FloatArray
    deviation: FloatArray
    varies: NDArray[np.bool_]

    @classmethod
    def fit(cls, X: FloatArray) -> Self:
        """Find the map for rows of shape (n, n_features)."""
        peak = np.abs(X).max(axis=0)
        peak[peak == 0] = 1.0
        relative = X / peak
        deviation = relative.std(axis=0)
        # What is left of a constant column is rounding, which must not be blown up.
        varies = deviation >= 10 * np.finfo(np.float64).eps
        return cls(peak, relative.mean(axis=0), np.where(varies, deviation, 1.0), varies)

    def transform(self, X: FloatArray) -> FloatArray:
        """Map rows of shape (n, n_features); what is too large for a float becomes infinite."""
        with np.errstate(over="ignore"):
            return np.where(self.varies, (X / self.peak - self.mean) / self.deviation, 0.0)


class Rows(NamedTuple):
    """What one model is trained on.

    Attributes
    ----------
    Xs : Tensor of shape (n_source, n_features)
    labels : Tensor of shape (n_source, n_classes)
        1 for the class of the row, 0 for the others.
    Xt : Tensor of shape (n_target, n_features)
    generator : torch.Generator
        All that is random in the model comes from here.
    """

    Xs: Tensor
    labels: Tensor
    Xt: Tensor
    generator: torch.Generator


class DeepClassifier(DomainAdaptationClassifier):
    """Input, labels, scaling, seeds and prediction of every deep method.

    Subclasses set parameters in ``__init__`` and implement :meth:`_train_stacks`. Models with
    rows of equal shapes are trained side by side (:mod:`baselines.stacked`), a single one in the
    same way.

    Attributes
    ----------
    network_ : Network
        The trained network, on ``device``.
    scaler_ : ColumnScaling or None
        The column scaling; None with ``standardize=False``.
    hidden_size_ : int
        Width of the hidden layers.
    losses_ : ndarray of shape (n_steps,)
        The loss of each training step.
    n_steps_ : int
        Number of training steps.
    """

    trains_together: ClassVar[bool] = True

    hidden_size: int | Mapping[str, int]
    n_layers: int
    learning_rate: float
    n_epochs: int
    batch_size: int
    validation_fraction: float | None
    patience: int
    standardize: bool
    random_state: Any
    device: str

    @staticmethod
    def _network(n_features: int, n_classes: int, hidden_size: int, n_layers: int) -> Network:
        """Return the network of the method, without its start."""
        return mlp(n_features, n_classes, hidden_size, n_layers)

    def _trained_modules(
        self, n_features: int, n_classes: int, hidden_size: int
    ) -> list[nn.Module]:
        """Make all that is trained, for its number of parameters."""
        return [self._network(n_features, n_classes, hidden_size, self.n_layers)]

    def _width(self, n_features: int, n_classes: int) -> int:
        """Return the width of the hidden layers, found by the number of parameters if need be."""
        if not isinstance(self.hidden_size, Mapping):
            return self.hidden_size
        wanted = n_rnade_parameters(n_features, **self.hidden_size)

        def count(hidden_size: int) -> int:
            with torch.device("meta"):
                modules = self._trained_modules(n_features, n_classes, hidden_size)
            return sum(p.numel() for module in modules for p in module.parameters())

        width = next(width for width in itertools.count(1) if count(width) >= wanted)
        nearer = width > 1 and wanted - count(width - 1) <= count(width) - wanted
        return width - 1 if nearer else width

    @classmethod
    def _train(
        cls,
        methods: Sequence[Self],
        Xs: Tensor,
        labels: Tensor,
        Xt: Tensor,
        generators: Sequence[torch.Generator],
    ) -> tuple[list[Network], Trained]:
        """Train R models on rows as in :class:`Rows`, each with a dimension R in front."""
        method, n_features, n_classes = methods[0], Xs.shape[2], labels.shape[2]
        hidden_size = method._width(n_features, n_classes)
        for one in methods:
            one.hidden_size_ = hidden_size
        networks: list[Network] = [
            build(
                lambda: cls._network(n_features, n_classes, hidden_size, method.n_layers),
                generator,
                Xs.device,
            )
            for generator in generators
        ]
        features, head = network_stacks(networks)
        held_out: Batch | None = None
        if method.validation_fraction is not None:
            # The target's split comes from elsewhere: SHOT's source network must not know its size.
            splits = [
                hold_out(rows.shape[1], method.validation_fraction, those)
                for rows, those in ((Xs, generators), (Xt, fork(generators)))
            ]
            (s, s_out), (t, t_out) = (
                tuple(rows.to(Xs.device) for rows in split) for split in splits
            )
            held_out = gather(Xs, s_out), gather(labels, s_out), gather(Xt, t_out)
            Xs, labels, Xt = gather(Xs, s), gather(labels, s), gather(Xt, t)
        trained = cls._train_stacks(methods, features, head, Xs, labels, Xt, generators, held_out)
        features.store()
        head.store()
        return networks, trained

    @classmethod
    @abstractmethod
    def _train_stacks(
        cls,
        methods: Sequence[Self],
        features: Stack,
        head: Stack,
        Xs: Tensor,
        labels: Tensor,
        Xt: Tensor,
        generators: Sequence[torch.Generator],
        held_out: Batch | None,
    ) -> Trained:
        """Train the networks of R models: their feature networks and their heads.

        ``held_out`` are source rows, their labels and target rows that are not trained on.
        """

    def _fit_scaler(self, Xs: FloatArray, Xt: FloatArray) -> ColumnScaling:
        return ColumnScaling.fit(np.vstack([Xs, Xt]))

    def _check_parameters(self) -> None:
        if isinstance(self.hidden_size, Mapping):
            if set(self.hidden_size) != {"rnade_hidden_size", "n_components"}:
                raise ValueError(
                    "hidden_size must be an integer, or a dict of rnade_hidden_size and "
                    f"n_components, got {self.hidden_size!r}."
                )
            for name, value in self.hidden_size.items():
                require_integer(f"{name} of hidden_size", value, 1)
        else:
            require_integer("hidden_size", self.hidden_size, 1)
        require_integer("n_layers", self.n_layers, 2)
        require_integer("n_epochs", self.n_epochs, 1)
        require_integer("batch_size", self.batch_size, 2)
        require_integer("patience", self.patience, 1)
        require_number("learning_rate", self.learning_rate, positive=True)
        if self.validation_fraction is not None:
            require_number("validation_fraction", self.validation_fraction, positive=True)
            if self.validation_fraction >= 1:
                raise ValueError(
                    "validation_fraction must be below 1, or None, got "
                    f"{self.validation_fraction!r}."
                )
        require_truth("standardize", self.standardize)

    def _fit(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> None:
        (error,) = self._fit_stack([self], [self._prepare(Xs, ys, Xt)])
        if error is not None:
            raise error

    @classmethod
    def _fit_together(
        cls, methods: Sequence[Self], domains: Sequence[Domains]
    ) -> list[Exception | None]:
        errors: list[Exception | None] = [None] * len(methods)
        stacks: dict[tuple[torch.Size, ...], dict[int, Rows]] = {}
        for i, (method, given) in enumerate(zip(methods, domains, strict=True)):
            try:
                rows = method._prepare(*given)
            except Exception as error:
                errors[i] = error
            else:
                shapes = (rows.Xs.shape, rows.labels.shape, rows.Xt.shape)
                stacks.setdefault(shapes, {})[i] = rows
        for stack in stacks.values():
            outcomes = cls._fit_stack([methods[i] for i in stack], list(stack.values()))
            for i, outcome in zip(stack, outcomes, strict=True):
                errors[i] = outcome
        return errors

    def _prepare(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> Rows:
        """Check parameters, scale the columns, and seed the generator."""
        self._check_parameters()
        device = find_device(self.device)
        self.scaler_ = self._fit_scaler(Xs, Xt) if self.standardize else None
        generator = torch.Generator("cpu").manual_seed(seed_from(self.random_state))
        labels = torch.from_numpy(self.classes_ == np.asarray(ys)[:, None])
        return Rows(
            self._to_tensor(Xs, "the source").to(device),
            labels.float().to(device),
            self._to_tensor(Xt, "the target").to(device),
            generator,
        )

    @classmethod
    def _fit_stack(cls, methods: Sequence[Self], rows: Sequence[Rows]) -> list[Exception | None]:
        """Train models on rows of equal shapes, and give each what is its own."""
        networks, trained = cls._train(
            methods,
            torch.stack([one.Xs for one in rows]),
            torch.stack([one.labels for one in rows]),
            torch.stack([one.Xt for one in rows]),
            [one.generator for one in rows],
        )
        for model, (method, network) in enumerate(zip(methods, networks, strict=True)):
            method.network_ = network.eval()
            method.losses_ = trained.losses[model]
            method.n_steps_ = len(method.losses_)
        return trained.errors

    def _to_tensor(self, rows: FloatArray, what: str) -> Tensor:
        scaled = rows if self.scaler_ is None else self.scaler_.transform(rows)
        with np.errstate(over="ignore"):
            single = scaled.astype(np.float32)
        require_finite(
            single,  # type: ignore[arg-type]
            f"{type(self).__name__}: {what}, scaled and in single precision,",
        )
        return torch.from_numpy(single)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of the classes, as the network sees them; they are not calibrated.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        p : ndarray of shape (n, n_classes)
            Columns in the order of ``classes_``.

        Raises
        ------
        FloatingPointError
            The network gives no finite answer.
        """
        rows = self._to_tensor(self._validate_target(X), "the rows to predict")
        device = next(self.network_.parameters()).device
        self.network_.eval()
        with torch.inference_mode():
            logits = torch.cat(
                [
                    self.network_(part.to(device))[0].cpu()
                    for part in torch.split(rows, PREDICTION_ROWS)
                ]
            )
            probabilities: FloatArray = torch.softmax(logits.double(), dim=1).numpy()
        require_finite(probabilities, f"{type(self).__name__}: the output of the network")
        return probabilities

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the labels of target rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        y : ndarray of shape (n,)
            Labels out of ``classes_``.

        Raises
        ------
        FloatingPointError
            The network gives no finite answer.
        """
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]


class TransferLoss(NamedTuple):
    """A transfer loss of R models, and its gradient.

    Attributes
    ----------
    values : Tensor of shape (R,)
    on_features : Tensor of shape (R, 2b, hidden_size)
    on_logits : Tensor of shape (R, 2b, n_classes) or None
        None where the loss does not depend on the logits.
    """

    values: Tensor
    on_features: Tensor
    on_logits: Tensor | None = None


class Transfer(ABC):
    """What a method does to bring the domains of R models together.

    Attributes
    ----------
    stacks : list of Stack
        What is trained along with the network.
    reason : str
        What is wrong where the loss is not finite.
    """

    stacks: list[Stack]
    reason: str

    @abstractmethod
    def loss(self, features: Tensor, logits: Tensor, weight: float) -> TransferLoss:
        """Find the loss of a batch, and write its gradient to ``stacks``.

        Parameters
        ----------
        features : Tensor of shape (R, 2b, hidden_size)
            Of b source rows followed by b target rows.
        logits : Tensor of shape (R, 2b, n_classes)
        weight : float
            A factor for all gradients, not for the value.
        """

    def divergence(self, features: Tensor, logits: Tensor) -> Tensor | float:
        """Find what the held-out loss adds, of shape (R,), for rows as in :meth:`loss`.

        0 where it says more of what is trained along than of the features.
        """
        return 0.0


class JointlyTrained(DeepClassifier):
    r"""Methods that train on a batch of both domains at once.

    The objective of a batch is

    .. math:: L = \mathrm{CE}(g(f(x_s)), y_s) + \eta \, T,

    cross entropy on the source plus :math:`\eta` (``trade_off``) times the method's transfer loss.
    With ``trade_off=0`` the transfer loss is left out: plain training of the MLP on the source.
    Subclasses implement :meth:`_transfer`.
    """

    trade_off: float

    @abstractmethod
    def _transfer(
        self, n_classes: int, generators: Sequence[torch.Generator], device: torch.device
    ) -> Transfer:
        """Return the transfer loss of R models of ``hidden_size_``, by the models' generators."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_number("trade_off", self.trade_off, positive=False)

    @classmethod
    def _train_stacks(
        cls,
        methods: Sequence[Self],
        features: Stack,
        head: Stack,
        Xs: Tensor,
        labels: Tensor,
        Xt: Tensor,
        generators: Sequence[torch.Generator],
        held_out: Batch | None,
    ) -> Trained:
        method = methods[0]
        # The transfer loss has a generator of its own, so that it cannot shift the batches: with
        # trade_off=0 all methods train the same network on the same batches.
        sides = fork(generators)
        eta = method.trade_off
        transfer = method._transfer(labels.shape[2], sides, Xs.device) if eta > 0 else None

        def step(batch: Batch) -> list[Check]:
            x_s, y_s, x_t = batch
            n = x_s.shape[1]
            f = features.forward(torch.cat([x_s, x_t], dim=1) if transfer else x_s)
            g = head.forward(f)
            checks = [check_logits(g)]
            loss, on_logits = cross_entropy(g[:, :n], y_s)
            if transfer is not None:
                transferred = transfer.loss(f, g, eta)
                checks.append(Check(transferred.values, transfer.reason))
                loss = loss + eta * transferred.values
                on_logits = F.pad(on_logits, (0, 0, 0, n))
                if transferred.on_logits is not None:
                    on_logits += transferred.on_logits
            on_features = head.backward(on_logits)
            assert on_features is not None
            if transfer is not None:
                on_features += transferred.on_features
            features.backward(on_features, inputs=False)
            return [*checks, check_loss(loss)]

        def held_out_loss() -> Tensor:
            assert held_out is not None
            x_s, y_s, x_t = held_out
            n_s, n = x_s.shape[1], min(x_s.shape[1], x_t.shape[1])
            f = features.forward(torch.cat([x_s, x_t], dim=1), training=False)
            g = head.forward(f, training=False)
            losses, _ = cross_entropy(g[:, :n_s], y_s)
            if transfer is None:
                return losses
            f, g = (torch.cat([z[:, :n], z[:, n_s : n_s + n]], dim=1) for z in (f, g))
            return losses + eta * transfer.divergence(f, g)

        return train(
            [features, head, *(transfer.stacks if transfer else [])],
            step,
            epochs_of_batches(
                [(Xs, labels), (Xt,)], method.batch_size, method.n_epochs, generators
            ),
            learning_rate=method.learning_rate,
            what=cls.__name__,
            held_out=HeldOut(held_out_loss, method.patience) if held_out else None,
        )


def network_stacks(networks: Sequence[Network]) -> tuple[Stack, Stack]:
    """Stack the feature networks, which must be sequences of layers, and the heads."""
    features = Stack([list(network.features.children()) for network in networks])
    return features, Stack([[network.head] for network in networks])


def check_logits(logits: Tensor) -> Check:
    """Watch the output of the network, of shape (R, n, n_classes)."""
    return Check(logits, "the output of the network is NaN or infinite")


def check_loss(losses: Tensor) -> Check:
    """Watch the loss, of shape (R,)."""
    return Check(losses, "the loss is {}")


def cross_entropy(logits: Tensor, labels: Tensor, smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
    r"""Mean cross entropy with labels :math:`(1 - \alpha) 1_k + \alpha / K`, and its gradient.

    Parameters
    ----------
    logits : Tensor of shape (R, n, K)
    labels : Tensor of shape (R, n, K)
        Rows of 0 and a single 1.
    smoothing : float
        :math:`\alpha`.

    Returns
    -------
    losses : Tensor of shape (R,)
        In nats.
    gradient : Tensor of shape (R, n, K)
        :math:`(\mathrm{softmax} - \mathrm{labels}) / n`.
    """
    n, n_classes = logits.shape[1:]
    if smoothing > 0:
        labels = labels * (1 - smoothing) + smoothing / n_classes
    log_p = torch.log_softmax(logits, dim=2)
    losses = (labels * log_p).sum(dim=(1, 2)).div_(-n)
    return losses, log_p.exp_().sub_(labels).div_(n)
