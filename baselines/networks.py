"""What all deep methods share: the five-layer network, its start, the one training loop.

What the paper fixes (section 5): a five-layer MLP with 250 hidden units, Adam, learning rate 1e-3,
trade-off 1. What it leaves open and how it is settled here, for all methods and tasks alike and
without a look at any target label:

- **Length of training**: 30 passes over the larger domain. dalib's examples count iterations of
  fine-tuning large image networks, which does not carry over. 30 epochs is what SHOT's published
  program takes for its smallest images, the digits, and long enough for the same MLP without
  adaptation to fit the source.
- **Batch size**: 32 rows of each domain for the methods of dalib (as in dalib's examples), 64 for
  SHOT (as in its published program). No batch has a single row.
- **Model**: the last one. dalib's examples keep the epoch that is best on target labels; that is
  not allowed here.
- **Scale of the columns**: each column is standardised over the rows of both domains together (of
  the source alone for SHOT, which trains there before the target is known): one affine map for
  both domains, which takes units out of play but aligns nothing. The paper names no scaling.
  ``standardize=False`` leaves the columns as they are. The choice is not neutral where columns
  share a unit: scaling them apart distorts a rotation between the domains.
- **Activation**: ReLU after each hidden layer, no dropout, no weight decay. The MLP has no batch
  normalisation; SHOT's last feature layer and the domain discriminators of DANN and CDAN have, as
  in the programs they come from.

A fit depends on ``random_state`` alone. Random numbers come from a generator of the fit's own; the
global ones of torch and NumPy are neither used nor moved (but for the one seed that scikit-learn's
convention draws from NumPy's where ``random_state`` is None), nor is the number of threads. How the
processor treats denormal numbers is changed for the time of the training and set back.
"""

from __future__ import annotations

import itertools
import math
import numbers
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from krda.adaptation import DomainAdaptationClassifier, FloatArray, require_finite, seed_from

# Row numbers, one tensor for each domain that takes part.
Batch = tuple[Tensor, ...]
# The transfer loss of (source features, source logits, target features, target logits), and the
# modules that are trained along with the network.
Transfer = tuple[Callable[[Tensor, Tensor, Tensor, Tensor], Tensor], list[nn.Module]]
# Builds a module that a transfer loss brings along, of its own generator.
Make = Callable[[Callable[[], nn.Module]], Any]

# Rows in one call of the network at prediction; bounds the memory, not the result.
PREDICTION_ROWS = 8192


class WeightNormLinear(nn.Module):
    r"""Linear layer with weight :math:`w_k = g_k v_k / \|v_k\|` for output ``k``.

    torch's own weight normalisation makes modules that cannot be pickled.

    Parameters
    ----------
    in_features, out_features : int
    """

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.in_features = in_features
        self.direction = nn.Parameter(torch.empty(out_features, in_features))
        self.length = nn.Parameter(torch.empty(out_features))
        self.bias = nn.Parameter(torch.empty(out_features))

    def forward(self, x: Tensor) -> Tensor:
        """Map rows of shape (n, in_features) to (n, out_features)."""
        scale = self.length / torch.linalg.vector_norm(self.direction, dim=1)
        return F.linear(x, self.direction * scale[:, None], self.bias)


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


def count_batches(n_rows: int, batch_size: int) -> int:
    """Return into how many batches an epoch of ``n_rows`` falls, none of them of a single row."""
    return max(1, min(math.ceil(n_rows / batch_size), n_rows // 2))


def epochs_of_batches(
    sizes: Sequence[int], batch_size: int, n_epochs: int, generator: torch.Generator
) -> Iterator[list[Batch]]:
    """Draw the batches of each epoch: row numbers in each domain, equally many of all.

    An epoch is a permutation of the largest domain, cut into batches whose sizes differ by one at
    most. Smaller domains go along: one permutation after another, cut at the same places. With
    ``batch_size`` at least two no batch has a single row; to that end an epoch of three rows in
    batches of two is one batch of three.

    Parameters
    ----------
    sizes : sequence of int
        Number of rows of each domain.
    batch_size : int
        At least two.
    n_epochs : int
    generator : torch.Generator

    Yields
    ------
    batches : list of tuple of Tensor
        The row numbers, one tensor for each domain.
    """
    longest = max(sizes)
    n_batches = count_batches(longest, batch_size)
    left_over = [torch.empty(0, dtype=torch.int64) for _ in sizes]
    for _ in range(n_epochs):
        cut = []
        for domain, size in enumerate(sizes):
            rows = left_over[domain]
            while len(rows) < longest:
                rows = torch.cat([rows, torch.randperm(size, generator=generator)])
            left_over[domain] = rows[longest:]
            cut.append(torch.tensor_split(rows[:longest], n_batches))
        yield list(zip(*cut, strict=True))


def train(
    modules: Sequence[nn.Module],
    objective: Callable[[Batch], Tensor],
    epochs: Iterator[list[Batch]],
    *,
    learning_rate: float,
    what: str,
    start_epoch: Callable[[], None] | None = None,
) -> FloatArray:
    """Minimise an objective over batches by Adam: the training loop of every deep method.

    Parameters
    ----------
    modules : sequence of torch.nn.Module
        What is trained; parameters without ``requires_grad`` stay as they are.
    objective : callable
        The loss of a batch; may raise FloatingPointError with the name of what is not finite.
    epochs : iterator of lists of batches
        As of :func:`epochs_of_batches`.
    learning_rate : float
    what : str
        The method, for messages.
    start_epoch : callable or None
        Called before each epoch.

    Returns
    -------
    losses : ndarray of shape (n_steps,)

    Raises
    ------
    FloatingPointError
        The loss of a step is NaN or infinite. Names the step.
    """
    parameters = [p for module in modules for p in module.parameters() if p.requires_grad]
    optimizer = _adam(parameters, learning_rate)
    losses: list[float] = []
    with _denormals_as_zero():
        for epoch, batches in enumerate(epochs):
            if start_epoch is not None:
                start_epoch()
            for batch in batches:
                try:
                    loss = objective(batch)
                    value = loss.item()
                    if not math.isfinite(value):
                        raise FloatingPointError(f"the loss is {value}")
                except FloatingPointError as error:
                    raise FloatingPointError(
                        f"{what} diverged in step {len(losses) + 1} (epoch {epoch + 1}): {error}. "
                        "Predictions would be meaningless, so the fit ends here. Lower "
                        "learning_rate or trade_off."
                    ) from error
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                losses.append(value)
    return np.array(losses)


@contextmanager
def _denormals_as_zero() -> Iterator[None]:
    """Count numbers below 1e-38 as 0 in this thread, and leave the processor as it was.

    Adam's running mean of the gradient of a unit that ReLU has switched off shrinks by 0.9 a step
    and ends among the denormal numbers, with which processors are slow: a third off the time of
    every step from some 800 on. Nothing that small moves a weight.
    """
    smallest = torch.full((), torch.finfo(torch.float32).smallest_normal)
    already = (smallest * 0.5).item() == 0.0
    # False where the processor has no such mode.
    changed = not already and torch.set_flush_denormal(True)
    try:
        yield
    finally:
        if changed:
            torch.set_flush_denormal(False)


def _adam(parameters: list[nn.Parameter], learning_rate: float) -> torch.optim.Optimizer:
    """Adam, in its fused form (a quarter off the time of a step) where torch has it."""
    try:
        return torch.optim.Adam(parameters, lr=learning_rate, fused=True)
    except RuntimeError:
        return torch.optim.Adam(parameters, lr=learning_rate)


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


class DeepClassifier(DomainAdaptationClassifier):
    """Input, labels, scaling, seeds and prediction of every deep method.

    Subclasses set parameters in ``__init__`` and implement :meth:`_train`.

    Attributes
    ----------
    network_ : Network
        The trained network, on ``device``.
    scaler_ : ColumnScaling or None
        The column scaling; None with ``standardize=False``.
    losses_ : ndarray of shape (n_steps,)
        The loss of each training step.
    n_steps_ : int
        Number of training steps.
    """

    hidden_size: int
    n_layers: int
    learning_rate: float
    n_epochs: int
    batch_size: int
    standardize: bool
    random_state: Any
    device: str

    @abstractmethod
    def _train(
        self, Xs: Tensor, ys: Tensor, Xt: Tensor, generator: torch.Generator
    ) -> tuple[Network, FloatArray]:
        """Train from float32 rows and labels 0, 1, ...; return network and loss of each step."""

    def _fit_scaler(self, Xs: FloatArray, Xt: FloatArray) -> ColumnScaling:
        return ColumnScaling.fit(np.vstack([Xs, Xt]))

    def _check_parameters(self) -> None:
        require_integer("hidden_size", self.hidden_size, 1)
        require_integer("n_layers", self.n_layers, 2)
        require_integer("n_epochs", self.n_epochs, 1)
        require_integer("batch_size", self.batch_size, 2)
        require_number("learning_rate", self.learning_rate, positive=True)

    def _fit(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> None:
        self._check_parameters()
        device = find_device(self.device)
        self.scaler_ = self._fit_scaler(Xs, Xt) if self.standardize else None
        generator = torch.Generator().manual_seed(seed_from(self.random_state))
        self.network_, self.losses_ = self._train(
            self._to_tensor(Xs, "the source").to(device),
            torch.from_numpy(np.searchsorted(self.classes_, ys)).to(device),
            self._to_tensor(Xt, "the target").to(device),
            generator,
        )
        self.network_.eval()
        self.n_steps_ = len(self.losses_)

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
    def _transfer(self, n_classes: int, make: Make) -> Transfer:
        """Return the transfer loss; ``make`` builds modules that are trained along."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_number("trade_off", self.trade_off, positive=False)

    def _train(
        self, Xs: Tensor, ys: Tensor, Xt: Tensor, generator: torch.Generator
    ) -> tuple[Network, FloatArray]:
        n_classes = len(self.classes_)
        network: Network = build(
            lambda: mlp(Xs.shape[1], n_classes, self.hidden_size, self.n_layers),
            generator,
            Xs.device,
        )
        # The transfer loss has a generator of its own, so that it cannot shift the batches: with
        # trade_off=0 all methods train the same network on the same batches.
        side = torch.Generator().manual_seed(int(torch.randint(2**31, (), generator=generator)))
        transfer, trained_along = self._transfer(
            n_classes, lambda make: build(make, side, Xs.device)
        )

        def objective(batch: Batch) -> Tensor:
            rows_s, rows_t = (rows.to(Xs.device) for rows in batch)
            logits, features = network(torch.cat([Xs[rows_s], Xt[rows_t]]))
            if not torch.isfinite(logits).all():
                raise FloatingPointError("the output of the network is NaN or infinite")
            logits_s, logits_t = logits.chunk(2)
            loss = F.cross_entropy(logits_s, ys[rows_s])
            if self.trade_off == 0:
                return loss
            features_s, features_t = features.chunk(2)
            return loss + self.trade_off * transfer(features_s, logits_s, features_t, logits_t)

        losses = train(
            [network, *trained_along],
            objective,
            epochs_of_batches([len(Xs), len(Xt)], self.batch_size, self.n_epochs, generator),
            learning_rate=self.learning_rate,
            what=type(self).__name__,
        )
        return network, losses


def find_device(name: str) -> torch.device:
    """Return the named device.

    Parameters
    ----------
    name : str
        ``cpu``, ``cuda``, ``cuda:1``, ...

    Returns
    -------
    device : torch.device

    Raises
    ------
    ValueError
        No such device here.
    """
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError, ImportError) as error:
        raise ValueError(f"device={name!r} cannot be used here ({error}). Use 'cpu'.") from error
    return device


def require_integer(name: str, value: Any, least: int) -> None:
    """Raise ValueError unless a parameter is an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")


def require_number(name: str, value: Any, *, positive: bool) -> None:
    """Raise ValueError unless a parameter is finite and positive, or at least not negative."""
    valid = isinstance(value, numbers.Real) and math.isfinite(value)
    if not valid or value < 0 or (positive and value == 0):
        kind = "a positive" if positive else "zero or a positive"
        raise ValueError(f"{name} must be {kind} finite number, got {value!r}.")
