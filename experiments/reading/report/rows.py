"""A wide table as the page shows it: texts, and numbers to sort by."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.reading.tables import wording
from experiments.reading.tables.model import Cell, Summary, Table


@dataclass(frozen=True)
class CellView:
    """One cell; all texts plain, not escaped.

    Attributes
    ----------
    text : str
        Ours, as in the other formats.
    value : str
        To sort by, in full precision; empty where there is none.
    bold : bool
    published : str
        As printed; empty where there is none.
    published_bold : bool
    marks : tuple of (str, str)
        Letter and id of each anomaly that makes the published value suspect.
    difference, sign, verdict : str
        Ours minus the published value, the verdict's sign and its words; empty where there is none.
    title : str
        The single accuracies and the tolerance, for whoever points at the cell.
    state : {'done', 'partial', 'missing'}
    """

    text: str
    value: str
    bold: bool = False
    published: str = ""
    published_bold: bool = False
    marks: tuple[tuple[str, str], ...] = ()
    difference: str = ""
    sign: str = ""
    verdict: str = ""
    title: str = ""
    state: str = "done"


@dataclass(frozen=True)
class RowView:
    """A method's row.

    Attributes
    ----------
    label, note : str
        The note says where the method stands aside from the paper's competitors.
    ours : bool
        Whether it stands below the line, among rows that are not in the paper.
    cells : tuple of CellView
        One a task, then the means.
    """

    label: str
    note: str
    ours: bool
    cells: tuple[CellView, ...]


def sort_value(value: float | None) -> str:
    """A number to sort by, as the CSV holds it; empty for none."""
    return "" if value is None else repr(round(value, 8) + 0.0)


def row_views(table: Table) -> tuple[RowView, ...]:
    """Lay a wide table out, in the order of its methods.

    Parameters
    ----------
    table : Table

    Returns
    -------
    rows : tuple of RowView
    """
    spec = table.spec
    rows = []
    for method in spec.rows:
        aside = method.ours and table.has_published
        cells = [_cell(table, table.cells[task.name, method.name]) for task in spec.tasks]
        note = "reference" if method.name in spec.references else ""
        rows.append(
            RowView(
                method.label,
                wording.NOT_IN_PAPER if aside else note,
                aside,
                (
                    *cells,
                    *(
                        _mean(by[method.name], n_tasks, published=method.published)
                        for _, n_tasks, by in table.means
                    ),
                ),
            )
        )
    return tuple(rows)


def _cell(table: Table, cell: Cell) -> CellView:
    judgement = cell.judgement
    known = cell.published is not None
    return CellView(
        wording.ours_text(cell),
        sort_value(cell.interval.mean if cell.interval else None),
        cell.bold,
        wording.published_text(cell) if known else "",
        cell.published is not None and cell.published.bold,
        tuple((table.marks[a.id], a.id) for a in cell.anomalies if a.id in table.marks),
        "" if judgement.difference is None else wording.signed(judgement.difference),
        wording.SIGNS.get(judgement.verdict, ""),
        judgement.verdict.value if known and cell.recorded else "",
        _title(cell, table.spec.share),
        "missing" if not cell.recorded else "done" if cell.complete else "partial",
    )


def _title(cell: Cell, share: float) -> str:
    if not cell.accuracies:
        return ""
    told = "Repetitions: " + "; ".join(f"{accuracy:.2f}" for accuracy in cell.accuracies)
    if cell.judgement.tolerance is not None:
        told += f". Tolerance: {wording.number(cell.judgement.tolerance)}"
    return f"{told}. Corrected half-widths: {wording.corrected_text(cell, share)}"


def _mean(summary: Summary, n_tasks: int, *, published: bool) -> CellView:
    known = published and summary.published.value is not None
    return CellView(
        wording.mean_text(summary.ours, n_tasks),
        sort_value(summary.ours.value),
        published=wording.mean_text(summary.published, n_tasks) if known else "",
        difference=""
        if not known or summary.difference.value is None
        else wording.mean_text(summary.difference, n_tasks, sign=True),
        state="missing" if summary.ours.value is None else "done",
    )
