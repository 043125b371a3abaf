"""Labels of one's own table: classes, as they were written."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from krda.tables.errors import MISSING, NUMBER, TableError, listed, place, similar
from krda.validation import warn_user

#: Rows that a class needs: the classifier is checked on thirds of the source.
LEAST_ROWS = 3


def labels_of(source: pd.DataFrame, label: str) -> NDArray[Any]:
    """Give the labels of a source table; raise if they are missing, or no classes.

    Text stays as it is: ``01`` and ``1`` are two classes. A class may be named NA, None or null,
    which mark missing values elsewhere, unless all other labels are numbers.
    """
    if label not in source:
        raise TableError(
            f"The source has no column {label!r} for the labels; its columns are "
            f"{listed(source.columns)}.{similar([label], map(str, source.columns))}"
            + (" Is another `separator` meant?" if len(source.columns) == 1 else "")
        )
    labels = source[label]
    missing = _missing(labels)
    if missing.any():
        raise TableError(
            f"The label {label!r} is missing in {int(missing.sum())} rows of the source (first: "
            f"{place(source.index, int(missing.argmax()))}): expected one for each. Take these "
            "rows out, or, if they are a class, give it a name like those of the others."
        )
    labels = labels.astype(object) if isinstance(labels.dtype, pd.CategoricalDtype) else labels
    kinds = {type(value) for value in labels} if labels.dtype == object else set()
    if len(kinds - {int, float, bool}) > 1 or (str in kinds and len(kinds) > 1):
        raise TableError(
            f"The label {label!r} holds text and other values: expected one kind. Write all of "
            "them as text."
        )
    _compare_spellings(labels, label)
    counts = labels.value_counts()
    if _are_quantities(labels):
        raise TableError(
            f"The label {label!r} holds numbers with fractions ({listed(counts.index[:3])}): "
            "expected classes. If these are classes, give them names; a quantity cannot be "
            "predicted."
        )
    if len(counts) < 2:
        raise TableError(f"The label {label!r} has one class only: {listed(counts.index)}.")
    if counts.iloc[-1] < LEAST_ROWS:
        raise TableError(
            f"The label {label!r} has the class {listed(counts.index[-1:])} in {counts.iloc[-1]} "
            f"rows: at least {LEAST_ROWS} are needed. Take them out, or join it with another "
            "class. (If the label is a quantity, it cannot be predicted.)"
        )
    return np.asarray(labels)


def _compare_spellings(labels: pd.Series, label: str) -> None:
    """Refuse labels that differ in spaces alone; warn of classes named like missing values."""
    words = [value for value in pd.unique(labels) if isinstance(value, str)]
    stripped = [word.strip() for word in words]
    if len(set(stripped)) < len(words):
        raise TableError(
            f"The label {label!r} has classes that differ in spaces alone: "
            f"{listed(sorted(repr(w) for w in words if stripped.count(w.strip()) > 1))}. Write "
            "each class in one way."
        )
    marks = [word for word in words if word.strip().lower() in MISSING]
    if marks:
        warn_user(
            f"The label {label!r} has {listed(marks)}, taken for a class like the others. If it "
            "marks missing labels, take these rows out."
        )


def _missing(labels: pd.Series) -> NDArray[np.bool_]:
    missing: NDArray[np.bool_] = labels.isna().to_numpy()
    if pd.api.types.is_numeric_dtype(labels):
        return missing
    words = ["" if gap else str(x).strip() for x, gap in zip(labels, missing, strict=True)]
    marks = np.array([word.lower() in MISSING for word in words])
    numbers = np.array([_is_number(word) for word in words])
    if numbers.any() and (numbers | marks).all():
        return marks
    return np.array([not word for word in words])


def _are_quantities(labels: pd.Series) -> bool:
    if pd.api.types.is_bool_dtype(labels):
        return False
    if pd.api.types.is_numeric_dtype(labels):
        return bool((labels % 1 != 0).any())
    words = [str(label).strip() for label in labels]
    return all(map(_is_number, words)) and any(float(word) % 1 for word in words)


def _is_number(word: str) -> bool:
    return re.fullmatch(NUMBER, word) is not None
