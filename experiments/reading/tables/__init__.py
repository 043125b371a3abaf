"""Tables of accuracies beside the published ones, from stored records alone.

:func:`render_markdown`, :func:`render_latex` and :func:`render_csv` are pure functions of a
:class:`TableSpec` and a lookup of records: the same records give the same bytes.
"""

from experiments.reading.tables.comma_separated import render_csv
from experiments.reading.tables.latex import render_latex
from experiments.reading.tables.markdown import render_markdown
from experiments.reading.tables.model import (
    Lookup,
    MethodRow,
    TableSpec,
    TaskColumn,
)

__all__ = [
    "Lookup",
    "MethodRow",
    "TableSpec",
    "TaskColumn",
    "render_csv",
    "render_latex",
    "render_markdown",
]
