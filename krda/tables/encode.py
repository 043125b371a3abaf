"""Two tables of any columns as two tables of numbers, encoded in the same way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from krda.tables.cells import Cells, cells_of
from krda.tables.columns import ColumnReport as ColumnReport
from krda.tables.columns import Use, fit_column
from krda.tables.errors import TableError, listed, similar
from krda.tables.kinds import TABLES
from krda.validation import FloatArray, warn_user


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encodes a source and a target with the same columns as numbers, in the same way.

    What a column holds is decided on both tables together, and so is how it is encoded. Text counts
    as numbers, dates or truth values if all cells are such. A cell is missing if it is empty or one
    of NA, N/A, NaN, NaT, null, none, missing, ? and -, in any case.

    - Numbers stay numbers, also those that are codes of categories. Missing ones become the median
      of both tables together. If more than 1 % are missing in either table, a column of zeros and
      ones marks them. Numbers such as -999 that are repeated and far from all others are missing.
    - Dates (2024-01-31, 31.01.2024, or 1/31/2024 if a cell shows which number is the day) become
      days since the first of January 1970. They are filled like numbers.
    - Truth values (true and false, yes and no, y and n, t and f) become 1 and 0. Missing ones
      become the more frequent value.
    - Text of few levels (30 at most, with 10 rows each on average; 5 in any case) becomes a column
      of zeros and ones for each level. Levels that have less than 1 % of the rows in each table
      are joined as 'other'; a missing value is a level.
    - Columns with one value in each table, columns with no value in one table, identifiers and free
      text are left out.

    Parameters
    ----------
    categories : sequence of str, default=()
        Columns that are categories, whatever they hold, such as codes or text of many levels.
    drop : sequence of str, default=()
        Columns to leave out.

    Attributes
    ----------
    columns_ : list of ColumnReport
        What each column holds and what was done with it, in the order of the source.
    groups_ : list of list of int
        Output columns of zeros and ones that together are one category. A single such column is a
        group of one.
    uses_ : list
        How each column that is used is read.
    encoders_ : list of estimators
        scikit-learn's, one for each of these columns: they fill gaps and encode categories.

    See Also
    --------
    krda.tables.read.read_table : Reads a file as a table.

    Examples
    --------
    >>> import pandas as pd
    >>> from krda.tables.encode import TableEncoder
    >>> source = pd.DataFrame({"size": [1.5, 2.5, None], "plan": ["basic", "full", "basic"]})
    >>> target = pd.DataFrame({"plan": ["full", "full", "basic"], "size": ["4", "5", "6"]})
    >>> encoder = TableEncoder().fit(source, target)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'size is missing', 'plan=basic', 'plan=full']
    >>> encoder.transform(source).tolist()
    [[1.5, 0.0, 1.0, 0.0], [2.5, 0.0, 0.0, 1.0], [4.0, 1.0, 1.0, 0.0]]
    >>> encoder.groups_
    [[1], [2, 3]]
    >>> encoder.columns_[1].kind
    'category'
    """

    columns_: list[ColumnReport]
    groups_: list[list[int]]
    uses_: list[Use]
    encoders_: list[Any]

    def __init__(self, *, categories: Sequence[str] = (), drop: Sequence[str] = ()) -> None:
        self.categories = categories
        self.drop = drop

    def fit(self, source: Any, target: Any) -> Self:
        """Decide how the columns of two tables are encoded.

        Parameters
        ----------
        source, target : DataFrame of pandas, polars or pyarrow
            Tables with the same columns, in any order, without the label. What else the target has
            is left out.

        Returns
        -------
        TableEncoder
            The encoder itself.

        Raises
        ------
        TableError
            If the target lacks a column of the source, if a column holds different things in them,
            if a few cells of a column of numbers or dates are something else, or if no column is
            left.
        """
        tables = [_columns(X, table) for X, table in zip((source, target), TABLES, strict=True)]
        names = self._matched(*tables)
        fitted = [fit_column((tables[0][n], tables[1][n]), n in self.categories) for n in names]
        self.columns_ = [report for _, report in fitted]
        self.uses_ = [use for use, _ in fitted if use is not None]
        if not self.uses_:
            reasons = (f"{report.name} ({report.kind})" for report in self.columns_)
            raise TableError(
                f"no column is left to learn from: {listed(reasons)}. Name columns of text in "
                "`categories` to use them."
            )
        self.encoders_, self.groups_, start = [], [], 0
        for use in self.uses_:
            read = [use.read(X[use.name], name) for X, name in zip(tables, TABLES, strict=True)]
            self.encoders_.append(use.encoder().fit(np.concatenate(read)))
            stop = start + len(use.names(self.encoders_[-1]))
            self.groups_ += use.groups(list(range(start, stop)))
            start = stop
        return self

    def transform(self, frame: Any) -> FloatArray:
        """Encode a table.

        Parameters
        ----------
        frame : DataFrame of pandas, polars or pyarrow
            A table with the columns that are used, in any order.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
            Finite numbers, in double precision.

        Raises
        ------
        TableError
            If a column is missing, or if a cell is no number where numbers are expected.

        Warns
        -----
        UserWarning
            If a category has levels that neither table of `fit` had, if a column has gaps and had
            none in `fit`, or if there are columns that the source did not have.
        """
        check_is_fitted(self)
        columns = _columns(frame, "table")
        absent = [use.name for use in self.uses_ if use.name not in columns]
        if absent:
            raise TableError(
                f"the table has no column {listed(absent)}; expected all columns that were used in "
                f"fit.{similar(absent, columns)} Add or rename columns."
            )
        known = {*self.drop, *(report.name for report in self.columns_)}
        others = [name for name in columns if name not in known]
        if others:
            warn_user(
                f"the table has columns that are no features of the source: {listed(others)}. They "
                "are left out."
            )
        each = zip(self.uses_, self.encoders_, strict=True)
        return np.hstack([e.transform(use.read(columns[use.name], "table")) for use, e in each])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Give the names of the output columns.

        Parameters
        ----------
        input_features : None, default=None
            Ignored.

        Returns
        -------
        ndarray of str objects
            Such as 'age', 'age is missing' and 'plan=basic'.
        """
        check_is_fitted(self)
        each = zip(self.uses_, self.encoders_, strict=True)
        return np.array([name for use, e in each for name in use.names(e)], dtype=object)

    def _matched(self, source: dict[str, Cells], target: dict[str, Cells]) -> list[str]:
        """Give the columns of the source without those to drop; raise if the target lacks one."""
        for parameter in ("drop", "categories"):
            unknown = [n for n in getattr(self, parameter) if n not in {**source, **target}]
            if unknown:
                raise TableError(
                    f"`{parameter}` names columns that neither table has: {listed(unknown)}."
                    f"{similar(unknown, {**source, **target})} The columns are {listed(source)}."
                )
        names = [name for name in source if name not in self.drop]
        absent = [name for name in names if name not in target]
        if absent:
            raise TableError(
                f"only the source has the columns {listed(absent)}; expected them in the target, "
                f"too.{similar(absent, target)} Rename them, or leave them out with `drop`."
            )
        return names


def _columns(table: Any, name: str) -> dict[str, Cells]:
    """Give the cells of a table's columns by name."""
    if not hasattr(table, "iloc") and hasattr(table, "to_pandas"):
        table = table.to_pandas()
    if not hasattr(table, "iloc") or not hasattr(table, "columns"):
        raise TableError(
            f"the {name} is of type {type(table).__name__}; expected a data frame of pandas, "
            "polars or pyarrow."
        )
    twice = [n for n, count in Counter(map(str, table.columns)).items() if count > 1]
    if twice:
        raise TableError(
            f"the {name} has several columns of one name: {listed(twice)}. Rename or drop them."
        )
    if not len(table):
        raise TableError(f"the {name} has no rows; expected at least one.")
    return {str(n): cells_of(table.iloc[:, i]) for i, n in enumerate(table.columns)}
