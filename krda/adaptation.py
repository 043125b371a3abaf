"""The contract of every domain-adaptation method: ``fit(Xs, ys, Xt)`` and ``predict(X)``.

Two classes hold what all methods share, so that input is checked in one place:

- :class:`DomainAdaptationClassifier` checks the source and the target rows and names what is wrong;
  a fit that fails leaves nothing behind that could predict.
- :class:`AlignedClassifier` adds the usual second half of a shallow method: an ordinary classifier
  trained on the source rows after they were aligned with the target.

No signature here has room for target labels; that is the label firewall of the benchmark.
"""

from __future__ import annotations

import numbers
import sys
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from krda.inputs import (
    all_strings,
    check_labels,
    check_rows,
    column_labels,
    column_positions,
    take_columns,
)
from krda.notices import warn_user

FloatArray = NDArray[np.float64]

# A column's mean, in its standard deviations, above which the user is warned: for classifiers whose
# gamma="scale" counts offsets as variance, and for others, whose distances lose half their digits.
_FAR_OFFSET_SCALE, _FAR_OFFSET = 1e2, 1e7
_SCALE_WITHIN = ", or scale them within the classifier: make_pipeline(StandardScaler(), SVC())"


class AlignedSource(NamedTuple):
    """Source rows as the final classifier is to see them.

    Attributes
    ----------
    X : ndarray of shape (n_source, n_aligned_features)
    sample_weight : ndarray of shape (n_source,) or None
        Importance of each source row; None where all count the same.
    """

    X: FloatArray
    sample_weight: FloatArray | None = None


class Domains(NamedTuple):
    """What a method is fitted to.

    Attributes
    ----------
    Xs : array-like of shape (n_source, n_features)
    ys : array-like of shape (n_source,)
    Xt : array-like of shape (n_target, n_features)
    """

    Xs: Any
    ys: Any
    Xt: Any


class DomainAdaptationClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """A classifier for a target domain without labels, learnt with a labelled source domain.

    Subclasses implement :meth:`_fit`, which gets checked input, and :meth:`predict`, which calls
    :meth:`_validate_target` first.

    Methods that can train several models as one program set ``trains_together`` and implement
    :meth:`_fit_together`; see :func:`fit_together`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels seen in ``ys``, sorted.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only where ``Xs`` is a data frame whose column names are all strings.
    """

    trains_together: ClassVar[bool] = False

    # With scikit-learn's metadata routing a pipeline hands the target rows on, and transforms them
    # where it is told to: ``Pipeline(steps, transform_input=["Xt"])``.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"Xs": UNUSED, "ys": UNUSED, "Xt": True}
    __metadata_request__fit_transform = __metadata_request__fit

    classes_: NDArray[Any]
    n_features_in_: int

    def fit(self, Xs: ArrayLike, ys: ArrayLike, Xt: ArrayLike) -> Self:
        """Fit to labelled source rows and unlabelled target rows.

        Parameters
        ----------
        Xs : array-like of shape (n_source, n_features)
            Source rows.
        ys : array-like of shape (n_source,)
            Source labels, of any kind that scikit-learn classifiers take.
        Xt : array-like of shape (n_target, n_features)
            Target rows, same columns.

        Returns
        -------
        self : object
            The fitted method. Where ``fit`` raises, it is unfitted, whatever it was before.

        Raises
        ------
        ValueError, TypeError
            Input or parameters that cannot be worked with; the message says which, and what is
            expected.
        FloatingPointError
            The method failed numerically; the message says where.
        """
        with fresh_fit(self):
            self._refuse_wrong_callers()
            self._fit(*self._validate_domains(Xs, ys, Xt))
        return self

    def fit_transform(self, Xs: ArrayLike, ys: Any = None, Xt: Any = None) -> NoReturn:
        """Raise TypeError: what scikit-learn does with a transformer, these methods cannot do.

        A pipeline transforms all rows alike, those to be predicted too. The methods here map
        source rows, and target rows in another way or not at all.
        """
        raise TypeError(_no_transformer(self))

    def _refuse_wrong_callers(self) -> None:
        """Raise where scikit-learn fits this method in a way that makes its predictions wrong."""
        frame = sys._getframe(1)
        while frame.f_back is not None:
            within, frame = frame, frame.f_back
            if not _is_of(frame, "sklearn", "joblib", "krda"):
                return  # A person's own code calls, whatever calls that.
            if frame.f_code.co_name == "_fit_one" and _is_of(frame, "sklearn"):
                raise TypeError(_no_transformer(self))
            outer = frame.f_locals.get("self") if frame.f_code.co_name == "fit" else None
            # A pipeline fits its last step in `fit`, within a search too, the others in `_fit`.
            if not isinstance(outer, Pipeline) or within.f_code.co_name == "_fit":
                continue
            before = [name for name, s in outer.steps[:-1] if s not in (None, "passthrough")]
            if before and "Xt" not in (outer.transform_input or ()):
                raise ValueError(
                    f"The pipeline transforms Xs by its steps {', '.join(before)}, but not Xt. "
                    "Both must be transformed alike: transform both tables before, or call "
                    "sklearn.set_config(enable_metadata_routing=True) and make the pipeline with "
                    "transform_input=['Xt']."
                )

    @abstractmethod
    def _fit(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> None:
        """Fit to checked input, float64 rows of both domains, and set the fitted attributes."""

    @classmethod
    def _fit_together(
        cls, methods: Sequence[Self], domains: Sequence[Domains]
    ) -> list[Exception | None]:
        """Fit each method to its own checked input; give what each raised, None where it did not.

        All methods are of this class and equal in every parameter but ``random_state``. What each
        of them becomes must be what :meth:`_fit` alone makes of it, up to rounding, and nothing of
        one may reach another. This is the plain way.
        """
        return [_caught(method, checked) for method, checked in zip(methods, domains, strict=True)]

    @abstractmethod
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the labels of target rows."""

    def _validate_domains(self, Xs: ArrayLike, ys: ArrayLike, Xt: ArrayLike) -> Domains:
        """Check the training input and set the attributes that describe it.

        Parameters
        ----------
        Xs : array-like of shape (n_source, n_features)
        ys : array-like of shape (n_source,)
        Xt : array-like of shape (n_target, n_features)

        Returns
        -------
        Xs : ndarray of shape (n_source, n_features), float64
        ys : ndarray of shape (n_source,), as given
        Xt : ndarray of shape (n_target, n_features), float64

        Raises
        ------
        ValueError
            Not numeric, dates, masked, NaN or infinite values, fewer than two rows in a domain,
            columns that differ between the domains (number or names) or share a name,
            labels that are missing, not of classification type, of another length than ``Xs``, or
            of fewer than two classes.
        TypeError
            Sparse input.
        """
        source = check_rows(Xs, "Xs", 2)
        remember_columns(self, Xs)
        labels, classes = check_labels(ys, source, "ys")
        target = check_same_columns(self, Xt, name="Xt", fitted="Xs", min_rows=2)
        self.classes_ = classes
        return Domains(source, labels, target)

    def _validate_target(self, X: ArrayLike) -> FloatArray:
        """Check rows to be predicted: fitted method, same columns, finite numbers.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        X : ndarray of shape (n, n_features), float64
        """
        check_is_fitted(self)
        return check_same_columns(self, X, name="X", fitted="Xs", min_rows=1)

    def _validate_source(self, Xs: ArrayLike) -> FloatArray:
        """Check source rows to be transformed; to be called by ``transform`` itself.

        Parameters
        ----------
        Xs : array-like of shape (n, n_features)

        Returns
        -------
        Xs : ndarray of shape (n, n_features), float64

        Raises
        ------
        TypeError
            A pipeline of scikit-learn calls ``transform``: it would call it with target rows, too.
        """
        check_is_fitted(self)
        caller = str(sys._getframe(2).f_globals.get("__name__"))
        if caller.startswith(("sklearn.pipeline", "sklearn.compose")):
            raise TypeError(_no_transformer(self))
        return check_same_columns(self, Xs, name="Xs", fitted="Xs of the fit", min_rows=1)


def _is_of(frame: FrameType, *packages: str) -> bool:
    """Say whether a frame runs code of one of the packages."""
    return str(frame.f_globals.get("__name__")).split(".")[0] in packages


def _no_transformer(method: BaseEstimator) -> str:
    name = type(method).__name__
    return (
        f"{name} is a classifier and no transformer of scikit-learn, so it can only be the last "
        f"step of a pipeline: its transform is for source rows, and a pipeline would call it with "
        f"the target rows to predict, too. Give the classifier that should follow to {name} itself "
        "(classifier=...). For transformed source rows call fit(Xs, ys, Xt), then transform(Xs)."
    )


def remember_columns(estimator: BaseEstimator, X: ArrayLike) -> None:
    """Set the attributes that say which columns an estimator is fitted to.

    Parameters
    ----------
    estimator : estimator
        Gets ``n_features_in_``, and ``feature_names_in_`` where all labels are strings.
    X : array-like of shape (n, n_features)
        Checked by :func:`krda.inputs.check_rows`.
    """
    validate_data(estimator, X, reset=True, skip_check_array=True)
    columns = column_labels(X)
    if columns is not None:
        # Kept apart: scikit-learn has only names that are strings.
        estimator._columns_ = columns
        if all_strings(columns):  # also those of libraries that scikit-learn does not know
            estimator.feature_names_in_ = np.asarray(columns, dtype=object)


def check_same_columns(
    estimator: Any, X: ArrayLike, *, name: str, fitted: str, min_rows: int
) -> FloatArray:
    """Check a table of features that must have the columns that an estimator is fitted to.

    Parameters
    ----------
    estimator : estimator
        See :func:`remember_columns`.
    X : array-like of shape (n, n_features)
    name, fitted : str
        What this table, and the one of the fit, are called in messages.
    min_rows : int

    Returns
    -------
    rows : ndarray of shape (n, n_features), float64
        Columns of data frames in the order of the fit, whatever theirs.

    Raises
    ------
    ValueError, TypeError
        As :func:`krda.inputs.check_rows`, or columns that differ in number or names.
    """
    rows = check_rows(X, name, min_rows)
    if rows.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"{name} has {rows.shape[1]} columns, but {fitted} has {estimator.n_features_in_}. "
            "Both must have the same features."
        )
    ours, theirs = getattr(estimator, "_columns_", None), column_labels(X)
    positions = column_positions(theirs, ours, name=name, fitted=fitted)
    if positions is None:  # Names in one table alone are scikit-learn's to warn of.
        validate_data(estimator, X, reset=False, skip_check_array=True)
    return take_columns(rows, positions)


def new_classifier(given: Any) -> Any:
    """Make the classifier that a method trains: a copy of the one given, ``SVC()`` for None.

    Raises
    ------
    ValueError
        An estimator that is no classifier, such as a regressor or a detector of outliers.
    """
    classifier = SVC() if given is None else clone(given)
    # What only looks like an estimator of scikit-learn has no tags that say what it is.
    if hasattr(classifier, "__sklearn_tags__"):
        fits = is_classifier(classifier)
    else:
        fits = hasattr(classifier, "fit") and hasattr(classifier, "predict")
    if not fits:
        raise ValueError(
            f"classifier must be a classifier, got {given!r}: it would not predict labels. Give "
            "one such as sklearn.svm.SVC(), or a pipeline or search whose last step is one."
        )
    return classifier


def _classifier_has(method: str) -> Callable[[Any], bool]:
    """Say for :func:`available_if` whether an aligned classifier's own classifier has a method."""

    def has(self: Any) -> bool:
        given = SVC() if self.classifier is None else self.classifier
        getattr(getattr(self, "classifier_", given), method)  # AttributeError in its own words
        return True

    return has


class AlignedClassifier(DomainAdaptationClassifier):
    """Align the source with the target, then train an ordinary classifier on the aligned rows.

    Subclasses take ``classifier`` in ``__init__`` and implement :meth:`_align`; those whose
    classifier sees target rows in another space also override :meth:`_map_target`.

    Attributes
    ----------
    classifier_ : estimator
        The classifier fitted on the aligned source.
    """

    weights_source: ClassVar[bool] = False  # whether _align gives sample weights

    classifier: Any
    classifier_: Any

    @abstractmethod
    def _align(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> AlignedSource:
        """Learn the alignment from checked input and return the aligned source rows."""

    def _map_target(self, X: FloatArray) -> FloatArray:
        """Map checked target rows to where the classifier was trained; by default as they are."""
        return X

    def _fit(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> None:
        classifier = self._new_classifier()  # First: a wrong one must not cost an alignment.
        self._fit_classifier(classifier, self._align(Xs, ys, Xt), ys)

    def _new_classifier(self) -> Any:
        """Give the final classifier, unfitted, or raise ValueError where it cannot be one."""
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
        _warn_of_offsets(aligned.X, classifier)
        if aligned.sample_weight is None:
            self.classifier_ = classifier.fit(aligned.X, ys)
        else:
            self.classifier_ = classifier.fit(aligned.X, ys, sample_weight=aligned.sample_weight)

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
        rows = self._seen_by_classifier(X)
        return self.classifier_.predict(rows)

    @available_if(_classifier_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Predict the classes' probabilities for target rows, where the classifier does.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n, n_classes)
            In the order of ``classes_``. They are the classifier's, of the aligned source: nothing
            says that they are calibrated on the target.
        """
        rows = self._seen_by_classifier(X)
        return self.classifier_.predict_proba(rows)

    @available_if(_classifier_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Compute the classifier's decision function of target rows, where it has one.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        scores : ndarray of shape (n,) or (n, n_classes)
            As the classifier gives them.
        """
        rows = self._seen_by_classifier(X)
        return self.classifier_.decision_function(rows)

    def _seen_by_classifier(self, X: ArrayLike) -> FloatArray:
        """Check target rows and map them to where the classifier was trained."""
        mapped = self._map_target(self._validate_target(X))
        require_finite(mapped, f"{type(self).__name__}: the mapped target")
        return mapped


def _warn_of_offsets(X: FloatArray, classifier: Any) -> None:
    """Warn of columns whose offset is far larger than their spread, for the classifier's sake."""
    scale = getattr(classifier, "gamma", None) == "scale"
    limit = _FAR_OFFSET_SCALE if scale else _FAR_OFFSET
    with np.errstate(all="ignore"):
        offset, deviation = np.abs(X.mean(axis=0)), X.std(axis=0)
        varies = np.ptp(X, axis=0) > 1e-13 * offset  # more than by rounding
        columns = np.flatnonzero(varies & (offset > limit * deviation))
    if len(columns):
        within = "" if isinstance(classifier, Pipeline) else _SCALE_WITHIN
        warn_user(
            f"Columns {columns.tolist()} of the rows that the classifier is trained on have a mean "
            f"of more than {limit:g} standard deviations. Distances lose digits there, and the "
            "gamma='scale' of SVC counts offsets as variance, which blurs everything else. "
            f"Subtract the same constant from these columns in both domains{within}."
        )


def fit_together(
    methods: Sequence[DomainAdaptationClassifier], domains: Sequence[Domains]
) -> list[Exception | None]:
    """Fit several methods that differ in ``random_state`` alone, each to domains of its own.

    Each outcome is that of ``method.fit(*domains)``, and does not depend on what the others are
    given. Methods with ``trains_together`` are trained as one program with the models side by side,
    in a fraction of the time if the models are small, and the same up to rounding, which a long
    training can enlarge; with pinned kernels (``MKL_CBWR=COMPATIBLE`` where torch has MKL) to the
    last bit. The others are fitted one after another.

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
    """
    if not methods:
        return []
    cls = _common_class(methods)
    errors: list[Exception | None] = [None] * len(methods)
    checked: dict[int, Domains] = {}
    for i, (method, given) in enumerate(zip(methods, domains, strict=True)):
        _forget_fit(method)
        try:
            checked[i] = method._validate_domains(*given)
        except Exception as error:
            errors[i] = error
    try:
        found = cls._fit_together([methods[i] for i in checked], list(checked.values()))
    except BaseException:
        for method in methods:
            _forget_fit(method)
        raise
    for i, raised in zip(checked, found, strict=True):
        errors[i] = raised
    for method, outcome in zip(methods, errors, strict=True):
        if outcome is not None:
            _forget_fit(method)
    return errors


def _common_class(
    methods: Sequence[DomainAdaptationClassifier],
) -> type[DomainAdaptationClassifier]:
    """Return the class of methods that are equal but for ``random_state``, or raise ValueError."""
    first = methods[0]
    for method in methods[1:]:
        if not _alike(first, method, apart_from="random_state"):
            raise ValueError(
                "Methods that are fitted together must be of one class and may differ in "
                f"random_state alone, got {first!r} and {method!r}. Fit them one after another."
            )
    return type(first)


def _alike(a: Any, b: Any, *, apart_from: str | None = None) -> bool:
    """Compare two values of parameters by content: estimators by theirs, collections by items."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, BaseEstimator):
        mine, others = a.get_params(deep=False), b.get_params(deep=False)
        names = (mine.keys() | others.keys()) - {apart_from}
        return all(_alike(mine.get(name), others.get(name)) for name in names)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_alike, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_alike(a[key], b[key]) for key in a)
    return bool(a == b)


def _caught(method: DomainAdaptationClassifier, domains: Domains) -> Exception | None:
    try:
        method._fit(*domains)
    except Exception as error:
        return error
    return None


@contextmanager
def fresh_fit(estimator: BaseEstimator) -> Iterator[None]:
    """Make the block all that an estimator's fitted state comes from.

    What an earlier fit has set is forgotten first. Where the block raises, what it has set is
    forgotten too: an estimator is never half of one fit and half of another.

    Parameters
    ----------
    estimator : estimator
        Its fitted attributes are those that :func:`sklearn.utils.validation.check_is_fitted` goes
        by: their names end in an underscore.
    """
    _forget_fit(estimator)
    try:
        yield
    except BaseException:
        _forget_fit(estimator)
        raise


def _forget_fit(estimator: BaseEstimator) -> None:
    for name in [n for n in vars(estimator) if n.endswith("_") and not n.startswith("__")]:
        delattr(estimator, name)


def require_finite(values: FloatArray, what: str) -> None:
    """Raise where computed rows are not finite: a silent NaN must not reach a classifier.

    Parameters
    ----------
    values : ndarray of shape (n, n_features)
    what : str
        What the values are, for the message.

    Raises
    ------
    FloatingPointError
        With the number of rows concerned and the first of them.
    """
    bad = ~np.isfinite(values).all(axis=1)
    if bad.any():
        raise FloatingPointError(
            f"{what} holds NaN or infinity in {int(bad.sum())} of {len(values)} rows (first: row "
            f"{int(np.flatnonzero(bad)[0])}). The input was finite, so the method itself failed "
            "numerically; look for columns that are constant or nearly so."
        )


def seed_from(random_state: Any) -> int:
    """Draw one integer seed from a scikit-learn ``random_state``.

    Parameters
    ----------
    random_state : None, int or numpy.random.RandomState

    Returns
    -------
    seed : int
        In [0, 2**31). An integer in that range is returned as it is, so that it can be quoted in a
        report; any other is taken modulo 2**31.
    """
    if isinstance(random_state, numbers.Integral):
        return int(random_state) % 2**31
    return int(check_random_state(random_state).randint(2**31 - 1))
