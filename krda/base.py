"""The contract of every domain-adaptation method: ``fit(Xs, ys, Xt)`` and ``predict(X)``.

- :class:`DomainAdaptationClassifier` checks the source and the target rows. A fit that fails leaves
  nothing behind that could predict.
- :class:`AlignedClassifier` adds the usual second half of a shallow method: an ordinary classifier
  trained on the source rows after they were aligned with the target.

No signature here has an argument for target labels. This is the label firewall of the benchmark.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from krda.scikit import (
    called_by_pipeline,
    checksum,
    classifier_has,
    forget_fit,
    fresh_fit,
    new_classifier,
    no_transformer,
    refuse_wrong_callers,
    warn_of_offsets,
)
from krda.validation import (
    FloatArray,
    check_labels,
    check_rows,
    check_same_columns,
    remember_columns,
    require_finite,
)


class AlignedSource(NamedTuple):
    """Source rows, of shape (n_source, n_aligned_features), and their weights, if they have any."""

    X: FloatArray
    sample_weight: FloatArray | None = None


class Domains(NamedTuple):
    """What a method is fitted to: source rows, their labels, target rows."""

    Xs: Any
    ys: Any
    Xt: Any


class DomainAdaptationClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """A classifier for a target domain without labels, learnt with a labelled source domain.

    Subclasses implement :meth:`_fit`, which gets checked input, and :meth:`predict`, which calls
    :meth:`_validate_target` first. Methods that can train several models as one program set
    ``trains_together`` and implement :meth:`_fit_together`; see :func:`fit_together`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in ``ys``, sorted.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if ``Xs`` is a data frame whose column names are all strings.

    See Also
    --------
    AlignedClassifier : For methods that end in an ordinary classifier.

    Examples
    --------
    >>> from krda import KRDA
    >>> isinstance(KRDA(), DomainAdaptationClassifier)
    True
    """

    trains_together: ClassVar[bool] = False

    # With scikit-learn's metadata routing a pipeline passes the target rows on, and transforms them
    # if asked to: ``Pipeline(steps, transform_input=["Xt"])``.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"Xs": UNUSED, "ys": UNUSED, "Xt": True}
    __metadata_request__fit_transform = __metadata_request__fit

    classes_: NDArray[Any]
    n_features_in_: int

    def fit(self, Xs: ArrayLike, ys: ArrayLike, Xt: ArrayLike) -> Self:
        """Fit to labelled source rows and unlabelled target rows.

        Parameters
        ----------
        Xs : array-like of shape (n_source, n_features)
        ys : array-like of shape (n_source,)
            Source labels, of any kind that scikit-learn classifiers accept.
        Xt : array-like of shape (n_target, n_features)
            Target rows. Columns of data frames are matched by name.

        Returns
        -------
        self : object
            The fitted method. If ``fit`` raises, the method is unfitted.

        Raises
        ------
        ValueError, TypeError
            Invalid input or parameters; the message says which, and what is expected.
        FloatingPointError
            The method failed numerically; the message says where.
        """
        with fresh_fit(self):
            refuse_wrong_callers(self)
            self._fit(*self._validate_domains(Xs, ys, Xt))
        return self

    def fit_transform(self, Xs: ArrayLike, ys: Any = None, Xt: Any = None) -> NoReturn:
        """Raise TypeError: a pipeline transforms all rows in one way, these methods do not."""
        raise TypeError(no_transformer(self))

    @abstractmethod
    def _fit(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> None:
        """Fit to checked input, float64 rows of both domains, and set the fitted attributes."""

    @classmethod
    def _fit_together(
        cls, methods: Sequence[Self], domains: Sequence[Domains]
    ) -> list[Exception | None]:
        """Fit each method to its own checked input; give what each raised, or None.

        All methods are of this class and equal in every parameter except ``random_state``. Each
        must become what :meth:`_fit` alone makes of it, up to rounding; nothing of one may reach
        another.
        """
        return [error_of_fit(*pair) for pair in zip(methods, domains, strict=True)]

    @abstractmethod
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the labels of target rows."""

    def _validate_domains(self, Xs: ArrayLike, ys: ArrayLike, Xt: ArrayLike) -> Domains:
        """Check the training input, give it as arrays, and set the attributes that describe it."""
        source = check_rows(Xs, "Xs", 2)
        remember_columns(self, Xs)
        labels, classes = check_labels(ys, source, "ys")
        target = check_same_columns(self, Xt, name="Xt", fitted="Xs", min_rows=2)
        self.classes_ = classes
        self._checksums_ = (checksum(source), checksum(target))
        return Domains(source, labels, target)

    def _validate_target(self, X: ArrayLike) -> FloatArray:
        """Check rows to be predicted: fitted method, same columns, finite numbers."""
        check_is_fitted(self)
        return check_same_columns(self, X, name="X", fitted="Xs", min_rows=1)

    def _validate_source(self, Xs: ArrayLike) -> FloatArray:
        """Check source rows to be transformed; to be called by ``transform`` itself.

        Raise TypeError if a pipeline of scikit-learn calls: it would pass target rows, too.
        """
        check_is_fitted(self)
        if called_by_pipeline(2):
            raise TypeError(no_transformer(self))
        return check_same_columns(self, Xs, name="Xs", fitted="Xs of the fit", min_rows=1)


class AlignedClassifier(DomainAdaptationClassifier):
    """Align the source with the target, then train an ordinary classifier on the aligned rows.

    Subclasses take ``classifier`` in ``__init__`` and implement :meth:`_align`. Those whose
    classifier is trained in another space also override :meth:`_map_target`.

    Attributes
    ----------
    classifier_ : estimator
        The classifier fitted on the aligned source.

    Examples
    --------
    >>> import numpy as np
    >>> class Centred(AlignedClassifier):
    ...     def __init__(self, classifier=None):
    ...         self.classifier = classifier
    ...     def _align(self, Xs, ys, Xt):
    ...         return AlignedSource(Xs - Xs.mean(axis=0) + Xt.mean(axis=0))
    >>> Xs, ys, Xt = np.array([[0.0], [1.0], [2.0]]), ["a", "a", "b"], np.array([[10.0], [12.0]])
    >>> Centred().fit(Xs, ys, Xt).predict([[10.2], [12.0]]).tolist()
    ['a', 'b']
    """

    weights_source: ClassVar[bool] = False  # whether _align gives sample weights

    classifier: Any
    classifier_: Any

    @abstractmethod
    def _align(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> AlignedSource:
        """Learn the alignment from checked input and return the aligned source rows."""

    def _map_target(self, X: FloatArray) -> FloatArray:
        """Map checked target rows to the space of the classifier; by default as they are."""
        return X

    def _fit(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> None:
        classifier = self._new_classifier()  # First: a wrong one must not cost an alignment.
        self._fit_classifier(classifier, self._align(Xs, ys, Xt), ys)

    def _new_classifier(self) -> Any:
        """Give the final classifier, unfitted; raise ValueError if it cannot be one."""
        classifier = new_classifier(self.classifier)
        if self.weights_source and not has_fit_parameter(classifier, "sample_weight"):
            raise ValueError(
                f"{type(self).__name__} weights the source rows, but "
                f"{type(classifier).__name__}.fit takes no sample_weight. Choose a classifier "
                "that does, such as sklearn.svm.SVC."
            )
        return classifier

    def _fit_classifier(self, classifier: Any, aligned: AlignedSource, ys: NDArray[Any]) -> None:
        """Train the final classifier on aligned source rows and set ``classifier_``."""
        require_finite(aligned.X, f"{type(self).__name__}: the aligned source")
        warn_of_offsets(aligned.X, classifier)
        weights = {} if aligned.sample_weight is None else {"sample_weight": aligned.sample_weight}
        self.classifier_ = classifier.fit(aligned.X, ys, **weights)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the labels of target rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        y : ndarray of shape (n,)
            Labels out of ``classes_``.
        """
        rows = self._seen_by_classifier(X)  # first: it says if nothing was fitted
        return self.classifier_.predict(rows)

    @available_if(lambda self: classifier_has(self, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Predict the classes' probabilities for target rows, if the classifier can.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n, n_classes)
            In the order of ``classes_``. They are the classifier's, of the aligned source, and
            need not be calibrated on the target.
        """
        rows = self._seen_by_classifier(X)  # first: it says if nothing was fitted
        return self.classifier_.predict_proba(rows)

    @available_if(lambda self: classifier_has(self, "decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Compute the classifier's decision function of target rows, if it has one.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        scores : ndarray of shape (n,) or (n, n_classes)
        """
        rows = self._seen_by_classifier(X)  # first: it says if nothing was fitted
        return self.classifier_.decision_function(rows)

    def _seen_by_classifier(self, X: ArrayLike) -> FloatArray:
        """Check target rows and map them to the space of the classifier."""
        mapped = self._map_target(self._validate_target(X))
        require_finite(mapped, f"{type(self).__name__}: the mapped target")
        return mapped


def fit_together(
    methods: Sequence[DomainAdaptationClassifier], domains: Sequence[Domains]
) -> list[Exception | None]:
    """Fit several methods that differ in ``random_state`` alone, each to domains of its own.

    Each outcome is that of ``method.fit(*domains)``. Methods with ``trains_together`` are trained
    as one program, with the models side by side: much faster if the models are small, and the same
    up to rounding, which a long training can amplify. With pinned kernels
    (``MKL_CBWR=COMPATIBLE`` if torch has MKL) the outcomes are equal to the last bit. Other methods
    are fitted one after another.

    Parameters
    ----------
    methods : sequence of DomainAdaptationClassifier
        Of one class.
    domains : sequence of Domains
        One for each method, of any sizes; those of equal shape are trained together.

    Returns
    -------
    errors : list of Exception or None
        What each fit raised; such a method is unfitted.

    Raises
    ------
    ValueError
        Methods that differ in their class or in another parameter than ``random_state``.

    Examples
    --------
    >>> import numpy as np
    >>> from krda import KRDA
    >>> rng = np.random.default_rng(0)
    >>> Xs, Xt = rng.normal(size=(2, 40, 2))
    >>> data = Domains(Xs, Xs[:, 0] > 0, Xt)
    >>> fit_together([KRDA(max_steps=5, random_state=seed) for seed in (0, 1)], [data, data])
    [None, None]
    """
    if not methods:
        return []
    if not all(_differ_in_seed_alone(methods[0], method) for method in methods):
        raise ValueError(
            "Methods that are fitted together must be of one class and may differ in random_state "
            f"alone, got {list(methods)}. Fit them one after another."
        )
    errors: list[Exception | None] = [None] * len(methods)
    checked: dict[int, Domains] = {}
    with ExitStack() as stack:
        for i, (method, given) in enumerate(zip(methods, domains, strict=True)):
            stack.enter_context(fresh_fit(method))
            try:
                checked[i] = method._validate_domains(*given)
            except Exception as error:
                errors[i] = error
        found = methods[0]._fit_together([methods[i] for i in checked], list(checked.values()))
    for i, raised in zip(checked, found, strict=True):
        errors[i] = raised
    for method, outcome in zip(methods, errors, strict=True):
        if outcome is not None:
            forget_fit(method)
    return errors


def _differ_in_seed_alone(a: BaseEstimator, b: BaseEstimator) -> bool:
    own, other = a.get_params(deep=False), b.get_params(deep=False)
    return type(a) is type(b) and _equal({**own, "random_state": 0}, {**other, "random_state": 0})


def _equal(a: Any, b: Any) -> bool:
    """Whether parameters are equal: estimators by their own, collections by their items."""
    if type(a) is not type(b):
        return False
    if isinstance(a, BaseEstimator):
        return _equal(a.get_params(deep=False), b.get_params(deep=False))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    return a is b or bool(np.array_equal(a, b))


def error_of_fit(method: DomainAdaptationClassifier, domains: Domains) -> Exception | None:
    """Fit a method to checked input; give what it raised."""
    try:
        method._fit(*domains)
    except Exception as error:
        return error
    return None
