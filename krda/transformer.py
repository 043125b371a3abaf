"""The Knothe-Rosenblatt map as an estimator for tables (paper, section 5).

``fit`` checks the tables. ``fit_rows`` then takes three steps:

1. ``_prepare`` chooses the columns, maps them (:mod:`krda.preprocessing`), makes the network;
2. :func:`krda.density.training.fit_maximum_likelihood` trains it on the rows of both domains;
3. ``_finish`` keeps the densities.

:class:`krda.KRDA` takes the same steps; for several fits at once the second is one program.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from krda.density.rnade import RNADE, RNADEDensity
from krda.density.training import TrainingHistory, fit_maximum_likelihood, raise_if_diverged
from krda.extrapolation import column_ranges, describe_far_rows
from krda.parameters import DOMAINS, Domain, MapParameters
from krda.preprocessing import (
    ColumnMap,
    column_maps,
    constant_columns,
    in_order,
    resolve_column_order,
    squeezed_columns,
)
from krda.scikit import called_by_pipeline, fresh_fit, seed_from
from krda.transport import knothe_rosenblatt
from krda.validation import (
    FloatArray,
    check_rows,
    check_same_columns,
    remember_columns,
    require_finite,
    require_integer,
    warn_user,
)

_NO_PIPELINE = (
    "KnotheRosenblatt maps source rows alone to a table Xt of target rows, so it cannot be a step "
    "of a pipeline of scikit-learn, which transforms every row. Call fit(Xs, Xt) and transform(Xs),"
    " then train on the result; or use krda.KRDA, which trains a classifier on it."
)


class KnotheRosenblatt(MapParameters):
    r"""The Knothe-Rosenblatt map from a source table to a target table, without any labels.

    One RNADE is fitted to both domains, with shared hidden parameters and linear layers of their
    own. A source row is mapped by matching conditional quantiles one coordinate after another,

        T(x)^i = F_T^i^{-1}( F_S^i(x^i | x^{<i}) | T(x)^{<i} ).

    Parameters
    ----------
    n_components : int, default=5
        Gaussians N in each conditional mixture (paper: 5).
    hidden_size : int, default=50
        Hidden size H of RNADE (paper: 50 on moons, 100 on HEPMASS).
    column_order : {"given", "reversed", "random"} or array-like of shape (d,), default="given"
        In which order the columns enter the autoregression. The map depends on it: the paper
        calls the order 'not crucial', yet on rotated moons it decides.
    scaling : {"domain", "pooled"}, default="domain"
        How columns are brought to unit scale for the density; see
        :func:`krda.preprocessing.column_maps`.
    spread_atoms : bool, default=True
        Whether the point masses of counts, flags and zero-inflated columns are spread at random
        for the density, and mapped rows brought back to the other domain's own values; see
        :mod:`krda.preprocessing`. False is the paper's form.
    learning_rate : float, default=0.01
        Adam's first step; decays to zero as a half cosine over ``max_steps``.
    max_steps : int, default=1000
        Upper bound on the number of training steps. 0 keeps the initial parameters, with which
        both domains have the same density: the map standardises each column and no more, except
        that values in the far tails are clipped (``eps``).
    batch_size : int or None, default=128
        Rows of each domain in a step, at most. None takes all of them.
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
        Where the network is trained; the map runs in float64 on the processor.
    random_state : int, RandomState or None, default=None
        Decides initial parameters, held-out rows, batches, the places of atoms and a random column
        order.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Only if ``Xs`` is a data frame with string column names.
    densities_ : dict
        ``{"source": RNADEDensity, "target": RNADEDensity}``, over the mapped columns in the order
        of ``column_order_``.
    column_maps_ : dict
        The atoms and the scale of each domain (:class:`krda.preprocessing.ColumnMap`), over the
        same columns.
    seed_ : int
        The seed drawn from ``random_state``.
    column_order_ : ndarray of int
        Columns as they enter the densities: those constant in neither domain, in order.
    constant_columns_ : ndarray of int
        Columns that are constant in a domain. They take no part in the densities; mapped rows hold
        the mean of the domain that they are mapped to.
    means_ : dict
        Each domain's means, of shape (d,).
    ranges_ : dict
        Least and largest value of each column in the rows of the fit, of shape (2, d), for each
        domain. ``fit`` and ``transform`` warn if rows are mapped far outside.
    history_ : TrainingHistory
        Training and held-out negative log-likelihood by step and domain, of the mapped columns.
    held_out_nll_ : dict
        Mean negative log-likelihood of each domain's held-out rows under the densities that were
        kept, in the input's units (the share of atoms is that of all rows). Lower is better. It
        needs no label, so it can choose hyper-parameters, except ``spread_atoms``, and
        ``sigma_floor`` without it: a density of atoms that are not spread has no bound.

    See Also
    --------
    KRDA : The map and a classifier that is trained on the transported source.

    References
    ----------
    A. Virmaux, I. Saffar, J. Zhang, B. Kegl (2021). Knothe-Rosenblatt transport for Unsupervised
    Domain Adaptation. arXiv:2110.02716.

    Examples
    --------
    >>> import numpy as np
    >>> from krda import KnotheRosenblatt
    >>> rng = np.random.default_rng(0)
    >>> Xs, Xt = rng.normal(size=(200, 2)), 3 * rng.normal(size=(200, 2)) + 5
    >>> transport = KnotheRosenblatt(random_state=0).fit(Xs, Xt)
    >>> transport.transform(Xs).shape
    (200, 2)
    """

    def fit(self, Xs: ArrayLike, Xt: ArrayLike) -> Self:
        """Fit the densities of both domains.

        Parameters
        ----------
        Xs : array-like of shape (n_source, d)
        Xt : array-like of shape (n_target, d)
            Same columns.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError, TypeError
            Tables or parameters that cannot be worked with; the message says which, and what is
            expected.
        DivergenceError
            Training failed with the given learning rate and with a smaller one.
        FloatingPointError
            A source row is mapped to no finite place.
        """
        with fresh_fit(self):
            if np.ndim(Xt) == 1:  # the labels, which a pipeline passes as second argument
                raise TypeError(_NO_PIPELINE)
            source = check_rows(Xs, "Xs", 2)
            remember_columns(self, Xs)
            target = check_same_columns(self, Xt, name="Xt", fitted="Xs", min_rows=2)
            self.fit_rows(source, target)
            mapped = self.map_rows(source, "source", "target")  # for the warning alone
            self.warn_of_far_rows(mapped, "target", training=True)
        return self

    def fit_rows(self, Xs: FloatArray, Xt: FloatArray) -> None:
        """Fit to checked rows."""
        network, rows, conditioning_rows = self._prepare(Xs, Xt)
        options = self.training_options()
        (history,) = fit_maximum_likelihood([network], [rows], options, [conditioning_rows])
        self._finish(network, history, Xs, Xt)

    def _prepare(self, Xs: FloatArray, Xt: FloatArray) -> tuple[RNADE, list[Tensor], list[Tensor]]:
        """Set the attributes of the columns; give the untrained network and its rows.

        These are the mapped rows of each domain, and those rows as the conditionals take them.
        """
        self._check_parameters()
        self.seed_ = seed = seed_from(self.random_state)
        constant = constant_columns(Xs) | constant_columns(Xt)
        if constant.all():
            raise ValueError(
                "Every column is constant in the source or in the target; there is no "
                "distribution to transport. Check that the tables hold features."
            )
        if constant.any():
            warn_user(
                f"Columns {self.names(np.flatnonzero(constant))} are constant in the source or in "
                "the target: they take no part in the adaptation and are set to the target's mean."
            )
        order = resolve_column_order(self.column_order, Xs.shape[1], seed)
        self.column_order_ = order = order[~constant[order]]
        self.constant_columns_ = np.flatnonzero(constant)
        self.means_ = {"source": Xs.mean(axis=0), "target": Xt.mean(axis=0)}
        self.ranges_ = {"source": column_ranges(Xs), "target": column_ranges(Xt)}
        source, target = in_order(Xs, order), in_order(Xt, order)
        maps = column_maps(source, target, self.scaling, seed, spread=self.spread_atoms)
        self.column_maps_ = dict(zip(DOMAINS, maps, strict=True))
        tables = []
        for domain, columns, X in zip(DOMAINS, maps, (Xs, Xt), strict=True):
            mapped = columns.training_tables(X, order, seed)
            squeezed = order[squeezed_columns(mapped[0], self.sigma_floor)]
            if len(squeezed):
                warn_user(
                    f"Columns {self.names(squeezed)} of the {domain} have outliers so far out that "
                    "the other rows lie within a few times sigma_floor of each other, too close "
                    "for the density to tell apart. Clip the outliers or take a logarithm first."
                )
            tables.append([torch.from_numpy(table).to(self.device) for table in mapped])
        sizes = {"n_components": self.n_components, "hidden_size": self.hidden_size}
        network = RNADE(len(order), **sizes, sigma_floor=self.sigma_floor, seed=seed)
        rows, conditioning_rows = map(list, zip(*tables, strict=True))
        return network.to(self.device), rows, conditioning_rows

    def _finish(
        self, network: RNADE, history: TrainingHistory, Xs: FloatArray, Xt: FloatArray
    ) -> None:
        """Set the attributes of the trained densities."""
        self.history_ = history
        raise_if_diverged(history)
        best = history.steps.tolist().index(history.best_step)
        self.densities_, self.held_out_nll_ = {}, {}
        for i, (domain, X) in enumerate(zip(DOMAINS, (Xs, Xt), strict=True)):
            columns = self.column_maps_[domain]
            value = partial(_conditioning_value, columns)
            self.densities_[domain] = network.density(
                i, quantile_method=self.quantile_method, conditioning_value=value
            )
            log_volume = columns.log_volume(in_order(X, self.column_order_)).mean()
            self.held_out_nll_[domain] = float(history.held_out_nll[best, i] - log_volume)

    def fit_transform(self, Xs: ArrayLike, Xt: ArrayLike) -> FloatArray:
        """Fit, then map the source rows of the fit: ``fit(Xs, Xt).transform(Xs)``."""
        return self.fit(Xs, Xt).transform(Xs)

    def transform(self, Xs: ArrayLike) -> FloatArray:
        """Map source rows, those of the fit or new ones, to the target domain.

        Parameters
        ----------
        Xs : array-like of shape (n, d)

        Returns
        -------
        T : ndarray of shape (n, d)
            In the target's units. Each row is mapped independently of the others, except that the
            atoms of exact duplicates are spread in order of appearance.

        Warns
        -----
        UserWarning
            Rows are mapped far outside the target rows of the fit, as rows unlike those of the
            source can be: such values mean nothing.

        Raises
        ------
        FloatingPointError
            A row is mapped to no finite place.
        TypeError
            A pipeline of scikit-learn calls, which would transform target rows too.
        """
        return self._map_checked(Xs, "Xs", "source", "target")

    def inverse_transform(self, Xt: ArrayLike) -> FloatArray:
        """Map target rows to the source domain: the inverse map, ``T^{-1}``.

        Parameters
        ----------
        Xt : array-like of shape (n, d)

        Returns
        -------
        S : ndarray of shape (n, d)
            In the source's units. Columns with atoms come back as atoms of the source.

        Warns
        -----
        UserWarning
            Rows are mapped far outside the source rows of the fit.
        """
        return self._map_checked(Xt, "Xt", "target", "source")

    def log_prob(self, X: ArrayLike, domain: Domain = "target") -> FloatArray:
        """Log-density of rows under a domain's fitted density, in the input's units.

        Parameters
        ----------
        X : array-like of shape (n, d)
        domain : {"source", "target"}, default="target"

        Returns
        -------
        log_prob : ndarray of shape (n,)
            Of the columns that vary in both domains. An atom enters by its cell's width times the
            density at the random place that the row has in the cell: over many places the mean of
            ``exp(log_prob)`` is the atom's probability.
        """
        density, columns = self._fitted(domain)
        checked = check_same_columns(self, X, name="X", fitted="Xs of the fit", min_rows=1)
        rows = checked[:, self.column_order_]
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
            Columns constant in a domain hold the domain's mean.

        Raises
        ------
        ValueError
            ``n`` is no integer of at least 1, or no such domain.
        """
        density, columns = self._fitted(domain)
        require_integer("n", n, 1)
        generator = torch.Generator().manual_seed(seed_from(random_state))
        with torch.no_grad():
            drawn = density.sample(n, generator).numpy()
        result = np.tile(self.means_[domain], (n, 1))
        result[:, self.column_order_] = columns.backward(drawn)
        return result

    def _fitted(self, domain: Domain) -> tuple[RNADEDensity, ColumnMap]:
        check_is_fitted(self)
        if domain not in DOMAINS:
            raise ValueError(f"domain must be 'source' or 'target', got {domain!r}.")
        return self.densities_[domain], self.column_maps_[domain]

    def _map_checked(self, X: ArrayLike, name: str, origin: Domain, goal: Domain) -> FloatArray:
        if called_by_pipeline(2):  # of the public method, which is one call above this one
            raise TypeError(_NO_PIPELINE)
        check_is_fitted(self)
        checked = check_same_columns(self, X, name=name, fitted="Xs of the fit", min_rows=1)
        mapped = self.map_rows(checked, origin, goal)
        self.warn_of_far_rows(mapped, goal, training=False)
        return mapped

    def map_rows(self, X: FloatArray, origin: Domain, goal: Domain) -> FloatArray:
        """Map checked rows from one domain to the other, in the input's columns and units."""
        densities = self.densities_[origin], self.densities_[goal]
        maps, order = self.column_maps_, self.column_order_
        result, names = np.empty_like(X), self.names(order)
        for block, Z in maps[origin].forward_blocks(X, order, self.seed_):
            z, first = torch.from_numpy(Z), int(block.start)
            mapped = knothe_rosenblatt(*densities, z, eps=self.eps, first_row=first, names=names)
            result[block, order] = maps[goal].backward(mapped.numpy())
        result[:, self.constant_columns_] = self.means_[goal][self.constant_columns_]
        require_finite(result, f"The rows mapped to the {goal}")
        return result

    def warn_of_far_rows(self, mapped: FloatArray, goal: Domain, *, training: bool) -> None:
        """Warn of rows mapped to the goal that are far outside its rows of the fit."""
        names = self.names(np.arange(mapped.shape[1]))
        message = describe_far_rows(
            mapped, self.ranges_[goal], self.column_order_, training=training, names=names
        )
        if message is not None:
            warn_user(message)

    def names(self, columns: NDArray[np.intp]) -> list[Any]:
        """What columns are called in messages: their names, or their numbers without names."""
        names = getattr(self, "feature_names_in_", getattr(self, "_columns_", None))
        return [j if names is None else names[j] for j in columns.tolist()]


def _conditioning_value(columns: ColumnMap, i: int, z: Tensor) -> Tensor:
    return torch.from_numpy(columns.conditioning_value(i, z.numpy()))
