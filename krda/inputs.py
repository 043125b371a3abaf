"""The old name of :mod:`krda.validation`."""

from krda.validation import (
    FloatArray,
    check_labels,
    check_rows,
    column_labels,
    column_positions,
    take_columns,
)

__all__ = [
    "FloatArray",
    "check_labels",
    "check_rows",
    "column_labels",
    "column_positions",
    "take_columns",
]
