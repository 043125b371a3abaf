"""KRDA: the Knothe-Rosenblatt map and a classifier (paper, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from krda.base import AlignedClassifier, AlignedSource, Domains
from krda.density.training import fit_maximum_likelihood
from krda.parameters import Domain, MapParameters
from krda.transformer import KnotheRosenblatt
from krda.validation import FloatArray


@dataclass(eq=False, repr=False)
class KRDA(MapParameters, AlignedClassifier):
    r"""Knothe-Rosenblatt Domain Adaptation.

    The Knothe-Rosenblatt map from the source to the target is fitted (:class:`KnotheRosenblatt`),
    and an ordinary classifier is trained on the transported source rows and their labels. Target
    rows are classified as they are.

    Parameters
    ----------
    n_components : int, default=5
        Gaussians N in each conditional mixture (paper: 5).
    hidden_size : int, default=50
        Hidden size H of RNADE (paper: 50 on moons, 100 on HEPMASS).
    classifier : estimator, default=None
        Trained on the transported source; any scikit-learn classifier. None is ``SVC()``.
    column_order, scaling, spread_atoms, learning_rate, max_steps, batch_size, \
validation_fraction, patience, sigma_floor, eps, quantile_method, device, random_state
        As those of :class:`KnotheRosenblatt`, with the same defaults.

    Attributes
    ----------
    classifier_ : estimator
        The classifier fitted on the transported source.
    map_ : KnotheRosenblatt
        The fitted map. Its attributes, such as ``densities_``, ``history_`` and
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

    trains_together: ClassVar[bool] = True

    def __getattr__(self, name: str) -> Any:
        """Look for a fitted attribute in the map."""
        if name.endswith("_") and not name.startswith("_") and "map_" in vars(self):
            return getattr(self.map_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _new_map(self) -> KnotheRosenblatt:
        """Make the unfitted map, for checked rows of the columns of the fit."""
        names = KnotheRosenblatt._get_param_names()
        new = KnotheRosenblatt(**{name: getattr(self, name) for name in names})
        for name in ("n_features_in_", "feature_names_in_", "_columns_"):
            if hasattr(self, name):
                setattr(new, name, getattr(self, name))
        return new

    def _align(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> AlignedSource:
        del ys  # The map is fitted to rows alone.
        self.map_ = self._new_map()
        self.map_.fit_rows(Xs, Xt)
        return self._aligned(Xs)

    def _aligned(self, Xs: FloatArray) -> AlignedSource:
        """Transport the source rows of the fit."""
        transported = self._transport(Xs)
        self.map_.warn_of_far_rows(transported, "target", training=True)
        return AlignedSource(transported)

    @classmethod
    def _fit_together(
        cls, methods: Sequence[Self], domains: Sequence[Domains]
    ) -> list[Exception | None]:
        """Fit as :meth:`_fit` does, but train the networks of all maps as one program."""
        errors: list[Exception | None] = [None] * len(methods)
        classifiers = [method._new_classifier() for method in methods]  # first, as in `_fit`
        prepared = {}
        for i, (method, given) in enumerate(zip(methods, domains, strict=True)):
            try:
                method.map_ = method._new_map()
                prepared[i] = method.map_._prepare(given.Xs, given.Xt)
            except Exception as error:
                errors[i] = error
        if not prepared:
            return errors
        networks, rows, conditioning_rows = zip(*prepared.values(), strict=True)
        options = methods[0].map_.training_options()
        histories = fit_maximum_likelihood(networks, rows, options, conditioning_rows)
        for i, network, history in zip(prepared, networks, histories, strict=True):
            method, (Xs, ys, Xt) = methods[i], domains[i]
            try:
                method.map_._finish(network, history, Xs, Xt)
                method._fit_classifier(classifiers[i], method._aligned(Xs), ys)
            except Exception as error:
                errors[i] = error
        return errors

    def _transport(self, X: FloatArray) -> FloatArray:
        """Map checked source rows to the target."""
        return self.map_.map_rows(X, "source", "target")

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
