"""Checks of the tables and labels that a practitioner brings, beyond those of scikit-learn.

scikit-learn's checks take what can be made numbers. Some of that makes no sense as numbers, or not
the sense that was meant, and gives wrong results without a word: masked values, dates in units of
their own, columns that are matched by position although their labels say otherwise.
"""

from __future__ import annotations

import datetime
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
    columns = _columns(X)
    labels = None if columns is None else [label for label, _ in columns]
    if labels is not None:
        twice = [str(label) for label, count in Counter(labels).items() if count > 1]
        if twice:
            raise ValueError(
                f"{name} has several columns of one name: {', '.join(twice)}. Rename or drop them."
            )
    _refuse_dates(X, name, columns)
    try:
        if columns and not hasattr(X, "iloc"):
            X = np.column_stack([np.asarray(values, dtype=np.float64) for _, values in columns])
        return check_array(X, dtype=np.float64, input_name=name, ensure_min_samples=min_rows)
    except OverflowError as error:
        raise ValueError(
            f"{name} holds integers beyond 1e308, too large for double precision. Choose another "
            "unit for them, or drop them."
        ) from error
    except (TypeError, ValueError) as error:
        wrong = _columns_of_no_numbers(columns or [])
        if wrong:
            raise ValueError(
                f"{name} has columns that are not numbers: {', '.join(wrong)} ({error}). Encode "
                "them as numbers, alike in both domains, or drop them."
            ) from error
        if name in str(error):
            raise
        raise type(error)(f"{name}: {error}") from error


def _columns(X: Any) -> list[tuple[Any, Any]] | None:
    """Give the label and the values of each column of a data frame; None for other tables.

    Data frames are those of pandas, polars and pyarrow.
    """
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return [(label, X.iloc[:, i]) for i, label in enumerate(X.columns)]
    if hasattr(X, "column_names") and hasattr(X, "column"):
        columns = [X.column(i) for i in range(len(X.column_names))]
        values = [c.to_numpy(zero_copy_only=False) for c in columns]
        return list(zip(X.column_names, values, strict=True))
    if hasattr(X, "get_columns"):
        return [(column.name, column.to_numpy()) for column in X.get_columns()]
    return None


def column_labels(X: Any) -> list[Any] | None:
    """Return the labels of a data frame's columns, of any type; None for other tables."""
    for labels in ("column_names", "columns"):
        if hasattr(X, labels) and hasattr(X, "shape"):
            return list(getattr(X, labels))
    return None


def column_positions(
    theirs: list[Any] | None, ours: list[Any] | None, *, name: str, fitted: str
) -> list[int] | None:
    """Find where the columns of one table are in another.

    Parameters
    ----------
    theirs, ours : list or None
        Labels of the table at hand, and of the one whose order counts; None where it has none.
    name, fitted : str
        What the two tables are called in messages.

    Returns
    -------
    positions : list of int or None
        For each of our labels the column of theirs; None if the columns go by position, because a
        table has no labels, or because one has names and the other has numbers.

    Raises
    ------
    ValueError
        Other labels.
    """
    if theirs is None or ours is None:
        return None
    strings = [{isinstance(label, str) for label in labels} for labels in (theirs, ours)]
    if strings in ([{True}, {False}], [{False}, {True}]):
        return None
    at = {_key(label): i for i, label in enumerate(theirs)}
    keys = [_key(label) for label in ours]
    if at.keys() != set(keys):
        raise ValueError(
            f"{name} has the columns {theirs}, but {fitted} has {ours}. Both must have the same "
            "features: select or rename the columns, or pass arrays to go by position."
        )
    return [at[key] for key in keys]


def take_columns(rows: FloatArray, positions: list[int] | None) -> FloatArray:
    """Put columns in order; rows themselves if they are in order, or go by position."""
    if positions is None or positions == sorted(positions):
        return rows
    return np.take(rows, positions, axis=1)


def _key(label: Any) -> Any:
    """Give what a label is compared by; NaN equals NaN."""
    return None if _is_missing(label) else label


def all_strings(labels: list[Any]) -> bool:
    """Say whether labels of columns are what scikit-learn takes for names."""
    return all(isinstance(label, str) for label in labels)


def _refuse_masked(values: Any, name: str) -> None:
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"{name} is a masked array with {int(np.ma.getmaskarray(values).sum())} masked values; "
            "expected a value everywhere. Drop or impute the masked ones: what lies beneath the "
            "mask would be taken otherwise."
        )


def _refuse_dates(X: Any, name: str, columns: list[tuple[Any, Any]] | None) -> None:
    """Raise where dates or durations would be taken for numbers in whatever unit they are in."""
    found = [str(label) for label, x in columns or [("all", X)] if _holds_dates(x)]
    if found:
        raise ValueError(
            f"{name} has columns of dates or durations: {', '.join(found)}; expected numbers. "
            "Choose a unit and an origin that both domains share, such as days since the first of "
            "January 2020."
        )


def _holds_dates(values: Any) -> bool:
    """Say whether values are dates or durations, by type or one by one."""
    if isinstance(values, list | tuple):
        try:
            values = np.asarray(values)
        except ValueError:  # rows of different lengths, which is for scikit-learn to say
            return False
    dtype = getattr(values, "dtype", None)
    # pandas' categories have the type of what they stand for.
    dtype = getattr(getattr(dtype, "categories", None), "dtype", dtype)
    if getattr(dtype, "kind", None) != "O" or not hasattr(values, "__array__"):
        return getattr(dtype, "kind", None) in ("m", "M")
    kinds = {type(value) for value in np.asarray(values, dtype=object).ravel()}
    dates = (np.datetime64, np.timedelta64, datetime.date, datetime.time, datetime.timedelta)
    return any(issubclass(kind, dates) for kind in kinds)


def _columns_of_no_numbers(columns: list[tuple[Any, Any]]) -> list[str]:
    """Name the columns that do not convert to numbers."""
    wrong = []
    for label, values in columns:
        try:
            np.asarray(values, dtype=np.float64)
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
    if isinstance(given, (list, tuple)) and (
        any(_is_missing(value) for value in given)
        or len({isinstance(value, str) for value in given}) == 2
    ):
        # NumPy would make strings of all, and merge '1' with 1.
        given = np.array(given, dtype=object)
    _check_objects(given, name)
    labels = column_or_1d(
        check_array(given, ensure_2d=False, dtype=None, input_name=name), warn=True
    )
    try:
        check_consistent_length(rows, labels)
        check_classification_targets(labels)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
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
