"""The numbers that the paper prints, under the names that this repository uses.

``moons.csv``, ``hepmass.csv`` and ``amazon.csv`` hold every cell of the six accuracy tables of
"Knothe-Rosenblatt transport for Unsupervised Domain Adaptation" (arXiv:2110.02716), three in its
main part and three in its appendix: accuracy in percent, half-width of the 95 % interval as
printed, and whether the paper prints the cell bold. ``anomalies.yaml`` lists what is odd about
them; :mod:`experiments.published.anomalies` reads it.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

DATASETS = ("moons", "hepmass", "amazon")
"""Data sets that the paper has tables of."""

STAND_INS = MappingProxyType({"hepmass_sim": "hepmass"})
"""Data sets without published numbers that are shown beside those of another one, for orientation:
their rows are other data, so no number of theirs can reproduce a published one."""

PARTS = ("main", "appendix")
"""The two tables that the paper has of each data set."""

METHODS = MappingProxyType(
    {
        "Source": "source_only",
        "Target": "target_only",
        "DANN": "dann",
        "SA": "sa",
        "KMM": "kmm",
        "OT": "ot",
        "SHOT": "shot",
        "CDAN": "cdan",
        "DAN": "dan",
        "JAN": "jan",
        "TCA": "tca",
        "KRDA": "krda",
    }
)
"""The paper's method names and ours."""

_DIRECTORY = Path(__file__).parent
_COLUMNS = ["part", "task", "method", "mean", "ci95", "bold"]


class PublishedError(ValueError):
    """A file of published numbers that is not what it must be."""


class PublishedRow(NamedTuple):
    """One printed cell of one of the paper's tables.

    Attributes
    ----------
    part : {'main', 'appendix'}
        Which of the data set's two tables.
    task, method : str
        Our names.
    mean, ci95 : Decimal
        Percent, as printed.
    bold : bool
    """

    part: str
    task: str
    method: str
    mean: Decimal
    ci95: Decimal
    bold: bool


class PublishedCell(NamedTuple):
    """What the paper says of one method on one task.

    Attributes
    ----------
    mean, ci95 : float
        Percent.
    bold : bool
        Whether it is bold in the table named by ``part``, in the main one where it stands in both.
    part : {'main', 'appendix', 'both'}
        Where it stands.
    """

    mean: float
    ci95: float
    bold: bool
    part: str


def task_name(paper: str) -> str:
    """Our name of a task: ``'500->750'`` becomes ``'500-750'``, ``'40'`` stays.

    Parameters
    ----------
    paper : str
        As in the CSV files.

    Returns
    -------
    name : str
    """
    return paper.replace("->", "-")


def has_published(dataset: str) -> bool:
    """Whether there are published numbers to show beside a data set's own."""
    return dataset in DATASETS or dataset in STAND_INS


@functools.cache
def published_rows(dataset: str) -> tuple[PublishedRow, ...]:
    """Every printed cell of a data set's tables, in the order of the file.

    Parameters
    ----------
    dataset : str
        One of :data:`DATASETS` or of the keys of :data:`STAND_INS`.

    Returns
    -------
    rows : tuple of PublishedRow

    Raises
    ------
    KeyError
        The paper has no table of it.
    PublishedError
        The file was damaged.
    """
    if not has_published(dataset):
        raise KeyError(
            f"the paper has no table of {dataset!r}; it has {', '.join((*DATASETS, *STAND_INS))}"
        )
    return read_rows(_DIRECTORY / f"{STAND_INS.get(dataset, dataset)}.csv")


def read_rows(path: Path) -> tuple[PublishedRow, ...]:
    """Read one CSV file of published numbers.

    Parameters
    ----------
    path : Path

    Returns
    -------
    rows : tuple of PublishedRow

    Raises
    ------
    PublishedError
        Other columns, an unknown part or method, a number that is none or out of [0, 100], or a
        cell that stands twice in the same table; the message names file and line.
    """
    rows: list[PublishedRow] = []
    with path.open(encoding="ascii", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        if reader.fieldnames != _COLUMNS:
            raise PublishedError(
                f"{path.name}: expected columns {_COLUMNS}, got {reader.fieldnames}"
            )
        for entry in reader:
            where = f"{path.name}, line {reader.line_num}"
            if None in entry or None in entry.values():
                raise PublishedError(f"{where}: expected {len(_COLUMNS)} fields, got {entry}")
            if entry["part"] not in PARTS or entry["method"] not in METHODS:
                raise PublishedError(f"{where}: unknown part or method in {entry}")
            if entry["bold"] not in ("0", "1"):
                raise PublishedError(f"{where}: bold must be 0 or 1, got {entry['bold']!r}")
            rows.append(
                PublishedRow(
                    entry["part"],
                    task_name(entry["task"]),
                    METHODS[entry["method"]],
                    _percent(entry["mean"], where),
                    _percent(entry["ci95"], where),
                    entry["bold"] == "1",
                )
            )
    seen: set[tuple[str, str, str]] = set()
    for row in rows:
        if row[:3] in seen:
            raise PublishedError(
                f"{path.name}: {row.part} table has {row.task}, {row.method} twice"
            )
        seen.add(row[:3])
    return tuple(rows)


@functools.cache
def published(dataset: str, part: str | None = None) -> Mapping[tuple[str, str], PublishedCell]:
    """Look up a data set's published cells by task and method.

    Parameters
    ----------
    dataset : str
        As for :func:`published_rows`. ``'hepmass_sim'`` gives the values for the real HEPMASS, for
        orientation only.
    part : {'main', 'appendix'} or None
        Only the cells of one of its two tables, bold as printed in it; None joins both.

    Returns
    -------
    cells : mapping of (task, method) to PublishedCell
        Read-only, in the order of the paper's main table, then of its appendix.

    Raises
    ------
    KeyError
        The paper has no table of it.
    ValueError
        An unknown part.
    PublishedError
        The file was damaged, or main table and appendix give different values for the same cell.
    """
    cells = merge_parts(published_rows(dataset), dataset)
    if part is not None:
        if part not in PARTS:
            raise ValueError(f"part must be one of {PARTS} or None, got {part!r}")
        bold = {(r.task, r.method): r.bold for r in published_rows(dataset) if r.part == part}
        cells = {key: cells[key]._replace(bold=is_bold) for key, is_bold in bold.items()}
    return MappingProxyType(cells)


def merge_parts(
    rows: tuple[PublishedRow, ...], dataset: str
) -> dict[tuple[str, str], PublishedCell]:
    """Join main table and appendix, which must agree in every value that both print.

    Whether a cell is bold may differ: each table has its own best method.

    Parameters
    ----------
    rows : tuple of PublishedRow
    dataset : str
        For the message.

    Returns
    -------
    cells : dict of (task, method) to PublishedCell

    Raises
    ------
    PublishedError
        With every cell on which they disagree.
    """
    tables: dict[str, dict[tuple[str, str], PublishedRow]] = {part: {} for part in PARTS}
    for row in rows:
        tables[row.part][row.task, row.method] = row
    main, appendix = tables["main"], tables["appendix"]
    disagreements = [
        f"{task} {method}: main part {row.mean} +- {row.ci95}, "
        f"appendix {other.mean} +- {other.ci95}"
        for (task, method), row in main.items()
        if (other := appendix.get((task, method))) is not None
        and (row.mean, row.ci95) != (other.mean, other.ci95)
    ]
    if disagreements:
        raise PublishedError(f"{dataset}: the paper's tables disagree; {'; '.join(disagreements)}")
    cells: dict[tuple[str, str], PublishedCell] = {}
    for key, row in (main | {k: r for k, r in appendix.items() if k not in main}).items():
        part = "both" if key in main and key in appendix else row.part
        cells[key] = PublishedCell(float(row.mean), float(row.ci95), row.bold, part)
    return cells


def _percent(text: str, where: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise PublishedError(f"{where}: {text!r} is no number") from None
    if not (value.is_finite() and 0 <= value <= 100):
        raise PublishedError(f"{where}: {text} is not in [0, 100]")
    return value
