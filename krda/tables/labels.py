"""Labels of one's own table: classes, as they were written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from krda.tables.errors import MISSING, TableError, listed, similar

#: Rows that a class needs: the classifier is checked on thirds of the source.
LEAST_ROWS = 3

_NUMBER = r"(?a)\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*"


def labels_of(source: pd.DataFrame, label: str) -> NDArray[Any]:
    """Give the labels of a source table; raise if they are missing, or no classes.

    Text stays as it is: ``01`` and ``1`` are two classes. A class may be named NA, None or null,
    which mark missing values elsewhere, unless all other labels are numbers.
    """
    if label not in source:
        raise TableError(
            f"The source has no column {label!r} for the labels; its columns are "
            f"{listed(source.columns)}.{similar([label], map(str, source.columns))}"
        )
    labels = source[label]
    missing = _missing(labels)
    if missing.any():
        raise TableError(
            f"The label {label!r} is missing in {int(missing.sum())} rows of the source (first: "
            f"row {int(missing.argmax())}, from 0): expected one for each. Take these rows out, "
            "or, if they are a class, give it a name like those of the others."
        )
    counts = labels.value_counts()
    if _are_quantities(labels):
        raise TableError(
            f"The label {label!r} holds numbers with fractions ({listed(counts.index)}): expected "
            "classes. If these are classes, give them names; a quantity cannot be predicted."
        )
    if len(counts) < 2:
        raise TableError(f"The label {label!r} has one class only: {listed(counts.index)}.")
    if counts.iloc[-1] < LEAST_ROWS:
        raise TableError(
            f"The label {label!r} has the class {listed(counts.index[-1:])} in {counts.iloc[-1]} "
            f"rows: at least {LEAST_ROWS} are needed. Take them out, or join it with another class."
        )
    return np.asarray(labels)


def _missing(labels: pd.Series) -> NDArray[np.bool_]:
    missing: NDArray[np.bool_] = labels.isna().to_numpy()
    if pd.api.types.is_numeric_dtype(labels):
        return missing
    words = labels.astype(str).str.strip()
    marks = words.str.lower().isin(MISSING).to_numpy() | missing
    numbers = words.str.fullmatch(_NUMBER).to_numpy()
    if numbers.any() and (numbers | marks).all():
        return marks
    return missing | (words == "").to_numpy()


def _are_quantities(labels: pd.Series) -> bool:
    if pd.api.types.is_bool_dtype(labels) or isinstance(labels.dtype, pd.CategoricalDtype):
        return False
    if not pd.api.types.is_numeric_dtype(labels):
        if not labels.astype(str).str.fullmatch(_NUMBER).all():
            return False
        labels = labels.astype(str).astype(np.float64)
    return bool((labels % 1 != 0).any())
