"""KRDA: the Knothe-Rosenblatt map and a classifier (paper, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from krda.alignment.chosen import ChosenAlignment
from krda.alignment.weighting import fit_weighted, thinning
from krda.base import AlignedClassifier, Domains
from krda.density.training import fit_maximum_likelihood
from krda.parameters import Domain, MapParameters
from krda.scikit import seed_from
from krda.transformer import KnotheRosenblatt
from krda.validation import FloatArray, require_integer

ALIGNMENTS = ("none", "standardize", "quantiles", "linear", "affine", "auto")


@dataclass(eq=False, repr=False)
class KRDA(MapParameters, AlignedClassifier):
    """Knothe-Rosenblatt Domain Adaptation; with ``spread_atoms=False`` it has the paper's form.

    The Knothe-Rosenblatt map from the source to the target is fitted (:class:`KnotheRosenblatt`),
    and an ordinary classifier is trained on the transported source rows and their labels. Target
    rows are classified as they are. The other parameters, from ``scaling`` to ``random_state``, are
    those of :class:`KnotheRosenblatt`, with the same defaults.

    Parameters
    ----------
    n_components : int, default=5
        Gaussians N in each conditional mixture (paper: 5).
    hidden_size : int, default=50
        Hidden size H of RNADE (paper: 50 on moons, 100 on HEPMASS).
    classifier : estimator, default=None
        Trained on the transported source; any scikit-learn classifier. None is ``SVC()``.
    alignment : {"none", "standardize", "quantiles", "linear", "affine", "auto"}, default="none"
        How the source is aligned before the map is fitted, which then has less to learn: "none" is
        the paper's form, "auto" the choice of :class:`krda.AutoAdaptation`, class shares included.
        The density of the source is then fitted to rows with the target's class shares.
    column_order : {"given", "reversed", "random", "consensus"} or array-like of shape (d,), \
default="given"
        As that of :class:`KnotheRosenblatt`; "consensus" takes the mean of the maps of
        ``n_orders`` random orders.
    n_orders : int, default=4
        Orders of a consensus.

    Attributes
    ----------
    classifier_ : estimator
        The classifier fitted on the transported source.
    maps_ : list of KnotheRosenblatt
        The fitted maps: one, or ``n_orders`` of them.
    map_ : KnotheRosenblatt
        The first of them. Its attributes, such as ``densities_``, ``history_`` and
        ``held_out_nll_``, are also those of the model.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Only if ``Xs`` is a data frame with string column names.

    See Also
    --------
    KnotheRosenblatt : The map alone, without labels.

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

    classifier: Any = field(default=None, kw_only=True)
    alignment: Any = field(default="none", kw_only=True)
    n_orders: int = field(default=4, kw_only=True)

    trains_together: ClassVar[bool] = True

    def __getattr__(self, name: str) -> Any:
        """Look for a fitted attribute in the map."""
        if name.endswith("_") and not name.startswith("_") and "map_" in vars(self):
            return getattr(self.map_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _new_maps(self) -> list[KnotheRosenblatt]:
        """Make the unfitted maps, for checked rows of the columns of the fit."""
        names = KnotheRosenblatt._get_param_names()
        parameters = {name: getattr(self, name) for name in names}
        given: list[dict[str, Any]] = [{}]
        if isinstance(self.column_order, str) and self.column_order == "consensus":
            require_integer("n_orders", self.n_orders, 1)
            rng = np.random.default_rng(seed_from(self.random_state))
            seeds = rng.integers(2**31 - 1, size=self.n_orders).tolist()
            given = [{"column_order": "random", "random_state": seed} for seed in seeds]
        maps = [KnotheRosenblatt(**parameters | own) for own in given]
        for new in maps:
            for name in ("n_features_in_", "feature_names_in_", "_columns_"):
                if hasattr(self, name):
                    setattr(new, name, getattr(self, name))
        return maps

    def _prepare(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> list[Any]:
        """Align the source, and give the untrained network of each map with its rows."""
        if not isinstance(self.alignment, str) or self.alignment not in ALIGNMENTS:
            raise ValueError(
                f"alignment must be one of {', '.join(ALIGNMENTS)}, got {self.alignment!r}."
            )
        self.maps_ = self._new_maps()
        self.map_ = self.maps_[0]
        self._rows_, self._weights_ = Xs, None
        if self.alignment != "none":
            codes = np.unique(ys, return_inverse=True)[1]
            seed = seed_from(self.random_state)
            self.alignment_ = ChosenAlignment.fit(self.alignment, Xs, codes, Xt, seed)  # type: ignore[arg-type]
            self._weights_ = self.alignment_.weights(codes)
            self._rows_ = self.alignment_(Xs)
            if self._weights_ is not None:
                self._rows_ = self._rows_[thinning(self._weights_)]
        return [new._prepare(self._rows_, Xt) for new in self.maps_]

    def _finish(self, trained: Sequence[Any], data: Domains, classifier: Any) -> None:
        """Keep the trained densities, and train the classifier on the transported source."""
        for new, (network, history) in zip(self.maps_, trained, strict=True):
            new._finish(network, history, self._rows_, data.Xt)
        transported = self._transport(data.Xs)
        self.map_.warn_of_far_rows(transported, "target", training=True)
        what = f"{type(self).__name__}: the aligned source"
        self.classifier_ = fit_weighted(classifier, transported, data.ys, self._weights_, what)
        del self._rows_, self._weights_

    def _align(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> NoReturn:
        raise NotImplementedError("KRDA aligns in _fit_together.")

    def _fit(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> None:
        (error,) = _fit_all([self], [Domains(Xs, ys, Xt)])
        if error is not None:
            raise error

    @classmethod
    def _fit_together(
        cls, methods: Sequence[Self], domains: Sequence[Domains]
    ) -> list[Exception | None]:
        return _fit_all(methods, domains)

    def _transport(self, X: FloatArray) -> FloatArray:
        """Map checked source rows to the target: the mean of the maps of the aligned rows."""
        rows = X if self.alignment == "none" else self.alignment_(X)
        mapped = [new.map_rows(rows, "source", "target") for new in self.maps_]
        return mapped[0] if len(mapped) == 1 else np.mean(mapped, axis=0)

    def _map_target(self, X: FloatArray) -> FloatArray:
        """Set the columns left out to what they are in the transported source.

        A column that is constant in the source alone varies in the target; the classifier was
        trained without that variation and must not meet it.
        """
        if not len(self.constant_columns_):
            return X
        mapped = X.copy()
        mapped[:, self.constant_columns_] = self.means_["target"][self.constant_columns_]
        return mapped

    def transform(self, Xs: ArrayLike) -> FloatArray:
        """Map source rows to the target domain: see :meth:`KnotheRosenblatt.transform`.

        Parameters
        ----------
        Xs : array-like of shape (n, d)

        Returns
        -------
        T : ndarray of shape (n, d)
        """
        transported = self._transport(self._validate_source(Xs))
        self.map_.warn_of_far_rows(transported, "target", training=False)
        return transported

    def log_prob(self, X: ArrayLike, domain: Domain = "target") -> FloatArray:
        """Log-density of rows under a domain: see :meth:`KnotheRosenblatt.log_prob`.

        With an alignment the source's density is that of the aligned rows, in the target's units.
        Of a consensus, the density is that of the first order.

        Parameters
        ----------
        X : array-like of shape (n, d)
        domain : {"source", "target"}, default="target"

        Returns
        -------
        log_prob : ndarray of shape (n,)
        """
        check_is_fitted(self)
        return self.map_.log_prob(X, domain)

    def sample(self, n: int, domain: Domain = "target", random_state: Any = None) -> FloatArray:
        """Draw rows from the density of a domain: see :meth:`KnotheRosenblatt.sample`.

        Parameters
        ----------
        n : int
        domain : {"source", "target"}, default="target"
        random_state : int, RandomState or None, default=None

        Returns
        -------
        X : ndarray of shape (n, d)
        """
        check_is_fitted(self)
        return self.map_.sample(n, domain, random_state)


def _fit_all(methods: Sequence[KRDA], domains: Sequence[Domains]) -> list[Exception | None]:
    """Fit methods, and train the networks of all their maps as one program."""
    errors: list[Exception | None] = [None] * len(methods)
    classifiers = [method._new_classifier() for method in methods]  # first: it may be wrong
    prepared: dict[int, list[Any]] = {}
    for i, (method, given) in enumerate(zip(methods, domains, strict=True)):
        try:
            prepared[i] = method._prepare(*given)
        except Exception as error:
            errors[i] = error
    if not prepared:
        return errors
    networks, rows, conditioning_rows = zip(*chain(*prepared.values()), strict=True)
    options = methods[0].training_options()
    histories = fit_maximum_likelihood(networks, rows, options, conditioning_rows)
    trained = zip(networks, histories, strict=True)
    for i, own in prepared.items():
        of_method = list(islice(trained, len(own)))
        try:
            methods[i]._finish(of_method, domains[i], classifiers[i])
        except Exception as error:
            errors[i] = error
    return errors
