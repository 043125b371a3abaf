"""A table as tidy CSV: one line a cell, full precision."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from experiments.analysis.statistics import correction_of_shared_rows, correction_of_splits
from experiments.published import PublishedCell
from experiments.published.anomalies import Anomaly
from experiments.reading.tables.model import Lookup, Table, TableSpec, build_table
from experiments.reading.tables.placebo import placebo_of

COLUMNS = (
    "dataset", "task", "method", "in_paper", "mean", "ci95", "ci95_nadeau_bengio",
    "ci95_shared_rows", "n_done", "n_repetitions",
    "accuracies", "published_mean", "published_ci95", "difference", "tolerance", "verdict",
    "anomalies",
)  # fmt: skip


def render_csv(
    spec: TableSpec,
    lookup: Lookup,
    *,
    values: Mapping[tuple[str, str], PublishedCell] | None = None,
    oddities: tuple[Anomaly, ...] | None = None,
) -> str:
    """Render a table as CSV.

    Parameters
    ----------
    spec, lookup, values, oddities
        As for :func:`experiments.reading.tables.model.build_table`.

    Returns
    -------
    text : str
        A header and one line for each method and task, also for cells that are missing
        (``n_done`` 0). Accuracies, means, half-widths, differences and tolerances are in percent,
        rounded to eight decimals; a field without a value is empty; accuracies of the repetitions
        that are done, and the ids of anomalies about that cell's published value, are separated by
        semicolons. ``in_paper`` is true or false. ``ci95_nadeau_bengio`` and ``ci95_shared_rows``
        are the half-widths with the corrections of :mod:`experiments.analysis.statistics`.
    """
    table = build_table(spec, lookup, values=values, oddities=oddities)
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    corrections = (correction_of_splits(spec.share), correction_of_shared_rows(spec.share))
    for method in spec.rows:
        for task in spec.tasks:
            cell = table.cells[task.name, method.name]
            writer.writerow(
                [
                    spec.dataset,
                    task.name,
                    method.name,
                    "false" if method.ours else "true",
                    _number(cell.interval.mean if cell.interval else None),
                    _number(cell.interval.half_width if cell.interval else None),
                    *(
                        _number(cell.interval.widened(correction) if cell.interval else None)
                        for correction in corrections
                    ),
                    cell.n_done,
                    cell.n_repetitions,
                    ";".join(_number(accuracy) for accuracy in cell.accuracies),
                    _number(cell.published.mean if cell.published else None),
                    _number(cell.published.ci95 if cell.published else None),
                    _number(cell.judgement.difference),
                    _number(cell.judgement.tolerance),
                    cell.judgement.verdict.value,
                    ";".join(anomaly.id for anomaly in cell.anomalies),
                ]
            )
    return buffer.getvalue()


def placebo_csv(tables: Mapping[str, Table]) -> str:
    """Say how often each row is reproduced by each published column, its own among them.

    Parameters
    ----------
    tables : mapping of name to Table
        Those that are not judged have no lines.

    Returns
    -------
    text : str
        A header and one line for each table, published column and row: the cells of the column,
        those that the row reproduces, and those on which it is within a tolerance of any width.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(("table", "published_column", "row", "cells", "reproduced", "within_tolerance"))
    for name, table in tables.items():
        placebo = placebo_of(table)
        for column in () if placebo is None else placebo.columns:
            for row, count in {column.method: column.own, **column.others}.items():
                writer.writerow((name, column.method, row, column.n_cells, *count))
    return buffer.getvalue()


def _number(value: float | None) -> str:
    # Eight decimals hide what binary fractions do to a percentage and keep every test row apart.
    return "" if value is None else repr(round(value, 8) + 0.0)
