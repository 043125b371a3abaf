"""What tables, labels and parameters are refused, and how users are warned.

scikit-learn's checks accept whatever can be made numbers. Some of that has no meaning as numbers,
or another one than intended, and gives wrong results silently: masked values, dates in units of
their own, columns matched by position although their labels differ. Those are refused here.
"""

from __future__ import annotations

import datetime
import math
import numbers
import os
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, validate_data

FloatArray = NDArray[np.float64]

_DATES = (np.datetime64, np.timedelta64, datetime.date, datetime.time, datetime.timedelta)

# Frames of these folders are skipped when a warning looks for the user's own line.
_LIBRARIES = tuple(f"{Path(file).parent}{os.sep}" for file in (__file__, sklearn.__file__))


# Tables


def check_rows(X: ArrayLike, name: str, min_rows: int) -> FloatArray:
    """Check a table of features (n, d): an array, rows, or a frame of pandas, polars or pyarrow.

    Raise ValueError for text, dates or durations, masked, NaN or infinite values, too few rows, or
    several columns of one name, and TypeError for sparse input. Messages call the table ``name``.
    """
    _refuse_masked(X, name)
    columns = _columns(X) or []
    twice = [str(label) for label, n in Counter(label for label, _ in columns).items() if n > 1]
    if twice:
        raise ValueError(
            f"{name} has several columns of one name: {', '.join(twice)}. Rename or drop them."
        )
    dates = [str(label) for label, values in columns or [("all", X)] if _holds_dates(values)]
    if dates:
        raise ValueError(
            f"{name} has columns of dates or durations: {', '.join(dates)}; expected numbers. "
            "Choose a unit and an origin that both domains share, such as days since the first of "
            "January 2020."
        )
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
        wrong = [str(label) for label, values in columns if not _is_numeric(values)]
        if wrong:
            raise ValueError(
                f"{name} has columns that are not numbers: {', '.join(wrong)} ({error}). Encode "
                "them as numbers, in the same way in both domains, or drop them."
            ) from error
        if name in str(error):
            raise
        raise type(error)(f"{name}: {error}") from error


def _columns(X: Any) -> list[tuple[Any, Any]] | None:
    """Give the label and the values of each column of a data frame; None for other tables."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return list(X.items())
    if hasattr(X, "column_names"):  # pyarrow
        return list(zip(X.column_names, X.itercolumns(), strict=True))
    if hasattr(X, "get_columns"):  # polars
        return [(column.name, column) for column in X.get_columns()]
    return None


def _refuse_masked(values: Any, name: str) -> None:
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"{name} is a masked array with {int(np.ma.getmaskarray(values).sum())} masked values; "
            "expected a value everywhere. Drop or impute them: the values beneath the mask would "
            "be used otherwise."
        )


def _holds_dates(values: Any) -> bool:
    """Say whether values are dates or durations, by type or one by one."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):  # such as rows of different lengths, which scikit-learn reports
        return False
    if array.dtype == object:
        return any(issubclass(kind, _DATES) for kind in set(map(type, array.flat)))
    return array.dtype.kind in "mM"


def _is_numeric(values: Any) -> bool:
    try:
        np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True


# Columns, matched by their labels


def column_labels(X: Any) -> list[Any] | None:
    """Give the labels of a data frame's columns, of any type; None for other tables."""
    columns = _columns(X)
    return None if columns is None else [label for label, _ in columns]


def match_columns(
    rows: FloatArray, theirs: list[Any] | None, ours: list[Any] | None, *, name: str, fitted: str
) -> FloatArray | None:
    """Put the columns of rows, labelled as theirs, in our order; None if they go by position.

    They go by position if a table has no labels, or one has names and the other has numbers.
    Raise ValueError if the labels differ.
    """
    if theirs is None or ours is None:
        return None
    kinds = [{isinstance(label, str) for label in labels} for labels in (theirs, ours)]
    if kinds in ([{True}, {False}], [{False}, {True}]):
        return None
    at = {_key(label): i for i, label in enumerate(theirs)}
    keys = [_key(label) for label in ours]
    if at.keys() != set(keys):
        raise ValueError(
            f"{name} has the columns {theirs}, but {fitted} has {ours}. Both must have the same "
            "features: select or rename the columns, or pass arrays to go by position."
        )
    positions = [at[key] for key in keys]
    return rows if positions == sorted(positions) else np.take(rows, positions, axis=1)


def _key(label: Any) -> Any:
    """Give what a label is compared by: NaN equals NaN."""
    return None if _is_missing(label) else label


def remember_columns(estimator: Any, X: ArrayLike) -> None:
    """Set ``n_features_in_``, and ``feature_names_in_`` if all labels of columns are strings."""
    validate_data(estimator, X, reset=True, skip_check_array=True)
    columns = column_labels(X)
    if columns is not None:
        estimator._columns_ = columns  # scikit-learn keeps only names that are strings
        if all(isinstance(label, str) for label in columns):
            estimator.feature_names_in_ = np.asarray(columns, dtype=object)


def check_same_columns(
    estimator: Any, X: ArrayLike, *, name: str, fitted: str, min_rows: int
) -> FloatArray:
    """Check a table that must have the columns of the fit; see :func:`remember_columns`.

    Columns of data frames are put in the order of the fit. ``name`` and ``fitted`` are what this
    table and that of the fit are called in messages. Raise as :func:`check_rows`, and ValueError
    for columns that differ in number or labels.
    """
    rows = check_rows(X, name, min_rows)
    if rows.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"{name} has {rows.shape[1]} columns, but {fitted} has {estimator.n_features_in_}. "
            "Both must have the same features."
        )
    ours = getattr(estimator, "_columns_", None)
    ordered = match_columns(rows, column_labels(X), ours, name=name, fitted=fitted)
    if ordered is not None:
        return ordered
    validate_data(estimator, X, reset=False, skip_check_array=True)  # warns if one has no names
    return rows


# Labels


def check_labels(y: ArrayLike, rows: FloatArray, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Check the labels (n,) of checked rows; give them, and the different ones, sorted.

    pandas' nullable integers and booleans become NumPy's. Raise ValueError for missing labels,
    labels of no classification type or of several types, another number of them than of rows, or
    fewer than two classes.
    """
    _refuse_masked(y, name)
    # scikit-learn would make floats of pandas' nullable integers and booleans.
    given: Any = y.to_numpy() if hasattr(y, "to_numpy") else y
    if isinstance(given, list | tuple) or getattr(getattr(given, "dtype", None), "kind", "") == "O":
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
    """Raise if Python objects include missing labels, or strings beside other types."""
    values = np.asarray(labels, dtype=object).ravel()
    missing = [i for i, value in enumerate(values) if _is_missing(value)]
    if missing:
        raise ValueError(
            f"{name} contains NaN, None or the like in {len(missing)} places (first: "
            f"{missing[0]}); expected a label for each row. Drop the rows without one."
        )
    kinds = {type(value).__name__ for value in values if not isinstance(value, str)}
    mixed = any(isinstance(value, str) for value in values)
    # NumPy makes strings of a mixed list, and merges '1' with 1.
    if kinds and (mixed or isinstance(labels, np.ndarray)):
        raise ValueError(
            f"Unknown label type: {name} holds Python objects, some of type "
            f"{', '.join(sorted(kinds))}; expected an array of integers or booleans, or strings "
            f"alone. Convert the labels first, such as with numpy.array({name}, dtype=str)."
        )


def _is_missing(value: Any) -> bool:
    # pandas' own kinds by name: it need not be installed.
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float) and value != value)
    )


# Parameters and computed values


def require_integer(name: str, value: Any, least: int) -> None:
    """Raise ValueError unless a parameter is an integer of at least some size, and no bool."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")


def require_truth(name: str, value: Any) -> None:
    """Raise ValueError unless a parameter is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}.")


def require_number(name: str, value: Any, *, positive: bool) -> None:
    """Raise ValueError unless a parameter is finite and positive, or zero if that is allowed."""
    try:
        usable = not isinstance(value, bool) and isinstance(value, numbers.Real)
        usable = usable and math.isfinite(value) and (value > 0 if positive else value >= 0)
    except OverflowError:  # an integer beyond double precision
        usable = False
    if not usable:
        kind = "a positive" if positive else "zero or a positive"
        raise ValueError(f"{name} must be {kind} finite number, got {value!r}.")


def require_finite(values: FloatArray, what: str) -> None:
    """Raise FloatingPointError if computed rows are not finite: no NaN may reach a classifier."""
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        raise FloatingPointError(
            f"{what} holds NaN or infinity in {len(bad)} of {len(values)} rows (first: row "
            f"{int(bad[0])}). The input was finite, so the method itself failed numerically; look "
            "for columns that are constant or nearly so."
        )


def warn_user(message: str) -> None:
    """Give a UserWarning that names the nearest line outside of this library and scikit-learn."""
    level = 1
    frame = sys._getframe(level)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_LIBRARIES):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level + 1)
