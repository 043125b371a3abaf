"""KRDA as a scikit-learn estimator (paper, section 5.2 and Algorithm 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from krda import transport
from krda.adaptation import (
    AlignedClassifier,
    AlignedSource,
    Domains,
    FloatArray,
    require_finite,
    seed_from,
)
from krda.extrapolation import column_ranges, describe_far_rows
from krda.mixture import QuantileMethod
from krda.notices import warn_user
from krda.parameters import find_device, require_integer, require_number, require_truth
from krda.preprocessing import (
    ColumnMap,
    Scaling,
    column_maps,
    constant_columns,
    squeezed_columns,
    unscalable_columns,
)
from krda.rnade import RNADE, RNADEDensity
from krda.training import (
    TrainingHistory,
    TrainingOptions,
    fit_maximum_likelihood,
    raise_if_diverged,
)
from krda.transport import knothe_rosenblatt

Domain = Literal["source", "target"]
ColumnOrder = Literal["given", "reversed", "random"] | ArrayLike

_DOMAINS: tuple[Domain, Domain] = ("source", "target")

# Numbers in the hidden states of one batch up to which networks are trained side by side: about
# what the second-level cache holds. Larger networks keep a processor busy alone.
_STACKED_STATES = 2**19


@dataclass(frozen=True, eq=False)
class _CellCentres:
    """What a density's conditionals are given of a coordinate: a column map's cell centres."""

    columns: ColumnMap

    def __call__(self, i: int, z: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(self.columns.centres(i, z.numpy()))


@dataclass(frozen=True, eq=False)
class _Prepared:
    """What a network is trained on: mapped rows of each domain, and what is given of them."""

    rows: list[torch.Tensor]
    given: list[torch.Tensor]

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows, and of columns: what must agree within a stack."""
        return (*map(len, self.rows), self.rows[0].shape[1])


@dataclass(frozen=True, eq=False)
class _Trained:
    """One replica of a trained stack."""

    model: RNADE
    replica: int
    history: TrainingHistory


def _train_together(members: Sequence[tuple[KRDA, _Prepared]]) -> list[_Trained]:
    """Train the networks of methods that are equal but for their seed, on rows of equal shape."""
    method = members[0][0]

    def stack(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
        return tensors[0].unsqueeze(0) if len(tensors) == 1 else torch.stack(list(tensors))

    model = RNADE(
        members[0][1].shape[-1],
        n_components=method.n_components,
        hidden_size=method.hidden_size,
        sigma_floor=method.sigma_floor,
        seeds=[m.seed_ for m, _ in members],
    ).to(method.device)
    rows, given = [], []
    for i in range(len(_DOMAINS)):
        rows.append(stack([prepared.rows[i] for _, prepared in members]))
        same = all(prepared.given[i] is prepared.rows[i] for _, prepared in members)
        given.append(rows[-1] if same else stack([prepared.given[i] for _, prepared in members]))
    histories = fit_maximum_likelihood(model, rows, method._training_options(), given)
    return [_Trained(model, r, history) for r, history in enumerate(histories)]


def _block_rows() -> int:
    """Rows that are mapped together: blocks of the transport enough for all threads.

    Whatever their number, rows are carried in the same blocks, and so to the same bytes.
    """
    return transport.BLOCK_ROWS * max(8, 4 * torch.get_num_threads())


def _in_order(X: FloatArray, order: NDArray[np.intp]) -> FloatArray:
    """Give some columns of a table: the table itself where these are all, as they are."""
    return X if np.array_equal(order, np.arange(X.shape[1])) else X[:, order]


class KRDA(AlignedClassifier):
    r"""Knothe-Rosenblatt Domain Adaptation.

    One RNADE is fitted to both domains, with shared hidden parameters and heads of their own.
    Every source row is carried to the target by matching conditional quantiles one coordinate
    after another,

        T(x)^i = F_T^i^{-1}( F_S^i(x^i | x^{<i}) | T(x)^{<i} ),

    and an ordinary classifier is trained on the carried rows and their labels. Target rows are
    classified as they are.

    Parameters
    ----------
    n_components : int, default=5
        Gaussians N in each conditional mixture (paper: 5).
    hidden_size : int, default=50
        Hidden size H of RNADE (paper: 50 on moons, 100 on HEPMASS).
    classifier : estimator, default=None
        Trained on the transported source; any scikit-learn classifier. None is ``SVC()``.
    column_order : {"given", "reversed", "random"} or array-like of shape (d,), default="given"
        In which order the columns enter the autoregression. The map depends on it: the paper
        calls the order 'not crucial', yet on rotated moons it decides.
    scaling : {"domain", "pooled"}, default="domain"
        How columns are brought to unit scale for the density; see
        :func:`krda.preprocessing.standardizations`.
    spread_atoms : bool, default=True
        Whether the point masses of counts, flags and zero-inflated columns are spread at random
        for the density, and carried rows brought back to the target's own values; see
        :mod:`krda.atoms`. False is the paper's form.
    learning_rate : float, default=0.01
        Adam's first step; decays to zero as a half cosine over ``max_steps``.
    max_steps : int, default=1000
        Upper bound on the number of training steps. 0 keeps the initial parameters, with which
        both domains have the same density: the map standardises each column and no more, except
        that values in the far tails are clipped (``eps``).
    batch_size : int or None, default=128
        Rows of each domain in a step. None takes all of them.
    validation_fraction : float, default=0.1
        Share of each domain's rows that is held out of training, for stopping; 2000 rows at most.
    patience : int, default=250
        Steps without a lower held-out negative log-likelihood after which training stops. The
        parameters with the lowest one are kept.
    sigma_floor : float, default=0.01
        Lower bound of the conditionals' standard deviations, as a share of each column's own.
        It keeps near-ties from sending the likelihood to infinity. 0 is the paper's form.
    eps : float, default=1e-8
        Quantiles are clipped to [eps, 1 - eps] (paper: 1e-8).
    quantile_method : {"newton", "bisection"}, default="newton"
        How conditionals are inverted; "bisection" is the paper's way, slower, to equal accuracy.
    device : str, default="cpu"
        Where the network is trained; the transport runs in float64 on the processor.
    random_state : int, RandomState or None, default=None
        Decides initial parameters, held-out rows, batches, the places of atoms and a random column
        order.

    Attributes
    ----------
    classifier_ : estimator
        The classifier fitted on the transported source.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Only where ``Xs`` is a data frame with string column names.
    densities_ : dict
        ``{"source": RNADEDensity, "target": RNADEDensity}``, over the mapped columns in the order
        of ``column_order_``.
    column_maps_ : dict
        The atoms and the scale of each domain (:class:`krda.preprocessing.ColumnMap`), over the
        same columns.
    seed_ : int
        What ``random_state`` came to.
    column_order_ : ndarray of int
        Columns as they enter the densities: those constant in neither domain, in order.
    constant_columns_ : ndarray of int
        Columns that are constant in a domain. They carry nothing to align, take no part in the
        densities; ``transform`` and ``predict`` set them to the target's mean.
    target_mean_ : ndarray of shape (d,)
    target_range_ : ndarray of shape (2, d)
        Least and largest value of each column in the target rows of the fit. ``fit`` and
        ``transform`` warn where rows are carried far outside (:mod:`krda.extrapolation`).
    history_ : TrainingHistory
        Training and held-out negative log-likelihood by step and domain, of the mapped columns.
    held_out_nll_ : dict
        Mean negative log-likelihood of each domain's held-out rows under the densities that were
        kept, in the input's units (the share of atoms is that of all rows). Lower is better; it
        needs no label, so it can choose hyper-parameters, but for ``spread_atoms``, and
        ``sigma_floor`` without it: a density of atoms that are not spread has no bound.

    Notes
    -----
    No target label enters anything. The method rests on covariate shift in the sense of the
    paper, and the transport can be fitted perfectly and still mix up the classes: look at the
    controls of the benchmark before trusting it.

    References
    ----------
    A. Virmaux, I. Saffar, J. Zhang, B. Kegl (2021). Knothe-Rosenblatt transport for Unsupervised
    Domain Adaptation. arXiv:2110.02716.

    Examples
    --------
    >>> import numpy as np
    >>> from krda import KRDA
    >>> rng = np.random.default_rng(0)
    >>> Xs = rng.normal(size=(200, 2))
    >>> ys = (Xs[:, 0] > 0).astype(int)
    >>> Xt = 3 * rng.normal(size=(200, 2)) + 5
    >>> model = KRDA(random_state=0).fit(Xs, ys, Xt)
    >>> model.predict([[11.0, 5.0], [-1.0, 5.0]])
    array([1, 0])
    """

    trains_together = True

    def __init__(
        self,
        n_components: int = 5,
        hidden_size: int = 50,
        *,
        classifier: Any = None,
        column_order: ColumnOrder = "given",
        scaling: Scaling = "domain",
        spread_atoms: bool = True,
        learning_rate: float = 1e-2,
        max_steps: int = 1000,
        batch_size: int | None = 128,
        validation_fraction: float = 0.1,
        patience: int = 250,
        sigma_floor: float = 0.01,
        eps: float = 1e-8,
        quantile_method: QuantileMethod = "newton",
        device: str = "cpu",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.hidden_size = hidden_size
        self.classifier = classifier
        self.column_order = column_order
        self.scaling = scaling
        self.spread_atoms = spread_atoms
        self.learning_rate = learning_rate
        self.max_steps = max_steps
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.sigma_floor = sigma_floor
        self.eps = eps
        self.quantile_method = quantile_method
        self.device = device
        self.random_state = random_state

    def _align(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> AlignedSource:
        del ys  # The transport is fitted to rows alone.
        (trained,) = _train_together([(self, self._prepare(Xs, Xt))])
        return self._finish(trained, Xs, Xt)

    @classmethod
    def _fit_together(
        cls, methods: Sequence[Self], domains: Sequence[Domains]
    ) -> list[Exception | None]:
        """Fit as :meth:`_fit` does, but with the networks of equal shape in one stack."""
        errors: list[Exception | None] = [None] * len(methods)
        classifiers: list[Any] = [None] * len(methods)
        groups: dict[tuple[int, ...], list[tuple[int, _Prepared]]] = {}
        for i, (method, (Xs, _, Xt)) in enumerate(zip(methods, domains, strict=True)):
            try:
                classifiers[i] = method._new_classifier()
                prepared = method._prepare(Xs, Xt)
            except Exception as error:
                errors[i] = error
            else:
                groups.setdefault(prepared.shape, []).append((i, prepared))
        for shape, group in groups.items():
            size = methods[0]._stack_size(shape)
            for start in range(0, len(group), size):
                members = group[start : start + size]
                try:
                    trained = _train_together([(methods[i], prepared) for i, prepared in members])
                except Exception as error:
                    for i, _ in members:
                        errors[i] = error
                    continue
                for (i, _), one in zip(members, trained, strict=True):
                    Xs, ys, Xt = domains[i]
                    try:
                        aligned = methods[i]._finish(one, Xs, Xt)
                        methods[i]._fit_classifier(classifiers[i], aligned, ys)
                    except Exception as error:
                        errors[i] = error
        return errors

    def _stack_size(self, shape: tuple[int, ...]) -> int:
        """How many networks for rows of this shape are worth training as one."""
        *n_rows, d = shape
        rows = sum(n if self.batch_size is None else min(n, self.batch_size) for n in n_rows)
        return max(_STACKED_STATES // (rows * d * self.hidden_size), 1)

    def _prepare(self, Xs: FloatArray, Xt: FloatArray) -> _Prepared:
        """Set the attributes that say how rows are mapped, and map them."""
        self._check_parameters()
        seed = seed_from(self.random_state)
        constant = constant_columns(Xs) | constant_columns(Xt)
        unscalable = (unscalable_columns(Xs) | unscalable_columns(Xt)) & ~constant
        if unscalable.any():
            raise ValueError(
                f"Columns {self._names(np.flatnonzero(unscalable))} hold numbers so large or so "
                "small that they have no standard deviation in double precision; expected "
                "magnitudes between 1e-150 and 1e150. Choose another unit for them."
            )
        if constant.all():
            raise ValueError(
                "Every column is constant in the source or in the target; there is no "
                "distribution to transport. Check that the tables hold features."
            )
        if constant.any():
            warn_user(
                f"Columns {self._names(np.flatnonzero(constant))} are constant in the source or in "
                "the target: they take no part in the adaptation and are set to the target's mean."
            )
        order = self._resolve_column_order(Xs.shape[1], seed)
        self.seed_ = seed
        self.column_order_ = order[~constant[order]]
        self.constant_columns_ = np.flatnonzero(constant)
        self.target_mean_ = Xt.mean(axis=0)
        self.target_range_ = column_ranges(Xt)
        source, target = (_in_order(X, self.column_order_) for X in (Xs, Xt))
        maps = column_maps(source, target, self.scaling, seed, spread=self.spread_atoms)
        self.column_maps_: dict[Domain, ColumnMap] = dict(zip(_DOMAINS, maps, strict=True))
        rows: list[torch.Tensor] = []
        given: list[torch.Tensor] = []
        for domain, columns, X in zip(_DOMAINS, maps, (Xs, Xt), strict=True):
            shape = len(X), len(self.column_order_)
            mapped = torch.empty(shape, dtype=torch.float32, device="cpu")
            centres = torch.empty_like(mapped) if columns.has_atoms else mapped
            for block, Z in columns.forward_blocks(X, self.column_order_, seed, _block_rows()):
                mapped[block] = torch.from_numpy(Z)
                if columns.has_atoms:
                    centres[block] = torch.from_numpy(columns.all_centres(Z))
            self._warn_of_outliers(domain, mapped.numpy())
            rows.append(mapped.to(self.device))
            given.append(centres.to(self.device) if columns.has_atoms else rows[-1])
        return _Prepared(rows, given)

    def _finish(self, trained: _Trained, Xs: FloatArray, Xt: FloatArray) -> AlignedSource:
        """Set the attributes that hold the trained densities, and carry the source."""
        self.history_ = trained.history
        raise_if_diverged(self.history_)
        maps = self.column_maps_
        self.densities_: dict[Domain, RNADEDensity] = {
            domain: trained.model.density(
                i,
                trained.replica,
                quantile_method=self.quantile_method,
                given=_CellCentres(maps[domain]),
            )
            for i, domain in enumerate(_DOMAINS)
        }
        best = int((self.history_.steps == self.history_.best_step).nonzero()[0])
        self.held_out_nll_: dict[Domain, float] = {
            domain: float(
                self.history_.held_out_nll[best, i]
                - maps[domain].log_volume(_in_order(X, self.column_order_)).mean()
            )
            for i, (domain, X) in enumerate(zip(_DOMAINS, (Xs, Xt), strict=True))
        }
        carried = self._transport(Xs)
        self._warn_of_far_rows(carried, training=True)
        return AlignedSource(carried)

    def _warn_of_outliers(self, domain: Domain, Z: FloatArray) -> None:
        columns = self.column_order_[squeezed_columns(Z, self.sigma_floor)]
        if len(columns):
            warn_user(
                f"Columns {self._names(columns)} of the {domain} have outliers so far out that the "
                "other rows lie within a few times sigma_floor of each other, too close for "
                "the density to tell apart. Clip the outliers or take a logarithm first."
            )

    def _names(self, columns: NDArray[np.intp]) -> list[Any]:
        """What columns are called in messages: their names, or numbers where there are none."""
        names = getattr(self, "feature_names_in_", getattr(self, "_columns_", None))
        return [j if names is None else names[j] for j in columns.tolist()]

    def _warn_of_far_rows(self, carried: FloatArray, *, training: bool) -> None:
        message = describe_far_rows(
            carried,
            self.target_range_,
            self.column_order_,
            training=training,
            names=self._names(np.arange(self.n_features_in_)),
        )
        if message is not None:
            warn_user(message)

    def _map_target(self, X: FloatArray) -> FloatArray:
        """Set the columns left out to what they are in the transported source.

        A column that is constant in the source alone varies in the target; the classifier was
        trained without that variation and must not meet it.
        """
        if not len(self.constant_columns_):
            return X
        mapped = X.copy()
        mapped[:, self.constant_columns_] = self.target_mean_[self.constant_columns_]
        return mapped

    def _training_options(self) -> TrainingOptions:
        return TrainingOptions(
            learning_rate=self.learning_rate,
            max_steps=self.max_steps,
            batch_size=self.batch_size,
            validation_fraction=self.validation_fraction,
            patience=self.patience,
        )

    def _check_parameters(self) -> None:
        """Refuse parameters that cannot work before any long work starts."""
        require_integer("n_components", self.n_components, 1)
        require_integer("hidden_size", self.hidden_size, 1)
        require_truth("spread_atoms", self.spread_atoms)
        require_number("sigma_floor", self.sigma_floor, positive=False)
        require_number("eps", self.eps, positive=True)
        if not 0.5 < 1.0 - self.eps < 1.0:
            raise ValueError(
                "eps must lie below 0.5, and above 1e-16, so that 1 - eps is below 1 in double "
                f"precision; got {self.eps!r}."
            )
        if self.quantile_method not in ("newton", "bisection"):
            raise ValueError(
                f"quantile_method must be 'newton' or 'bisection', got {self.quantile_method!r}."
            )
        self._training_options()
        find_device(self.device)

    def _resolve_column_order(self, d: int, seed: int) -> NDArray[np.intp]:
        if isinstance(self.column_order, str):
            match self.column_order:
                case "given":
                    return np.arange(d)
                case "reversed":
                    return np.arange(d)[::-1].copy()
                case "random":
                    return np.random.default_rng(seed).permutation(d)
        else:
            order = np.asarray(self.column_order)
            if order.shape == (d,) and np.array_equal(np.sort(order), np.arange(d)):
                return order.astype(np.intp)
        raise ValueError(
            "column_order must be 'given', 'reversed', 'random' or a permutation of the "
            f"{d} column numbers 0 to {d - 1}, got {self.column_order!r}."
        )

    def _transport(self, X: FloatArray) -> FloatArray:
        """Carry checked source rows to the target, in the input's columns and units."""
        order, maps = self.column_order_, self.column_maps_
        source, target = self.densities_["source"], self.densities_["target"]
        result = np.empty_like(X)
        for block, Z in maps["source"].forward_blocks(X, order, self.seed_, _block_rows()):
            rows = torch.from_numpy(Z)
            carried = knothe_rosenblatt(
                source, target, rows, eps=self.eps, first_row=int(block.start)
            )
            result[block, order] = maps["target"].backward(carried.numpy())
        result[:, self.constant_columns_] = self.target_mean_[self.constant_columns_]
        require_finite(result, "KRDA: the carried source")
        return result

    def transform(self, Xs: ArrayLike) -> FloatArray:
        """Carry source rows, those of the training or new ones, to the target domain.

        Parameters
        ----------
        Xs : array-like of shape (n, d)
            A row is carried alike whatever rows stand beside it; but for rows that
            equal each other in all columns, whose atoms are spread in the order they come.

        Returns
        -------
        T : ndarray of shape (n, d)
            In the target's units.

        Warns
        -----
        UserWarning
            Rows are carried far outside the target rows of the fit, as rows unlike those of the
            source can be: their values mean nothing.

        Raises
        ------
        FloatingPointError
            A row is carried to no finite place.
        TypeError
            A pipeline of scikit-learn calls, which would transform target rows, too.
        """
        carried = self._transport(self._validate_source(Xs))
        self._warn_of_far_rows(carried, training=False)
        return carried

    def log_prob(self, X: ArrayLike, domain: Domain = "target") -> FloatArray:
        """Log-density of rows under a domain's fitted density, in the input's units.

        Parameters
        ----------
        X : array-like of shape (n, d)
        domain : {"source", "target"}, default="target"

        Returns
        -------
        log_prob : ndarray of shape (n,)
            With respect to length for continuous values and to counting for atoms, given the
            places of the row's own atoms in their cells. Columns constant in a domain are left
            out.
        """
        density, columns = self._fitted_domain(domain)
        rows = self._validate_target(X)[:, self.column_order_]
        with torch.no_grad():
            mapped = density.log_prob(torch.from_numpy(columns.forward(rows, self.seed_)))
        return mapped.numpy() + columns.log_volume(rows)

    def sample(self, n: int, domain: Domain = "target", random_state: Any = None) -> FloatArray:
        """Draw rows from a domain's fitted density, in the input's units.

        Parameters
        ----------
        n : int
        domain : {"source", "target"}, default="target"
        random_state : int, RandomState or None, default=None

        Returns
        -------
        X : ndarray of shape (n, d)
            Columns constant in a domain hold the target's mean.

        Raises
        ------
        ValueError
            ``n`` is no integer of at least 1, or no such domain.
        """
        density, columns = self._fitted_domain(domain)
        require_integer("n", n, 1)
        generator = torch.Generator().manual_seed(seed_from(random_state))
        with torch.no_grad():
            drawn = density.sample(n, generator).numpy()
        result = np.tile(self.target_mean_, (n, 1))
        result[:, self.column_order_] = columns.backward(drawn)
        return result

    def _fitted_domain(self, domain: Domain) -> tuple[RNADEDensity, ColumnMap]:
        check_is_fitted(self)
        if domain not in _DOMAINS:
            raise ValueError(f"domain must be 'source' or 'target', got {domain!r}.")
        return self.densities_[domain], self.column_maps_[domain]

    history_: TrainingHistory
