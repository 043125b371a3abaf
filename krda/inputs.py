"""Checks of the tables and labels that a practitioner brings, beyond those of scikit-learn.

scikit-learn's checks take what can be made numbers. Some of that makes no sense as numbers, or not
the sense that was meant, and gives wrong results without a word: masked values, dates in units of
their own, columns that are matched by position although their labels say otherwise.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

FloatArray = NDArray[np.float64]


def check_rows(X: ArrayLike, name: str, min_rows: int) -> FloatArray:
    """Check a table of features.

    Parameters
    ----------
    X : array-like of shape (n, n_features)
    name : str
        What to call it in messages.
    min_rows : int

    Returns
    -------
    rows : ndarray of shape (n, n_features), float64

    Raises
    ------
    ValueError
        Not numeric, dates or durations, masked, NaN or infinite values, too few rows, or several
        columns of one name.
    TypeError
        Sparse input.
    """
    _refuse_masked(X, name)
    labels = column_labels(X)
    if labels is not None:
        twice = [str(label) for label, count in Counter(labels).items() if count > 1]
        if twice:
            raise ValueError(
                f"{name} has several columns of one name: {', '.join(twice)}. Rename or drop them."
            )
    _refuse_dates(X, name, labels)
    try:
        return check_array(X, dtype=np.float64, input_name=name, ensure_min_samples=min_rows)
    except (TypeError, ValueError) as error:
        wrong = _columns_of_no_numbers(X)
        if not wrong:
            raise
        raise ValueError(
            f"{name} has columns that are not numbers: {', '.join(wrong)} ({error}). Encode them "
            "as numbers, alike in both domains, or drop them."
        ) from error


def column_labels(X: Any) -> list[Any] | None:
    """Return the labels of a pandas data frame's columns, of any type; None for other tables."""
    return list(X.columns) if hasattr(X, "iloc") and hasattr(X, "columns") else None


def all_strings(labels: list[Any]) -> bool:
    """Say whether labels of columns are what scikit-learn takes for names."""
    return all(isinstance(label, str) for label in labels)


def same_labels(ours: list[Any], theirs: list[Any]) -> bool:
    """Compare the labels of two tables' columns; NaN equals NaN."""
    return len(ours) == len(theirs) and all(
        a is b or a == b or (_is_missing(a) and _is_missing(b))
        for a, b in zip(ours, theirs, strict=True)
    )


def _refuse_masked(values: Any, name: str) -> None:
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"{name} is a masked array with {int(np.ma.getmaskarray(values).sum())} masked values; "
            "expected a value everywhere. Drop or impute the masked ones: what lies beneath the "
            "mask would be taken otherwise."
        )


def _refuse_dates(X: Any, name: str, labels: list[Any] | None) -> None:
    """Raise where dates or durations would be taken for numbers in whatever unit they are in."""
    dtypes = [getattr(X, "dtype", None)] if labels is None else list(X.dtypes)
    places = ["all"] if labels is None else [str(label) for label in labels]
    kinds = [getattr(dtype, "kind", None) for dtype in dtypes]
    found = [place for place, kind in zip(places, kinds, strict=True) if kind in ("m", "M")]
    if found:
        raise ValueError(
            f"{name} has columns of dates or durations: {', '.join(found)}; expected numbers. "
            "Choose a unit and an origin that both domains share, such as days since the first of "
            "January 2020."
        )


def _columns_of_no_numbers(X: Any) -> list[str]:
    """Name the columns of a pandas data frame that do not convert to numbers."""
    wrong = []
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        for i, label in enumerate(X.columns):
            try:
                np.asarray(X.iloc[:, i], dtype=np.float64)
            except (TypeError, ValueError):
                wrong.append(str(label))
    return wrong


def check_labels(y: ArrayLike, rows: FloatArray, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Check training labels.

    Parameters
    ----------
    y : array-like of shape (n,)
    rows : ndarray of shape (n, n_features)
        The checked rows that they belong to.
    name : str
        What to call them in messages.

    Returns
    -------
    labels : ndarray of shape (n,)
        As given; pandas' integers and truth values that may be missing, as NumPy's.
    classes : ndarray of shape (n_classes,)
        The different labels, sorted.

    Raises
    ------
    ValueError
        Missing labels, labels of no classification type or of several types, another number of
        them than of rows, or fewer than two classes.
    """
    _refuse_masked(y, name)
    # scikit-learn would make floats of pandas' nullable integers and truth values.
    given: Any = y.to_numpy() if hasattr(y, "to_numpy") else y
    if isinstance(given, (list, tuple)) and any(_is_missing(value) for value in given):
        given = np.array(given, dtype=object)  # so that the missing ones are named
    _check_objects(given, name)
    labels = column_or_1d(
        check_array(given, ensure_2d=False, dtype=None, input_name=name), warn=True
    )
    check_consistent_length(rows, labels)
    check_classification_targets(labels)
    classes = np.unique(labels)
    if len(classes) < 2:
        raise ValueError(
            f"{name} has one class only ({classes[0]!r}); a classifier needs at least two. Check "
            f"that {name} holds the labels of all rows and was not filtered."
        )
    return labels, classes


def _check_objects(labels: Any, name: str) -> None:
    """Raise where an array of Python objects holds missing labels, or others than strings."""
    if not (isinstance(labels, np.ndarray) and labels.dtype == object and labels.size):
        return
    values = labels.ravel()
    missing = np.array([_is_missing(value) for value in values])
    if missing.any():
        raise ValueError(
            f"{name} contains NaN, None or the like in {int(missing.sum())} places (first: "
            f"{int(missing.argmax())}); expected a label for each row. Drop the rows without one."
        )
    kinds = sorted({type(value).__name__ for value in values if not isinstance(value, str)})
    if kinds:
        raise ValueError(
            f"Unknown label type: {name} is an array of Python objects, some of type "
            f"{', '.join(kinds)}; expected an array of integers or truth values, or strings alone. "
            f"Convert the labels first, such as with numpy.array({name}, dtype=str)."
        )


def _is_missing(value: Any) -> bool:
    # pandas' own kinds by name: it need not be installed.
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float) and value != value)
    )
