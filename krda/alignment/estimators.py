"""Alignments as estimators: a map of the source rows, and a classifier trained on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from krda.alignment.fitting import (
    ROTATION_PENALTY,
    Fitted,
    Kind,
    comparable_units,
    fit_jointly,
    fit_map,
    map_in_units,
)
from krda.alignment.mapping import SourceMapping
from krda.alignment.maps import gaussian_map
from krda.alignment.shares import class_weights, some_of_each, some_rows, source_shares
from krda.alignment.weighting import fit_weighted
from krda.base import AlignedSource
from krda.validation import FloatArray, require_number


class Alignment(SourceMapping):
    """A map of one kind, and the class shares of the target, given or found with it.

    Subclasses say their ``kind``. See :mod:`krda.alignment.fitting`.

    Attributes
    ----------
    class_shares_ : ndarray of shape (n_classes,)
        Shares that the source's classes were weighted by, in the order of ``classes_``.
    """

    kind: ClassVar[Kind]
    class_shares: Any
    class_shares_: FloatArray
    scale_: FloatArray
    map_: Callable[[FloatArray], FloatArray]

    def __init__(self, classifier: Any = None, *, class_shares: Any = "source") -> None:
        self.classifier = classifier
        self.class_shares = class_shares

    def _align(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> AlignedSource:
        codes = np.unique(ys, return_inverse=True)[1]
        self.scale_ = scale = comparable_units(Xs, Xt)
        source, target = Xs / scale, Xt / scale
        fitted = self._fitted(source, codes, target)
        self.class_shares_ = fitted.shares
        full = fit_map(self.kind, source, codes, target, fitted.shares, rotation=fitted.rotation)
        self.map_ = full.map
        weights = None
        if not self._keeps_shares():
            weights = len(Xs) * class_weights(codes, fitted.shares)
        return AlignedSource(self._map_source(Xs), weights)

    def _fit_classifier(self, classifier: Any, aligned: AlignedSource, ys: NDArray[Any]) -> None:
        what = f"{type(self).__name__}: the aligned source"
        self.classifier_ = fit_weighted(classifier, aligned.X, ys, aligned.sample_weight, what)

    def _keeps_shares(self) -> bool:
        return isinstance(self.class_shares, str) and self.class_shares == "source"

    def _fitted(self, Xs: FloatArray, codes: NDArray[Any], Xt: FloatArray) -> Fitted:
        """Find the shares, and the rotation if there is one, on some of the rows."""
        rows, target, own = some_of_each(codes), Xt[some_rows(len(Xt))], source_shares(codes)
        penalty = getattr(self, "penalty", ROTATION_PENALTY)
        require_number("penalty", penalty, positive=False)
        if isinstance(self.class_shares, str) and self.class_shares == "estimated":
            return fit_jointly(
                self.kind, Xs[rows], codes[rows], target, own, rotation_penalty=penalty
            )
        shares = own if self._keeps_shares() else self._given_shares(len(own))
        return fit_map(self.kind, Xs[rows], codes[rows], target, shares, rotation_penalty=penalty)

    def _given_shares(self, n_classes: int) -> FloatArray:
        """Check shares that the user gave."""
        try:
            shares = np.asarray(self.class_shares, dtype=np.float64)
        except (TypeError, ValueError):
            shares = np.empty(0)
        if shares.shape != (n_classes,) or shares.min() < 0 or not 0 < shares.sum() < np.inf:
            raise ValueError(
                "class_shares must be 'source', 'estimated', or a share of at least 0 for each of "
                f"the {n_classes} classes in sorted order, got {self.class_shares!r}."
            )
        return shares / shares.sum()

    def _map_source(self, Xs: FloatArray) -> FloatArray:
        return map_in_units(self.map_, Xs, self.scale_)


class Standardize(Alignment):
    """Give each source column the target's mean and standard deviation.

    Parameters
    ----------
    classifier : estimator, default=None
        Trained on the mapped source; any scikit-learn classifier. None is ``SVC()``.
    class_shares : {"source", "estimated"} or array-like of shape (n_classes,), default="source"
        Shares of the classes in the target, in the order of the sorted labels. The source's classes
        are weighted by them, for the map and for the classifier; one that takes no
        ``sample_weight`` gets fewer rows of some classes. "estimated" finds them with the map.

    Attributes
    ----------
    classifier_ : estimator
        The classifier fitted on the mapped source.
    class_shares_ : ndarray of shape (n_classes,)
        The shares that were used.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from krda import Standardize
    >>> Xs = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = Standardize().fit(Xs, [0, 0, 1, 1], 10 * Xs + 5)
    >>> model.transform([[1.0]]).tolist()
    [[15.0]]
    """

    kind = "standardize"


class ColumnQuantiles(Alignment):
    """Give each source column the target's distribution: one-dimensional optimal transport.

    A source value goes to its rank in its source column and on to the target column's quantile at
    that rank, with straight lines in between; see :func:`krda.alignment.maps.quantile_map`. Beyond
    the outermost ranks the map is constant: nothing leaves the target's range. How columns depend
    on each other is not adapted.

    Parameters
    ----------
    classifier, class_shares
        As those of :class:`Standardize`.

    Attributes
    ----------
    classifier_, class_shares_, classes_, n_features_in_
        As those of :class:`Standardize`.

    Examples
    --------
    >>> import numpy as np
    >>> from krda import ColumnQuantiles
    >>> Xs = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = ColumnQuantiles().fit(Xs, [0, 0, 1, 1], Xs**2)
    >>> model.transform([[2.0], [9.0]]).tolist()
    [[4.0], [9.0]]
    """

    kind = "quantiles"


class LinearOT(SourceMapping):
    r"""Map the source by the optimal transport between the Gaussians of both domains.

    The map is affine and gives the source the target's mean and covariance, moving it as little as
    possible; see :func:`krda.alignment.maps.gaussian_map` (Knott and Smith 1984). Collinear columns
    and fewer rows than columns are no obstacle: directions in which the source does not vary are
    left out.

    Parameters
    ----------
    classifier : estimator, default=None
        Trained on the mapped source; any scikit-learn classifier. None is ``SVC()``.

    Attributes
    ----------
    classifier_ : estimator
        The classifier fitted on the mapped source.
    map_ : AffineMap
        ``matrix`` of shape (d, d), ``source_mean`` and ``target_mean`` of shape (d,).

    Examples
    --------
    >>> import numpy as np
    >>> from krda import LinearOT
    >>> rng = np.random.default_rng(0)
    >>> Xs = rng.normal(size=(100, 2))
    >>> model = LinearOT().fit(Xs, Xs[:, 0] > 0, Xs @ np.diag([2.0, 3.0]) + 1)
    >>> np.abs(model.map_.matrix.round(6)).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """

    def __init__(self, classifier: Any = None) -> None:
        self.classifier = classifier

    def _align(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> AlignedSource:
        self.map_ = gaussian_map(Xs, Xt)
        return AlignedSource(self._map_source(Xs))

    def _map_source(self, Xs: FloatArray) -> FloatArray:
        return self.map_(Xs)


class AffineAlignment(Alignment):
    """Whiten the source, rotate it as the target asks for, and give it the target's covariance.

    Means and covariances leave a rotation open. It is chosen from the whole distribution: see
    :mod:`krda.alignment.rotation`. Covariances are shrunk to their diagonals as far as the noise in
    the correlations asks for. The result depends on no order of the columns, and not on their axes
    either, up to the columns' units.

    Parameters
    ----------
    classifier, class_shares
        As those of :class:`Standardize`.
    penalty : float, default=0.5
        Weight of the preference for small rotations, in units of the noise. It was chosen on
        simulated shapes in random orientation; 0.25 to 1 are alike.

    Attributes
    ----------
    classifier_, class_shares_, classes_, n_features_in_
        As those of :class:`Standardize`.

    Notes
    -----
    If a rotation by half a turn maps the target onto itself with the classes exchanged, as it does
    on the two moons, no label-free rule can tell the two rotations apart; the smaller is taken.

    Examples
    --------
    >>> import numpy as np
    >>> from krda import AffineAlignment
    >>> rng = np.random.default_rng(0)
    >>> Xs = np.abs(rng.normal(size=(300, 2))) * [1, 2]
    >>> turned = Xs @ np.array([[0.6, 0.8], [-0.8, 0.6]])
    >>> model = AffineAlignment().fit(Xs, Xs[:, 0] > 1, turned)
    >>> bool(np.abs(model.transform(Xs) - turned).mean() < 0.1)
    True
    """

    kind = "affine"

    def __init__(
        self, classifier: Any = None, *, class_shares: Any = "source", penalty: float = 0.5
    ) -> None:
        super().__init__(classifier, class_shares=class_shares)
        self.penalty = penalty


class ClassReweighting(Alignment):
    """Move nothing; weight the source's classes as the target holds them.

    The right answer to a pure shift of labels. The shares minimise the energy distance of the
    weighted source to the target. Whether they explain the shift, :class:`krda.AutoAdaptation`
    says.

    Parameters
    ----------
    classifier : estimator, default=None
        Trained on the weighted source; any scikit-learn classifier. None is ``SVC()``.
    class_shares : {"estimated"} or array-like of shape (n_classes,), default="estimated"

    Attributes
    ----------
    classifier_, class_shares_, classes_, n_features_in_
        As those of :class:`Standardize`.

    Examples
    --------
    >>> import numpy as np
    >>> from krda import ClassReweighting
    >>> Xs, ys = np.repeat([[0.0], [1.0]], 50, axis=0), np.repeat([0, 1], 50)
    >>> model = ClassReweighting().fit(Xs, ys, Xs[40:])
    >>> model.class_shares_.round(1).tolist()
    [0.2, 0.8]
    """

    kind = "none"

    def __init__(self, classifier: Any = None, *, class_shares: Any = "estimated") -> None:
        super().__init__(classifier, class_shares=class_shares)
